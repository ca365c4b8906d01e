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

    ``right`` are those in which exactly the culprits are named, and ``disputed`` those of two ranks
    in which exactly these two are named as ranks that disagree.  ``ranks`` and ``innocent`` count
    ranks, ``wrong`` holds the numbers of all other runs.
    """

    runs: int = 0
    right: int = 0
    disputed: int = 0
    ranks: int = 0
    innocent: int = 0
    wrong: list[int] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add the results of *other*."""
        self.runs += other.runs
        self.right += other.right
        self.disputed += other.disputed
        self.ranks += other.ranks
        self.innocent += other.innocent
        self.wrong += other.wrong

    def count(self, number: int, run: SimulatedRun, stall: Stall | None) -> None:
        """Count one run."""
        named = frozenset() if stall is None else frozenset(stall.culprits)
        self.runs += 1
        self.ranks += run.world
        if stall is not None and stall.is_tied and run.disputed and named == run.disputed:
            self.disputed += 1
            return
        self.innocent += len(named - run.culprits)
        is_right = stall is not None and named == run.culprits and not stall.is_tied
        is_right &= bool(run.culprits) or stall is None or stall.kind is StallKind.TRANSFER
        self.right += is_right
        if not is_right:
            self.wrong.append(number)

    def format_row(self, name: str) -> str:
        """Return a row of the table."""
        share = 100 * (self.right + self.disputed) / self.runs
        return (
            f"| {name} | {self.runs} | {self.right} | {self.disputed} | {share:.1f} % |"
            f" {self.innocent} of {self.ranks} |"
        )


def tally_variants(
    numbers: Iterable[int], worlds: Sequence[int] = WORLDS
) -> tuple[dict[str, Tally], dict[int, Tally]]:
    """Return the tally of each fault, and of each number of ranks."""
    by_fault: dict[str, Tally] = defaultdict(Tally)
    by_world: dict[int, Tally] = defaultdict(Tally)
    for number in numbers:
        run = simulate(number, worlds)
        if not run.has_halted:  # some faults change nothing
            continue
        stall = find_stall(run.traces, run.world)
        by_fault[run.fault].count(number, run, stall)
        by_world[run.world].count(number, run, stall)
    return dict(by_fault), dict(sorted(by_world.items()))
