"""Time until a Prefect task starts its command: ours compared with prefect-shell's.

Measured is the time from the call of the task, which is the same in Prefect for all of them, to the
first action of the command, which prints the time, and to the return of the task, for that command
and for ``true``.  One round calls each once; the record is on a real disk, with its syncs, and the
other settings are the defaults.
"""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tests.benchmarks.engine import report
from tests.benchmarks.measure import Row

COMMAND = "echo $EPOCHREALTIME"
SILENT = "true"
MOST_LONGER_MS = 150.0
"""Promise about the task of a silent command, compared with ShellOperation's."""

OPERATION = "ShellOperation.run in a task"
UNPUBLISHED = "gpualert_run, publish=False"
"""Otherwise it also waits until the API has the artifact; the others make none."""

Sample = tuple[float | None, float]
"""Milliseconds until the command starts, if it prints that, and until the task returns."""
Samples = dict[tuple[str, str], Sample]
"""Samples by way and command."""


def measure(home: Path, rounds: int) -> Row:
    """Measure until the command runs, and until the task of each has returned."""
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
    row = Row("Prefect: from the call of a task to the start of the command, and to its return")
    for way, command in found[0]:
        starts, ends = zip(*(samples[way, command] for samples in found), strict=True)
        if command == COMMAND:
            row.add(f"start, {way}", list(starts), "ms")
        row.add(f"return of {command}, {way}", list(ends), "ms")
    returned = f"return of {SILENT}"
    ours, theirs = (row.entries[f"{returned}, {way}"].median for way in (UNPUBLISHED, OPERATION))
    what = f"{returned}, longer than ShellOperation"
    row.promise(what, ours - theirs, MOST_LONGER_MS, "ms", base=theirs)
    return row


@contextmanager
def ways() -> Iterator[Callable[[], Samples]]:
    """Measure one round of every way, on an ephemeral server."""
    from prefect import flow, task
    from prefect.testing.utilities import prefect_test_harness
    from prefect_gpualert import gpualert_run
    from prefect_shell import ShellOperation, shell_run_command  # type: ignore[import-untyped]

    logging.getLogger("prefect").setLevel(logging.ERROR)

    @task
    def operate(command: str) -> list[str]:
        result: list[str] = ShellOperation(commands=[command]).run()
        return result

    @task
    def bare(command: str) -> str:
        return subprocess.run(["bash", "-c", command], capture_output=True, text=True).stdout

    @flow
    def called() -> Samples:
        ways: dict[str, Callable[[str], Any]] = {
            "subprocess.run in a task": bare,
            OPERATION: operate,
            "gpualert_run": gpualert_run,
            UNPUBLISHED: partial(gpualert_run, publish=False),
        }
        return {
            (name, command): _timed(way, command)
            for command in (COMMAND, SILENT)
            for name, way in ways.items()
        }

    @flow
    async def awaited() -> Samples:
        began = time.time()
        theirs = _sample(began, await shell_run_command(COMMAND))
        began = time.time()
        return {
            ("shell_run_command", COMMAND): theirs,
            ("gpualert_run, awaited", COMMAND): _sample(began, await gpualert_run(COMMAND)),
        }

    with prefect_test_harness(server_startup_timeout=120):
        yield lambda: called() | asyncio.run(awaited())


def _timed(way: Callable[[str], Any], command: str) -> Sample:
    began = time.time()
    return _sample(began, way(command))


def _sample(began: float, result: Any) -> Sample:
    ended = time.time()
    line = "".join(result[-1:] if isinstance(result, list) else result or "")
    start_ms = 1000 * (float(line) - began) if line.strip() else None
    return start_ms, 1000 * (ended - began)


if __name__ == "__main__":
    report(measure)
