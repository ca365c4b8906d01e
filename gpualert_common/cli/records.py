"""``gpualert runs | show | follow``: reading records, of live runs and of old ones."""

from __future__ import annotations

import argparse
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
from gpualert_common.spec import SCHEMA

_POLL_S = 0.1
_FOLLOW_CHUNK_BYTES = 1 << 16
_LIVE = ("starting", "running", "stopping")


def runs(options: argparse.Namespace) -> int:
    """List the runs, oldest first."""
    rows = []
    for record in store.records(state_dir(options)):
        try:
            rows.append(_summary(record))
        except GPUAlertError as error:
            rows.append({"run_id": record.run_id, "state": "damaged", "problem": str(error)})
    if options.json:
        print(json.dumps({"schema": SCHEMA, "runs": rows}))
        return 0
    for row in rows:
        print(_row(row))
    if not rows:
        print("no runs yet", file=sys.stderr)
    return 0


def show(options: argparse.Namespace) -> int:
    """Show one run: what was asked, how it ended, and why; of a live one, what its log says so far.

    ``--json`` gives the verdict as it was written down, null while there is none.
    """
    record = store.find(options.run, state_dir(options))
    verdict = record.read_json(VERDICT)
    summary = _summary(record)
    if options.json:
        value = {
            "schema": SCHEMA,
            **summary,
            "spec": record.spec,
            "exit": record.read_json(EXIT),
            "verdict": verdict,
            "events": list(record.events()),
        }
        print(json.dumps(value))
        return 0
    name = f"  ({printable(summary['name'])})" if summary["name"] else ""
    print(f"run     {record.run_id}{name}")
    print(f"command {printable(shlex.join(summary['command']))}")
    print(f"state   {summary['state']}, started {_time(summary['started_at'])}")
    print(f"record  {record.path}")
    if summary["state"] == "lost":
        print("its supervisor died; finish the record with: gpualert recover " + record.run_id)
    elif summary["state"] in _LIVE:
        verdict = recovery.judge(record, None)
    if verdict is not None:
        print("\n".join(report.full(verdict)))
    return 0


def follow(options: argparse.Namespace) -> int:
    """Print the log from its start until the run has ended; Ctrl-C ends only the printing."""
    record = store.find(options.run, state_dir(options))
    fds = [record.open_log(name) for name in record.logs]
    offsets = [0] * len(fds)
    try:
        while True:
            ended = not recovery.is_live(record)
            printed = 0
            for index, fd in enumerate(fds):
                if os.fstat(fd).st_size < offsets[index]:
                    offsets[index] = 0  # truncated: it goes on at its start
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


def state_dir(options: argparse.Namespace) -> str | None:
    """Where to look first, by flag or configuration."""
    value: str | None = config.load({"state_dir": options.state_dir})["state_dir"].value
    return value


def printable(text: str) -> str:
    """``text`` on one line and without control characters, which a terminal would obey."""
    return "".join(char if char.isprintable() else "?" for char in " ".join(text.split()))


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
        return f"{row['run_id']}  damaged   {printable(row['problem'])}"
    code = "-" if row["exit_code"] is None else str(row["exit_code"])
    told = row["cause"] or ""
    what = printable(row["name"] or shlex.join(row["command"]))
    return (
        f"{row['run_id']}  {_time(row['started_at'])}  {row['state']:8} {code:>4}  {told:18} "
        f"{what[:60]}"
    )


def _time(at: float | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) if at else "-"
