"""Parts of our pages in Airflow that need no server: limits, the cache, and what is rendered."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

import pytest
from gpualert_provider.web.failure_summary import FailureFilter, summarize
from gpualert_provider.web.rendering import render_failures, render_missing, render_task
from gpualert_provider.web.report_cache import ReportCache
from gpualert_provider.web.task_verdicts import TaskVerdict
from gpualert_provider.web.tries import TaskName, TaskTry
from gpualert_provider.web.work_slots import NoFreeSlotError, WorkSlots


@pytest.mark.parametrize(
    ("state", "is_polled"),
    [
        *((one, True) for one in ("running", "queued", "up_for_retry", "up_for_reschedule")),
        *((one, True) for one in ("none", "awaiting_input", "deferred", "restarting")),
        *((one, False) for one in ("success", "failed", "skipped", "upstream_failed")),
    ],
)
def test_polling(state: str, is_polled: bool) -> None:
    """The list of tries is read again until the task instance has its last state."""
    tries = [TaskTry(1, "failed", 1.0, 2.0), TaskTry(2, state, 3.0, None, is_latest=True)]
    page = render_task(TaskName("dag", "run", "train"), tries, tries[0])
    assert (" data-live" in page) == is_polled


def test_problem_of_a_live_try() -> None:
    """A live try without a report shows the reason, escaped, and loads itself again."""
    page = render_missing(TaskTry(1, "running", 1.0, None), "Its record <b> cannot be read")
    assert "Its record &lt;b&gt; cannot be read" in page
    assert 'http-equiv="refresh"' in page


def _fail(dag_id: str, cause: str) -> TaskVerdict:
    return TaskVerdict(
        task=TaskName(dag_id, "run", "train"),
        at=datetime(2026, 1, 1, tzinfo=UTC),
        cause=cause,
        headline="",
        attribution="job",
        is_failed=True,
        gpu_seconds=0.0,
        wasted_gpu_seconds=0.0,
    )


@pytest.mark.parametrize("is_cut", [True, False])
def test_failures(is_cut: bool) -> None:
    """A DAG with the name of a cause is another choice; the page says if the period is cut."""
    verdicts = [_fail("cuda_oom", "cuda_oom"), _fail("other", "cuda_oom")]
    for chosen in (FailureFilter(cause="cuda_oom"), FailureFilter(dag_id="cuda_oom")):
        page = render_failures(
            summarize(verdicts, chosen), chosen, days=30, periods=(30,), is_cut=is_cut
        )
        assert page.count('aria-current="true"') == 1
        assert "the job itself" in page
        assert ("Only the newest 20,000" in page) == is_cut


def test_slots() -> None:
    """Slots return values and errors, and are free again after both."""
    slots = WorkSlots(1, wait_s=0, deadline_s=30)
    for _ in range(3):
        assert slots.run(lambda: 7) == 7
        with pytest.raises(ZeroDivisionError):
            slots.run(lambda: 1 // 0)


def test_slots_that_are_taken() -> None:
    """Work that goes on has a slot; after its deadline it keeps the slot until it ends."""
    slots = WorkSlots(1, wait_s=0, deadline_s=0.05)
    end, refused = threading.Event(), []

    def try_another() -> None:
        with pytest.raises(NoFreeSlotError):
            slots.run(lambda: None)
        refused.append(True)
        end.wait(30)

    for _ in range(2):
        with pytest.raises(TimeoutError):  # first its own deadline, then that of the other
            slots.run(try_another)
    end.set()
    later = WorkSlots(1, wait_s=30, deadline_s=30)
    assert later.run(lambda: "other slots") == "other slots"
    assert refused == [True]


def test_cache() -> None:
    """A report is kept for a time, and the oldest is dropped first."""
    cache = ReportCache(keep_s=3600, most=2)
    for path in ("a", "b", "a", "c"):
        cache.put(path, f"report {path}")
    assert [cache.get(path) for path in "abc"] == ["report a", None, "report c"]
    past = ReportCache(keep_s=0, most=2)
    past.put("a", "report")
    assert past.get("a") is None
