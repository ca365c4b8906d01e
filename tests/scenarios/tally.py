"""Counts of verdicts on the variants of scenarios, and the tables made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.scenarios.catalogue import Case, Outcome, is_crossed
from tests.scenarios.scene import Scene

CaseTallies = Sequence[tuple[Case, "Tally"]]


@dataclass
class Tally:
    """Verdicts on variants: (true, found) for families and for causes, and their outcomes.

    ``crossed`` counts verdicts that confuse the job and the machine.
    """

    families: Counter[tuple[str, str]] = field(default_factory=Counter)
    causes: Counter[tuple[str, str]] = field(default_factory=Counter)
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    crossed: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.families + other.families,
            self.causes + other.causes,
            self.outcomes + other.outcomes,
            self.crossed + other.crossed,
        )

    def add(self, case: Case, scene: Scene, verdict: Mapping[str, Any]) -> None:
        """Count one verdict."""
        family, found = case.family_of(scene), verdict["family"]
        self.families[family or "-", found or "-"] += 1
        health = verdict["details"].get("health")
        true, told = scene.cause, verdict["cause"]
        if "none" == true == told:
            true, told = f"none, {case.health}", f"none, {health}"
        elif true == told and family != found:
            true, told = f"{true}, {family}", f"{told}, {found}"
        self.causes[true, told] += 1
        self.outcomes[case.compare(scene, verdict)] += 1
        self.crossed += is_crossed(scene, verdict)


def print_tally(title: str, by_case: CaseTallies) -> None:
    """Print the families that were found, and the causes that were confused.

    Verdicts on frozen scenarios are counted in the table, but not listed.
    """
    whole = sum((one for _case, one in by_case), Tally())
    print(title)
    print(_format_pairs(whole.families, "true / found"))
    for case, one in by_case:
        for (true, found), count in sorted(one.causes.items()):
            if true != found and not case.is_frozen:
                print(f"  {case.name}: {true} reported as {found}: {count}")
    counts = ", ".join(f"{whole.outcomes[one]} {one}" for one in Outcome)
    print(f"{counts}; {whole.crossed} times job and machine confused", flush=True)


def _format_pairs(pairs: Counter[tuple[str, str]], corner: str) -> str:
    """Return a table: rows are true values, columns are values in verdicts."""
    rows = sorted({true for true, _ in pairs})
    columns = sorted({found for _, found in pairs})
    width = max(len(row) for row in (*rows, corner)) + 2
    lines = [corner.rjust(width) + "".join(column.rjust(5) for column in columns)]
    for row in rows:
        cells = [str(pairs[row, column] or ".").rjust(5) for column in columns]
        lines.append(row.rjust(width) + "".join(cells))
    return "\n".join(lines)


def format_table(parts: Mapping[str, CaseTallies], cases: Sequence[Case]) -> str:
    """Return the table of the page: a row for each family, and one for all.

    It has the numbers of scenarios and near misses, and the outcomes of each part.
    """
    columns = ["family", "scenarios", "near misses"]
    columns += [f"{part}: {one}" for part in parts for one in Outcome]
    columns += ["job and machine confused"]
    lines = ["| " + " | ".join(columns) + " |", "|---|" + "---:|" * (len(columns) - 1)]
    for name in (*sorted({case.of for case in cases}), "all"):
        of_it = [case for case in cases if name in (case.of, "all")]
        near = sum(case.is_near_miss for case in of_it)
        sums = [
            sum((one for case, one in part if case in of_it), Tally()) for part in parts.values()
        ]
        cells = [cell for one in sums for cell in _format_outcomes(one)]
        shown = name if name == "all" else f"`{name}`"
        crossed = sum(one.crossed for one in sums)
        row = (shown, len(of_it) - near, near, *cells, crossed)
        lines.append("| " + " | ".join(map(str, row)) + " |")
    return "\n".join(lines) + "\n"


def _format_outcomes(tally: Tally) -> tuple[str, int, int]:
    right, weaker, wrong = (tally.outcomes[one] for one in Outcome)
    return f"{right} of {right + weaker + wrong}", weaker, wrong


def split_frozen(by_case: CaseTallies) -> dict[str, CaseTallies]:
    """Return the open and the frozen scenarios apart."""
    return {
        name: [(case, one) for case, one in by_case if case.is_frozen == is_frozen]
        for name, is_frozen in (("open", False), ("frozen", True))
    }
