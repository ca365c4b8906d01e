"""Reports that a worker stores for the API server."""

from __future__ import annotations

import base64
import os
import zlib
from pathlib import Path

import pytest
from gpualert_provider import report_store
from gpualert_provider.report_store import ReportName, read_file, unpack, write_file

from tests.airflow.conftest import Trials
from tests.supervised import Lab


def test_store_of_a_task(
    trials: Trials, lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A task stores its report; with a store in XCom only if it may push to XCom."""
    monkeypatch.setenv("AIRFLOW__GPUALERT__REPORT_STORE", f"file://{tmp_path}/reports")
    dag = trials.dag("bash_command='echo done'")
    assert trials.test(dag).state == "success"
    (path,) = (tmp_path / "reports").rglob("1.html.z")
    assert lab.records()[0].name in (unpack(path.read_bytes()) or "")
    monkeypatch.setenv("AIRFLOW__GPUALERT__REPORT_STORE", "xcom")
    done = trials.train("bash_command='echo done', do_xcom_push=False")
    assert (done.state, done.xcom(report_store.REPORT_KEY)) == ("success", None)


def test_store_that_fails(
    trials: Trials, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A store that cannot be written changes no task; its log says so."""
    monkeypatch.setenv("AIRFLOW__GPUALERT__REPORT_STORE", "nosuch://bucket/x")
    done = trials.train("bash_command='echo done'")
    assert (done.state, done.returned) == ("success", "done")
    assert "The report could not be stored in nosuch://bucket/x" in capfd.readouterr()[0]


def test_names_in_a_store(tmp_path: Path) -> None:
    """No name of a DAG or a run leads out of the store, and no two share a report."""
    store = f"file://{tmp_path}/store"
    pages = {}
    for names in (("..", "..", ".."), ("a/b", "c", "d"), ("a", "b/c", "d"), (".", "x y", "\xfc")):
        name = ReportName(*names, map_index=-1, number=1)
        pages[name] = f"<!doctype html>{names}"
        write_file(store, name, zlib.compress(pages[name].encode()))
    assert {path.name for path in tmp_path.iterdir()} == {"store"}
    assert {name: read_file(store, name) for name in pages} == pages


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"plain",
        zlib.compress(b"root:x:0:0"),
        zlib.compress(b"<!doctype html>" + bytes(200 << 20)),
        zlib.compress(b"<!doctype html>")[:-3],
        os.urandom(2 << 20),
    ],
    ids=["empty", "plain", "no page", "bomb", "cut", "too large"],
)
def test_stored_data_that_is_no_report(data: bytes) -> None:
    """Data that is no report of ours is not shown."""
    assert unpack(data) is None
    assert report_store.read_xcom(base64.b64encode(data).decode()) is None
