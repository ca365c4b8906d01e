"""Rules as data: one TOML file per cause.

A rule holds the properties of a cause (family, attribution, retry), the text of its verdict, and
the patterns that find it.  :mod:`gpualert_common.classify.rule_reader` reads rules, and
:mod:`gpualert_common.classify.compiled_rules` matches them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from gpualert_common.model import Attribution, Retry, Role
from gpualert_common.rule_files import (
    Samples,
)
from gpualert_common.structs import Struct

_NAME = re.compile(r"[a-z][a-z0-9_]*")


class Scope(StrEnum):
    """Scope of a pattern: any line, only the text of an exception, or weaker than other evidence.

    Message and wording count in the message of an exception that nothing else explains, and behind
    "error:" at the end of a log that names no cause; a wording counts in any of its last lines.
    A topic is the vocabulary of a cause: it counts where no wording does, if the last lines use
    more different words of it than of any other.
    """

    ANYWHERE = "anywhere"
    EXCEPTION = "exception"
    MESSAGE = "message"
    WORDING = "wording"
    TOPIC = "topic"

    @property
    def is_weak(self) -> bool:
        """True when the pattern counts only where nothing else names a cause."""
        return self in (Scope.MESSAGE, Scope.WORDING, Scope.TOPIC)


class RulePattern(Struct, frozen=True):
    """A pattern that finds a cause on one line of a log.

    ``re`` is RE2 syntax over the line without its prefixes and escape sequences; ``^`` is the
    start of that line.  ``literal`` is a string that every match contains, if there is one.  Named
    groups of ``re`` become details of the verdict; a name ending in ``_bytes`` is a size.
    With ``where`` = exception only the line that names an exception, type included, and the
    further lines of its message are searched; with ``raised_in`` one of its frames
    ("path:function") must match that, too.  With ``where`` = message or wording the first line of
    the message of an exception of one of the types ``exceptions`` is searched, for a wording also
    the closing lines of a log that names no cause, with or without the word "error".  ``order``
    and ``file`` are those of its rule.
    """

    cause: str
    name: str
    role: Role
    re: str
    literal: str | None = None
    where: Scope = Scope.ANYWHERE
    raised_in: str | None = None
    exceptions: tuple[str, ...] = ()
    order: int = 0
    file: str = ""

    @property
    def id(self) -> str:
        """``cause/name``, unique over all rules."""
        return f"{self.cause}/{self.name}"


ANY_VALUE = "*"
"""Value in a condition of a text that any known value fulfils."""


class RuleText(Struct, frozen=True):
    """Text of a verdict.  Of several templates the first with known placeholders is taken.

    ``when`` are the details to which the text applies; empty for the general text.  In such a case
    ``attribution`` and ``retry`` replace those of the rule; None leaves them.
    """

    headline: tuple[str, ...]
    implies: tuple[str, ...]
    cannot_decide: tuple[str, ...]
    do: tuple[str, ...]
    when: tuple[tuple[str, str], ...] = ()
    attribution: Attribution | None = None
    retry: Retry | None = None


class RaisedIn(Struct, frozen=True):
    """Exceptions that mean the cause of the rule when one of their innermost frames matches.

    ``exceptions`` are types without modules, ``file`` is RE2 syntax over ``path:function``,
    ``source`` over the line of source that the traceback quotes last (all that are given must
    fit).  Patterns have precedence, of all rules.
    """

    exceptions: tuple[str, ...]
    file: str
    source: str | None = None


class Rule(Struct, frozen=True):
    """A cause, with its properties, text and patterns.

    ``id`` is the cause's name.  ``order`` settles which cause a line names when several match: the
    lowest.  ``exceptions`` are Python types that mean this cause when the message says nothing
    better; ``signals`` and ``exit_codes`` the statuses that mean it when the log says nothing.
    ``cases`` are texts for certain details, and have precedence over ``words``.  ``found`` are
    details from other evidence than the log.  ``is_own`` is True for a rule that a user adds to the
    shipped one of that cause.
    """

    id: str
    order: int
    family: str | None
    fault_class: str | None
    attribution: Attribution
    retry: Retry
    words: RuleText
    cases: tuple[RuleText, ...]
    patterns: tuple[RulePattern, ...]
    exceptions: tuple[str, ...]
    raised_in: tuple[RaisedIn, ...]
    signals: tuple[int, ...]
    exit_codes: tuple[int, ...]
    sources: tuple[str, ...]
    since: str
    file: str
    samples: Mapping[str, Samples]
    found: tuple[str, ...] = ()
    is_own: bool = False


class RuleSet(Struct, frozen=True, eq=False, dict=True):
    """All rules, in their order.  ``directory`` is where the shipped ones were read from."""

    rules: tuple[Rule, ...]
    directory: Path

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    @cached_property
    def by_cause(self) -> Mapping[str, Rule]:
        """The shipped rule of each cause that has one."""
        return {rule.id: rule for rule in self if not rule.is_own}

    def of_pattern(self, pattern: RulePattern) -> Rule | None:
        """Return the rule of *pattern*; None for one of another set."""
        return next((rule for rule in self if pattern in rule.patterns), None)

    @cached_property
    def patterns(self) -> tuple[RulePattern, ...]:
        """The patterns of all rules, in the order of the rules."""
        return tuple(pattern for rule in self for pattern in rule.patterns)
