"""Metrics of real runs: their values, their labels, their limits, and records that are damaged."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.exporter.exposition import MOST_LABEL_CHARS
from gpualert_common.exporter.machine_metrics import MACHINE_METRICS
from gpualert_common.exporter.metric import Metric, MetricKind
from gpualert_common.exporter.reading import RunLimits
from gpualert_common.exporter.run_metrics import RUN_METRICS
from gpualert_common.launch_record import ChannelConfig
from gpualert_common.listing.condition import Condition
from gpualert_common.notify.entry import EntryState
from gpualert_common.notify.outbox import Outbox
from gpualert_common.record import Record
from tests.exporter.scrapes import change, copy_record, open_reader, scrape, write_telemetry
from tests.supervised import Lab, python, shell, until

OOM = python("raise RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB')")
WAITS = "until [ -e go ]; do sleep 0.01; done"
STEPS = shell(
    "for n in 1 2 3 4 5; do echo step $n/100 loss 0.$n; done; "
    f"until [ -e more ]; do sleep 0.01; done; echo step 6/100 loss nan; {WAITS}"
)


def test_run_that_failed(lab: Lab) -> None:
    """A run that ended has its condition, verdict, exit status and times, and a name to join."""
    lab.gpualert("run", "--name", "llama", "--job", "sweep", "--", *OOM)
    page = scrape(open_reader(lab))
    run_id = lab.records()[0].name
    ((info, _one),) = page.list("gpualert_run_info")
    assert (info["run_id"], info["name"], info["job_name"]) == (run_id, "llama", "sweep")
    assert page.value("gpualert_run_condition", run_id=run_id, condition="failed") == 1
    assert page.value("gpualert_run_verdict", cause="cuda_oom", attribution="job") == 1
    assert page.value("gpualert_run_exit_code", run_id=run_id) == 1
    began, ended = page.value("gpualert_run_start_time_seconds"), time.time()
    assert began <= page.value("gpualert_run_end_time_seconds") <= ended
    assert page.value("gpualert_runs", condition="failed") == 1
    assert page.value("gpualert_runs", condition="completed") == 0
    labels = {"condition": "failed", "cause": "cuda_oom", "attribution": "job"}
    assert page.value("gpualert_ended_runs_total", **labels) == 1


def test_progress_changes(lab: Lab) -> None:
    """The next reading of a run in progress has its new step and loss, which may be NaN."""
    run = lab.launch(*STEPS, options=("--name", "live"))
    run.wait_for_output(b"step 5/100")
    reader = open_reader(lab)
    page = scrape(reader)
    assert page.value("gpualert_run_condition", condition="running") == 1
    assert page.value("gpualert_run_step", unit="step") == 5
    assert page.value("gpualert_run_planned_steps") == 100
    assert page.value("gpualert_run_loss") == 0.5
    assert time.time() - page.value("gpualert_run_last_output_timestamp_seconds") < 60
    assert page.list("gpualert_ended_runs_total") == []
    (lab.home / "more").touch()
    page = until(
        lambda: found if (found := scrape(reader)).value("gpualert_run_step") == 6 else None,
        "the sixth step",
    )
    assert page.value("gpualert_run_loss") != page.value("gpualert_run_loss")
    (lab.home / "go").touch()
    run.wait()
    page = scrape(open_reader(lab))
    assert page.list("gpualert_run_step") == []
    assert page.sum("gpualert_ended_runs_total") == 1


def test_training_that_logs_epochs(lab: Lab) -> None:
    """A training without steps counts in epochs."""
    code = "for n in 1 2 3; do echo Epoch $n/7 - loss: 0.$n; done; " + WAITS
    lab.launch(*shell(code)).wait_for_output(b"3/7")
    ((labels, value),) = scrape(open_reader(lab)).list("gpualert_run_step")
    assert (labels["unit"], value) == ("epoch", 3)


def test_warning_of_a_live_run(lab: Lab) -> None:
    """A warning has a series while it is active, and none after it was withdrawn."""
    run = lab.launch(*shell(WAITS))
    record = Record.open(run.record.path)

    def append(event: str, kind: str) -> None:
        record.append_event(event, kind=kind, says="slow", since=time.time(), part_of=None)

    append("warning_raised", "no_progress")
    reader = open_reader(lab)
    assert scrape(reader).value("gpualert_run_warning", kind="no_progress") == 1
    append("warning_recovered", "no_progress")
    assert scrape(reader).list("gpualert_run_warning") == []
    append("warning_raised", 'no"\n{progress')
    assert scrape(reader).value("gpualert_run_warning", kind="other") == 1
    record.close()


def test_gpus_of_a_live_run(lab: Lab) -> None:
    """A run in progress has the number, use and memory of its GPUs, and their time up to now."""
    run = lab.launch(*shell(WAITS))
    write_telemetry(run.record.path)
    page = scrape(open_reader(lab))
    assert page.value("gpualert_run_gpus") == 2
    assert page.value("gpualert_run_gpu_utilization_ratio") == pytest.approx(0.7)
    assert page.value("gpualert_run_gpu_memory_used_bytes") == 1.3e11
    assert page.value("gpualert_run_gpu_memory_bytes") == 1.6e11
    assert page.value("gpualert_run_resident_memory_bytes") == 4e9
    age_s = time.time() - page.value("gpualert_run_start_time_seconds")
    assert 0 < page.value("gpualert_run_gpu_seconds") <= 2 * age_s
    assert page.list("gpualert_run_wasted_gpu_seconds") == []


def test_gpus_of_another_run(lab: Lab) -> None:
    """A GPU on which only processes of others hold memory is none of a run."""
    run = lab.launch(*shell(WAITS))
    write_telemetry(run.record.path, holder=run.leader)
    page = scrape(open_reader(lab))
    assert page.value("gpualert_run_gpus") == 1
    assert page.value("gpualert_run_gpu_utilization_ratio") == pytest.approx(0.9)
    assert page.value("gpualert_run_gpu_memory_used_bytes") == 7e10


def test_gpu_hours(lab: Lab) -> None:
    """GPU-seconds and wasted ones are those of the verdict; numbers that no run has are ignored."""
    lab.run(*OOM)
    (path,) = lab.records()
    good, negative, huge, text = copy_record(path, 4)
    change(good, "verdict.json", measured=_measured(7200.0, 3600.0))
    change(negative, "verdict.json", measured=_measured(-5e9, -1.0))
    change(huge, "verdict.json", measured=_measured(1e300, 1e17))
    change(text, "verdict.json", measured={"gpus": "8", "gpu_seconds": "many"})
    page = scrape(open_reader(lab))
    assert page.sum("gpualert_gpu_seconds_total", cause="cuda_oom") == pytest.approx(
        7200.0, abs=100.0
    )
    assert page.sum("gpualert_wasted_gpu_seconds_total", attribution="job") == pytest.approx(
        3600.0, abs=100.0
    )
    assert page.sum("gpualert_ended_runs_total") == 5


def _measured(used_s: float, wasted_s: float) -> dict[str, float]:
    return {"gpus": 8, "gpu_seconds": used_s, "wasted_gpu_seconds": wasted_s}


def test_hostile_names(lab: Lab) -> None:
    """No name breaks the page: quotes, line breaks and surrogates are escaped, long ones cut."""
    lab.gpualert("run", "--name", "plain", "--", "true")
    (path,) = lab.records()
    names = ['a"}\nfake_metric{b="', "back\\slash", "\ud800lone", "x" * 5000, "\x1b[31mred"]
    for name, copied in zip(names, copy_record(path, len(names)), strict=True):
        change(copied, "spec.json", name=name, job={"name": name, "key": "k"})
    page = scrape(open_reader(lab))
    infos = [labels for labels, _value in page.list("gpualert_run_info")]
    assert len(infos) == 1 + len(names)
    assert all(len(info["name"]) <= MOST_LABEL_CHARS for info in infos)
    assert not any(ord(char) < 32 for info in infos for char in info["name"])
    assert not any(line.startswith("fake_metric") for line in page.text.splitlines())
    assert any(info["name"] == "back\\slash" for info in infos)


def test_secret_in_a_name(lab: Lab) -> None:
    """A secret in the name of a run does not leave the machine."""
    token = "ghp_" + "a1B2" * 9
    lab.gpualert("run", "--name", f"train {token}", "--", "true")
    page = scrape(open_reader(lab))
    assert token not in page.text
    assert "[redacted" in page.list("gpualert_run_info")[0][0]["name"]


DAMAGE = (
    ("spec.json", b"{"),
    ("spec.json", b"\xff\xfe\x00"),
    ("spec.json", b'{"schema": 1, "created_at": 1e400, "name": 7}'),
    ("exit.json", b'{"schema": 1, "ended_at": "soon"}'),
    ("exit.json", b"[]"),
    ("verdict.json", b'{"schema": 1, "cause": '),
    ("verdict.json", b'{"schema": 99}'),
)


def test_damaged_records(lab: Lab) -> None:
    """Damaged records hide no other one, and are counted."""
    lab.run(*OOM)
    (path,) = lab.records()
    for copied, (file, content) in zip(copy_record(path, len(DAMAGE)), DAMAGE, strict=True):
        (copied / file).write_bytes(content)
    page = scrape(open_reader(lab))
    assert page.value("gpualert_run_verdict", run_id=path.name) == 1
    assert page.sum("gpualert_runs") == 1 + len(DAMAGE)
    damaged = page.value("gpualert_runs", condition="damaged")
    assert page.value("gpualert_exporter_unreadable_records") == damaged
    assert damaged >= 5


def test_record_that_is_no_directory(lab: Lab) -> None:
    """Files, links and folders that are no records are counted as unreadable."""
    lab.run(*OOM)
    runs = lab.state / "runs"
    (runs / "20200101-000000-000000-file").write_text("x")
    (runs / "20200101-000000-000000-link").symlink_to("/etc")
    (runs / "20200101-000000-000000-none").mkdir(mode=0o700)
    page = scrape(open_reader(lab))
    assert page.value("gpualert_exporter_unreadable_records") == 3
    assert page.value("gpualert_runs", condition="failed") == 1


@pytest.mark.e2e
def test_record_of_another_user(lab: Lab) -> None:
    """A record of another user is not trusted, and counted."""
    lab.run(*OOM)
    (path,) = lab.records()
    (copied,) = copy_record(path, 1)
    os.chown(copied, 65534, 65534)
    page = scrape(open_reader(lab))
    assert page.value("gpualert_exporter_unreadable_records") == 1
    assert page.sum("gpualert_ended_runs_total") == 1


def test_removed_record(lab: Lab) -> None:
    """A record that is removed has no series in the next reading, and stays in the totals."""
    lab.run(*OOM)
    (path,) = lab.records()
    copies = copy_record(path, 2)
    reader = open_reader(lab)
    before = scrape(reader)
    shutil.rmtree(path)
    shutil.rmtree(copies[0])
    after = scrape(reader)
    assert before.sum("gpualert_runs", condition="failed") == 3
    assert after.sum("gpualert_runs", condition="failed") == 1
    assert after.list("gpualert_run_info", run_id=path.name) == []
    assert after.sum("gpualert_ended_runs_total") == 3


def test_number_of_runs_with_series(lab: Lab) -> None:
    """Of too many runs the newest have series, those in progress first; the others are counted."""
    live = lab.launch(*shell(WAITS))
    lab.run(*OOM)
    path = next(one for one in lab.records() if str(one) != live.record.path)
    copy_record(path, 7)
    page = scrape(open_reader(lab, RunLimits(ended_s=900.0, most=3)))
    shown = [labels["run_id"] for labels, _value in page.list("gpualert_run_info")]
    assert len(shown) == 3
    assert {os.path.basename(live.record.path), path.name} < set(shown)
    assert page.value("gpualert_exporter_runs_without_series") == 6
    assert page.sum("gpualert_ended_runs_total") == 8


def test_run_that_ended_long_ago(lab: Lab) -> None:
    """A run that ended long ago has no series; nor has one that ended in the future."""
    lab.run(*OOM)
    (path,) = lab.records()
    (copied,) = copy_record(path, 1)
    change(path, "exit.json", ended_at=time.time() - 5000)
    change(copied, "exit.json", ended_at=time.time() + 5000)
    page = scrape(open_reader(lab))
    assert page.list("gpualert_run_info") == []
    assert page.value("gpualert_exporter_runs_without_series") == 0
    assert page.sum("gpualert_ended_runs_total") == 2


def test_first_run_of_its_kind(lab: Lab) -> None:
    """The totals by condition begin with 0, so that an increase counts the first failure."""
    lab.gpualert("run", "--", "true")
    reader = open_reader(lab)
    before = scrape(reader)
    lab.run(*OOM)
    change(max(lab.records()), "verdict.json", measured=_measured(7200.0, 3600.0))
    after = scrape(reader)
    for name, number in (("ended_runs", 1), ("gpu_seconds", 7200), ("wasted_gpu_seconds", 3600)):
        metric = f"gpualert_{name}_by_condition_total"
        assert before.value(metric, condition="failed") == 0
        assert after.value(metric, condition="failed") == pytest.approx(number)
        assert after.sum(metric) == after.sum(f"gpualert_{name}_total")
    assert before.list("gpualert_ended_runs_total", condition="failed") == []


def test_held_alerts(lab: Lab) -> None:
    """An alert that is held on purpose is counted, and its age is not that of a pending one."""
    lab.run(*OOM)
    outbox = Outbox(lab.record())
    channel: ChannelConfig = {"name": "x", "kind": "command", "settings": {"command": ["true"]}}
    held = outbox.draft(channel, EntryState.HELD)
    held.fields["queued_at"] = time.time() - 86400
    outbox.mark([outbox.add(held)])
    page = scrape(open_reader(lab))
    assert page.value("gpualert_unsent_alerts", state="held") == 1
    assert page.list("gpualert_oldest_pending_alert_timestamp_seconds") == []


def test_queued_alerts(lab: Lab) -> None:
    """Alerts that wait are counted by state, with the time of the oldest; damaged ones are not."""
    lab.run(*OOM)
    outbox = Outbox(lab.record())
    channel: ChannelConfig = {"name": "x", "kind": "command", "settings": {"command": ["true"]}}
    outbox.mark([outbox.add(outbox.draft(channel, EntryState.PENDING))])
    page = scrape(open_reader(lab))
    assert page.value("gpualert_unsent_alerts", state="pending") == 1
    assert time.time() - page.value("gpualert_oldest_pending_alert_timestamp_seconds") < 60
    (entry,) = lab.records()[0].glob("outbox/*.json")
    entry.write_text("{")
    assert scrape(open_reader(lab)).sum("gpualert_unsent_alerts") == 0


def test_names() -> None:
    """Names and labels are those of Prometheus' conventions, and no two metrics share one."""
    metrics: list[Metric[Any]] = [*MACHINE_METRICS, *RUN_METRICS]
    names = [metric.name for metric in metrics]
    assert len(set(names)) == len(names)
    for metric in metrics:
        assert re.fullmatch(r"gpualert(_[a-z]+)+", metric.name), metric.name
        assert metric.name.endswith("_total") == (metric.kind is MetricKind.COUNTER)
        assert not {"job", "instance", "le", "quantile"} & set(metric.labels), metric.name
        assert metric.help.endswith(".")


def test_conditions_are_complete(lab: Lab) -> None:
    """Without any run each condition has the value 0, so that rules have data."""
    page = scrape(open_reader(lab))
    found = {labels["condition"]: value for labels, value in page.list("gpualert_runs")}
    assert found == {str(condition): 0.0 for condition in Condition}
    assert json.dumps(found)


def test_state_directory_that_does_not_exist(lab: Lab) -> None:
    """Without a state directory there is a page; nothing is created."""
    reader = open_reader(lab)
    assert scrape(reader).value("gpualert_exporter_unreadable_records") == 0
    assert not Path(lab.state).exists()


@pytest.mark.nightly
def test_thousand_runs(lab: Lab) -> None:
    """Of a thousand runs all are counted, 200 have series, and a page has its usual size."""
    lab.run(*OOM)
    (path,) = lab.records()
    copy_record(path, 999)
    reader = open_reader(lab)
    page = scrape(reader)
    assert page.value("gpualert_runs", condition="failed") == 1000
    assert page.sum("gpualert_ended_runs_total") == 1000
    assert len(page.list("gpualert_run_info")) == 200
    assert page.value("gpualert_exporter_runs_without_series") == 800
    assert len(page.text) < 500_000
