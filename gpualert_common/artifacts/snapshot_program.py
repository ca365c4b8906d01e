"""Program that lists the run's working directory right after the launch.

It is started with the path of the record (:mod:`gpualert_common.processes.program`), writes
``baseline.json`` into the record, and prints nothing.  The kernel kills it at its deadline; its
failures do not affect the run.  Without ``baseline.json``, new files are recognized by their times.
"""

from __future__ import annotations

import os
import resource
import signal

NICENESS = 10
"""The training goes first, for the CPU and for the disk."""
MOST_MEMORY_BYTES = 512 << 20
GRACE_S = 2


def write_snapshot(path: str) -> None:
    """List the files of the run of the record at ``path`` and store the baseline."""
    from gpualert_common.artifacts import search, snapshot
    from gpualert_common.record import Record

    record = Record.open(path)
    fields = record.spec_fields()  # to import LaunchRecord takes longer than all the rest
    found = search.find_files(
        fields.get("cwd"),
        (fields.get("alerts") or {}).get("artifacts") or (),
        deadline_s=search.DEADLINE_S,
        most=snapshot.MOST_FILES,
        skip=search.find_own_folders(record),
    )
    snapshot.write_baseline(record, found)


def limit_resources(seconds: int) -> None:
    """Limit the priority, the memory, and the lifetime of this process."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.alarm(seconds)
    os.nice(NICENESS)
    _soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or hard > MOST_MEMORY_BYTES:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, hard))
    os.chdir("/")


def main(record_path: str) -> None:
    """Write the baseline of one run and exit."""
    try:
        limit_resources(2 + GRACE_S)
        nothing = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(nothing, fd)
        write_snapshot(record_path)
    except Exception:  # noqa: BLE001 - the boundary: nothing waits for this process
        os._exit(1)
    os._exit(0)
