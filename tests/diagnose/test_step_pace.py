"""Tests of the pace of a run in progress: its windows, the warning, and what it captures."""

from __future__ import annotations

import random
import time

import pytest

from gpualert_common.classify.resolution import resolve
from gpualert_common.classify.rule_reader import load_rules
from gpualert_common.diagnose.capture_schedule import CaptureSchedule
from gpualert_common.diagnose.detection import Detection
from gpualert_common.diagnose.evidence import Evidence, RunObservations
from gpualert_common.diagnose.phenomena import warning_kinds
from gpualert_common.diagnose.step_pace import PaceWindows, StepPositions
from gpualert_common.diagnose.warning_monitor import WarningMonitor
from gpualert_common.history import PastRun
from gpualert_common.launch_record import LaunchRecord
from gpualert_common.model import ExitFacts
from gpualert_common.progress import Progress, ProgressReader
from gpualert_common.record import CAPTURE_TAKEN, CAPTURE_WANTED, Event
from gpualert_common.telemetry.series import Telemetry

READ_EVERY_S = 5.0
FACTS = ExitFacts(code=None)
RUNNING = resolve((), FACTS, load_rules(), running=True)


def follow(step_s: list[float], *, pauses: dict[int, float] | None = None) -> PaceWindows:
    """Return the positions of a training, read every 5 s; *pauses* come before their steps."""
    positions, now, read_at, printed = PaceWindows(), 0.0, READ_EVERY_S, (0.0, 0)
    for step, seconds in enumerate(step_s, 1):
        now += seconds + (pauses or {}).get(step, 0.0)
        while now > read_at:
            positions.add(*printed)
            read_at += READ_EVERY_S
        printed = (now, step)
    positions.add(*printed)
    return positions


def detect(positions: PaceWindows, *earlier: float) -> Detection | None:
    """Return the detection after these positions and earlier runs with these times of a step."""
    runs = tuple(
        PastRun(str(n), "x", 1.0, step_time_s=step_s, disposition="completed", cause="none")
        for n, step_s in enumerate(earlier)
    )
    observed = RunObservations(Telemetry(), paces=positions.paces, earlier=runs)
    return warning_kinds()["slow"].detect(Evidence(RUNNING, FACTS, observed))


def slow(positions: PaceWindows, *earlier: float) -> str:
    """Return the summary of that detection; "" for none."""
    found = detect(positions, *earlier)
    return "" if found is None else found.summary


def test_slower_than_at_the_beginning() -> None:
    """Steps that become twice as long raise a warning with both times."""
    positions = follow([0.4] * 300 + [0.8] * 200)
    found = detect(positions)
    assert found is not None
    assert found.summary == "steps slower than at its beginning"
    assert "takes 0.8 s; at its beginning it took 0.4 s" in found.shows[0].claim


def test_slower_than_earlier_runs() -> None:
    """A run that is slow from its first step on is slower than earlier runs, and says so."""
    positions = follow([0.8] * 400)
    assert not slow(positions)
    assert slow(positions, 0.41, 0.4, 0.39, 0.4).endswith("in earlier runs")


@pytest.mark.parametrize(
    ("step_s", "pauses"),
    [
        ([0.4] * 700, {}),
        ([0.4] * 300 + [0.5] * 400, {}),
        ([0.4] * 700, {690: 45.0}),
        ([0.4] * 700, dict.fromkeys(range(100, 700, 100), 8.0)),
        ([3.0] * 10 + [0.4] * 600, {}),
        ([0.4] * 300 + [1.2] * 90 + [0.4] * 200, {}),
        ([0.8] * 200 + [0.4] * 400, {}),
    ],
    ids=["even", "a quarter", "evaluation", "checkpoints", "warm-up", "recovered", "faster"],
)
def test_not_slower(step_s: list[float], pauses: dict[int, float]) -> None:
    """Small changes, pauses between steps, the first steps and a past slowdown raise no warning."""
    assert not slow(follow(step_s, pauses=pauses))


def test_noise() -> None:
    """Of 200 trainings whose steps vary by a third, and pause now and then, none is slow."""
    for seed in range(200):
        noise = random.Random(seed)
        step_s = [0.4 * noise.lognormvariate(0.0, 0.3) for _ in range(1500)]
        pauses = {step: noise.uniform(0, 30) for step in noise.sample(range(1, 1500), 6)}
        positions = PaceWindows()
        now, warned = 0.0, False
        for step, seconds in enumerate(step_s, 1):
            now += seconds + pauses.get(step, 0.0)
            positions.add(now, step)
            if step % 50 == 0:
                warned = warned or slow(positions) != ""
        assert not warned, seed


def test_restart_and_sleep_begin_a_new_window() -> None:
    """Steps that begin again, and a machine that slept, make no window slow."""
    positions = PaceWindows()
    for step in range(1, 401):
        positions.add(step * 0.5, step)
    positions.interrupt()
    for step in range(401, 801):
        positions.add(4000.0 + step * 0.5, step)
    for step in range(1, 401):
        positions.add(9000.0 + step * 0.5, step)
    paces = positions.paces
    assert paces is not None
    assert max((*paces.early, *paces.recent)) == pytest.approx(0.5)


def test_reported_times_are_not_compared_with_the_clock() -> None:
    """A log that reports the time of a step is not compared with a history of such times."""
    positions = PaceWindows()
    for step in range(1, 401):
        positions.add(step * 0.8, step, is_reported=True)
    assert positions.paces is not None
    assert not slow(positions, 0.41, 0.4, 0.39, 0.4)


def test_positions_before_a_limit() -> None:
    """The pace before the limit of a job is that of the latest positions, after a restart anew."""
    positions = StepPositions()
    for step in (*range(1, 50), *range(10, 40)):
        positions.add(1000.0 + step * 0.5, step)
    assert positions.stepping == pytest.approx((19, 9.5))
    assert StepPositions().stepping is None


def test_too_few_lines_show_no_pace() -> None:
    """A training that has made few steps shows no pace, and the result is unknown."""
    assert PaceWindows().paces is None
    assert follow([5.0] * 20).paces is None
    assert detect(PaceWindows()) is None


def test_at_most_two_captures() -> None:
    """A run that becomes slow again and again is captured twice, by all of its recorders."""
    schedule = CaptureSchedule("trace", ())
    wanted: list[Event] = []
    for _ in range(4):
        wanted += [*schedule.update("slow", 1.0), *schedule.update("slow", 2.0)]
        wanted += schedule.update("", 3.0)
    assert [(one.name, one.fields["kind"]) for one in wanted] == [(CAPTURE_WANTED, "trace")] * 2
    again = CaptureSchedule("trace", [Event(CAPTURE_TAKEN), Event(CAPTURE_TAKEN)])
    assert not [*again.update("", 1.0), *again.update("slow", 2.0)]
    assert not CaptureSchedule("off", ()).update("slow", 1.0)


@pytest.mark.parametrize("on_slowdown", ["off", "profile"])
def test_monitor_reads_the_pace_only_where_wanted(
    on_slowdown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The monitor of a run with ``on_slowdown`` reads its log, warns, and asks for a capture."""
    clock, readings = 1e9, 0
    monkeypatch.setattr(time, "time", lambda: clock)
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    record = LaunchRecord(created_at=clock, on_slowdown=on_slowdown)
    monitor = WarningMonitor(record, (), None, load_rules())
    reader, step, events = ProgressReader("output.log"), 0, list[Event]()

    def read() -> Progress | None:
        nonlocal readings
        readings += 1
        return reader.snapshot()

    offset = 0
    for tick in range(100):
        clock += 5.0
        for _ in range(10 if tick < 50 else 4):
            step += 1
            line = f"step {step} loss 2.{step % 7}\n".encode()
            reader.feed(line, offset)
            monitor.note_output(line)
            offset += len(line)
        events += monitor.check(Telemetry(), (), clock, read)
    kinds = [one.name for one in events if one.name == CAPTURE_WANTED]
    if on_slowdown == "off":
        assert (kinds, readings) == ([], 1)
    else:
        assert (kinds, events[-1].fields["kind"]) == ([CAPTURE_WANTED], on_slowdown)
        assert any(one.fields.get("kind") == "slow" for one in events[:-1])
