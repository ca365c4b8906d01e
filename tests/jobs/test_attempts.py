"""Attempts of a job in one folder of digests: the newest counts."""

from __future__ import annotations

from typing import Any

from gpualert_common.jobs.digests.digest import ClockOffset, Digest, DigestState, StoredDigest
from gpualert_common.jobs.merging.merger import JobMerger
from gpualert_common.structs import replace
from tests.jobs.composed_job import END, KEY, START, compose, end, lose, merge, shift, store


def restart(digest: Digest, after_s: float, attempt: int | None = None) -> Digest:
    """Return the digest of another run of a node, that started after the end of the first."""
    return replace(
        digest,
        run_id=f"{digest.run_id}-{after_s:.0f}",
        started_at=END + after_s,
        at=END + after_s + 50.0,
        attempt=attempt,
        sequence=1,
        state=DigestState.RUNNING,
    )


FAILED = [end(compose(0, 4), "cuda_oom"), *(lose(node, nodes=4) for node in (1, 2, 3))]


def test_numbered_attempts() -> None:
    """The number of the scheduler tells the attempts apart, also while both are written."""
    first = [replace(one, attempt=1) for one in FAILED]
    second = [restart(compose(node, 4), -5.0, 2) for node in (0, 1)]
    report = merge(*second, *first)
    assert (report.attempt, report.attempts, len(report.nodes)) == (2, 2, 4)
    assert report.verdict.disposition == "running"


def test_restart_on_nodes_that_ended() -> None:
    """A run on a node that has an ended one begins an attempt."""
    report = merge(*FAILED, *(restart(compose(node, 4), 60.0 + node) for node in (0, 1, 2, 3)))
    assert (report.attempt, report.verdict.disposition) == (2, "running")


def test_restart_on_other_hosts() -> None:
    """A run after the end of all others begins an attempt, where no node is missing."""
    new = [restart(compose(node, 4, host=f"other{node}"), 60.0) for node in (0, 1, 2, 3)]
    report = merge(*FAILED, *new)
    assert report.attempt == 2
    assert {one.host for one in report.nodes} == {f"other{node}" for node in (0, 1, 2, 3)}


def test_late_node() -> None:
    """A node that was still missing belongs to the attempt, also if the others have ended."""
    quick = [
        replace(one, started_at=END - 20.0)
        for one in (end(compose(0, 3), "rendezvous"), end(compose(1, 3), "rendezvous"))
    ]
    late = restart(compose(2, 3), 10.0)
    report = merge(*quick, late)
    assert (report.attempt, len(report.nodes)) == (1, 3)


def test_missing_node_of_the_next_attempt() -> None:
    """A node that was missing in the first attempt starts the second one with the others."""
    quick = [replace(one, started_at=END - 20.0) for one in FAILED[:3]]
    second = [restart(compose(node, 4), 30.0 - node) for node in (0, 1, 2, 3)]
    report = merge(*quick, *second)
    assert (report.attempt, len([one for one in report.nodes if one.run_id])) == (2, 4)


def test_node_that_joins_again() -> None:
    """A node that starts again while the others go on has its new run in the same attempt."""
    lost = end(compose(3, 4), "killed_unknown", END - 500.0)
    of_again: dict[str, Any] = {"run_id": "again", "host": "spare", "started_at": END - 400.0}
    others = [compose(node, 4) for node in (0, 1, 2)]
    running = merge(lost, replace(compose(3, 4), **of_again), *others)
    assert (running.attempts, running.state, len(running.nodes)) == (1, "running", 4)
    failed = merge(lost, replace(lose(3, nodes=4), **of_again), *FAILED[:3])
    assert (failed.attempts, failed.verdict.cause, failed.verdict.host) == (1, "cuda_oom", "gpu0")
    assert "spare" in {one.host for one in failed.nodes}


def test_wrong_clocks_of_short_runs() -> None:
    """Runs that failed before they could compare their clocks are one attempt."""
    merger = JobMerger(KEY)
    for node, ahead_s in enumerate((0.0, 600.0, -7200.0)):
        short = end(
            replace(compose(node, 3), started_at=END - 2.0, clock=ClockOffset()), "missing_module"
        )
        wrong = replace(shift(short, ahead_s), clock=ClockOffset())
        merger.add(StoredDigest(wrong, short.at + 0.1))
    report = merger.conclude(END + 60.0)
    assert report is not None
    assert (report.attempts, len(report.nodes), report.verdict.cause) == (1, 3, "missing_module")
    assert "the clock of gpu[1-2] is wrong" in report.verdict.warnings[0].text


def test_long_silence() -> None:
    """Runs that were killed without an end do not join the next attempt."""
    dead = [compose(node, 2, at=START + 100.0) for node in (0, 1)]
    report = merge(*dead, *(restart(compose(node, 2), 5.0) for node in (0, 1)))
    assert report.attempt == 2


def test_tasks_of_one_node() -> None:
    """Runs that overlap on one node are tasks of one attempt."""
    tasks = [replace(compose(0, 1), run_id=f"task-{number}") for number in range(4)]
    assert merge(*tasks, replace(end(compose(0, 1), "none"), run_id="task-9")).attempts == 1


def test_earlier_attempt_by_number() -> None:
    """An earlier attempt can be asked for."""
    merger = JobMerger(KEY)
    for one in (*FAILED, *(restart(compose(node, 4), 60.0) for node in (0, 1, 2, 3))):
        merger.add(store(one))
    first = merger.conclude(END + 100.0, attempt=1)
    assert first is not None
    assert first.verdict.cause == "cuda_oom"
    assert merger.conclude(END + 100.0, attempt=7) is None
