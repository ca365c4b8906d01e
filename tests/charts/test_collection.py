"""The timeline of a run, from its record: complete, bounded, and safe for any content."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from gpualert_common.charts.collection import collect_timeline
from gpualert_common.charts.line_thinning import MOST_POINTS
from gpualert_common.charts.summary import summarize_panels
from gpualert_common.charts.timeline import MOST_LINES, LineKind, MarkKind, Panel, Timeline
from gpualert_common.record import EVENTS, EXIT, INDEX, SPEC, VERDICT, Record
from gpualert_common.redact import Redactor
from gpualert_common.report.text_sanitizer import NoMasks
from gpualert_common.telemetry.storage import TELEMETRY
from tests.charts.composed import BEGAN_AT, DAY_S, LOG, ComposedRun
from tests.supervised import PYTHON, Lab, shell

ROOT = Path(__file__).resolve().parents[2]


def collect(record: Record) -> Timeline:
    """Return the timeline without masks."""
    return collect_timeline(record, masks=NoMasks())


def panel(timeline: Timeline, title: str) -> Panel:
    """Return the panel of that title."""
    (found,) = (one for one in timeline.panels if one.title == title)
    return found


def labels(timeline: Timeline) -> list[str]:
    """Return the labels of the marks, in order."""
    return [one.label for one in timeline.marks]


def test_every_panel_of_a_run(tmp_path: Path) -> None:
    """A run with GPUs has every number over one time, from its launch to its end."""
    timeline = collect(ComposedRun(gpus=2).compose(tmp_path / "run"))
    assert [one.title for one in timeline.panels] == [
        "Loss",
        "Rate",
        "GPU activity",
        "GPU memory",
        "GPU clock",
        "GPU temperature",
        "GPU power",
        "Host memory",
        "Processors",
        "Disks",
        "Output",
    ]
    assert (timeline.began_at, timeline.ended_at) == (BEGAN_AT, BEGAN_AT + 3600)
    for one in timeline.panels:
        for line in one.lines:
            assert BEGAN_AT <= line.at[0] <= line.at[-1] <= timeline.ended_at
            assert list(line.at) == sorted(line.at)
    assert [one.name for one in panel(timeline, "GPU memory").lines] == ["GPU 0", "GPU 1", "limit"]
    assert labels(timeline) == [*["checkpoint"] * 5, "exit 0"]
    assert timeline.notes == ()


def test_a_real_run(lab: Lab) -> None:
    """The losses and checkpoints of a real training are on its timeline."""
    program = ROOT / "examples" / "train_numpy.py"
    lab.gpualert("run", "--", PYTHON, str(program), cwd=lab.home)
    (path,) = lab.records()
    timeline = collect(Record.open(str(path)))
    (loss,) = panel(timeline, "Loss").lines
    assert len(loss.value) == 20
    assert {"checkpoint", "exit 0"} == set(labels(timeline))


def test_thirty_days(tmp_path: Path) -> None:
    """A run of thirty days has a bounded number of points, and the extremes of all its samples."""
    run = ComposedRun(length_s=30 * DAY_S, gpus=8, steps=20_000, checkpoints=500)
    timeline = collect(run.compose(tmp_path / "run"))
    assert all(len(line.at) <= MOST_POINTS for one in timeline.panels for line in one.lines)
    memory = panel(timeline, "GPU memory")
    assert len(memory.lines) == 9
    least = min(one for one in memory.lines[0].low if one is not None)
    assert least == pytest.approx(0.95 * 8, rel=0.01)  # of the oldest sample
    assert len([one for one in timeline.marks if one.kind is MarkKind.CHECKPOINT]) <= 60
    assert "were read" in timeline.notes[0]


def test_many_gpus_and_ranks(tmp_path: Path) -> None:
    """Of 64 GPUs and 64 ranks there is a band, and a line for the GPU that stopped."""
    run = ComposedRun(gpus=64, ranks=64, dead_gpu=37, steps=200, length_s=1800)
    timeline = collect(run.compose(tmp_path / "run"))
    assert all(len(one.lines) <= MOST_LINES + 1 for one in timeline.panels)
    band, outlier = panel(timeline, "GPU activity").lines
    assert (band.name, band.kind) == ("median of 64 GPUs", LineKind.MEDIAN)
    assert outlier.name == "GPU 37"
    assert min(one for one in band.low if one is not None) == 0
    assert panel(timeline, "Processors").lines[0].name == "median of 64 ranks"


def test_losses_that_are_not_finite(tmp_path: Path) -> None:
    """NaN losses are gaps with times of their own, and a mark; none is drawn as a number."""
    timeline = collect(ComposedRun(nan_from=900).compose(tmp_path / "run"))
    (loss,) = panel(timeline, "Loss").lines
    began_at = BEGAN_AT + 3600 * (0.02 + 0.97 * 0.9)
    assert loss.not_finite_at[0] == pytest.approx(began_at, abs=10)
    last = max(at for at, value in zip(loss.at, loss.value, strict=True) if value is not None)
    assert last < loss.not_finite_at[0]
    (mark,) = (one for one in timeline.marks if one.kind is MarkKind.NOT_FINITE)
    assert mark.at == loss.not_finite_at[0]
    (row,) = (one for one in summarize_panels(timeline) if one.panel == "Loss")
    assert row.last == "not finite"


def test_only_losses_that_are_not_finite(tmp_path: Path) -> None:
    """A training whose losses are all NaN has a panel of them."""
    timeline = collect(ComposedRun(nan_from=1).compose(tmp_path / "run"))
    (loss,) = panel(timeline, "Loss").lines
    assert loss.not_finite_at
    assert not [value for value in loss.value if value is not None]


def test_events(tmp_path: Path) -> None:
    """Warnings, signals, stops, dumps and faults are marks at their times."""
    record = ComposedRun(code=-9).compose(tmp_path / "run")
    sender = {"pid": 7, "command": "slurmstepd"}
    warning = {"kind": "gpu_idle", "says": "GPU 1 is idle", "since": BEGAN_AT, "part_of": None}
    record.append_event("warning_raised", BEGAN_AT + 100, **warning)
    record.append_event("warning_recovered", BEGAN_AT + 200, **warning)
    record.append_event("stacks_taken", BEGAN_AT + 300, reason="on request")
    record.append_event("stacks_taken", BEGAN_AT + 310, problem="none could be read")
    record.append_event("signal", BEGAN_AT + 400, signal=15, sender=sender)
    record.append_event("stopping", BEGAN_AT + 400.5, signal=15, sender=sender, grace_s=30)
    event = {"what": "xid", "of": "gpu:1", "source": "nvml", "at": BEGAN_AT + 50, "text": "Xid 79"}
    with open(Path(record.path) / TELEMETRY, "a") as file:
        file.write(json.dumps({"event": event}) + "\n")
    timeline = collect(record)
    shown = [one.label for one in timeline.marks if one.kind is not MarkKind.CHECKPOINT]
    assert shown == ["Xid", "gpu idle", "gpu idle over", "stacks", "SIGTERM", "SIGKILL"]
    (signal,) = (one for one in timeline.marks if one.label == "SIGTERM")
    assert "slurmstepd" in signal.text


@pytest.mark.parametrize("name", [SPEC, EXIT, VERDICT, EVENTS, TELEMETRY, LOG, INDEX])
@pytest.mark.parametrize("content", [b"", b"\xff\x00{", b'{"a":', b"[1]\n", b"NaN\n", None])
def test_a_damaged_file(tmp_path: Path, name: str, content: bytes | None) -> None:
    """A file of a record that is damaged, empty or missing takes away only what it had."""
    record = ComposedRun(steps=50, length_s=300).compose(tmp_path / "run")
    path = Path(record.path) / name
    if content is None:
        path.unlink(missing_ok=True)
    else:
        path.write_bytes(content)
    timeline = collect(record)
    assert timeline.panels or name == SPEC


def test_a_truncated_telemetry(tmp_path: Path) -> None:
    """Of a telemetry that ends in the middle of a line, the lines before it are shown."""
    record = ComposedRun(steps=10).compose(tmp_path / "run")
    path = Path(record.path) / TELEMETRY
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    (line,) = panel(collect(record), "GPU activity").lines
    assert line.at[0] < BEGAN_AT + 10
    assert line.at[-1] < BEGAN_AT + 2000


def test_impossible_numbers(tmp_path: Path) -> None:
    """Numbers and times that no run has are left out, and disturb no other one."""
    record = ComposedRun(steps=10).compose(tmp_path / "run")
    with open(Path(record.path) / TELEMETRY, "a") as file:
        for at in (-1e300, 0, BEGAN_AT + 4000, 1e300, float("nan")):
            row = {"at": at, "n": 1, "rows": {"gpu:0": [1e300, float("inf"), float("nan"), -1e308]}}
            file.write(json.dumps(row) + "\n")
    record.append_event("signal", 1e300, signal=[], sender=7)
    record.append_event("signal", BEGAN_AT + 9, signal="x", sender={"pid": []})
    record.append_event("warning_raised", BEGAN_AT + 9, kind={}, says=[1])
    Path(record.log_path(LOG)).write_text("step 1 loss 1e308\nstep 2 loss -1e308\n" * 9)
    timeline = collect(record)
    (line, _limit) = panel(timeline, "GPU memory").lines
    assert all(BEGAN_AT <= at <= timeline.ended_at for at in line.at)
    assert [one.label for one in timeline.marks if one.kind is MarkKind.SIGNAL] == ["signal"]


def test_hostile_names_and_secrets(tmp_path: Path) -> None:
    """A name of the telemetry or a text of an event is one short line, with secrets masked."""
    secret = "ghp_" + "a1B2" * 9
    names = [f"rank:{text}" for text in ("</svg><script>x", "\u202ea\x1b[31m", "x" * 9999)]
    record = ComposedRun(steps=10, names=names).compose(tmp_path / "run")
    record.append_event("warning_raised", BEGAN_AT + 9, kind="x\ny", says=f"token {secret}\x00")
    timeline = collect_timeline(record, masks=Redactor())
    every = [line.name for one in timeline.panels for line in one.lines]
    every += [text for one in timeline.marks for text in (one.text, one.label)]
    assert not [text for text in every if len(text) > 210 or set(text) & set("\n\x00\x1b\u202e")]
    assert not [text for text in every if secret in text]
    assert any("redacted" in one.text for one in timeline.marks)


def test_a_run_in_progress(lab: Lab) -> None:
    """The timeline of a run in progress ends now, without an end."""
    run = lab.launch(*shell("echo step 1 loss 2; until [ -e go ]; do sleep 0.02; done"))
    run.wait_for_output(b"loss 2")
    timeline = collect(run.record)
    assert timeline.ended_at == pytest.approx(time.time(), abs=30)
    assert "exit 0" not in labels(timeline)
    (lab.home / "go").touch()
    assert run.wait() == 0
    assert "exit 0" in labels(collect(run.record))
