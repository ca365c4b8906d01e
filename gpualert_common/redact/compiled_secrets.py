"""Kinds made ready for matching: one automaton that tells which patterns may occur at all.

Only these are searched for, each in one pass: RE2 is linear in the text, whatever it holds.
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


class SecretSpan(NamedTuple):
    """A secret: from ``start`` up to ``end``.  The lowest ``order`` names what overlaps."""

    start: int
    end: int
    order: int
    kind: str


class Finder:
    """One pattern, compiled.  Raises :data:`RegexError`."""

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
        self._mask = compile_bytes(rb"\[redacted (?:%s)\]" % b"|".join(names), spans_lines=True)
        probes = [(probe, finder) for finder in self._finders for probe in finder.probes]
        self._set = RegexSet((probe for probe, _ in probes), spans_lines=True)
        self._owners = [finder for _, finder in probes]

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
        found = self._set.search(text)
        if found is None:
            return self._finders
        wanted = {id(self._owners[index]) for index in found}
        return [finder for finder in self._finders if id(finder) in wanted]


def _finder(pattern: SecretPattern, kind: SecretKind, order: int) -> Finder:
    try:
        return Finder(pattern, kind.id, order)
    except RegexError as error:
        problem = f"not an RE2 expression: {error}"
        raise RuleError(kind.file, f"patterns.{pattern.name}", problem) from error


@lru_cache(maxsize=4)
def program_in(directory: Path) -> tuple[CompiledSecrets, tuple[RuleError, ...]]:
    """The program of the kinds in *directory* and what had to be left out of it; made once."""
    broken: list[RuleError] = []
    program = CompiledSecrets(load_secrets(directory, broken=broken))
    return program, (*broken, *program.broken)
