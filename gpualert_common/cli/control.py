"""``gpualert stop | recover``: acting on runs, through their records alone."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import sys
import time
from typing import Any

from gpualert_common import config, record_locations
from gpualert_common import recover as recovery
from gpualert_common.cli.records import state_dir
from gpualert_common.errors import GPUAlertError, UsageError
from gpualert_common.model import RecoveryOutcome
from gpualert_common.notify.sender_launch import dispatch
from gpualert_common.notify.status_text import format_status
from gpualert_common.notify.undelivered import is_undelivered
from gpualert_common.record import Record
from gpualert_common.report.wording import describe_place
from gpualert_common.spec import SCHEMA
from gpualert_common.supervise.stop import KILLING_S, LAST_CALL_S

_COMPLETE, _RECOVERED = RecoveryOutcome.COMPLETE, RecoveryOutcome.RECOVERED
_ELSEWHERE = RecoveryOutcome.ELSEWHERE
_POLL_S = 0.1
_STOP_MARGIN_S = 5.0


def stop(options: argparse.Namespace) -> int:
    """End a run gracefully and wait until it has ended; 1 when there was nothing to end."""
    record = _live_run(options)
    grace_s = record.spec.get("grace_s") or 0.0
    if options.grace is not None:
        grace_s = config.load({"grace": options.grace})["grace"].value
    if record.state == "ended":
        return _answer(options, record, "already ended", 1)
    if recovery.is_far(record):
        raise UsageError(f"{record.run_id} runs on {_place(record)}; stop it there")
    if record.state != "lost":
        _ask_to_stop(record, grace_s)
    if record.state == "lost":
        return _stop_unsupervised(options, record, grace_s)
    ending = record.ending
    if ending is None:
        return _answer(options, record, "asked to stop, but still running", 1)
    by_itself = ending.signal is None and ending.limit is None
    return _answer(options, record, "ended by itself" if by_itself else "ended", 0)


def recover(options: argparse.Namespace) -> int:
    """Finish abandoned records: one, or all there are."""
    rows: list[dict[str, Any]] = []
    found: RecoveryOutcome | None
    failed = False
    deadline_s = config.load({})["notify_deadline"].value
    records = (
        record_locations.records(state_dir(options))
        if options.run is None
        else [record_locations.find(options.run, state_dir(options))]
    )
    for record in records:
        try:
            found = recovery.recover(record, force=options.force)
            outcome = f"{found}: on {_place(record)}" if found is _ELSEWHERE else str(found)
        except (GPUAlertError, OSError) as error:
            failed, found = True, None
            outcome = f"failed: {error}"
        alerts = []
        if found is _RECOVERED or (found is _COMPLETE and is_undelivered(record.path)):
            alerts = [
                format_status(fields) for fields in dispatch(record.path, deadline_s=deadline_s)
            ]
        if found is not _COMPLETE or options.run is not None or alerts:
            rows.append({"run_id": record.run_id, "outcome": outcome, "alerts": alerts})
    if options.json:
        print(json.dumps({"schema": SCHEMA, "records": rows}))
        return int(failed)
    for row in rows:
        print("\n".join([f"{row['run_id']}  {row['outcome']}", *_indented(row["alerts"])]))
    if not rows:
        print("nothing to recover", file=sys.stderr)
    return int(failed)


def _place(record: Record) -> str:
    """Return the place of a run that cannot be seen from here, in words."""
    return describe_place(recovery.locate(record.spec), record.spec.get("host"))


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _live_run(options: argparse.Namespace) -> Record:
    """The run that is meant; without a name the only one that lives, or else the last."""
    if options.run is not None:
        return record_locations.find(options.run, state_dir(options))
    live = [
        record.run_id
        for record in record_locations.records(state_dir(options))
        if recovery.is_in_progress(record)
    ]
    if len(live) > 1:
        raise UsageError(f"{len(live)} runs live: {', '.join(live)}; name the one to stop")
    return record_locations.find(live[0] if live else "last", state_dir(options))


def _ask_to_stop(record: Record, grace_s: float) -> None:
    """Ask the supervisor, and wait until it has ended the run or died."""
    sender = {"pid": os.getpid(), "uid": os.getuid(), "command": "gpualert stop", "user": _user()}
    record.request("stop", grace_s=grace_s, sender=sender)
    deadline = time.monotonic() + grace_s + LAST_CALL_S + KILLING_S + _STOP_MARGIN_S
    while record.state not in ("ended", "lost") and time.monotonic() < deadline:
        time.sleep(_POLL_S)


def _stop_unsupervised(options: argparse.Namespace, record: Record, grace_s: float) -> int:
    if not recovery.has_processes(record):
        return _answer(options, record, "not running; its supervisor died", 1)
    left = recovery.stop_unsupervised(record, grace_s)
    if left:
        return _answer(options, record, f"{len(left)} processes left", 1)
    recovery.recover(record)
    return _answer(options, record, "ended", 0)


def _answer(options: argparse.Namespace, record: Record, text: str, status: int) -> int:
    if options.json:
        print(json.dumps({"schema": SCHEMA, "run_id": record.run_id, "outcome": text}))
    else:
        print(f"{record.run_id}  {text}")
    return status


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
