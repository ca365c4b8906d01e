"""Reports that a worker stores for the API server."""

from __future__ import annotations

import base64
import json
import os
import stat
import zlib
from pathlib import Path

import pytest
from airflow.providers.common.compat.sdk import conf
from gpualert_provider import report_store
from gpualert_provider.report_store import (
    ReportName,
    ReportStoreError,
    read_file,
    unpack,
    write_file,
)

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


def test_secrets_of_a_task(
    trials: Trials, lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A stored report has the secrets of the task's channels masked, which no rule knows."""
    monkeypatch.setenv("AIRFLOW__GPUALERT__REPORT_STORE", f"file://{tmp_path}/reports")
    login = {"login": "me", "password": "Tr0ub4dor"}
    fields = {"conn_type": "gpualert", "host": "127.0.0.1", "port": 9, **login}
    monkeypatch.setenv("AIRFLOW_CONN_MINE", json.dumps(fields))
    command = "echo Tr0ub4''dor is not 20.00 GiB; exit 1"  # in the log, and not in the command
    target = "airflow:mine?to=a@example.org"
    trials.train(f"bash_command={command!r}, notify={target!r}, notify_deadline=1")
    (path,) = (tmp_path / "reports").rglob("1.html.z")
    report = unpack(path.read_bytes()) or ""
    assert "is not 20.00 GiB" in report
    assert "Tr0ub4dor" not in report


def test_option_that_cannot_be_read(trials: Trials, capfd: pytest.CaptureFixture[str]) -> None:
    """An option that Airflow cannot read changes no task; its log says how to write it."""
    conf.read_string("[gpualert]\nreport_store = s3://me:pass@x/a%20zebra")
    try:
        done = trials.train("bash_command='echo done'")
        with pytest.raises(ReportStoreError):
            report_store.get_store()
        conf.read_string("[gpualert]\nreport_store = s3://x/a%%20b")
        assert report_store.get_store() == "s3://x/a%20b"
    finally:
        conf.remove_section("gpualert")
    assert (done.state, done.returned) == ("success", "done")
    output = capfd.readouterr()[0]
    assert "write %% for each %" in output
    assert "zebra" not in output


@pytest.mark.parametrize(("umask", "modes"), [(0, (0o750, 0o640)), (0o077, (0o700, 0o600))])
@pytest.mark.parametrize("prefix", ["file://", ""])
def test_modes_in_a_local_store(
    tmp_path: Path, prefix: str, umask: int, modes: tuple[int, int]
) -> None:
    """Others can read nothing in a local store, whatever the umask; it may remove more."""
    name = ReportName("dag", "run", "task", map_index=-1, number=1)
    before = os.umask(umask)
    try:
        for data in (b"first", b"second"):  # the report of a try may be stored again
            write_file(f"{prefix}{tmp_path}/a/b", name, data)
    finally:
        os.umask(before)
    made = list(tmp_path.rglob("*"))
    assert len(made) == 7
    for path in made:
        assert stat.S_IMODE(path.stat().st_mode) == modes[path.is_file()]


def test_local_store_without_a_folder(tmp_path: Path) -> None:
    """A store below a link that leads nowhere, or below a file, is an error."""
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    (tmp_path / "file").touch()
    name = ReportName("dag", "run", "task", map_index=-1, number=1)
    for folder in ("link", "file"):
        with pytest.raises(OSError, match=folder):
            write_file(f"file://{tmp_path}/{folder}", name, b"data")


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
