"""The logs of a run for people: which one has the error, and which are empty or were not read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpualert_common.model import Verdict
    from gpualert_common.record import Record


def find_main_log(record: Record, verdict: Verdict | None) -> str:
    """Return the name of the log that has the error.

    It is the first that the verdict cites, else the last that is not empty, else the last; that of
    stderr comes last.
    """
    cited = None if verdict is None else verdict.find_cited_log(record.logs)
    filled = (name for name in reversed(record.logs) if _size(record, name))
    return cited or next(filled, record.logs[-1])


def describe_logs(record: Record, verdict: Verdict | None) -> tuple[str, ...]:
    """Return the path of each log, and why it says nothing: it is empty, missing or not read."""
    return tuple(
        f"{record.log_path(name)}{_describe_state(record, verdict, name)}" for name in record.logs
    )


def _describe_state(record: Record, verdict: Verdict | None, name: str) -> str:
    size = _size(record, name)
    if size is None:
        return " (missing)"
    if not size:
        return " (empty)"
    sources = () if verdict is None else verdict.sources
    logs = [one for one in sources if one.name == "log"]
    is_read = any(one.available and one.file == name for one in logs)
    return "" if is_read or not logs else " (not read)"


def _size(record: Record, name: str) -> int | None:
    status = record.log_status(name)
    return None if status is None else status.st_size
