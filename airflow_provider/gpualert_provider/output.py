"""The last line of a training's log, which BashOperator returns; and the log of a task."""

from __future__ import annotations

import json
import os
from typing import Any

from airflow.providers.common.compat.sdk import AirflowConfigException, conf

from gpualert_common.record import Record
from gpualert_common.record.log_end import read_end, read_last_line

_MOST_BYTES = 16 << 20
"""Of a longer last line only the end is returned, since the result goes into a database."""
_MOST_TASK_LOG_BYTES = 1 << 20


def last_line(record: Record, encoding: str) -> str:
    """Return the last line as BashOperator does: decoded, without white space at its end.

    "" for an empty log and for one that ends in an empty line.  Of a line over 16 MiB only the end.
    """
    with open(record.open_log(record.logs[-1]), "rb") as file:
        line = read_last_line(file, _MOST_BYTES)
    return line.decode(encoding, errors="backslashreplace").rstrip()


def task_log(ti: Any) -> bytes:
    """Return the end of an attempt's log on this host, without Airflow's own fields.

    b"" for a log on another host, or with a configured name.
    """
    try:
        folder = os.path.join(
            conf.get("logging", "base_log_folder"),
            f"dag_id={ti.dag_id}",
            f"run_id={ti.run_id}",
            f"task_id={ti.task_id}",
            *([f"map_index={ti.map_index}"] if ti.map_index >= 0 else []),
        )
        path = os.path.join(folder, f"attempt={ti.try_number}.log")
        with open(path, "rb") as file:
            end, start = read_end(file, _MOST_TASK_LOG_BYTES)
    except (OSError, AttributeError, TypeError, ValueError, AirflowConfigException):
        return b""
    lines = end.split(b"\n")
    return b"".join(map(_text_of, lines[1 if start else 0 :]))


def _text_of(line: bytes) -> bytes:
    """Return the text of one line of a task log, which may be an event in JSON."""
    if not line.startswith(b"{"):
        return line + b"\n" if line else b""
    try:
        event = json.loads(line)["event"]
    except (ValueError, KeyError, RecursionError):
        return line + b"\n"
    return b"" if str(event).startswith("::") else f"{event}\n".encode("utf-8", "backslashreplace")
