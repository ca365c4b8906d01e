"""Records of runs: how the commands find and print them."""

from __future__ import annotations

import argparse
import time
from typing import Any

from gpualert_common.record import Record
from gpualert_common.recover import locate
from gpualert_common.report.wording import describe_place
from gpualert_common.settings import load_settings


def state_dir(options: argparse.Namespace) -> str | None:
    """Return the state directory of the flag or the configuration, None without one."""
    value: str | None = load_settings({"state_dir": options.state_dir})["state_dir"].value
    return value


def format_place(record: Record) -> str:
    """Return the place of a run that is not visible from here, in words."""
    spec = record.spec
    return describe_place(locate(spec), spec.host)


def printable(text: str) -> str:
    """Return *text* on one line, without control characters."""
    return "".join(char if char.isprintable() else "?" for char in " ".join(text.split()))


def summarize(record: Record) -> dict[str, Any]:
    """Return the fields of a run in a list.  Raises RecordError."""
    spec = record.spec
    ending = record.ending
    verdict = record.verdict
    return {
        "run_id": record.run_id,
        "name": spec.name,
        "state": record.state,
        "command": spec.command,
        "path": record.path,
        "logs": [record.log_path(name) for name in record.logs],
        "pid": record.leader_pid if ending is None else None,
        "started_at": ending.started_at if ending else spec.created_at or None,
        "ended_at": ending.ended_at if ending else None,
        "exit_code": ending.exit_code if ending else None,
        "disposition": verdict and str(verdict.disposition),
        "cause": verdict and verdict.cause,
        "headline": verdict and verdict.headline,
    }


def format_time(at: float | None) -> str:
    """Return a time to the second, in local time."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) if at else "-"


def read_content(record: Record, name: str) -> bytes:
    """Return the content of a file in the record; empty when the file is missing."""
    try:
        with open(record.open_log(name), "rb") as file:
            return file.read()
    except OSError:
        return b""  # a short run, or one of an early release, has no index
