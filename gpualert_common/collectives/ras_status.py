"""Status of NCCL's RAS: the communicators of a job, with the calls that each rank has launched.

The JSON form has the counts of every rank.  The text form has them only for ranks that differ from
the others; the others have the count of the largest set.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from gpualert_common.collectives.trace import MOST_RANKS
from gpualert_common.regex import compile_text
from gpualert_common.structs import Struct, field

_N = r"(\d{1,18})"
_SECTION = compile_text(rf"^#{_N}-{_N} \(([0-9a-f]+)\) (\w+)")
_GROUP = compile_text(rf"^ *{_N} +\d+ +\d+ +[\d-]+ +{_N} +\d+ +[A-Z]+ +[A-Z,]+ *$")
_OPERATION = compile_text(
    r"Communicator ranks have different (\w+)(?: collective)? operation counts"
)
_COUNT = rf"(?:launched up to operation {_N}|not launched any)"
_MANY = compile_text(rf"^ +{_N} ranks have {_COUNT}")
_ONE = compile_text(rf"^ +Rank {_N} has {_COUNT}")
_LISTED = compile_text(rf"^ +Rank {_N} -- ")
_PROCESS = compile_text(rf"GPU {_N}(?: \(NVML \d+\))? managed by process {_N} on node (\S+)")
_DEAD = compile_text(rf"^ +Process {_N} on node (\S+) managing GPUs? ([\d,]+)")
_MOST_CALLS = 1 << 62


class RasProcess(Struct, frozen=True):
    """Process behind a rank: host as RAS knows it, process number, and index of the GPU."""

    host: str
    pid: int
    gpu: int = -1

    def describe(self) -> str:
        """Return the process for people."""
        gpu = f", GPU {self.gpu}" if self.gpu >= 0 else ""
        return f"process {self.pid} on {self.host}{gpu}"


class Communicator(Struct, frozen=True):
    """One communicator: the counts of its ranks by operation, and the processes behind them.

    ``missing`` are ranks that did not answer, ``dead`` those of them that RAS considers dead.
    """

    name: str
    size: int
    counts: Mapping[int, Mapping[str, int]]
    processes: Mapping[int, RasProcess] = field(default_factory=dict)
    missing: tuple[int, ...] = ()
    dead: tuple[int, ...] = ()


def parse_status(text: str) -> list[Communicator]:
    """Return the communicators of a status, the largest first; none where it is no status.

    One that contradicts itself is left out.
    """
    stripped = text.lstrip()
    found = _parse_json(stripped) if stripped.startswith("{") else _parse_text(text.splitlines())
    return sorted(filter(_is_sound, found), key=lambda one: -one.size)


def _is_sound(one: Communicator) -> bool:
    ranks = {*one.counts, *one.processes, *one.missing}
    return one.size <= MOST_RANKS and all(0 <= rank < one.size for rank in ranks)


def _parse_json(text: str) -> list[Communicator]:
    try:
        status = json.loads(text)
        return [_read_communicator(one) for one in status.get("communicators", ())]
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return []


def _read_communicator(found: Mapping[str, Any]) -> Communicator:
    ranks, missing = found.get("ranks", ()), found.get("missing_ranks", ())
    return Communicator(
        str(found["hash"]).removeprefix("0x"),
        int(found["size"]),
        {int(one["rank"]): _read_counts(one["collective_counts"]) for one in ranks},
        {
            int(one["rank"]): RasProcess(str(one["host"]), int(one["pid"]), int(one["cuda_dev"]))
            for one in (*ranks, *missing)
        },
        tuple(int(one["rank"]) for one in missing),
        tuple(int(one["rank"]) for one in missing if one["status"].get("considered_dead")),
    )


def _read_counts(counts: Mapping[str, Any]) -> dict[str, int]:
    return {str(name): max(0, min(int(count), _MOST_CALLS)) for name, count in counts.items()}


class _TextSection:
    """One communicator of the text, as its lines come."""

    def __init__(self, name: str, size: int) -> None:
        self.name, self.size = name, size
        self.operation = ""
        self.usual: dict[str, int] = {}
        self.sizes: dict[str, int] = {}
        self.others: dict[str, dict[int, int]] = {}
        self.processes: dict[int, RasProcess] = {}
        self.missing: list[int] = []
        self._count = 0

    def read_line(self, line: str, state: str) -> None:
        """Take a line below the heading with *state*."""
        if match := _PROCESS.search(line):
            process = RasProcess(match[3], int(match[2]), int(match[1]))
            if rank := _ONE.search(line) or _LISTED.search(line):
                self.processes[int(rank[1])] = process
        if match := _OPERATION.search(line):
            self.operation = match[1]
        elif match := _MANY.search(line):
            self._count = int(match[2] or 0)
            if int(match[1]) > self.sizes.get(
                self.operation, 0
            ):  # the largest set is the usual one
                self.sizes[self.operation] = int(match[1])
                self.usual[self.operation] = self._count
        elif match := _ONE.search(line):
            self.others.setdefault(self.operation, {})[int(match[1])] = int(match[2] or 0)
        elif match := _LISTED.search(line):
            if state == "INCOMPLETE":
                self.missing.append(int(match[1]))
            elif self.operation:
                self.others.setdefault(self.operation, {})[int(match[1])] = self._count

    def make(self) -> Communicator:
        """Return the communicator."""
        missing = tuple(self.missing)
        ranks = sorted(set(range(min(self.size, MOST_RANKS))) - set(missing))
        operations = self.usual.keys() | self.others.keys()
        counts = {
            rank: {
                name: self.others.get(name, {}).get(
                    rank, self.usual.get(name, max(self.others.get(name, {0: 0}).values()))
                )
                for name in operations
            }
            for rank in ranks
        }
        return Communicator(self.name, self.size, counts, self.processes, missing)


def _parse_text(lines: Iterable[str]) -> list[Communicator]:
    sizes: dict[str, int] = {}
    sections: dict[str, _TextSection] = {}
    dead: set[tuple[str, int]] = set()
    current, state = None, ""
    for line in lines:
        if match := _GROUP.search(line):
            sizes[match[1]] = int(match[2])
        elif match := _SECTION.search(line):
            name, state = match[3].lstrip("0") or "0", match[4]
            current = sections.setdefault(name, _TextSection(name, sizes.get(match[1], 0)))
            current.operation = ""
        elif line.startswith(("DEAD", "INCOMPLETE", "TIMEOUT", "Errors", "Warnings")):
            current, state = None, line.split()[0]
        elif current is not None:
            current.read_line(line, state)
        elif state == "DEAD" and (match := _DEAD.search(line)):
            dead.add((match[2], int(match[1])))
    return [_mark_dead(one.make(), dead) for one in sections.values()]


def _mark_dead(one: Communicator, dead: Iterable[tuple[str, int]]) -> Communicator:
    found = tuple(
        rank
        for rank in one.missing
        if rank in one.processes and (one.processes[rank].host, one.processes[rank].pid) in dead
    )
    return Communicator(one.name, one.size, one.counts, one.processes, one.missing, found)
