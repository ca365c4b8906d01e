"""Tests of the source ``nccl_ras``: a process of the run that serves the protocol on loopback."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpualert_common.collectives.stall import Stall
from gpualert_common.structs import convert
from gpualert_common.telemetry.sources.nccl_ras import NcclRas
from tests.collectives.ras_server import make_json
from tests.supervised import PYTHON, free_port
from tests.telemetry.host import MARK, observed_run, sample

BEHIND = [{"AllReduce": 9}, {"AllReduce": 8}, {"AllReduce": 9}, {"AllReduce": 9}]
AHEAD = [{"AllReduce": 10}, {"AllReduce": 9}, {"AllReduce": 9}, {"AllReduce": 10}]


@contextmanager
def rank_with_ras(folder: Path, *statuses: str, is_of_run: bool = True) -> Iterator[int]:
    """Start a rank whose process serves these statuses; the value is its number."""
    files = [folder / f"status_{number}" for number in range(len(statuses))]
    for file, status in zip(files, statuses, strict=True):
        file.write_text(status)
    port = free_port()
    variables = {"NCCL_RAS_ADDR": f"127.0.0.1:{port}", "RANK": "0", "WORLD_SIZE": "4", MARK: "1"}
    program = (PYTHON, "-m", "tests.collectives.ras_server", str(port), *map(str, files))
    server = subprocess.Popen(
        program,
        cwd=Path(__file__).parents[2],
        env={**os.environ, **(variables if is_of_run else {})},
        stdout=subprocess.PIPE,
    )
    waiting = subprocess.Popen(
        (PYTHON, "-c", "import sys; print('up', flush=True); sys.stdin.read()"),
        env={**os.environ, **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with server, waiting:
        for process in (server, waiting):
            assert process.stdout is not None
            assert process.stdout.readline()
        yield server.pid if is_of_run else waiting.pid
        waiting.kill()
        server.kill()


def opened_at_once(pid: int) -> NcclRas:
    """Return the source of a run that is silent for long, without a pause between readings."""
    source = NcclRas(observed_run(pid, started_at=1.0))
    source.between_s = 0.0
    return source


def test_two_readings(tmp_path: Path) -> None:
    """The same unequal counts in two readings are a stall, reported once with its process."""
    with rank_with_ras(tmp_path, make_json(BEHIND)) as pid:
        source = opened_at_once(pid)
        assert sample(source).events == []
        (event,) = sample(source).of_kind("collective_stall")
        assert convert(dict(event.fields), Stall).culprits == (1,)
        assert "rank 1 is process 101 on 10.0.0.0, GPU 1" in event.text
        assert sample(source).events == []


def test_progress_between_readings(tmp_path: Path) -> None:
    """Counts that grow between the readings are no stall."""
    with rank_with_ras(tmp_path, make_json(BEHIND), make_json(AHEAD)) as pid:
        source = opened_at_once(pid)
        assert [sample(source).events for _ in range(2)] == [[], []]


def test_run_that_prints(tmp_path: Path) -> None:
    """While a run prints, RAS is not asked."""
    with rank_with_ras(tmp_path, make_json(BEHIND, dead=[2])) as pid:
        source = NcclRas(observed_run(pid))
        assert [sample(source).events for _ in range(2)] == [[], []]


def test_socket_of_another_job(tmp_path: Path) -> None:
    """A socket that no process of the run has opened is not asked."""
    with rank_with_ras(tmp_path, make_json(BEHIND, dead=[2]), is_of_run=False) as pid:
        assert sample(opened_at_once(pid)).events == []


def test_dead_process_of_the_job(tmp_path: Path) -> None:
    """A process that RAS considers dead is reported."""
    with rank_with_ras(tmp_path, make_json(BEHIND, dead=[2])) as pid:
        (event,) = sample(opened_at_once(pid)).of_kind("ras_process_dead")
        assert "rank 2" in event.text
        assert "process 102 on 10.0.0.0, GPU 2" in event.text
