"""Sections of a report: each shows what the record, the history and the telemetry have."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from gpualert_common import recover
from gpualert_common.artifacts.freeze import freeze
from gpualert_common.launch_record import Owner
from gpualert_common.pages.series_figures import mean_over_time, mean_rate
from gpualert_common.record import Record
from gpualert_common.run_report import make_report
from gpualert_common.telemetry.series import Series
from gpualert_common.telemetry.storage import TELEMETRY
from tests.pages.page_outline import Element, PageOutline
from tests.scenarios.scene import Scene
from tests.supervised import Lab, shell, until

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Return the folder of the records of a state directory."""
    folder = tmp_path / "state" / "runs"
    folder.mkdir(parents=True, mode=0o700)
    return folder


def finish(scene: Scene, runs: Path) -> Record:
    """Return the record of a scene that has ended, with its verdict and its row in the history."""
    written = scene.record(runs)
    written.close()
    record = Record.open(written.path)
    assert recover.recover(record) == "recovered"
    return record


def tables(record: Record, section: str) -> dict[str, list[list[str]]]:
    """Return the rows of each table of a section as texts, by its caption."""
    page = PageOutline(make_report(record))
    found: dict[str, list[list[str]]] = {}
    for table in page.find("table"):
        if section in [one.id for one in table.parents]:
            caption, *rows = [one for one in page.elements if _is_part(one, table)]
            found[_clean(caption)] = [[_clean(cell) for cell in row.children] for row in rows]
    return found


def _is_part(one: Element, table: Element) -> bool:
    return one.tag in ("caption", "tr") and any(parent is table for parent in one.parents)


def _clean(element: Element) -> str:
    return re.sub(r"\s+", " ", element.text).strip()


def test_earlier_runs(runs: Path) -> None:
    """Earlier runs of the same command are listed, newest first, with duration and cause."""
    first = finish(Scene(code=1, log=OOM, seconds=60.0), runs)
    second = finish(Scene(code=0, seconds=120.0), runs)
    finish(Scene(code=0, command=("python", "other.py")), runs)
    found = tables(finish(Scene(code=1, log=OOM, seconds=30.0), runs), "earlier_runs")
    rows = found["Earlier runs, newest first"][1:]
    assert [row[0] for row in rows] == [second.run_id, first.run_id]
    assert [row[2:5] for row in rows] == [
        ["2 min 00 s", "completed", ""],
        ["1 min 00 s", "failed", "cuda_oom"],
    ]


def test_attempts(runs: Path) -> None:
    """Attempts at one task are listed by their number; this one is marked."""

    def attempt(number: int) -> Scene:
        owner = Owner(key=("dag", "run", "task"), number=number, training="train", owner="x")
        return Scene(code=1, log=OOM, seconds=30.0, custody=owner)

    first, second = (finish(attempt(number), runs) for number in (1, 2))
    found = tables(first, "earlier_runs")
    rows = found["Attempts at the same task"][1:]
    assert [row[:2] for row in rows] == [
        ["1", f"{first.run_id} (this run)"],
        ["2", second.run_id],
    ]
    assert "Earlier runs, newest first" not in tables(second, "earlier_runs")


def test_manifest_and_alert(lab: Lab) -> None:
    """After an alert the report has a row for each artifact with its digest, and the answer."""
    code = "echo '{}' > metrics.json; echo x > model.pt; exit 3"
    lab.gpualert("run", "--notify", "mailbox", "--", *shell(code))
    record = lab.record()
    rows = tables(record, "files")["Manifest of the alert to mailbox"][1:]
    by_name = {row[0]: row[1:] for row in rows}
    assert by_name["metrics.json"][0] == "3 bytes"
    assert by_name["metrics.json"][1].startswith("attached, 3 bytes in the message")
    assert re.fullmatch("[0-9a-f]{64}", by_name["metrics.json"][2])
    assert by_name["model.pt"][1].startswith("left in place: a checkpoint")
    (sent,) = tables(record, "sent_alerts")["Attempts to send an alert"][1:]
    assert sent[1:4] == ["end of the run", "mailbox", "sent"]


def test_artifacts_that_could_not_be_collected(lab: Lab) -> None:
    """A manifest without files shows why there are none, for all channels that had it."""
    lab.gpualert("run", "--", *shell("exit 3"))
    record = lab.record()
    for channel in ("mailbox", "smtp"):
        manifest = {"schema": 1, "artifacts": [], "notes": ["the folder did not answer"]}
        record.write_json(f"bundle.{channel}.json", manifest)
    page = make_report(record)
    assert page.count("the folder did not answer") == 1
    assert "Artifacts" in page


def test_files_without_an_alert(lab: Lab) -> None:
    """Without an alert the report has the files as they were when the run ended."""
    lab.gpualert("run", "--", *shell("echo '{}' > metrics.json; exit 3"))
    record = lab.record()
    assert tables(record, "files") == {}
    freeze(record)
    rows = tables(record, "files")["Files that the run made"][1:]
    assert [row[:3] for row in rows] == [["metrics.json", "3 bytes", "left in place"]]


def test_process_of_a_run_without_ranks(lab: Lab) -> None:
    """A run without ranks has one row: the program that it started."""
    environment = {**os.environ, "GPUALERT_OBSERVE": "true"}
    run = lab.launch("cat", stdin=subprocess.PIPE, env=environment)
    telemetry = Path(run.record.path, TELEMETRY)
    until(lambda: telemetry.exists() and b'"leader"' in telemetry.read_bytes(), "a sample")
    assert run.process.stdin is not None
    run.process.stdin.close()
    assert run.wait() == 0
    found = tables(run.record, "ranks")
    (rows,) = found.values()
    assert [row[:2] for row in rows[1:]] == [["leader", str(run.leader)]]


def test_mean_over_time() -> None:
    """A merged sample of a longer time weighs more; a counter's rate ignores its begin."""
    assert mean_over_time(Series()) is None
    one = Series((5.0,), (7.0,), (7.0,), (7.0,))
    assert mean_over_time(one) == 7.0
    values = (0.0, 0.0, 100.0)
    assert mean_over_time(Series((10.0, 20.0, 40.0), values, values, values)) == 50.0
    assert mean_rate(one) is None
    counter = (1000.0, 1010.0, 1040.0)
    assert mean_rate(Series((10.0, 20.0, 30.0), counter, counter, counter)) == 2.0
