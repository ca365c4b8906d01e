"""Figures with their spread, limits, and rounds that share the load of the machine."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Spread:
    """Median and spread of one figure; ``unit`` is printed unchanged."""

    median: float
    p10: float
    p90: float
    n: int
    unit: str

    @classmethod
    def of(cls, figures: Sequence[float], unit: str) -> Spread:
        """Return the spread of at least one figure."""
        ordered = sorted(figures)
        last = len(ordered) - 1
        return cls(
            statistics.median(ordered),
            ordered[round(last * 0.1)],
            ordered[round(last * 0.9)],
            len(ordered),
            unit,
        )

    def minus(self, base: Spread) -> Spread:
        """Return the excess over ``base``: median over median, tenth over tenth."""
        return Spread(
            self.median - base.median,
            self.p10 - base.p10,
            self.p90 - base.p90,
            min(self.n, base.n),
            self.unit,
        )


class UnmeasuredError(Exception):
    """A figure that cannot be measured here; the text says why, and what would help."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit: ``ours`` is at most ``bound`` (at least, with ``at_least``).

    ``ratio`` is ours over a baseline of the same rounds, None without one: other than a time, it
    can be compared between days and machines.  ``why`` says why ours is None.
    """

    what: str
    ours: float | None
    bound: float
    unit: str
    at_least: bool = False
    ratio: float | None = None
    why: str = ""

    @property
    def met(self) -> bool:
        """True when ours was measured and is within the limit."""
        if self.ours is None:
            return False
        return self.ours >= self.bound if self.at_least else self.ours <= self.bound


@dataclass(slots=True)
class Row:
    """One row of the table: its title, its entries and its limits."""

    title: str
    entries: dict[str, Spread] = field(default_factory=dict)
    limits: list[Limit] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, name: str, figures: Sequence[float], unit: str) -> Spread:
        """Add the entry ``name`` and return its spread."""
        self.entries[name] = Spread.of(figures, unit)
        return self.entries[name]

    def promise(
        self,
        what: str,
        ours: float,
        bound: float,
        unit: str,
        *,
        at_least: bool = False,
        base: float | None = None,
    ) -> None:
        """Compare ``ours`` with ``bound``; ``base`` is the baseline of the same rounds."""
        ratio = ours / base if base else None
        self.limits.append(Limit(what, ours, bound, unit, at_least, ratio))

    def miss(self, what: str, why: str) -> None:
        """Add a limit that is missed because ``what`` cannot be measured."""
        self.limits.append(Limit(what, None, 0, "", why=why))


def interleave(ways: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """Measure every way once a round, so that other load of the machine affects all alike."""
    found: dict[str, list[T]] = {name: [] for name in ways}
    for turn in range(rounds):
        names = list(ways)
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            found[name].append(ways[name]())
    return found


def text_of(row: Row) -> str:
    """Return the row as lines of text."""
    width = max((len(name) for name in row.entries), default=0)
    lines = [row.title, f"  {'':{width}}  {'median':>9} {'p10':>9} {'p90':>9}    n"]
    for name, spread in row.entries.items():
        figures = " ".join(f"{value:9.3f}" for value in (spread.median, spread.p10, spread.p90))
        lines.append(f"  {name:{width}}  {figures} {spread.n:4} {spread.unit}")
    lines += [f"  {_text_of_limit(limit)}" for limit in row.limits]
    return "\n".join(lines + [f"  ({note})" for note in row.notes])


def _text_of_limit(limit: Limit) -> str:
    if limit.ours is None:
        return f"NONE  {limit.what}: not measured: {limit.why}"
    word = "PASS" if limit.met else "UNDER" if limit.at_least else "OVER"
    sign = ">=" if limit.at_least else "<="
    return f"{word:5} {limit.what}: {limit.ours:.3f} {sign} {limit.bound:.3f} {limit.unit}"
