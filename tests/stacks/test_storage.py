"""Dumps in a record: their number and size are bounded, and damaged ones are left out."""

from __future__ import annotations

from pathlib import Path

from gpualert_common.record import Record
from gpualert_common.stacks.dump import Thread, Wait, WaitKind
from gpualert_common.stacks.storage import MOST_DUMPS, STACKS, read_dumps, store_dump
from gpualert_common.structs import replace
from tests.stacks.composed import collective, in_own_code, make_dump, own


def test_round_trip(tmp_path: Path) -> None:
    """A stored dump is read as it was."""
    record = Record.create(str(tmp_path / "run"))
    dump = make_dump({0: collective(), 1: in_own_code()})
    assert store_dump(record, dump)
    assert read_dumps(record) == [dump]


def test_most_dumps(tmp_path: Path) -> None:
    """A record takes ten dumps and refuses the next one."""
    record = Record.create(str(tmp_path / "run"))
    dump = make_dump({0: collective()})
    assert [store_dump(record, dump) for _ in range(MOST_DUMPS + 2)] == [True] * 10 + [False] * 2
    assert len(read_dumps(record)) == MOST_DUMPS


def test_damaged_lines(tmp_path: Path) -> None:
    """A line that is no dump costs only itself."""
    record = Record.create(str(tmp_path / "run"))
    store_dump(record, make_dump({0: collective()}))
    for line in ("not JSON", "[]", '{"at": "soon"}', '{"at": 1}'):
        record.append(STACKS, line)
    store_dump(record, make_dump({1: collective()}))
    assert [dump.processes[0].label for dump in read_dumps(record)] == ["rank:0", "rank:1"]


def test_dumps_that_contradict_themselves(tmp_path: Path) -> None:
    """A process without a thread, and a stack that the dump does not have, cost the dump."""
    record = Record.create(str(tmp_path / "run"))
    dump = make_dump({0: collective()})
    (process,) = dump.processes
    store_dump(record, replace(dump, processes=(replace(process, threads=()),)))
    for index in (-1, 7):
        threads = (replace(process.main, stack=index),)
        store_dump(record, replace(dump, processes=(replace(process, threads=threads),)))
    assert read_dumps(record) == []


def test_large_dump(tmp_path: Path) -> None:
    """A dump with too many threads is stored with its main threads only."""
    record = Record.create(str(tmp_path / "run"))
    dump = make_dump({0: collective(), 1: in_own_code()})
    stacks = tuple((own("work", number, "x" * 100),) * 40 for number in range(400))
    wait = Wait(WaitKind.SLEEP, "sleeps")
    threads = tuple(Thread(9 + n, "t", wait, n + 2) for n in range(400))
    first = replace(dump.processes[0], threads=(*dump.processes[0].threads, *threads))
    large = replace(dump, processes=(first, dump.processes[1]), stacks=(*dump.stacks, *stacks))
    assert store_dump(record, large)
    (found,) = read_dumps(record)
    assert [len(one.threads) for one in found.processes] == [1, 1]
    functions = [[frame.function for frame in found.frames(one.main)] for one in found.processes]
    assert functions == [
        [frame.function for frame in collective()[0]],
        [frame.function for frame in in_own_code()[0]],
    ]
