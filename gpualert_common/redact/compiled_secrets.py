"""Kinds made ready for matching: one automaton that tells which patterns may occur at all.

Only these are searched for, each in one pass: RE2 is linear in the text, whatever it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import re2

from gpualert_common.errors import RuleError
from gpualert_common.redact.secret_kinds import KNOWN, SecretKind, SecretPattern, load_secrets

_SET_MEMORY_BYTES = 64 << 20
_GROUP = "secret"
_MASK_START = b"[redacted "


class SecretSpan(NamedTuple):
    """A secret: from ``start`` up to ``end``.  The lowest ``order`` names what overlaps."""

    start: int
    end: int
    order: int
    kind: str


def _options() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = _SET_MEMORY_BYTES
    options.log_errors = False
    return options


_BYTES: Final = _options()


def bytes_regex(expression: bytes) -> Any:
    """*expression* compiled for bytes of any encoding.  Raises ``re2.error``."""
    return re2.compile(expression, _BYTES)


class Finder:
    """One pattern, compiled.  Raises ``re2.error``."""

    def __init__(self, pattern: SecretPattern, kind: str, order: int) -> None:
        self.kind = kind
        self.order = order
        self.probes = [b"(?i:%s)" % re2.escape(text.encode()) for text in pattern.literals]
        self._regex = bytes_regex(pattern.re.encode())
        self._unless = None if pattern.unless is None else bytes_regex(pattern.unless.encode())
        names = self._regex.groupindex
        self._groups = [names[name] for name in names if name.startswith(_GROUP.encode())] or [0]
        self.probes = self.probes or [pattern.re.encode()]

    def spans(self, text: bytes) -> Iterator[SecretSpan]:
        """Every secret of this form in *text*, from left to right."""
        for match in self._regex.finditer(text):
            if self._unless is not None and self._unless.search(match.group()):
                continue
            for group in self._groups:
                start, end = match.span(group)
                if start < end:
                    yield SecretSpan(start, end, self.order, self.kind)


class CompiledSecrets:
    """The patterns of all kinds.  Safe to share between threads; costs some 20 ms to make.

    ``broken`` names the files that are left out because an expression does not compile.
    """

    def __init__(self, kinds: Iterable[SecretKind]) -> None:
        self.broken: list[RuleError] = []
        self._finders: list[Finder] = []
        names = [KNOWN.encode()]
        for order, kind in enumerate(kinds, start=1):
            names.append(kind.id.encode())
            try:
                self._finders += [_finder(pattern, kind, order) for pattern in kind.patterns]
            except RuleError as error:
                self.broken.append(error)
        # Only our own kinds: a mask that anyone can make up would hide what stands in it.
        self._mask = bytes_regex(rb"\[redacted (?:%s)\]" % b"|".join(names))
        self._set = re2.Set.SearchSet(_BYTES)
        self._owners = []
        for finder in self._finders:
            for probe in finder.probes:
                self._set.Add(probe)
                self._owners.append(finder)
        # RE2 answers "nothing" also when it ran out of memory.  The end of the text matches
        # always, so an answer without it is no answer.
        self._canary = self._set.Add(rb"\z")
        self._set.Compile()

    def spans(self, text: bytes) -> Iterator[SecretSpan]:
        """Every secret in *text*, pattern by pattern; they may overlap."""
        for finder in self._finders_for(text):
            yield from finder.spans(text)

    def masks(self, text: bytes) -> list[tuple[int, int]]:
        """Where masks stand in *text*, from left to right."""
        if _MASK_START not in text:
            return []
        return [match.span() for match in self._mask.finditer(text)]

    def _finders_for(self, text: bytes) -> list[Finder]:
        found = self._set.Match(text)
        if not found or self._canary not in found:
            return self._finders
        wanted = {id(self._owners[index]) for index in found if index != self._canary}
        return [finder for finder in self._finders if id(finder) in wanted]


def _finder(pattern: SecretPattern, kind: SecretKind, order: int) -> Finder:
    try:
        return Finder(pattern, kind.id, order)
    except re2.error as error:
        problem = f"not an RE2 expression: {error}"
        raise RuleError(kind.file, f"patterns.{pattern.name}", problem) from error


@lru_cache(maxsize=4)
def program_in(directory: Path) -> tuple[CompiledSecrets, tuple[RuleError, ...]]:
    """The program of the kinds in *directory* and what had to be left out of it; made once."""
    broken: list[RuleError] = []
    program = CompiledSecrets(load_secrets(directory, broken=broken))
    return program, (*broken, *program.broken)
