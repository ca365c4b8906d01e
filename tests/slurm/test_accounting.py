"""Records of ``sacct``: as real clusters print them, and damaged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualert_common.slurm.accounting import choose_start, find_next_start, parse_jobs
from gpualert_common.slurm.nodes import parse_node_events, parse_node_states
from gpualert_common.slurm.queue import parse_queued_job
from gpualert_common.slurm.states import SlurmState, parse_state

REQUEUED = """\
7|PREEMPTED|0:0|1795889691|1795889692|60||node[1-2]
7.batch|COMPLETED|0:0|1795889691|1795889694||1|node1
7.0|CANCELLED|0:15|1795889692|1795889692||2|node[1-2]
7|CANCELLED by 1000|0:0|1795889996|1795889997|60||node[1-2]
7.batch|CANCELLED|0:15|1795889996|1795889997||1|node1
7|PENDING|0:0|Unknown|Unknown|60||None assigned
""".splitlines()
"""A job that was preempted, requeued and cancelled, by ``sacct -D`` of Slurm 22.05."""


def test_a_requeued_job_has_a_record_for_each_start() -> None:
    """States, times and steps of each start are apart."""
    first, second, last = parse_jobs(REQUEUED, "7")
    assert [one.status.state for one in (first, second, last)] == [
        SlurmState.PREEMPTED,
        SlurmState.CANCELLED,
        SlurmState.PENDING,
    ]
    assert (first.started_at, first.ended_at) == (1795889691.0, 1795889692.0)
    assert first.time_limit_s == 3600.0
    assert second.status.by_uid == 1000
    assert [step.name for step in first.steps] == ["batch", "0"]
    assert first.steps[1].tasks == 2
    assert (last.started_at, last.ended_at) == (None, None)


@pytest.mark.parametrize(
    ("at", "state"),
    [
        (1795889691.4, SlurmState.PREEMPTED),
        (1795889800.0, SlurmState.PREEMPTED),
        (1795889997.5, SlurmState.CANCELLED),
        (1795889100.0, SlurmState.PREEMPTED),
    ],
)
def test_a_run_belongs_to_the_start_in_which_it_began(at: float, state: SlurmState) -> None:
    """The record of the run's own start is chosen, also if a clock is minutes off."""
    chosen = choose_start(parse_jobs(REQUEUED, "7"), at)
    assert chosen is not None
    assert chosen.status.state is state


def test_an_old_job_of_the_same_number_is_not_ours() -> None:
    """Slurm uses a number again: a job that ended long before the run is another one."""
    assert choose_start(parse_jobs(REQUEUED[:3], "7"), 1795999999.0) is None


def test_the_newest_start_is_that_after_a_requeue() -> None:
    """It shows the state of the rerun."""
    jobs = parse_jobs(REQUEUED, "7")
    found = find_next_start(jobs, jobs[0])
    assert found is not None
    assert found.status.state is SlurmState.PENDING
    assert find_next_start(jobs, jobs[-1]) is None


def test_tasks_of_an_array_are_apart() -> None:
    """``sacct -j`` of the number of an array lists all of its tasks; only one is ours."""
    lines = ["3|COMPLETED|0:0|1|2|||n1", "3.batch|COMPLETED|0:0|1|2||1|n1", "2|FAILED|1:0|1|2|||n1"]
    assert [one.status.text for one in parse_jobs(lines, "2")] == ["FAILED"]


@pytest.mark.parametrize(
    "line",
    [
        "7",
        "7|",
        "|||||||",
        "7.0|RUNNING|0:0|1|2||1|n1",
        "7|PENDING|0:0|1|2|3|4|5|6|7|8",
        "\uff17|COMPLETED|0:0|1|2|||n1",
    ],
)
def test_a_damaged_line_is_left_out(line: str) -> None:
    """A line that is cut, of another release, or a step without its job, is no record."""
    assert parse_jobs([line], "7") == []


def test_huge_numbers_are_not_known() -> None:
    """A number behind the limits counts as missing."""
    line = f"7|TIMEOUT|{'9' * 30}:0|{'9' * 16}|-1|{'9' * 16}||n1"
    (job,) = parse_jobs([line], "7")
    assert (job.code, job.started_at, job.ended_at) == (None, None, None)


@given(st.lists(st.text(alphabet="7|.:0123456789 ABCDEFTIMEOUT\x00\x1b�", max_size=60)))
def test_no_output_raises(lines: list[str]) -> None:
    """Whatever a command prints, there is a list."""
    parse_jobs(lines, "7")
    parse_node_events(lines)
    parse_node_states(lines)
    for line in lines:
        parse_queued_job(line)
        parse_state(line)


@pytest.mark.parametrize(
    ("text", "state", "uid"),
    [
        ("CANCELLED by 65534", SlurmState.CANCELLED, 65534),
        ("CANCELLED+", SlurmState.CANCELLED, None),
        ("OUT_OF_MEMORY", SlurmState.OUT_OF_MEMORY, None),
        ("CANCELLED by 99999999999", SlurmState.CANCELLED, None),
        ("EXPEDITING", None, None),
        ("", None, None),
    ],
)
def test_states(text: str, state: SlurmState | None, uid: int | None) -> None:
    """A state of a later release keeps its text, and is never one that has ended."""
    found = parse_state(text)
    assert (found.state, found.by_uid, found.text) == (state, uid, text)
    assert found.has_ended is (state is not None)


def test_the_reason_of_a_node_may_contain_anything() -> None:
    """The text of an operator is last, and cannot be taken for other fields."""
    (event,) = parse_node_events(["node2|1795889873|Unknown|DOWN*|root(0)|bad|gpu \x1b[31mxid 79"])
    assert (event.node, event.state, event.is_lost) == ("node2", "DOWN*", True)
    assert event.reason == "bad|gpu [31mxid 79"
    (state,) = parse_node_states(["node2|drained|1795889873|root|x|y"] * 3)
    assert not state.is_lost
