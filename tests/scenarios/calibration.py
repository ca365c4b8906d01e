"""``python -m tests.scenarios.calibration``: what the open scenarios say about each threshold.

Each threshold that is called calibrated is halved and doubled, and the verdicts on the open
scenarios of the families that use it are compared with the truth.  A threshold that changes nothing
is not calibrated by them.  ``--page`` writes the table to docs/scenarios.md.  Frozen scenarios have
no part in this.
"""

from __future__ import annotations

import argparse
import importlib
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from types import ModuleType

import gpualert_common.diagnose
from gpualert_common import recover
from gpualert_common.codec import encode
from gpualert_common.diagnose import thresholds, training_thresholds
from gpualert_common.diagnose.threshold import CALIBRATED, Threshold
from tests.scenarios.__main__ import write_block
from tests.scenarios.catalogue import CASES, Case, Outcome
from tests.scenarios.every import MODULES

FACTORS = (0.5, 1.0, 2.0)
ROOM = Path(gpualert_common.diagnose.__file__).parent
Outcomes = Counter[tuple[str, float, Outcome]]


def list_calibrated() -> dict[str, ModuleType]:
    """Return the thresholds that are called calibrated, with their modules."""
    return {
        name: module
        for module in (thresholds, training_thresholds)
        for name, value in vars(module).items()
        if isinstance(value, Threshold) and value.source == CALIBRATED
    }


@cache
def find_families(name: str) -> set[str]:
    """Return the families whose modules use that threshold; all, if another module does."""
    families: set[str] = set()
    for path in ROOM.rglob("*.py"):
        if f"thresholds.{name}" in path.read_text():
            parts = ("gpualert_common", "diagnose", *path.relative_to(ROOM).with_suffix("").parts)
            family = getattr(importlib.import_module(".".join(parts)), "FAMILY", None)
            families |= {family} if family else {case.of for case in CASES}
    return families | {"G1"}


def compare_with_others(index: int, variants: int) -> Outcomes:
    """Return the outcomes of a case with each threshold halved, kept and doubled."""
    case, found = CASES[index], Outcomes()
    used = [name for name in list_calibrated() if case.of in find_families(name)]
    for number in range(variants):
        with tempfile.TemporaryDirectory() as home:
            for name, factor, outcome in _compare_each(case, number, Path(home), used):
                found[name, factor, outcome] += 1
    return found


def _compare_each(
    case: Case, number: int, home: Path, used: list[str]
) -> Iterator[tuple[str, float, Outcome]]:
    scene = case.variant(number)
    record = scene.record_after_earlier(home)
    kept = case.compare(scene, encode(recover.classify_logs(record, record.ending)))
    for name in used:
        module = list_calibrated()[name]
        value = vars(module)[name]
        for factor in FACTORS:
            outcome = kept
            if factor != 1:
                setattr(
                    module, name, Threshold(value * factor, value.unit, value.reason, CALIBRATED)
                )
                verdict = encode(recover.classify_logs(record, record.ending))
                outcome = case.compare(scene, verdict)
                setattr(module, name, value)
            yield name, factor, outcome


def format_table(found: Outcomes) -> str:
    """Return the table of the page."""
    columns = ["threshold", "value", *(f"right at {factor:g} times" for factor in FACTORS)]
    columns += [f"wrong at {factor:g} times" for factor in FACTORS]
    lines = ["| " + " | ".join(columns) + " |", "|---|" + "---:|" * (len(columns) - 1)]
    for name, module in list_calibrated().items():
        cells = [found[name, factor, Outcome.RIGHT] for factor in FACTORS]
        cells += [found[name, factor, Outcome.WRONG] for factor in FACTORS]
        shown = f"{float(vars(module)[name]):g}"
        lines.append("| " + " | ".join((f"`{name}`", shown, *map(str, cells))) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the table, and write it to the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variants", type=int, default=3, help="of each open scenario")
    parser.add_argument("--page", action="store_true", help="write it to docs/scenarios.md")
    options = parser.parse_args()
    assert MODULES
    cases = [at for at, case in enumerate(CASES) if not case.is_frozen]
    with ProcessPoolExecutor() as workers:
        each = workers.map(partial(compare_with_others, variants=options.variants), cases)
        found = sum(each, Outcomes())
    text = f"Variants of each open scenario: {options.variants}.\n\n{format_table(found)}"
    print(text)
    if options.page:
        write_block("calibration", text)


if __name__ == "__main__":
    main()
