"""The look after launch: which files stand in the run's working directory.

Started with the path of the record (:mod:`gpualert_common.processes.program`).  It writes
``baseline.json`` into the record and prints nothing.  The kernel kills it when its time is up; no
fault of it reaches the run.  Without ``baseline.json``, new files are recognised by their times.
"""

from __future__ import annotations

import os
import resource
import signal

NICENESS = 10
"""A training that takes every core still leaves us some time; disks serve us after it, too."""
MOST_MEMORY_BYTES = 512 << 20
GRACE_S = 2


def take_snapshot(path: str) -> None:
    """Survey the run of the record at ``path`` and write its baseline."""
    from gpualert_common.artifacts import search, snapshot
    from gpualert_common.record import Record

    record = Record.open(path)
    spec = record.spec
    found = search.survey(
        spec.get("cwd"),
        search.globs_of(spec),
        deadline_s=search.DEADLINE_S,
        most=snapshot.MOST_FILES,
        skip=search.own_folders(record),
    )
    snapshot.write_baseline(record, found)


def restrain(seconds: int) -> None:
    """Bound what this process can take: its priority, its memory, and its life."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.alarm(seconds)
    os.nice(NICENESS)
    _soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or hard > MOST_MEMORY_BYTES:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, hard))
    os.chdir("/")


def main(record_path: str) -> None:
    """Write the snapshot of one run; exits, never returns."""
    try:
        restrain(2 + GRACE_S)
        nothing = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(nothing, fd)
        take_snapshot(record_path)
    except Exception:  # noqa: BLE001 - the boundary: nobody waits for us, and nobody listens
        os._exit(1)
    os._exit(0)
