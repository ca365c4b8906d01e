"""``python -m tests.scenarios``: the verdicts on many variants of every scenario, as tables.

Each table has a row for each family and a column for each family in a verdict; below it are the
causes, and the health of good runs, where they differ.  ``weaker`` is a verdict for weak evidence:
incomplete, but not wrong.  Verdicts that confuse job and machine are counted separately.

The records of all scenarios are simulated, with all sources and with sources missing at random.
Those that have a length for it also run with real children, some at a time; this needs root for the
kernel's log.  ``--page`` writes the counts of each family to docs/scenarios.md, apart for the third
of the scenarios that is frozen.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tests.scenarios.catalogue import CASES, Case, Outcome, by_family
from tests.scenarios.every import MODULES
from tests.scenarios.real_run import is_playable, play
from tests.scenarios.tally import CaseTallies, Tally, format_table, print_tally, split_frozen
from tests.supervised import Lab
from tests.telemetry.standin.build import library

PAGE = Path(__file__).parents[2] / "docs" / "scenarios.md"
RUNS_AT_ONCE = 24
"""Real runs mostly wait; each uses a core for some seconds at its start and at its end."""


def simulate(index: int, variants: int, *, missing: bool) -> Tally:
    """Return the verdicts on simulated variants of the case with that number."""
    case, found = CASES[index], Tally()
    with tempfile.TemporaryDirectory() as home:
        for number in range(variants):
            scene = case.variant(number, missing=missing)
            found.add(case, scene, scene.verdict(Path(home)))
    return found


def run_real(case: Case, number: int) -> Tally:
    """Return the verdict on a real run of one variant of the case."""
    scene, found = case.real_variant(number), Tally()
    with tempfile.TemporaryDirectory() as home:
        lab = Lab(Path(home))
        try:
            found.add(case, scene, play(scene, lab))
        finally:
            lab.end_everything()
    return found


def list_real_variants(case: Case, count: int) -> list[int]:
    """Return the numbers of the first variants of which a real run can have the evidence."""
    if case.real_s is None:
        return []
    return [at for at in range(4 * count) if is_playable(case.real_variant(at))][:count]


def simulate_all(variants: int, processes: int | None) -> tuple[str, bool]:
    """Print the verdicts on simulated runs; return the table of the page, and whether none confuses
    job and machine."""
    each = [-(-variants // sum(other.of == case.of for other in CASES)) for case in CASES]
    tallies: list[CaseTallies] = []
    with ProcessPoolExecutor(processes) as workers:
        for missing in (False, True):
            tally = partial(simulate, missing=missing)
            found = workers.map(tally, range(len(CASES)), each)
            tallies.append(list(zip(CASES, found, strict=True)))
            print_tally("sources missing" if missing else "all sources", tallies[-1])
    parts = split_frozen(tallies[0]) | {"sources missing": tallies[1]}
    head = f"Simulated variants of each family: {variants}, and at least one of each scenario.\n\n"
    is_good = not any(one.crossed for part in tallies for _case, one in part)
    return head + format_table(parts, CASES), is_good


def run_all_real(variants: int) -> tuple[str, bool]:
    """Print the verdicts on real runs; return the table of the page, and whether none is wrong."""
    assert os.geteuid() == 0, "real runs write lines of the kernel, which needs root"
    library()  # once, before the threads need it
    longest_first = sorted(CASES, key=lambda case: -(case.real_s or 0))
    runs = [(case, at) for case in longest_first for at in list_real_variants(case, variants)]
    with ThreadPoolExecutor(RUNS_AT_ONCE) as workers:
        found = list(workers.map(run_real, *zip(*runs, strict=True)))
    cases = [case for case in CASES if case.real_s is not None]
    by_case = [
        (
            case,
            sum((one for (of, _at), one in zip(runs, found, strict=True) if of is case), Tally()),
        )
        for case in cases
    ]
    print_tally("real children", by_case)
    head = f"Variants of each scenario with a real child: {variants}.\n\n"
    is_good = not any(one.outcomes[Outcome.WRONG] for _case, one in by_case)
    return head + format_table(split_frozen(by_case), cases), is_good


def write_block(name: str, text: str) -> None:
    """Replace one generated block of the page."""
    block = re.compile(rf"(<!-- {name} -->\n).*?(?=<!-- end -->)", re.DOTALL)
    PAGE.write_text(block.sub(lambda found: f"{found[1]}\n{text}", PAGE.read_text()))


def main() -> int:
    """Print the tables, and write them to the page; return 1 where a verdict was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variants", type=int, default=200, help="of each family, simulated")
    parser.add_argument("--real", type=int, default=2, help="variants of each scenario, real")
    parser.add_argument("--processes", type=int, default=None, help="that simulate at once")
    parser.add_argument("--page", action="store_true", help="write the tables of docs/scenarios.md")
    parser.add_argument("--list", action="store_true", help="only list the scenarios")
    options = parser.parse_args()
    assert MODULES
    for family, own, near in by_family():
        print(f"{family}: {len(own)} scenarios, {len(near)} near misses")
        if options.list:
            for title, cases in (("", own), ("not: ", near)):
                names = (f"{one.name}{'' if one.real_s is None else ' (real)'}" for one in cases)
                print(f"  {title}{', '.join(names)}")
    if options.list:
        return 0
    are_good = True
    for name, variants, make in (
        ("simulated", options.variants, partial(simulate_all, processes=options.processes)),
        ("real", options.real, run_all_real),
    ):
        if variants:
            began = time.monotonic()
            text, is_good = make(variants)
            are_good &= is_good
            print(f"{name}: {(time.monotonic() - began) / 60:.1f} minutes", flush=True)
            if options.page:
                write_block(name, text)
    return 0 if are_good else 1


if __name__ == "__main__":
    raise SystemExit(main())
