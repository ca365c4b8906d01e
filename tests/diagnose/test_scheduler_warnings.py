"""Warnings about the scheduler of a run: problems that raise them, and near misses."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from gpualert_common.classify.rule_reader import load_rules
from gpualert_common.diagnose.detection import NOT_DETECTED, Detection
from gpualert_common.diagnose.warning_monitor import WarningMonitor
from gpualert_common.launch_record import LaunchRecord
from gpualert_common.progress import Progress, ProgressReader
from gpualert_common.record import Event, Record
from gpualert_common.slurm.submissions.followed_state import FollowedState
from gpualert_common.telemetry.series import Telemetry
from gpualert_common.telemetry.slurm_events import make_followed_event
from gpualert_common.telemetry.source import SourceEvent
from tests.diagnose.watched import Curves, Watched, look

HOUR_S, MINUTE_S = 3600.0, 60.0
KIND = "time_limit_near"
Seen = tuple[str, float, SourceEvent]


def left(minutes: float) -> Curves:
    """Return a job with so many minutes to its limit, as the source slurm samples them."""
    return {("slurm", "time_left_seconds"): lambda age_s: minutes * MINUTE_S + age_s}


def limit(minutes: float, hours_ago: float) -> Seen:
    """Return the same as the follower of a job saw it so many hours ago."""
    state = FollowedState("7", "RUNNING", ends_at=time.time() + minutes * MINUTE_S)
    return "slurm", hours_ago * HOUR_S, make_followed_event(state, 0.0)


def parse(*lines: str) -> Progress:
    """Return the progress in these lines of a log."""
    reader = ProgressReader("output.log")
    reader.feed("".join(f"{line}\n" for line in lines).encode(), 0)
    return reader.snapshot()


TRAINING = parse("step 100/1000 loss 2.0", "step 500/1000 loss 1.5")
SAVED = parse(
    "step 400/1000 loss 1.6",
    "Saving model checkpoint to out/checkpoint-450",
    "step 500/1000 loss 1.5",
)


def near(
    tmp_path: Path,
    minutes: float,
    step_s: float | None = 12.0,
    progress: Progress | None = TRAINING,
    silent_s: float = 1.0,
    hours: float = 8.0,
    events: tuple[Seen, ...] = (),
) -> Detection | None:
    """Return the detection in a run of so many hours, with the pace of its last 100 steps."""
    stepping = None if step_s is None else (100, 100 * step_s)
    watched = Watched(
        tmp_path,
        seconds=hours * HOUR_S,
        progress=progress,
        stepping=stepping,
        silent_s=silent_s,
        events=(limit(minutes, hours), *events),
    )
    return watched.judged(KIND)


def is_raised(found: Detection | None) -> bool:
    """True for a warning."""
    return found is not None and found is not NOT_DETECTED


def test_limit_before_the_last_step(tmp_path: Path) -> None:
    """A training that needs 100 minutes with 40 left raises a warning with both numbers, the time
    of the limit, and the last checkpoint."""
    found = near(tmp_path, 40, progress=SAVED)
    assert found is not None
    assert found.summary == "time limit of its Slurm job near"
    limit, pace, save = (claim.claim for claim in found.shows)
    assert limit.startswith("40 minutes are left until the limit at ")
    assert pace == "it is at step 500 of 1000; at 12 s per step it needs 100 minutes more"
    assert save == "the last checkpoint seen is that of step 450, about 10 minutes ago"


@pytest.mark.parametrize(
    ("minutes", "hours", "expected"),
    [
        *((59, 20.0, True), (61, 20.0, False), (47, 8.0, True), (60, 8.0, False)),
        *((9, 0.5, True), (11, 0.5, False), (1.0, 0.02, True), (1.4, 0.02, False)),
    ],
)
def test_time_in_which_it_is_near(
    minutes: float, hours: float, expected: bool, tmp_path: Path
) -> None:
    """Near is a tenth of the job's time, ten minutes to an hour, or half of a short job."""
    assert is_raised(near(tmp_path, minutes, 600.0, hours=hours)) is expected


def test_training_that_ends_in_time(tmp_path: Path) -> None:
    """A training with 500 steps of 3 s left needs 25 of its 40 minutes: no warning.  With 4.6 s it
    needs 38 of 40, and no time is left for the last checkpoint."""
    assert near(tmp_path, 40, 3.0) is NOT_DETECTED
    assert is_raised(near(tmp_path / "b", 40, 4.6))


def test_pace_of_the_log(tmp_path: Path) -> None:
    """Without a pace by the clock, the time of a step on the lines counts."""
    slow = parse("step 100/1000 loss 2.0 step_time 9.0s", "step 500/1000 loss 1.5 step_time 9.0s")
    assert any(point.step_s for point in slow.points)
    assert is_raised(near(tmp_path, 40, None, slow))


@pytest.mark.parametrize(
    "lines",
    [
        ("step 990/1000 loss 1.0", "step 1000/1000 loss 1.0"),
        ("step 100/1000 loss 2.0", "{'train_runtime': 12.5, 'train_loss': 1.5, 'epoch': 1.0}"),
    ],
    ids=["all steps done", "end reported"],
)
def test_training_that_has_ended(lines: tuple[str, ...], tmp_path: Path) -> None:
    """A training that only evaluates or saves after its last step raises no warning."""
    assert near(tmp_path, 5, progress=parse(*lines)) is NOT_DETECTED


def test_hang_before_the_last_steps(tmp_path: Path) -> None:
    """The pace of a run that printed nothing for long does not count: it is late with ten steps."""
    late = parse("step 100/1000 loss 2.0", "step 990/1000 loss 1.5")
    assert near(tmp_path, 40, 12.0, late) is NOT_DETECTED
    assert is_raised(near(tmp_path / "b", 40, 12.0, late, silent_s=900.0))


def written(ago_s: float) -> Seen:
    """Return the event of a checkpoint on the disk."""
    fields = {"count": 3, "latest": "ckpt-3.pt"}
    return "checkpoint_files", ago_s, SourceEvent("checkpoints_written", "files", "3", fields)


def test_program_without_steps(tmp_path: Path) -> None:
    """A program that reports no steps, or none of how many, raises a warning, unless it saved a
    checkpoint while the limit was near."""
    for name, progress in (("a", parse("hello")), ("b", parse("step 7 loss 2.0"))):
        found = near(tmp_path / name, 40, None, progress)
        assert found is not None
        assert found.shows[-1].claim == "no checkpoint of it was seen"
        recent = near(tmp_path / f"{name}2", 40, None, progress, events=(written(300.0),))
        assert recent is NOT_DETECTED
        old = near(tmp_path / f"{name}3", 40, None, progress, events=(written(2 * HOUR_S),))
        assert is_raised(old)


def test_without_a_limit(tmp_path: Path) -> None:
    """Outside of Slurm, in a job without a limit, and before the log is read, nothing is known."""
    assert Watched(tmp_path, progress=TRAINING).judged(KIND) is None
    assert near(tmp_path / "b", 5, progress=None) is None


def test_limit_of_a_job_that_samples_it(tmp_path: Path) -> None:
    """Inside of the job the source slurm has the limit; an extended one withdraws the warning."""
    stepping = (100, 1200.0)
    found = Watched(tmp_path, left(8), progress=TRAINING, stepping=stepping).judged(KIND)
    assert found is not None
    assert found.shows[0].claim.startswith("8 minutes are left")
    events = (limit(8, 1.5), limit(300, 0.1))
    extended = Watched(tmp_path / "b", events=events, progress=TRAINING, stepping=stepping)
    assert extended.judged(KIND) is NOT_DETECTED


@pytest.mark.parametrize("ends_at", [-1.0, 1e300, "soon", True, [1]])
def test_damaged_limit(ends_at: object, tmp_path: Path) -> None:
    """A limit that is no time is none."""
    event = SourceEvent("slurm_followed_job", "slurm", "x", {"ends_at": ends_at})
    found = Watched(tmp_path, events=(("slurm", 1.0, event),), progress=TRAINING).judged(KIND)
    assert found is None


def test_monitor_measures_the_pace(tmp_path: Path) -> None:
    """The monitor reads the progress only near the limit, and takes the pace from its readings;
    the first one alone shows none."""
    reads: list[int] = []

    def check(minutes: float, steps: tuple[int, ...]) -> list[Event]:
        record = Record.create(str(tmp_path / f"run{minutes}-{steps[-1]}"), sync=False)
        look(record, left(minutes), seconds=HOUR_S)
        telemetry = Telemetry()
        telemetry.read(record)
        launched = LaunchRecord(created_at=time.time() - HOUR_S)
        monitor = WarningMonitor(launched, (), 1, load_rules())
        events: list[Event] = []
        for index, step in enumerate(steps):
            monitor._check_due = monitor._limit_due = monitor._progress_due = 0.0

            def read(step: int = step) -> Progress:
                reads.append(step)
                return parse(f"step {step}/1000 loss 1.0")

            printed_at = time.time() - 60.0 + 20.0 * index
            events += monitor.check(telemetry, (), printed_at, read)
        return [one for one in events if one.fields.get("kind") == KIND]

    assert check(300.0, (10, 20)) == []
    assert reads == [10]  # the first output is always read
    (raised,) = check(8.0, (10, 11, 12))
    assert raised.name == "warning_raised"
    assert check(8.0, (700, 800, 900)) == []


# -- endless_wait ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "reason", "expected"),
    [
        ("PENDING", "DependencyNeverSatisfied", True),
        ("PENDING", "BadConstraints", True),
        ("PENDING", "Dependency", False),
        ("PENDING", "Resources", False),
        ("PENDING", "JobHeldUser", False),
        ("RUNNING", "", False),
        ("CANCELLED", "DependencyNeverSatisfied", False),
    ],
)
def test_endless_wait(state: str, reason: str, expected: bool, tmp_path: Path) -> None:
    """Only a job that waits for a reason that never passes, and that nobody ordered, counts."""
    event = make_followed_event(FollowedState("7", state, reason), time.time())
    found = Watched(tmp_path, events=(("slurm", 1.0, event),)).judged("endless_wait")
    assert is_raised(found) is expected
    if expected and found is not None:
        assert found.summary == f"job 7 waiting for ever ({reason})"
    assert Watched(tmp_path / "other").judged("endless_wait") is None
