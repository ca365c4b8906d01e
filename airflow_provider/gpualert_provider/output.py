"""Of a training's log the last line, which a BashOperator returns; and the log of a task."""

from __future__ import annotations

import json
import os
from typing import Any

from airflow.providers.common.compat.sdk import AirflowConfigException, conf

_BLOCK_BYTES = 64 << 10
_MOST_BYTES = 16 << 20
"""A last line longer than this is cut to its end: what is returned goes into a database."""
_MOST_TASK_LOG_BYTES = 1 << 20


def last_line(path: str, encoding: str) -> str:
    """The last line as BashOperator returns it: decoded, without white space at its end.

    "" for an empty log and for one that ends in an empty line.  At most its last 16 MiB.
    """
    blocks: list[bytes] = []
    with open(path, "rb") as file:
        start = file.seek(0, os.SEEK_END)
        while start > 0 and len(blocks) * _BLOCK_BYTES < _MOST_BYTES:
            size = min(_BLOCK_BYTES, start)
            start -= size
            file.seek(start)
            block = file.read(size)
            if not blocks:
                block = block.removesuffix(b"\n")
            _, newline, last = block.rpartition(b"\n")
            blocks.append(last)
            if newline:
                break
    return b"".join(reversed(blocks)).decode(encoding, errors="backslashreplace").rstrip()


def task_log(ti: Any) -> bytes:
    """What an attempt has logged, as far as it lies on this host: its end, without Airflow's words.

    b"" for a log that is elsewhere, or under a name that somebody configured.
    """
    try:
        folder = os.path.join(
            conf.get("logging", "base_log_folder"),
            f"dag_id={ti.dag_id}",
            f"run_id={ti.run_id}",
            f"task_id={ti.task_id}",
            *([f"map_index={ti.map_index}"] if ti.map_index >= 0 else []),
        )
        with open(os.path.join(folder, f"attempt={ti.try_number}.log"), "rb") as file:
            start = max(0, file.seek(0, os.SEEK_END) - _MOST_TASK_LOG_BYTES)
            file.seek(start)
            lines = file.read(_MOST_TASK_LOG_BYTES).split(b"\n")
    except (OSError, AttributeError, TypeError, ValueError, AirflowConfigException):
        return b""
    return b"".join(map(_said, lines[1 if start else 0 :]))


def _said(line: bytes) -> bytes:
    """One line of a task log: of an event in JSON, what was logged."""
    if not line.startswith(b"{"):
        return line + b"\n" if line else b""
    try:
        event = json.loads(line)["event"]
    except (ValueError, KeyError, RecursionError):
        return line + b"\n"
    return b"" if str(event).startswith("::") else f"{event}\n".encode("utf-8", "backslashreplace")
