"""``gpualert follow``, and what lists and pages say of a record."""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import Any

from gpualert_common import config, record_locations
from gpualert_common import recover as recovery
from gpualert_common.record import Record

_POLL_S = 0.1
_FOLLOW_CHUNK_BYTES = 1 << 16


def follow(options: argparse.Namespace) -> int:
    """Print the log from its start until the run has ended; Ctrl-C ends only the printing."""
    record = record_locations.find(options.run, state_dir(options))
    fds = [record.open_log(name) for name in record.logs]
    offsets = [0] * len(fds)
    try:
        while True:
            ended = not recovery.is_in_progress(record)
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


def summarize(record: Record) -> dict[str, Any]:
    """What a list says of a run.  Raises RecordError."""
    spec = record.spec
    ending = record.ending
    verdict = record.verdict
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
        "disposition": verdict and str(verdict.disposition),
        "cause": verdict and verdict.cause,
        "headline": verdict and verdict.headline,
    }


def time_of(at: float | None) -> str:
    """A time to the second, as clocks here show it."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) if at else "-"
