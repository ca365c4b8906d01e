"""Real traces of PyTorch on CPU, by a program that measures its own times."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from gpualert_common.traces.analysis import (
    DelayKind,
    GapKind,
    RankAnalysis,
    StepRule,
    TraceAnalysis,
    TracedDevice,
)
from gpualert_common.traces.analyzer import analyse_traces
from gpualert_common.traces.trace_source import TraceSource
from tests.supervised import PROGRAM, PYTHON
from tests.traces.known_plan import DELAY_S, MODES, OVERLAP, STEPS

pytestmark = pytest.mark.e2e

TOLERANCE = 0.1
"""Part of a step by which a time may differ from that of the program's own clock."""
KINDS = {"input": DelayKind.INPUT, "sleep": DelayKind.CPU, "compute": DelayKind.COMPUTE}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the traces of two ranks in each mode, and their own times."""
    made = tmp_path_factory.mktemp("traces")
    ranks = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    program = (PYTHON, *ranks, "-m", "tests.traces.known_training", str(made))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    place = Path(__file__).parents[2]
    subprocess.run(program, cwd=place, env=environment, check=True, timeout=120)
    return made


@pytest.fixture(scope="module")
def analyses(folder: Path) -> dict[str, TraceAnalysis]:
    """The analysis of each mode."""
    return {
        mode: analyse_traces(
            [TraceSource(f"rank:{rank}", 0, str(folder / f"{mode}-{rank}.json")) for rank in (0, 1)]
        )
        for mode in (*MODES, OVERLAP)
    }


def read_times(folder: Path, mode: str, rank: int) -> Mapping[str, float]:
    """Return the times of a rank by its own clock, of all steps."""
    times: Mapping[str, float] = json.loads((folder / f"{mode}-{rank}.times.json").read_text())
    return times


@pytest.mark.parametrize("mode", MODES)
def test_times_are_those_of_the_program(
    folder: Path, analyses: dict[str, TraceAnalysis], mode: str
) -> None:
    """Steps, data, computing, communication and time without operators, each within 10 %."""
    for rank, one in enumerate(analyses[mode].ranks):
        known = read_times(folder, mode, rank)
        assert (one.device, one.step_rule) == (TracedDevice.CPU, StepRule.PROFILER)
        assert one.step_count == STEPS
        total = one.total
        margin = TOLERANCE * known["step"]
        assert total.duration_s == pytest.approx(known["step"], abs=margin)
        assert total.work.input_s == pytest.approx(known["input"], abs=margin)
        assert total.work.matmul_s == pytest.approx(known["compute"], abs=margin)
        assert total.work.communication_s == pytest.approx(known["communication"], abs=margin)
        assert total.idle_s == pytest.approx(known["sleep"], abs=margin)
        assert total.hidden_s == pytest.approx(0, abs=margin)


def test_an_asynchronous_collective_is_hidden_by_the_operators_meanwhile(
    folder: Path, analyses: dict[str, TraceAnalysis]
) -> None:
    """Rank 0 multiplies matrices, starts no other work, and then waits for the rest."""
    known = read_times(folder, OVERLAP, 0)
    total = analyses[OVERLAP].ranks[0].total
    margin = TOLERANCE * known["communication"]
    assert total.work.matmul_s == pytest.approx(known["compute"], abs=margin)
    assert total.hidden_s == pytest.approx(known["compute"], abs=margin)
    assert total.work.communication_s == pytest.approx(known["communication"], abs=margin)


@pytest.mark.parametrize("mode", KINDS)
def test_the_late_rank_and_the_reason(
    folder: Path, analyses: dict[str, TraceAnalysis], mode: str
) -> None:
    """Rank 0 waits for rank 1, by the 80 ms that it takes longer for one kind of work."""
    first, late = (read_times(folder, mode, rank) for rank in (0, 1))
    margin = TOLERANCE * first["step"] / STEPS
    delay = analyses[mode].comparison.delay
    assert delay is not None
    assert (delay.rank, delay.kind) == ("rank:1", KINDS[mode])
    excess_s = (late[mode] - first[mode]) / STEPS
    wait_s = (first["communication"] - late["communication"]) / STEPS
    assert delay.excess_s == pytest.approx(excess_s, abs=margin)
    assert delay.wait_s == pytest.approx(wait_s, abs=margin)
    assert excess_s > 0.9 * DELAY_S


def test_no_rank_is_late_where_none_is(analyses: dict[str, TraceAnalysis]) -> None:
    """Both ranks do the same; what the machine adds is within the noise."""
    assert analyses["even"].comparison.delay is None


def test_the_gap_is_the_call_that_sleeps(folder: Path, analyses: dict[str, TraceAnalysis]) -> None:
    """The innermost Python function of the time without operators."""
    gap = analyses["sleep"].ranks[1].gaps[0]
    assert (gap.label, gap.kind) == ("<built-in function sleep>", GapKind.PYTHON)
    assert gap.total_s == pytest.approx(read_times(folder, "sleep", 1)["sleep"], rel=0.05)


def test_sizes_of_collectives_and_products(analyses: dict[str, TraceAnalysis]) -> None:
    """The all_reduce has 400 kB; each product of matrices counts 2 x 200^3 operations."""

    def count_products(one: RankAnalysis) -> int:
        return sum(each.calls for each in one.operators if each.name == "aten::mm")

    for one in analyses["even"].ranks:
        [rate] = [each for each in one.collectives if each.operation == "all_reduce"]
        assert (rate.size_bytes, rate.dtype, rate.group_size) == (400_000, "float", 2)
        assert rate.bus_rate == pytest.approx(rate.algorithm_rate)
        assert one.operations == pytest.approx(count_products(one) * 2 * 200**3)


def test_the_command_prints_the_finding(folder: Path) -> None:
    """`gpualert analyze` reads the files in any order, and writes the merged trace."""
    files = [str(folder / f"sleep-{rank}.json") for rank in (1, 0)]
    merged = folder / "merged.json.gz"
    command = (*PROGRAM, "analyze", "--merge", str(merged), *files)
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("Rank 1 is slower by time between its operators: the others wait")
    assert "most of it in <built-in function sleep>" in done.stdout
    assert merged.stat().st_size > 1000
