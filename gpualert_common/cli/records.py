"""``gpualert runs | show | follow | stop | recover``: all from the records alone."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import shlex
import sys
import time
from typing import Any

from gpualert_common import config, report, store
from gpualert_common import recover as recovery
from gpualert_common.errors import GPUAlertError
from gpualert_common.record import EXIT, VERDICT, Record
from gpualert_common.supervise.stop import KILLING_S, LAST_CALL_S

_POLL_S = 0.1
_FOLLOW_CHUNK_BYTES = 1 << 16
_STOP_MARGIN_S = 5.0


def runs(options: argparse.Namespace) -> int:
    """List the runs, oldest first."""
    rows = []
    for record in store.records(_state_dir(options)):
        try:
            rows.append(_summary(record))
        except GPUAlertError as error:
            rows.append({"run_id": record.run_id, "state": "damaged", "problem": str(error)})
        finally:
            record.close()
    if options.json:
        print(json.dumps({"schema": 1, "runs": rows}, ensure_ascii=False))
        return 0
    for row in rows:
        print(_row(row))
    if not rows:
        print("no runs yet", file=sys.stderr)
    return 0


def show(options: argparse.Namespace) -> int:
    """Show one run: what was asked, how it ended, and why."""
    record = store.find(options.run, _state_dir(options))
    verdict = record.read_json(VERDICT)
    if options.json:
        value = {
            "schema": 1,
            **_summary(record),
            "spec": record.spec,
            "exit": record.read_json(EXIT),
            "verdict": verdict,
            "events": list(record.events()),
        }
        print(json.dumps(value, ensure_ascii=False))
        return 0
    summary = _summary(record)
    print(f"run     {record.run_id}" + (f"  ({summary['name']})" if summary["name"] else ""))
    print(f"command {shlex.join(summary['command'])}")
    print(f"state   {summary['state']}, started {_time(summary['started_at'])}")
    print(f"record  {record.path}")
    if summary["state"] == "lost":
        print("its supervisor died; finish the record with: gpualert recover " + record.run_id)
    if verdict is not None:
        print("\n".join(report.full(verdict)))
    return 0


def follow(options: argparse.Namespace) -> int:
    """Print the log from its start until the run has ended; Ctrl-C ends only the printing."""
    record = store.find(options.run, _state_dir(options))
    names = record.logs
    fds = [record.open_log(name) for name in names]
    offsets = [0] * len(fds)
    try:
        while True:
            ended = record.state in ("ended", "lost")
            printed = 0
            for index, fd in enumerate(fds):
                while data := os.pread(fd, _FOLLOW_CHUNK_BYTES, offsets[index]):
                    sys.stdout.buffer.write(data)
                    offsets[index] += len(data)
                    printed += len(data)
            sys.stdout.buffer.flush()
            if ended and not printed:
                return 0
            if not printed:
                time.sleep(_POLL_S)
    except KeyboardInterrupt:
        return 130


def stop(options: argparse.Namespace) -> int:
    """End a run gracefully and wait until it has ended; 1 when there was nothing to end."""
    record = store.find(options.run, _state_dir(options))
    grace_s = record.spec.get("grace_s") or 0.0
    if options.grace is not None:
        grace_s = config.load({"grace": options.grace})["grace"].value
    state = record.state
    if state == "ended":
        return _answer(options, record, "already ended", 1)
    if state == "lost":
        if not recovery.is_alive(record):
            return _answer(options, record, "not running; its supervisor died", 1)
        left = recovery.stop_unsupervised(record, grace_s)
        recovery.recover(record)
        return _answer(
            options, record, f"{len(left)} processes left" if left else "ended", bool(left)
        )
    sender = {"pid": os.getpid(), "uid": os.getuid(), "command": "gpualert stop", "user": _user()}
    record.request("stop", grace_s=grace_s, sender=sender)
    deadline = time.monotonic() + grace_s + LAST_CALL_S + KILLING_S + _STOP_MARGIN_S
    while record.state not in ("ended", "lost"):
        if time.monotonic() > deadline:
            return _answer(options, record, "asked to stop, but still running", 1)
        time.sleep(_POLL_S)
    return _answer(options, record, "ended", 0)


def recover(options: argparse.Namespace) -> int:
    """Finish abandoned records: one, or all there are."""
    state_dir = _state_dir(options)
    if options.run is not None:
        found = [store.find(options.run, state_dir)]
    else:
        found = store.records(state_dir)
    rows = []
    failed = False
    for record in found:
        try:
            outcome = recovery.recover(record)
        except (GPUAlertError, OSError) as error:
            failed = True
            outcome = f"failed: {error}"
        finally:
            record.close()
        if outcome != "complete" or options.run is not None:
            rows.append({"run_id": record.run_id, "outcome": outcome})
    if options.json:
        print(json.dumps({"schema": 1, "records": rows}, ensure_ascii=False))
    for row in () if options.json else rows:
        print(f"{row['run_id']}  {row['outcome']}")
    if not rows and not options.json:
        print("nothing to recover", file=sys.stderr)
    return int(failed)


def _summary(record: Record) -> dict[str, Any]:
    spec = record.spec
    ending = record.ending
    verdict = record.read_json(VERDICT) or {}
    launched = record.event("launched")
    return {
        "run_id": record.run_id,
        "name": spec.get("name"),
        "state": record.state,
        "command": spec.get("command"),
        "path": record.path,
        "logs": [record.log_path(name) for name in record.logs],
        "pid": launched.get("pid") if launched and ending is None else None,
        "started_at": ending.started_at if ending else spec.get("created_at"),
        "ended_at": ending.ended_at if ending else None,
        "exit_code": ending.exit_code if ending else None,
        "disposition": verdict.get("disposition"),
        "cause": verdict.get("cause"),
        "headline": verdict.get("headline"),
    }


def _row(row: dict[str, Any]) -> str:
    if "problem" in row:
        return f"{row['run_id']}  damaged   {row['problem']}"
    code = "-" if row["exit_code"] is None else str(row["exit_code"])
    told = row["cause"] or ""
    command = " ".join(shlex.join(row["command"]).split())
    return (
        f"{row['run_id']}  {_time(row['started_at'])}  {row['state']:8} {code:>4}  {told:18} "
        f"{row['name'] or command[:60]}"
    )


def _answer(options: argparse.Namespace, record: Record, text: str, status: int) -> int:
    if options.json:
        print(json.dumps({"schema": 1, "run_id": record.run_id, "outcome": text}))
    else:
        print(f"{record.run_id}  {text}")
    return int(status)


def _state_dir(options: argparse.Namespace) -> str | None:
    value: str | None = config.load({"state_dir": options.state_dir})["state_dir"].value
    return value


def _time(at: float | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) if at else "-"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
