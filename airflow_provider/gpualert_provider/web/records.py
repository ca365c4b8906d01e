"""Records of a task instance that the API server may read.

Nothing that a task wrote into Airflow's database leads to a file.  A record is found by the key of
the task, which the user may see, in the state directories of the API server itself; it must be
trusted (:meth:`gpualert_common.record.Record.open`), lie in such a directory, and name the key.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from gpualert_common.errors import GPUAlertError
from gpualert_common.guardian.keys import Key
from gpualert_common.record import Record
from gpualert_common.record_locations import RUNS, list_places, list_record_paths
from gpualert_common.settings import load_settings
from gpualert_provider.finished_attempt import list_attempt_numbers
from gpualert_provider.web.tries import TaskName, TaskTry

_MOST_CANDIDATES = 1000
"""Records that are opened in search of one attempt; each takes a tenth of a millisecond."""
_MARGIN_S = 60.0
"""Clocks of a worker and of the database may differ by so much."""


def find_record(task: TaskName, tries: Sequence[TaskTry], number: int) -> Record | None:
    """Return the open record of a try; None without one that is trusted."""
    try:
        state_dir = load_settings()["state_dir"].value
        folders = {os.path.join(place, RUNS) for place in list_places(state_dir)}
        for path in _list_candidates(task, tries, number, state_dir, folders):
            record = _open_own(path, task, number, folders)
            if record is not None:
                return record
    except (GPUAlertError, OSError):
        return None
    return None


def _list_candidates(
    task: TaskName,
    tries: Sequence[TaskTry],
    number: int,
    state_dir: str | None,
    folders: set[str],
) -> Iterator[str]:
    """Yield the newest record of the task, then all from the time of its tries, newest first."""
    yield from reversed(Key(task.key, state_dir).runs())
    began = [one.started_at for one in tries if one.number <= number and one.started_at]
    ended = next((one.ended_at for one in tries if one.number == number), None)
    if not began:
        return
    paths = list_record_paths(os.path.dirname(folder) for folder in folders)
    names = [os.path.basename(path) for path in paths]
    first = bisect_left(names, _make_prefix(min(began) - _MARGIN_S))
    last = bisect_right(names, _make_prefix((ended or time.time()) + _MARGIN_S))
    yield from paths[max(first, last - _MOST_CANDIDATES) : last][::-1]


def _make_prefix(at: float) -> str:
    """Return the begin of the ids of runs that were launched at this time."""
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime(at))


def _open_own(path: str, task: TaskName, number: int, folders: set[str]) -> Record | None:
    """Return the record at *path* if it may be read and is that of the try."""
    if os.path.dirname(path) not in folders:
        return None
    try:
        record = Record.open(path)
    except GPUAlertError:
        return None
    try:
        owner = record.spec.custody or {}
        if owner.get("key") == task.key and number in list_attempt_numbers(record):
            return record
    except (GPUAlertError, OSError):
        pass
    record.close()
    return None
