"""``python -m tests.upstream``: the tests of an engine's own operator, with ours in its place.

Two controls are also run: the engine's own operator, which must pass all tests, as proof that our
replacements of the authors' fixtures work; and one that loses its result, which must fail some
tests of each file, as proof that the tests use the class.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from tests.upstream.fetch import NotFetchedError, source
from tests.upstream.outcome import Outcome
from tests.upstream.suite import SUITES, Suite

CLASSES = ("gpualert", "own", "broken")


def main() -> int:
    """Run the requested tests and print a table; return 1 if an outcome is wrong."""
    parser = _parser()
    options = vars(parser.parse_args())
    if all(options[suite.engine] is None for suite in SUITES):
        parser.error("no interpreter is named, so there is nothing to run")
    rows: list[str] = []
    all_met = True
    for suite in SUITES:
        python = options[suite.engine]
        if python is None:
            continue
        version = _installed(python, suite.distribution)
        rows.append(f"\n=== the tests of {suite.distribution} {version}, by class")
        try:
            tests = source(suite.distribution, version)
        except NotFetchedError as error:
            print(error, file=sys.stderr)
            return 1
        for name in options["classes"] or CLASSES:
            all_met &= _run(suite, python, tests, suite.own if name == "own" else name, rows)
    print(*rows, sep="\n")
    return 0 if all_met else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.upstream",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for suite in SUITES:
        what = f"run {suite.engine}'s, with this interpreter, which has it and ours"
        parser.add_argument(f"--{suite.engine}", type=Path, metavar="PYTHON", help=what)
    parser.add_argument(
        "--class", dest="classes", action="append", choices=CLASSES, help="only with this class"
    )
    return parser


def _installed(python: Path, distribution: str) -> str:
    """Return the version of a distribution in another interpreter's environment."""
    code = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"
    command = [str(python), "-c", code, distribution]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _run(suite: Suite, python: Path, tests: Path, name: str, rows: list[str]) -> bool:
    """Run the tests with this class and add a row for each file; return True if all is right."""
    print(f"\n--- {suite.engine}: {name}", flush=True)
    began = time.monotonic()
    outcomes = suite.run(python, tests, name)
    took_s = time.monotonic() - began
    all_met = True
    for file, count in suite.tests.items():
        found = outcomes[file]
        met = _is_met(name, count, found)
        all_met &= met
        rows.append(f"{name:<9} {file:<44} {len(found.passed)} of {count} passed")
        if not met:
            ran = len(found.passed) + len(found.failed) + len(found.other)
            rows.append(f"  WRONG: {ran} in all; failed: {found.failed}; neither: {found.other}")
    rows[-1] += f"  ({took_s:.0f} s)"
    return all_met


def _is_met(name: str, count: int, found: Outcome) -> bool:
    """True when each of the ``count`` tests was run, with the outcome of the class."""
    if len(found.passed) + len(found.failed) != count or found.other:
        return False
    return bool(found.failed) == (name == "broken")


if __name__ == "__main__":
    sys.exit(main())
