"""Runs commands in ways that need one interpreter, and reports the cost of each run.

Reads one request a line, {"way": ..., "command": [...], "times": n}, and answers each with a line:
{"walls_s": [...], "cpu_s": ..., "began_ns": ..., "returned_ns": ..., "peak_bytes": ...,
"cause": ...}.  The CPU is this process's own, without its children's; the peak is its resident
set's over its whole life; the cause is that of the last verdict, where the way gives one.
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpualert_common.spec import RunSpec

SCRATCH_LOG = "direct.log"


def by_posix_spawn(command: list[str]) -> None:
    """The minimum that starts a process and waits for it."""
    os.waitpid(os.posix_spawn(command[0], command, os.environ), 0)


def by_subprocess(command: list[str]) -> None:
    """The usual call."""
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def to_file(command: list[str]) -> None:
    """``cmd > file 2>&1``."""
    with open(SCRATCH_LOG, "wb") as log:
        subprocess.run(command, stdout=log, stderr=log)


def by_ours(command: list[str]) -> object:
    """``gpualert_common.run`` with every sync."""
    from gpualert_common import run

    return run(command)


def by_ours_unsynced(command: list[str]) -> object:
    """``gpualert_common.run`` with syncing off."""
    from gpualert_common import run

    return run(command, sync=False)


def by_handle(command: list[str]) -> object:
    """A guardian with the handle that engines use."""
    from gpualert_common.guardian import Attempt, RunHandle

    with RunHandle.launch(_spec(command), Attempt((str(time.monotonic_ns()),))) as handle:
        return handle.wait()


def by_following(command: list[str]) -> object:
    """A guardian, with the log view of an engine."""
    from gpualert_common.guardian import Attempt, RunHandle

    with RunHandle.launch(_spec(command), Attempt((str(time.monotonic_ns()),))) as handle:
        for _lines in handle.follow():
            pass
        return handle.wait()


def _spec(command: list[str]) -> "RunSpec":
    from gpualert_common.spec import RunSpec

    return RunSpec(command, state_dir=os.environ["GPUALERT_STATE_DIR"])


def by_peer(command: list[str]) -> None:
    """``run_job`` of the paper's tool."""
    from gpualert.launcher import run_job

    run_job(command)


WAYS: dict[str, Callable[[list[str]], object]] = {
    function.__name__: function
    for function in (
        *(by_posix_spawn, by_subprocess, to_file),
        *(by_ours, by_ours_unsynced, by_handle, by_following, by_peer),
    )
}


def peak_bytes() -> int:
    """Return the peak resident set of this process since it was executed."""
    with open("/proc/self/status", encoding="ascii") as file:
        fields = dict(line.split(":", 1) for line in file)
    return int(fields["VmHWM"].split()[0]) * 1024


def answer(way: str, command: list[str], times: int) -> dict[str, object]:
    """Run the command that often, and report the cost."""
    walls = []
    began_ns = time.time_ns()
    result: object = None
    before = resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(times):
        began = time.perf_counter()
        result = WAYS[way](command)
        walls.append(time.perf_counter() - began)
    returned = time.monotonic_ns()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "walls_s": walls,
        "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "began_ns": began_ns,
        "returned_ns": returned,
        "peak_bytes": peak_bytes(),
        "cause": getattr(getattr(result, "verdict", None), "cause", None),
    }


for request in sys.stdin:
    print(json.dumps(answer(**json.loads(request))), flush=True)
