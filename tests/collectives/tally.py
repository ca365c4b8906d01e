"""Tally of simulated stalls: how often the culprits are right, and how many innocents are named."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gpualert_common.collectives.analysis import find_stall
from gpualert_common.collectives.stall import Stall, StallKind
from tests.collectives.simulation import WORLDS, SimulatedRun, simulate


@dataclass
class Tally:
    """Results of runs.

    ``undecided`` are those in which the calls show that ranks disagree, but not which one is odd:
    two ranks, or stages of a pipeline that each run a program of their own.  ``ranks`` and
    ``innocent`` count ranks, ``wrong`` holds the numbers of runs.
    """

    runs: int = 0
    right: int = 0
    undecided: int = 0
    ranks: int = 0
    innocent: int = 0
    with_innocent: int = 0
    wrong: list[int] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add the results of *other*."""
        self.runs += other.runs
        self.right += other.right
        self.undecided += other.undecided
        self.ranks += other.ranks
        self.innocent += other.innocent
        self.with_innocent += other.with_innocent
        self.wrong += other.wrong

    def count(self, number: int, run: SimulatedRun, stall: Stall | None) -> None:
        """Count one run."""
        named = set() if stall is None else set(stall.culprits)
        is_undecided = stall is not None and stall.is_tied and (run.world == 2 or not named)
        self.runs += 1
        self.ranks += run.world
        if is_undecided:  # of two ranks that disagree, or in a circle, none is the odd one
            self.undecided += 1
            return
        innocent = named - run.culprits
        self.innocent += len(innocent)
        self.with_innocent += bool(innocent)
        is_right = stall is not None and named == run.culprits
        is_right &= bool(run.culprits) or stall is None or stall.kind is StallKind.TRANSFER
        self.right += is_right
        if not is_right:
            self.wrong.append(number)

    def format_row(self, name: str) -> str:
        """Return a row of the table."""
        return (
            f"| {name} | {self.runs} | {self.right} | {self.undecided} |"
            f" {self.innocent} of {self.ranks}, in {self.with_innocent} runs |"
        )


def tally_variants(numbers: Iterable[int], worlds: Sequence[int] = WORLDS) -> dict[str, Tally]:
    """Return the tally of each fault."""
    found: dict[str, Tally] = defaultdict(Tally)
    for number in numbers:
        run = simulate(number, worlds)
        if not run.has_halted:  # some faults change nothing
            continue
        found[run.fault].count(number, run, find_stall(run.traces, run.world))
    return dict(found)
