"""The logs at the end of a run: dropped bytes are counted, removed files copied back."""

from __future__ import annotations

import os

from gpualert_common.launch.log_pipe import count_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from gpualert_common.launch.log_file import LogFile
    from gpualert_common.record import Record


def finalize_logs(logs: Sequence[LogFile], record: Record) -> Iterator[tuple[str, dict[str, Any]]]:
    """Copy removed logs back and count dropped bytes; yield events, as (name, fields).

    A log is copied into the record under its name, or a new one where that is taken again.
    """
    for log in logs:
        dropped = record.read_number(count_file(log.name))
        if dropped:
            yield "log_dropped", {"log": log.name, "size_bytes": dropped}
        if log.is_removed:
            try:
                yield "log_rescued", _copy_back(log, record)
            except OSError as error:
                lost = {"log": log.name, "size_bytes": log.size, "problem": error.strerror}
                yield "log_lost", lost


def _copy_back(log: LogFile, record: Record) -> dict[str, Any]:
    name = log.name
    try:
        fd = record.create_log(name)
    except FileExistsError:
        name = f"rescued.{log.name}"
        fd = record.create_log(name)
    try:
        copied = log.copy_to(fd)
    finally:
        os.close(fd)
    log.rescued_path = record.log_path(name)
    return {"log": log.name, "path": log.rescued_path, "size_bytes": copied}
