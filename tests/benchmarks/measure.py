"""Figures with their spread, limits, and rounds that share the load of the machine."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

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


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit: ``value`` is at most ``bound`` (at least, with ``at_least``)."""

    what: str
    value: float
    bound: float
    unit: str
    at_least: bool = False

    @property
    def met(self) -> bool:
        """True when the value is within the limit."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound


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
        self, what: str, value: float, bound: float, unit: str, *, at_least: bool = False
    ) -> None:
        """Compare ``value`` with ``bound``."""
        self.limits.append(Limit(what, value, bound, unit, at_least))

    def to_json(self) -> dict[str, Any]:
        """Return the row as a JSON object."""
        limits = [{**asdict(limit), "met": limit.met} for limit in self.limits]
        entries = {name: asdict(spread) for name, spread in self.entries.items()}
        return {"title": self.title, "entries": entries, "limits": limits, "notes": self.notes}


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
    for limit in row.limits:
        word = "PASS" if limit.met else "OVER"
        if limit.at_least and not limit.met:
            word = "UNDER"
        sign = ">=" if limit.at_least else "<="
        lines.append(
            f"  {word:5} {limit.what}: {limit.value:.3f} {sign} {limit.bound:.3f} {limit.unit}"
        )
    return "\n".join(lines + [f"  ({note})" for note in row.notes])
