"""Recovery of runs whose supervisor died.

All from the record alone.  A status nobody was there to take stays unknown and never becomes
success; the log is whole, so the verdict says what it shows.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from typing import Any

from gpualert_common.codec import encode
from gpualert_common.errors import RecordError
from gpualert_common.model import Verdict
from gpualert_common.processes.host import boot_id, host_name, pid_namespace
from gpualert_common.processes.marker import run_marker
from gpualert_common.processes.procfs import read_stat
from gpualert_common.processes.tree import ProcessTree
from gpualert_common.record import EXIT, SPEC, VERDICT, Record
from gpualert_common.spec import Ending
from gpualert_common.supervise.stop import Stop

LIVE_BYTES = 64 << 20
"""Some three seconds' reading."""


def is_alive(record: Record) -> bool:
    """True when processes of a run that nobody supervises are still there."""
    members = tree_of(record).members()
    for process in members:
        process.close()
    return bool(members)


def is_live(record: Record) -> bool:
    """True while the run goes on, supervised or not; a damaged record has no run."""
    try:
        state = record.state
        return state != "ended" and (state != "lost" or is_alive(record))
    except RecordError:
        return False


def tree_of(record: Record) -> ProcessTree:
    """The processes of a run, from what its record says of its leader."""
    launched = record.event("launched") or {}
    pid = launched.get("pid")
    status = read_stat(pid) if isinstance(pid, int) else None
    same = (
        status is not None
        and status.start_ticks == launched.get("start_ticks")
        and record.spec.get("boot_id") == boot_id()
    )
    return ProcessTree(pid if same else None, run_marker(record.run_id))


def elsewhere(record: Record) -> str:
    """Where the processes of a run are, when they cannot be seen from here; empty otherwise.

    That is another host, or another space of process numbers (a container) of the same boot.
    """
    return place_of(record.spec)


def place_of(spec: Mapping[str, Any]) -> str:
    """As :func:`elsewhere`, for the fields of a launch record."""
    if spec.get("host") != host_name():
        return f"host {spec.get('host')}"
    across_hosts = (spec.get("custody") or {}).get("across_hosts")
    if across_hosts and spec.get("boot_id") != boot_id():
        return f"another host called {spec.get('host')}, or an earlier boot of this one"
    if spec.get("boot_id") == boot_id() and spec.get("pid_namespace") != pid_namespace():
        return "another container of this host"
    return ""


def recover(record: Record, *, force: bool = False) -> str:
    """Finish what a dead supervisor left; returns what was found:

    ``complete`` nothing to do, ``supervised`` somebody is at it, ``running`` the processes live on
    unsupervised, ``elsewhere`` they cannot be seen from here (``force``: they are surely gone),
    ``not launched`` nothing to finish, ``recovered`` the record now has its ending and its verdict.
    """
    if record.read_json(EXIT) is not None and record.read_json(VERDICT) is not None:
        return "complete"
    if not record.take():
        return "supervised"
    if record.read_json(SPEC) is None:
        return "not launched"
    ending = record.ending  # read only now: until it let go, a supervisor may have written it
    if ending is None:
        if not force and elsewhere(record):
            return f"elsewhere: on {elsewhere(record)}"
        if is_alive(record):
            return "running"
        ending = last_known(record)
        _note(record, "recovered", by_pid=os.getpid())
        record.store(EXIT, {**ending.to_json(), "survivors": []}, sync=True)
    record.store(VERDICT, encode(judge(record, ending)))
    record.release_spare()
    _remember(record)
    return "recovered"


def _remember(record: Record) -> None:
    from gpualert_common.history import remember  # most runs need none

    problem = remember(record)
    if problem:
        _note(record, "history", problem=problem)


def _note(record: Record, event: str, **fields: Any) -> None:
    try:
        record.append_event(event, **fields)
    except OSError as error:
        if error.errno is None:
            raise  # an engine's time-out, which may land here
        # A full disk: what is told here is a help, and not the ending.


def judge(record: Record, ending: Ending | None) -> Verdict:
    """The verdict of a record's logs; without an ending, of a run that goes on.

    Of the logs of a run that goes on only begin and end are read: somebody waits.
    """
    from gpualert_common.classifier import (
        RunClassifier,  # with it comes the classifier; most runs need none
    )

    reader = RunClassifier(record.spec, record)
    path = None
    for name in record.logs:
        path = record.log_path(name)
        try:
            reader.feed_file(path, name, LIVE_BYTES if ending is None else None)
        except FileNotFoundError:
            continue
    facts = {
        "log_path": path,
        "log_disk_full": record.event("log_disk_full") is not None,
        "survivors": (record.read_json(EXIT) or {}).get("survivors", []),
    }
    return reader.conclude(ending, facts)


def stop_unsupervised(
    record: Record, grace_s: float, sender: dict[str, Any] | None = None
) -> list[int]:
    """End the processes of a run that nobody supervises; returns the ids of those left."""
    sender = {"pid": os.getpid()} if sender is None else sender
    _note(record, "stopping", signal=int(signal.SIGTERM), sender=sender)
    stop = Stop(tree_of(record), signal.SIGTERM, grace_s, time.monotonic())
    return [pid for pid, _start in stop.complete()]


def end_abandoned(record: Record, grace_s: float) -> None:
    """End what lives of a run whose guardian died, on nobody's word, and finish its record."""
    if is_alive(record):
        because = "its guardian died"
        sender = {"pid": os.getpid(), "meant_as": "preempted", "because": because}
        stop_unsupervised(record, grace_s, sender)
    recover(record)


def last_known(record: Record) -> Ending:
    """How a lost run ended, as far as it was written down before its supervisor died."""
    launched = record.event("launched") or {}
    ending = Ending(launched.get("at") or record.spec.get("created_at") or 0.0)
    ending.pid = launched.get("pid")
    exited = record.event("leader_exited")
    if exited is not None:
        ending.code = exited.get("code")
        ending.ended_at = exited.get("at")
    stopping = record.event("stopping")
    if stopping is not None:
        ending.signal = stopping.get("signal")
        ending.sender = stopping.get("sender")
    if record.event("time_limit") is not None:
        ending.limit = "time"
    return ending
