"""Compiled patterns of secrets.

One automaton selects the patterns that can occur in a text.  Each of these takes one pass: RE2 is
linear in the length of any text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from gpualert_common.errors import RuleError
from gpualert_common.redact.secret_kinds import KNOWN, SecretKind, SecretPattern, load_secrets
from gpualert_common.regex import RegexError, RegexSet, compile_bytes, escape, group_numbers

_GROUP = "secret"
_MASK_START = b"[redacted "
_SHORT_BYTES = 256
"""The value of an exempt match up to this length is searched again: it may be the next name."""


class SecretSpan(NamedTuple):
    """A secret from ``start`` to ``end``.  The lowest ``order`` names overlaps."""

    start: int
    end: int
    order: int
    kind: str


class Finder:
    """One compiled pattern.  Raises :data:`RegexError`."""

    def __init__(self, pattern: SecretPattern, kind: str, order: int) -> None:
        self.kind = kind
        self.order = order
        self.probes = [b"(?i:%s)" % escape(text.encode()) for text in pattern.literals]
        self._regex = compile_bytes(pattern.re.encode(), spans_lines=True)
        self._unless = (
            None
            if pattern.unless is None
            else compile_bytes(pattern.unless.encode(), spans_lines=True)
        )
        names = group_numbers(self._regex)
        self._groups = [names[name] for name in names if name.startswith(_GROUP)] or [0]
        self.probes = self.probes or [pattern.re.encode()]

    def find_spans(self, text: bytes) -> Iterator[SecretSpan]:
        """Yield every secret of this form in *text*, from left to right."""
        at = 0
        while at <= len(text) and (match := self._regex.search(text, at)) is not None:
            spans = [match.span(group) for group in self._groups]
            at = max(match.end(), at + 1)
            if self._unless is None or not self._unless.search(match.group()):
                for start, end in spans:
                    if start < end:
                        yield SecretSpan(start, end, self.order, self.kind)
            elif match.end() - match.start() <= _SHORT_BYTES:
                at = max(match.start() + 1, max(start for start, _ in spans) - 1)


class CompiledSecrets:
    """The compiled patterns of all kinds.  Thread-safe; takes some 20 ms to create.

    ``broken`` lists the errors of files with an expression that does not compile.
    """

    def __init__(self, kinds: Iterable[SecretKind]) -> None:
        self.broken: list[RuleError] = []
        self._finders: list[Finder] = []
        names = [KNOWN.encode()]
        for order, kind in enumerate(kinds, start=1):
            names.append(kind.id.encode())
            try:
                self._finders += [
                    _compile_finder(pattern, kind, order) for pattern in kind.patterns
                ]
            except RuleError as error:
                self.broken.append(error)
        # Only existing kinds: the text of any other mask may contain a secret.
        self._mask = compile_bytes(rb"\[redacted (?:%s)\]" % b"|".join(names), spans_lines=True)
        probes = [(probe, finder) for finder in self._finders for probe in finder.probes]
        self._set = RegexSet((probe for probe, _ in probes), spans_lines=True)
        self._owners = [finder for _, finder in probes]

    def find_spans(self, text: bytes) -> Iterator[SecretSpan]:
        """Yield every secret in *text*, pattern by pattern; they may overlap."""
        for finder in self._select_finders(text):
            yield from finder.find_spans(text)

    def find_masks(self, text: bytes) -> list[tuple[int, int]]:
        """Return the spans of masks in *text*, from left to right."""
        if _MASK_START not in text:
            return []
        return [match.span() for match in self._mask.finditer(text)]

    def _select_finders(self, text: bytes) -> list[Finder]:
        found = self._set.search(text)
        if found is None:
            return self._finders
        wanted = {id(self._owners[index]) for index in found}
        return [finder for finder in self._finders if id(finder) in wanted]


def _compile_finder(pattern: SecretPattern, kind: SecretKind, order: int) -> Finder:
    try:
        return Finder(pattern, kind.id, order)
    except RegexError as error:
        problem = f"not an RE2 expression: {error}"
        raise RuleError(kind.file, f"patterns.{pattern.name}", problem) from error


@lru_cache(maxsize=4)
def compile_directory(directory: Path) -> tuple[CompiledSecrets, tuple[RuleError, ...]]:
    """Return the compiled kinds in *directory* and the errors of files left out; cached."""
    broken: list[RuleError] = []
    compiled = CompiledSecrets(load_secrets(directory, broken=broken))
    return compiled, (*broken, *compiled.broken)
