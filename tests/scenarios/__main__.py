"""``python -m tests.scenarios``: the verdicts on many variants of every scenario, as tables.

Each table has a row for each family and a column for each family in a verdict.  A second table
shows causes where they differ.  Both are repeated with sources missing at random.  ``less`` means a
weaker verdict for weak evidence: incomplete, but not wrong.  Verdicts that confuse job and machine
are counted separately.  ``--page`` writes the counts of each family to docs/scenarios.md, apart for
the third of the scenarios that is frozen.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.scenarios.catalogue import CASES, Case, by_family, is_crossed, side_of
from tests.scenarios.every import MODULES

PAGE = Path(__file__).parents[2] / "docs" / "scenarios.md"
BLOCK = re.compile(r"(<!-- scenarios -->\n).*?(?=<!-- end -->)", re.DOTALL)


@dataclass
class Tally:
    """Verdicts on the variants of one case: (true, found) for families and for causes."""

    families: Counter[tuple[str, str]] = field(default_factory=Counter)
    causes: Counter[tuple[str, str]] = field(default_factory=Counter)
    right: int = 0
    less: int = 0
    crossed: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.families + other.families,
            self.causes + other.causes,
            self.right + other.right,
            self.less + other.less,
            self.crossed + other.crossed,
        )


def tally_case(index: int, variants: int, *, missing: bool) -> Tally:
    """Return the verdicts on the variants of the case with that number."""
    case, found = CASES[index], Tally()
    with tempfile.TemporaryDirectory() as home:
        for number in range(variants):
            scene = case.variant(number, missing=missing)
            verdict = scene.verdict(Path(home))
            cause, family = verdict["cause"], verdict["family"]
            true = case.family_of(scene)
            found.families[true or "-", family or "-"] += 1
            found.causes[scene.cause, cause] += 1
            right = (cause, family) == (scene.cause, true)
            found.right += right
            found.less += not right and cause in case.weaker
            found.crossed += is_crossed(side_of(scene.cause), verdict["attribution"])
    return found


def table(pairs: Counter[tuple[str, str]], corner: str) -> str:
    """Return a table: rows are true values, columns are values in verdicts."""
    rows = sorted({true for true, _ in pairs})
    columns = sorted({found for _, found in pairs})
    width = max(len(row) for row in (*rows, corner)) + 2
    lines = [corner.rjust(width) + "".join(column.rjust(5) for column in columns)]
    for row in rows:
        cells = [str(pairs[row, column] or ".").rjust(5) for column in columns]
        lines.append(row.rjust(width) + "".join(cells))
    return "\n".join(lines)


def tally_all(
    run: Callable[..., Iterable[Tally]], variants: int, *, missing: bool
) -> list[tuple[Case, Tally]]:
    """Print the verdicts on all cases and return them by case.

    Wrong verdicts on frozen scenarios are counted in the tables, but not listed.
    """
    each = [-(-variants // sum(other.of == case.of for other in CASES)) for case in CASES]
    found = list(run(partial(tally_case, missing=missing), range(len(CASES)), each))
    by_case = list(zip(CASES, found, strict=True))
    whole = sum(found, Tally())
    print("with sources missing at random" if missing else "with all sources")
    print(table(whole.families, "true / found"))
    for case, one in by_case:
        for (true, other), count in sorted(one.causes.items()):
            if true != other and not case.is_frozen:
                print(f"  {case.name}: {true} reported as {other}: {count}")
    print(
        f"{whole.right} of {whole.causes.total()} right, {whole.less} weaker than the truth; "
        f"{whole.crossed} times job and machine confused"
    )
    return by_case


def format_page(complete: list[tuple[Case, Tally]], reduced: list[tuple[Case, Tally]]) -> str:
    """Return the table of the page: a row for each family, and one for all."""
    of_each = ("right", "weaker", "wrong")
    columns = ["family", "scenarios", "near misses"]
    columns += [
        f"{part}: {name}" for part in ("open", "frozen", "sources missing") for name in of_each
    ]
    columns += ["job and machine confused"]
    lines = ["| " + " | ".join(columns) + " |", "|---|" + "---:|" * (len(columns) - 1)]
    families = sorted({case.of for case in CASES})
    for name in (*families, "all"):
        cases = [case for case in CASES if name in (case.of, "all")]
        near = sum(case.is_near_miss for case in cases)
        parts = [
            [one for case, one in complete if case in cases and not case.is_frozen],
            [one for case, one in complete if case in cases and case.is_frozen],
            [one for case, one in reduced if case in cases],
        ]
        cells = [cell for part in parts for cell in _cells(sum(part, Tally()))]
        both = [one.crossed for case, one in (*complete, *reduced) if case in cases]
        shown = name if name == "all" else f"`{name}`"
        row = (shown, len(cases) - near, near, *cells, sum(both))
        lines.append("| " + " | ".join(map(str, row)) + " |")
    return "\n".join(lines) + "\n"


def _cells(tally: Tally) -> tuple[str, int, int]:
    total = tally.causes.total()
    return f"{tally.right} of {total}", tally.less, total - tally.right - tally.less


def main() -> int:
    """Print the tables; return 1 if a verdict confuses job and machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variants", type=int, default=200, help="of each family")
    parser.add_argument("--processes", type=int, default=None, help="that run at once")
    parser.add_argument("--page", action="store_true", help="write the table of docs/scenarios.md")
    parser.add_argument("--list", action="store_true", help="only list the scenarios")
    options = parser.parse_args()
    assert MODULES
    for family, own, near in by_family():
        print(f"{family}: {len(own)} scenarios, {len(near)} near misses")
        if options.list:
            print("  " + ", ".join(case.name for case in own))
            print("  not: " + ", ".join(case.name for case in near))
    if options.list:
        return 0
    with ProcessPoolExecutor(options.processes) as workers:
        complete, reduced = (
            tally_all(workers.map, options.variants, missing=gone) for gone in (False, True)
        )
    if options.page:
        text = (
            f"Variants of each family: {options.variants}, and at least one of each scenario.\n\n"
        )
        text += format_page(complete, reduced)
        PAGE.write_text(BLOCK.sub(lambda found: f"{found[1]}\n{text}", PAGE.read_text()))
    return 1 if any(one.crossed for _case, one in (*complete, *reduced)) else 0


if __name__ == "__main__":
    raise SystemExit(main())
