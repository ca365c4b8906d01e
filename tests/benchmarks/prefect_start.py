"""Time until a Prefect task starts its command: ours compared with prefect-shell's.

Run with the environment that has Prefect: ``.venv-prefect/bin/python -m
tests.benchmarks.prefect_start``.  The command is bash printing the time: measured is the time from
the call of the task, which is the same in Prefect for all of them, to the first action of the
command.  One round calls each once; the record is on a real disk, with its syncs, and the other
settings are the defaults.
"""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.benchmarks import program
from tests.benchmarks.measure import Row

COMMAND = "echo $EPOCHREALTIME"

Samples = dict[str, tuple[float, float]]
"""Milliseconds, by way, from the call to the command's start, and to the return of the task."""


def measure(home: Path, rounds: int) -> list[Row]:
    """Measure two rows: until the command runs, and until the task has returned."""
    os.environ |= {
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_HOME": f"{home}/prefect",
        "PREFECT_LOGGING_TO_API_ENABLED": "false",
        "PREFECT_LOGGING_LEVEL": "ERROR",
        "GPUALERT_STATE_DIR": f"{home}/state",
    }
    with ways() as one_round:
        one_round()  # imports, connections
        found = [one_round() for _ in range(rounds)]
    started = Row("Prefect: call of the task to start of its command")
    returned = Row("Prefect: call of the task to its return")
    for way in found[0]:
        started.add(way, [samples[way][0] for samples in found], "ms")
        returned.add(way, [samples[way][1] for samples in found], "ms")
    return [started, returned]


@contextmanager
def ways() -> Iterator[Callable[[], Samples]]:
    """Measure one round of every way, on an ephemeral server."""
    from prefect import flow, task
    from prefect.testing.utilities import prefect_test_harness
    from prefect_gpualert import gpualert_run
    from prefect_shell import ShellOperation, shell_run_command  # type: ignore[import-untyped]

    logging.getLogger("prefect").setLevel(logging.ERROR)

    @task
    def operate() -> list[str]:
        result: list[str] = ShellOperation(commands=[COMMAND]).run()
        return result

    @task
    def bare() -> str:
        return subprocess.run(["bash", "-c", COMMAND], capture_output=True, text=True).stdout

    @flow
    def called() -> Samples:
        return {
            "subprocess.run in a task": _timed(bare),
            "ShellOperation.run in a task": _timed(operate),
            "gpualert_run": _timed(lambda: gpualert_run(COMMAND)),
        }

    @flow
    async def awaited() -> Samples:
        began = time.time()
        theirs = _sample(began, await shell_run_command(COMMAND))
        began = time.time()
        return {
            "shell_run_command": theirs,
            "gpualert_run, awaited": _sample(began, await gpualert_run(COMMAND)),
        }

    with prefect_test_harness(server_startup_timeout=120):
        yield lambda: called() | asyncio.run(awaited())


def _timed(call: Callable[[], Any]) -> tuple[float, float]:
    began = time.time()
    return _sample(began, call())


def _sample(began: float, result: Any) -> tuple[float, float]:
    ended = time.time()
    line = result[-1] if isinstance(result, list) else result
    return 1000 * (float(line) - began), 1000 * (ended - began)


if __name__ == "__main__":
    raise SystemExit(program.run(measure, rounds=30))
