"""Tests of the source ``flight_recorder``: dumps of real processes with ranks, and requests."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.collectives.rank_positions import CollectivePositions
from gpualert_common.collectives.stall import Stall, StallKind
from gpualert_common.structs import convert
from gpualert_common.telemetry.source import Source
from tests.supervised import PYTHON, until
from tests.telemetry.host import MARK, opened, sample


def make_dump(calls: int, world: int = 3) -> Mapping[str, Any]:
    """Return the dump of a rank that entered so many collectives, and completed one less than 3."""
    entries = [
        {
            "process_group": ["0", "default_pg"],
            "pg_id": 0,
            "collective_seq_id": number,
            "profiling_name": "nccl:all_reduce",
            "input_sizes": [[8]],
            "output_sizes": [[8]],
            "state": "completed" if number < 3 else "started",
            "time_created_ns": number,
        }
        for number in range(1, calls + 1)
    ]
    ranks = json.dumps(list(range(world)))
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": ranks}}
    return {"version": "2.10", "entries": entries, "pg_config": config}


@contextmanager
def ranks_of_a_run(variables: Mapping[str, str], world: int = 3) -> Iterator[int]:
    """Start a process for each rank, which waits; the value is the number of the leader."""
    with ExitStack() as stack:
        pids = []
        for rank in range(world):
            given = {MARK: "1", "RANK": str(rank), "WORLD_SIZE": str(world), **variables}
            command = (PYTHON, "-c", "import sys; print('up', flush=True); sys.stdin.read()")
            process = stack.enter_context(
                subprocess.Popen(
                    command,
                    env={**os.environ, **given},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
            )
            stack.callback(process.kill)
            assert process.stdout is not None
            process.stdout.readline()
            pids.append(process.pid)
        yield pids[0]


@pytest.fixture
def prefix(tmp_path: Path) -> str:
    """The beginning of the paths of the dumps."""
    return str(tmp_path / "trace_rank_")


def write(prefix: str, rank: int, dump: Mapping[str, Any]) -> None:
    """Write the dump of a rank."""
    Path(f"{prefix}{rank}").write_text(json.dumps(dump))


def find_stall(source: Source) -> Stall:
    """Return the stall of the next sample."""
    (event,) = sample(source).of_kind("collective_stall")
    return convert(dict(event.fields), Stall)


@pytest.mark.parametrize(
    "variable", ["TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "XDG_CACHE_HOME"]
)
def test_dumps_of_all_ranks(variable: str, prefix: str, tmp_path: Path) -> None:
    """Once the dumps no longer change, the rank that others wait for is reported, once."""
    if variable == "XDG_CACHE_HOME":
        (tmp_path / "torch").mkdir()
        prefix, value = str(tmp_path / "torch" / "comm_lib_trace_rank_"), str(tmp_path)
    else:
        value = prefix
    with ranks_of_a_run({variable: value}) as leader:
        source = opened("flight_recorder", leader)
        assert sample(source).events == []
        for rank in range(3):
            write(prefix, rank, make_dump(2 if rank == 1 else 3))
        assert sample(source).events == [], "they may still be written"
        found = find_stall(source)
        assert (found.kind, found.culprits, found.waiting) == (StallKind.MISSING, (1,), (0, 2))
        assert sample(source).events == []
        source.close()


def test_positions_of_a_machine_that_waits_for_another_one(prefix: str) -> None:
    """Ranks that all wait for ranks of another machine show no stall, but where they are."""
    with ranks_of_a_run({"TORCH_FR_DUMP_TEMP_FILE": prefix}) as leader:
        source = opened("flight_recorder", leader)
        for rank, calls in ((0, 3), (1, 3), (2, 2)):
            write(prefix, rank, make_dump(calls, world=6))
        sample(source)
        (event,) = sample(source).of_kind("collective_positions")
        found = convert(dict(event.fields), CollectivePositions)
        call = "all_reduce of 8 elements"
        assert [(one.rank, one.entered, one.completed, one.call) for one in found.ranks] == [
            (0, 3, 2, call),
            (1, 3, 2, call),
            (2, 2, 2, ""),
        ]
        assert "3 ranks entered collective 2 to 3" in event.text


def test_rank_without_a_dump(prefix: str) -> None:
    """A rank that wrote none, while all others entered the call, is reported as such."""
    with ranks_of_a_run({"TORCH_FR_DUMP_TEMP_FILE": prefix}) as leader:
        source = opened("flight_recorder", leader)
        for rank in (0, 2):
            write(prefix, rank, make_dump(3))
        sample(source)
        found = find_stall(source)
        assert (found.kind, found.culprits) == (StallKind.ABSENT, (1,))


def test_dumps_after_the_end(prefix: str) -> None:
    """Dumps that were written just before the end are read at once."""
    with ranks_of_a_run({"TORCH_FR_DUMP_TEMP_FILE": prefix}) as leader:
        source = opened("flight_recorder", leader)
        sample(source)
    for rank in range(3):
        write(prefix, rank, make_dump(2 if rank == 2 else 3))
    assert find_stall(source).culprits == (2,)


def test_files_of_an_earlier_run(prefix: str) -> None:
    """Dumps from before the start of the run do not count."""
    for rank in range(3):
        write(prefix, rank, make_dump(2 if rank == 2 else 3))
        os.utime(f"{prefix}{rank}", (1, 1))
    with ranks_of_a_run({"TORCH_FR_DUMP_TEMP_FILE": prefix}) as leader:
        source = opened("flight_recorder", leader)
        assert [sample(source).events for _ in range(3)] == [[], [], []]


def test_unreadable_dump(prefix: str) -> None:
    """A file that is no dump is reported with its path, and the others still count."""
    with ranks_of_a_run({"TORCH_FR_DUMP_TEMP_FILE": prefix}) as leader:
        source = opened("flight_recorder", leader)
        Path(f"{prefix}0").write_bytes(b"cposix\nsystem\n(S'true'\ntR.")
        for rank in (1, 2):
            write(prefix, rank, make_dump(rank + 1))
        sample(source)
        events = sample(source).events
        kinds = ["dump_unreadable", "collective_positions", "collective_stall"]
        assert [event.what for event in events] == kinds
        assert f"{prefix}0 is no flight recorder dump: it holds posix.system" in events[0].text


def test_request_of_dumps(tmp_path: Path) -> None:
    """A silent run is asked for dumps through the pipes of its ranks, once for each silence."""
    stem = str(tmp_path / "pipe_")
    ends = []
    for rank in range(3):
        os.mkfifo(f"{stem}{rank}.pipe")
        if rank < 2:  # the third has no reader
            ends.append(os.open(f"{stem}{rank}.pipe", os.O_RDONLY | os.O_NONBLOCK))
    log = tmp_path / "output.log"
    log.write_text("step 1\n")
    with ranks_of_a_run({"TORCH_NCCL_DEBUG_INFO_PIPE_FILE": stem}) as leader:
        source = opened("flight_recorder", leader, logs=(str(log),), started_at=1.0)
        assert sample(source).events == []
        os.utime(log, (1, 1))
        (event,) = sample(source).of_kind("dump_requested")
        assert event.fields == {"ranks": [0, 1]}
        assert until(lambda: [os.read(end, 8) for end in ends], "the requests") == [b"1", b"1"]
        assert sample(source).events == []
    for end in ends:
        os.close(end)
