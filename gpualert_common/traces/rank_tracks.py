"""Tracks of one rank in a merged trace: numbers of its processes, GPUs, flows and correlations.

PyTorch numbers things within a process: the GPU tracks by the number of the GPU, flows and
correlations from 1, so that the numbers of two ranks collide.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import UNSET, Raw, UnsetType

from gpualert_common.structs import Struct

_FIRST_TRACK = 10_000_000
"""Number of the first track that is no process: above the largest process id of Linux."""
_TRACKS_OF_RANK = 10_000
_LEAST_PROCESS = 256
"""Ids below may be the number of a GPU, for which PyTorch uses the same field."""
_ID_BITS = 32
"""Bits of a flow or correlation id: CUPTI has no larger ones."""
_MOST_US = 1e17
_DEVICE_LABEL = "GPU"
_NAMES = {"process_name": "name", "process_labels": "labels", "process_sort_index": ""}
"""Events that name a process, with the argument that has the name."""
_CORRELATIONS = ("correlation", "External id")


class MovedEvent(Struct, omit_defaults=True):
    """An event of Chrome's trace format, with the fields that Kineto writes."""

    ph: str
    name: Raw | UnsetType = UNSET
    cat: Raw | UnsetType = UNSET
    pid: int | str | UnsetType = UNSET
    tid: Raw | UnsetType = UNSET
    ts: float | UnsetType = UNSET
    dur: Raw | UnsetType = UNSET
    id: int | str | UnsetType = UNSET
    bp: Raw | UnsetType = UNSET
    s: Raw | UnsetType = UNSET
    args: dict[str, Raw] | UnsetType = UNSET


class _ProcessNames(Struct):
    """Names that a trace gives to one of its processes, and its number in the merged trace."""

    number: int
    name: str = ""
    labels: str = ""
    is_used: bool = False


class RankTracks:
    """Numbers of one rank in a merged trace.

    ``taken`` has the numbers of all ranks; ``label`` stands before the names of the tracks.
    ``unreadable`` counts the events without a valid time.
    """

    def __init__(self, label: str, pid: int, index: int, taken: set[int]) -> None:
        self.unreadable = 0
        self._label = label
        self._pid = pid
        self._index = index
        self._taken = taken
        self._processes: dict[int, _ProcessNames] = {}
        self._offset = index << _ID_BITS

    def move(self, event: MovedEvent, shift_us: float) -> bool:
        """Give an event its place in the merged trace; False for one that is left out.

        Left out are events without a time, the profiler's marks of its own windows, and those that
        name a process, since :meth:`describe` names them all.
        """
        if not isinstance(event.pid, int):
            return False
        process = self._find_process(event.pid)
        event.pid = process.number
        if event.ph == "M":
            return not self._is_name(process, event)
        if event.ts is UNSET or not abs(event.ts) < _MOST_US:
            self.unreadable += 1
            return False
        process.is_used = True
        event.ts = round(event.ts + shift_us, 3)
        if event.id is not UNSET:
            event.id = self._move_id(event.id)
        if event.args is not UNSET:
            for key in _CORRELATIONS:
                if key in event.args:
                    event.args[key] = self._move_correlation(event.args[key])
        return True

    def describe(self) -> Iterator[dict[str, object]]:
        """Yield the events that name the processes, those of GPUs behind the rank's own."""
        for pid, one in self._processes.items():
            if not one.is_used:
                continue
            is_device = one.labels.startswith(_DEVICE_LABEL)
            name = one.labels if is_device else f"{one.name or 'process'} ({pid})"
            values = {
                "process_name": {"name": f"{self._label} {name}"},
                "process_labels": {"labels": one.labels},
                "process_sort_index": {"sort_index": 2 * self._index + is_device},
            }
            for key, args in values.items():
                yield {"ph": "M", "name": key, "pid": one.number, "tid": 0, "args": args}

    def _find_process(self, pid: int) -> _ProcessNames:
        found = self._processes.get(pid)
        if found is None:
            if len(self._processes) >= _TRACKS_OF_RANK - 1:
                return next(reversed(self._processes.values()))
            found = self._processes[pid] = _ProcessNames(self._choose_number(pid))
        return found

    def _choose_number(self, pid: int) -> int:
        """Return the process id itself where no other track has it."""
        is_process = pid == self._pid or _LEAST_PROCESS <= pid < _FIRST_TRACK
        if is_process and pid not in self._taken:
            number = pid
        else:
            number = _FIRST_TRACK + self._index * _TRACKS_OF_RANK + len(self._processes)
        self._taken.add(number)
        return number

    def _is_name(self, process: _ProcessNames, event: MovedEvent) -> bool:
        """Return True for an event that names a process, and keep the name."""
        kind = "" if event.name is UNSET else _read_text(event.name)
        if kind not in _NAMES:
            return False
        args = {} if event.args is UNSET else event.args
        value = _read_text(args[_NAMES[kind]])[:200] if _NAMES[kind] in args else ""
        if kind == "process_name":
            process.name = value
        elif kind == "process_labels":
            process.labels = value
        return True

    def _move_id(self, number: int | str) -> int | str:
        if isinstance(number, int) and 0 <= number < 1 << _ID_BITS:
            return self._offset + number
        return f"{self._index}:{number}"[:64]

    def _move_correlation(self, value: Raw) -> Raw:
        text = bytes(value)
        if not text.isdigit() or len(text) > 10:
            return value
        return Raw(b"%d" % (self._offset + int(text)))


def _read_text(value: Raw) -> str:
    """Return a text of JSON, empty if it is something else."""
    try:
        return msgspec.json.decode(value, type=str)
    except (msgspec.DecodeError, UnicodeError):
        return ""
