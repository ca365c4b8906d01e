"""A benchmark as a separate program, for the environment of an engine."""

from __future__ import annotations

import argparse
import compileall
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.benchmarks.measure import Row, text_of

ROOT = Path(__file__).parents[2]
PACKAGES = ("gpualert_common", "airflow_provider", "prefect_collection")


def run(measure: Callable[[Path, int], Sequence[Row]], *, rounds: int) -> int:
    """Measure in a directory on a real disk and print; return 1 if a limit is exceeded.

    The command line may ask for another number of rounds, and for the figures in a file.
    """
    spec = sys.modules["__main__"].__spec__
    parser = argparse.ArgumentParser(prog=f"python -m {spec.name}" if spec else None)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--json", type=Path, metavar="FILE", help="store the figures too")
    options = parser.parse_args()
    for package in PACKAGES:  # an installed one is compiled, a checkout not always
        compileall.compile_dir(ROOT / package, quiet=1)
    (ROOT / ".bench").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / ".bench") as scratch:
        rows = measure(Path(scratch), options.rounds)
    for row in rows:
        print(text_of(row) + "\n")
    if options.json is not None:
        content = {"schema": 1, "rows": [row.to_json() for row in rows]}
        options.json.write_text(json.dumps(content, indent=1) + "\n")
    return 0 if all(limit.met for row in rows for limit in row.limits) else 1
