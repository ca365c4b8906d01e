"""Benchmarks that need an engine: each is a program in the environment of that engine."""

from __future__ import annotations

import compileall
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from tests.benchmarks.bench import ROOT, Bench
from tests.benchmarks.measure import Row, UnmeasuredError

PACKAGES = ("gpualert_common", "airflow_provider", "prefect_collection")


def in_engine(module: str, rounds: int) -> Callable[[Bench], Row]:
    """Return the measurement that ``tests/benchmarks/MODULE.py`` makes in its engine."""
    environment = f".venv-{module.partition('_')[0]}"

    def measure(bench: Bench) -> Row:
        python = ROOT / environment / "bin" / "python"
        if not python.exists():
            raise UnmeasuredError(
                f"there is no {environment}; `make {environment}/.ready` makes it"
            )
        for package in PACKAGES:  # an installed one is compiled, a checkout not always
            compileall.compile_dir(ROOT / package, quiet=1)
        answer = bench.notes / f"{module}.json"
        arguments = [str(bench.scratch), str(bench.amount(rounds, 1)), str(answer)]
        command = [str(python), "-m", f"tests.benchmarks.{module}", *arguments]
        subprocess.run(command, cwd=ROOT, env=bench.environment, check=True)
        return msgspec.json.decode(answer.read_bytes(), type=Row)

    return measure


def report(measure: Callable[[Path, int], Row]) -> None:
    """Measure in that environment: the command line names a folder, the rounds and the answer."""
    home, rounds, answer = sys.argv[1:]
    Path(answer).write_bytes(msgspec.json.encode(measure(Path(home), int(rounds))))
