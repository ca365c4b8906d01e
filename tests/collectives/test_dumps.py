"""Reading of flight recorder dumps: plain data of any release, and nothing else."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.collectives import dump_reader
from gpualert_common.collectives.analysis import find_stall
from gpualert_common.collectives.dump_reader import UnreadableDumpError, read_dump
from gpualert_common.collectives.recorded_calls import read_trace
from gpualert_common.collectives.stall_text import describe_stall
from gpualert_common.collectives.trace import GroupProgress

ENTRY = {
    "record_id": 0,
    "pg_id": 0,
    "process_group": ("0", "default_pg"),
    "collective_seq_id": 1,
    "p2p_seq_id": 0,
    "op_id": 1,
    "profiling_name": "nccl:all_reduce",
    "time_created_ns": 5,
    "input_sizes": [[2, 4]],
    "output_sizes": [[2, 4]],
    "input_dtypes": ["Float"],
    "output_dtypes": ["Float"],
    "state": "completed",
    "retired": True,
    "is_p2p": False,
    "timeout_ms": 600000,
}
DUMP = {
    "version": "2.10",
    "entries": [ENTRY, {**ENTRY, "collective_seq_id": 2, "state": "started", "retired": False}],
    "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
    "pg_status": {"0": {"last_enqueued_collective": 2, "last_completed_collective": 1}},
}


class _Bomb:
    """An object that runs a command when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self._path),)


@pytest.mark.parametrize("form", ["pickle", "json"])
def test_both_forms(form: str, tmp_path: Path) -> None:
    """A dump is a pickle or JSON; the calls in it are the same."""
    path = tmp_path / "rank_1"
    path.write_bytes(pickle.dumps(DUMP, 2) if form == "pickle" else json.dumps(DUMP).encode())
    found = read_trace(read_dump(str(path)), 1)
    assert found.rank == 1
    assert found.groups[0].ranks == (0, 1)
    assert found.groups[0].title == "default_pg"
    assert found.progress == (GroupProgress(found.groups[0].key, 2, 1),)
    assert [one.is_done for one in found.calls] == [True, False]
    assert found.calls[0].input_sizes == ((2, 4),)


def test_object_in_a_dump(tmp_path: Path) -> None:
    """A dump with anything but plain data is refused before it does anything."""
    path = tmp_path / "rank_0"
    path.write_bytes(pickle.dumps({"entries": [_Bomb(tmp_path / "made")]}))
    with pytest.raises(UnreadableDumpError, match=r"rank_0 is no .* posix.mkdir, not only plain"):
        read_dump(str(path))
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "data",
    [b"", b"\x80\x02}", b"nonsense", b"{", pickle.dumps([1]), pickle.dumps({"version": "1"})],
)
def test_damaged_dump(data: bytes, tmp_path: Path) -> None:
    """A file that is no dump is refused, with its name."""
    path = tmp_path / "rank_0"
    path.write_bytes(data)
    with pytest.raises(UnreadableDumpError, match="rank_0 is no flight recorder dump"):
        read_dump(str(path))


def test_files_that_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links, pipes, files of other users and large files are not read, and not waited for."""
    path = tmp_path / "rank_0"
    path.write_bytes(pickle.dumps(DUMP))
    (tmp_path / "link").symlink_to(path)
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "missing"):
        with pytest.raises(UnreadableDumpError, match=name):
            read_dump(str(tmp_path / name))
    with pytest.raises(UnreadableDumpError, match="belongs to user"):
        read_dump(str(path), owner=os.getuid() + 1)
    monkeypatch.setattr(dump_reader, "MOST_BYTES", 10)
    with pytest.raises(UnreadableDumpError, match="has more than"):
        read_dump(str(path))


def test_older_release() -> None:
    """In older releases a call has other names, and its group is a text."""
    entry = {
        "pg_name": "x",
        "process_group": "0",
        "seq_id": 7,
        "profiling_name": "nccl:all_reduce",
        "state": "scheduled",
        "input_sizes": [[1]],
    }
    found = read_trace({"version": "1.5", "entries": [entry]}, 0)
    assert found.progress == (GroupProgress("0", 7, 6),)


def test_transfers() -> None:
    """A transfer has the global rank of its peer, and no number among the collectives."""
    config = {"1": {"name": "1", "desc": "pipe", "ranks": "[4, 6]"}}
    entry = {
        **ENTRY,
        "process_group": ("1", "pipe"),
        "profiling_name": "nccl:recv 0<-1",
        "is_p2p": True,
        "state": "scheduled",
    }
    found = read_trace({"entries": [entry], "pg_config": config}, 4)
    assert found.calls[0].peer == 6
    assert found.calls[0].operation == "recv"
    assert found.progress == ()


@pytest.mark.parametrize(
    "change",
    [
        {"entries": [1, None, {}]},
        {"entries": None},
        {"pg_config": []},
        {"pg_config": {"0": {"ranks": "[0, x"}}},
        {"pg_status": {"0": None, "1": {"last_enqueued_collective": "x"}}},
    ],
)
def test_unexpected_forms(change: dict[str, Any]) -> None:
    """A part of another form is left out, and costs no other part."""
    assert read_trace({**DUMP, **change}, 3).rank == 3


def _nest(depth: int, copies: int) -> list[Any]:
    """Return a list of lists; with copies, its text would never end."""
    found: list[Any] = []
    for _level in range(depth):
        found = [found] * copies
    return found


@pytest.mark.parametrize(
    "change",
    [
        {"collective_seq_id": -1},
        {"collective_seq_id": 10**18},
        {"collective_seq_id": 10**40, "time_created_ns": -(10**40)},
        {"collective_seq_id": "9" * 5000, "input_sizes": [[10**30]]},
        {"profiling_name": _nest(50, 2), "input_dtypes": _nest(50, 2)},
        {"process_group": _nest(100_000, 1)},
        {"process_group": ["a\nb c", "x" * 100_000], "is_p2p": True, "profiling_name": ""},
        {"profiling_name": "nccl:send 0->" + "9" * 30},
    ],
    ids=["negative", "far ahead", "giant", "long", "wide", "deep", "odd names", "peer"],
)
def test_hostile_values(change: dict[str, Any]) -> None:
    """Values of any kind and size cost no more than their own call."""
    other = {**ENTRY, "state": "started", "collective_seq_id": 2, "profiling_name": "nccl:barrier"}
    entries = [ENTRY, {**ENTRY, **change, "state": "started"}]
    dumps = ({**DUMP, "entries": entries}, {**DUMP, "entries": [ENTRY, other]})
    stall = find_stall([read_trace(one, rank) for rank, one in enumerate(dumps)], 10**9)
    assert stall is None or len(describe_stall(stall)) < 2000
