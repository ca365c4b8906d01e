"""A real Prometheus scrapes the exporter; its rules fire, and the dashboard's queries have data."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from gpualert_common.record import Record
from tests.exporter.dashboards import DASHBOARD, list_expressions
from tests.exporter.prometheus import EXAMPLES, RULES, Prometheus, start_prometheus
from tests.exporter.scrapes import change, copy_record, start_exporter, write_telemetry
from tests.supervised import Lab, Supervised, python, shell, until

pytestmark = pytest.mark.e2e

OOM = python("raise RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB')")
TRAINING = shell(
    "n=0; until [ -e go ]; do n=$((n+1)); echo step $n/100000 loss 0.5; sleep 0.1; done"
)


def promtool(*arguments: str, given: bytes = b"") -> str:
    """Run promtool; fail with what it says."""
    done = subprocess.run(("promtool", *arguments), input=given, capture_output=True, timeout=60)
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 0, said
    return said


def test_examples() -> None:
    """Prometheus accepts the configuration and the rules of the examples."""
    promtool("check", "config", str(EXAMPLES / "prometheus.yml"))


def test_rules(tmp_path: Path) -> None:
    """Each rule alerts where it should, and not where it should not."""
    shutil.copy(EXAMPLES / RULES, tmp_path)
    shutil.copy(Path(__file__).with_name("rules.test.yml"), tmp_path)
    promtool("test", "rules", str(tmp_path / "rules.test.yml"))


def start_training(lab: Lab) -> Supervised:
    """Return a run in progress with GPUs, an alert that waits, and the warning that it hangs."""
    run = lab.launch(*TRAINING, options=("--name", "llama", "--job", "sweep"))
    write_telemetry(run.record.path)
    record = Record.open(run.record.path)
    record.append_event("warning_raised", kind="hung", says="hung", since=time.time(), part_of=None)
    record.close()
    return run


def test_scrapes(lab: Lab) -> None:
    """Prometheus has the runs, the rules alert, and every query of the dashboard has data."""
    lab.gpualert("run", "--name", "bert", "--job", "sweep", "--", *OOM)
    (path,) = lab.records()
    measured = {"gpus": 8, "gpu_seconds": 72000.0, "wasted_gpu_seconds": 36000.0}
    change(path, "verdict.json", attribution="infrastructure", measured=measured)
    start_training(lab)
    with start_exporter() as exporter:
        promtool("check", "metrics", given=exporter.request()[1])
        with start_prometheus(lab.home, exporter.address) as server:
            until(lambda: server.query("gpualert_run_step > 3"), "a step in Prometheus")
            (info,) = server.query('gpualert_run_info{name="llama"}')
            assert info["metric"]["job_name"] == "sweep"
            assert info["metric"]["job"] == "gpualert"
            copy_record(path, 3)  # more runs that ended, for queries of increases
            until(lambda: server.query("increase(gpualert_ended_runs_total[1m]) > 0"), "ended runs")
            check_rules(server)
            check_dashboard(server)


def check_rules(server: Prometheus) -> None:
    """The run that the machine ended fires at once; the one that hangs is pending."""
    wanted = {"GPUAlertRunFailedByInfrastructure": "firing", "GPUAlertRunHangs": "pending"}
    until(lambda: wanted.items() <= server.alerts().items(), "the alerts")
    assert "GPUAlertExporterDown" not in server.alerts()
    assert "GPUAlertGPUsIdle" not in server.alerts()


def check_dashboard(server: Prometheus) -> None:
    """Each query of the dashboard has data in its panel."""
    expressions = list_expressions(json.loads(DASHBOARD.read_text()))
    assert len(expressions) > 20
    for expression in expressions:
        until(lambda: server.query(expression), f"data of {expression}", deadline_s=10.0)  # noqa: B023
