"""The processes that earlier watches of a record watched, by its events.

A watch that is started again continues with those that still live.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpualert_common.quantities import is_number
from gpualert_common.record import Event, Record
from gpualert_common.structs import Struct

MADE_BY_AGENT = "watched_by_agent"
"""Event: an agent begins, or continues, to watch; ``output_pid`` is the process whose output is
copied, ``output_start_ticks`` its start."""
PROCESS_WATCHED = "process_watched"
"""Event: a process of the top of a group is watched, besides the one that was launched."""
PROCESS_ENDED = "process_ended"
"""Event: it has ended; ``code`` is its exit status, None if that is not known."""

Identity = tuple[int, int]


class WatchHistory(Struct, frozen=True):
    """The processes of the top of a group: those that have no end yet, and the codes of the others.

    ``output_of`` is the process whose output is copied, None if that is not known.
    """

    unended: tuple[Identity, ...] = ()
    codes: tuple[int | None, ...] = ()
    output_of: Identity | None = None


def read_history(record: Record) -> WatchHistory:
    """Return the history of a record; a damaged event counts as missing.  Raises RecordError."""
    unended: dict[Identity, None] = {}
    codes: list[int | None] = []
    output_of: Identity | None = None
    for event in record.events():
        if event.name == MADE_BY_AGENT:
            output_of = _read_identity(event, "output_pid", "output_start_ticks") or output_of
            continue
        identity = _read_identity(event, "pid", "start_ticks")
        if identity is None:
            continue
        if event.name in ("launched", PROCESS_WATCHED):
            unended[identity] = None
        elif event.name == PROCESS_ENDED and identity in unended:
            del unended[identity]
            code = event.fields.get("code")
            codes.append(int(code) if is_number(code) else None)
    return WatchHistory(tuple(unended), tuple(codes), output_of)


def combine_codes(codes: Iterable[int | None]) -> int | None:
    """Return the status of a group: the first failure, None if one is not known, else 0."""
    known = list(codes)
    failure = next((code for code in known if code), None)
    return failure if failure is not None else (None if None in known or not known else 0)


def _read_identity(event: Event, pid_name: str, start_name: str) -> Identity | None:
    pid, start_ticks = event.fields.get(pid_name), event.fields.get(start_name)
    return (pid, start_ticks) if is_number(pid) and is_number(start_ticks) else None
