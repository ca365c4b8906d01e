"""Our pages in Airflow's API server: rights, sources of a report, and values that tasks write."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from airflow.providers.common.compat.sdk import conf
from gpualert_provider import report_store
from gpualert_provider.report_store import ReportName, store_report
from gpualert_provider.web import task_report
from gpualert_provider.web.work_slots import WorkSlots

from gpualert_common.errors import RecordError
from gpualert_common.record import Record
from tests.airflow.conftest import Trials
from tests.airflow.pages_client import (
    PagesClient,
    make_task_path,
    start_pages,
    write_xcom,
)
from tests.supervised import Lab

OOM = (
    "echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a "
    "total capacity of 79.15 GiB of which 3.12 GiB is free.'; echo TOP-SECRET-LINE; exit 1"
)
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202e\x1b[31m"
_SOURCE = """
import datetime
from airflow.sdk import DAG
from gpualert_provider.operators.gpualert import GPUAlertOperator

with DAG({name!r}, schedule=None) as dag:
    GPUAlertOperator(
        task_id="train",
        bash_command={command!r},
        retries={retries},
        retry_delay=datetime.timedelta(0),
        retry_by_cause=False,
    )
"""


class Trained:
    """A DAG run whose task has failed, and its XCom."""

    def __init__(self, trials: Trials, name: str, retries: int = 0) -> None:
        self.dag_id = f"{name}_{os.urandom(4).hex()}"
        source = _SOURCE.format(name=self.dag_id, command=OOM, retries=retries)
        self.run_id = trials.dag_of(self.dag_id, source).test().run_id
        self.path = make_task_path(self.dag_id, self.run_id)
        self.report = f"{self.path}/report"

    def set_xcom(self, value: object, key: str = "gpualert_verdict") -> None:
        """Write a value to XCom as a task may."""
        write_xcom(self.dag_id, self.run_id, value, key)

    def list_records(self, state: Path) -> list[Path]:
        """Return the records of the task, oldest first."""
        found = sorted((state / "runs").iterdir())
        return [one for one in found if self.dag_id in (one / "spec.json").read_text()]

    def find_pointer(self, state: Path) -> Path:
        """Return the file that names the last record of the task."""
        names = {one.name for one in self.list_records(state)}
        for path in (state / "keys").glob("*/run.json"):
            if Path(json.loads(path.read_text())["run"]).name in names:
                return path
        raise AssertionError("no pointer")

    def read_verdict(self, state: Path) -> dict[str, Any]:
        """Return the verdict in the last record."""
        found: dict[str, Any] = json.loads(
            (self.list_records(state)[-1] / "verdict.json").read_text()
        )
        return found


class WorkerTask:
    """The task instance of a try and its log, as far as a report needs them on a worker."""

    def __init__(self, trained: Trained, number: int) -> None:
        self.dag_id, self.run_id, self.task_id = trained.dag_id, trained.run_id, "train"
        self.map_index, self.try_number = -1, number
        self.warnings: list[str] = []
        self._trained = trained

    def xcom_push(self, key: str, value: object) -> None:
        """Write to XCom."""
        self._trained.set_xcom(value, key)

    def info(self, text: str, /, *values: object) -> None:
        """Log nothing."""

    def warning(self, text: str, /, *values: object) -> None:
        """Keep a warning."""
        self.warnings.append(text % values)

    error = warning


@pytest.fixture(scope="module")
def pages(database: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PagesClient]:
    """Yield clients of the API server."""
    with start_pages(tmp_path_factory.mktemp("pages")) as client:
        yield client


@pytest.fixture(scope="module")
def runs(
    database: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Trained, Trained, Path]]:
    """Yield two trainings that failed, the first in its second try, and their state directory."""
    lab = Lab(tmp_path_factory.mktemp("trained"))
    (lab.home / "tmp").mkdir()
    numbers = (signal.SIGTERM, signal.SIGALRM, signal.SIGINT)
    handlers: dict[int, Any] = {number: signal.getsignal(number) for number in numbers}
    trials = Trials(lab)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in lab.environment().items():
            patch.setenv(name, value)
        closed, opened = Trained(trials, "closed", retries=1), Trained(trials, "open")
    yield closed, opened, lab.state
    trials.end()
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def state(runs: tuple[Trained, Trained, Path], lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of their state directory, which is that of the API server."""
    shutil.copytree(runs[2], lab.state)
    return lab.state


@pytest.fixture
def closed(runs: tuple[Trained, Trained, Path]) -> Iterator[Trained]:
    """Yield the training that few may see; its XCom is restored after the test."""
    yield runs[0]
    runs[0].set_xcom(runs[0].read_verdict(runs[2]))


@pytest.fixture
def opened(runs: tuple[Trained, Trained, Path]) -> Trained:
    """Return the training that everyone who may read logs may see."""
    return runs[1]


@pytest.fixture
def elsewhere(lab: Lab, closed: Trained) -> None:
    """Give the API server a state directory without records."""


def test_report_of_the_record(pages: PagesClient, closed: Trained, state: Path) -> None:
    """The report of each try is made of its own record."""
    shown = pages.get(closed.path)
    assert (shown.status_code, shown.text.count('class="try')) == (200, 2)
    for number, record in enumerate(closed.list_records(state), start=1):
        answer = pages.get(f"{closed.report}?try={number}")
        assert answer.status_code == 200
        assert "sandbox" in answer.headers["content-security-policy"]
        assert record.name in answer.text
        assert "TOP-SECRET-LINE" in answer.text  # which no rule knows


@pytest.mark.parametrize(
    ("user", "closed_status", "opened_status"),
    [
        ("admin", 200, 200),
        ("viewer", 200, 200),
        ("openview", 403, 200),
        ("shortsight", 403, 403),
        ("", 401, 401),
    ],
)
def test_rights(
    pages: PagesClient,
    closed: Trained,
    opened: Trained,
    state: Path,
    user: str,
    closed_status: int,
    opened_status: int,
) -> None:
    """A user sees the pages of a task only with the right to its logs and XComs."""
    listed = pages.get("/gpualert/failures?days=7", user).text
    for trained, status in ((closed, closed_status), (opened, opened_status)):
        for path in (trained.path, trained.report):
            answer = pages.get(path, user)
            assert answer.status_code == status
            assert ("GiB" in answer.text) <= (status == 200)
        assert (trained.dag_id in listed) == (status == 200)


def test_rights_to_xcoms(pages: PagesClient, closed: Trained, opened: Trained, state: Path) -> None:
    """The page lists no DAG whose XComs the user may not read, whatever the query names."""
    for query in ("", f"?dag_id={opened.dag_id}", "?dag_id=~", f"?dag={closed.dag_id}"):
        answer = pages.get(f"/gpualert/failures{query}", "halfsight")
        assert answer.status_code == 200
        assert "/dags/closed" not in answer.text
        assert opened.dag_id in answer.text
        assert pages.get(f"/gpualert/failures{query}", "shortsight").status_code == 403
        assert pages.get(f"/gpualert/failures{query}", "").status_code == 401
    assert pages.get(closed.report, "halfsight").status_code == 403


def test_token_of_another_server(pages: PagesClient, closed: Trained, state: Path) -> None:
    """A cookie that this server did not sign shows nothing."""
    client = pages.of("")
    for cookie in ("x", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiIsInJvbGUiOiJhZG1pbiJ9."):
        client.cookies.set("_token", cookie)
        assert client.get(closed.report).status_code in (401, 403)
        client.cookies.clear()


def test_only_get(pages: PagesClient) -> None:
    """No page answers another method."""
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert pages.of("admin").request(method, "/gpualert/failures").status_code == 405


def test_unknown_names(pages: PagesClient, closed: Trained) -> None:
    """A task instance, a try or a file that does not exist is not found."""
    for path in (
        make_task_path(closed.dag_id, closed.run_id, "other"),
        make_task_path(closed.dag_id, closed.run_id, index=4),
        make_task_path(closed.dag_id, closed.run_id, index="x"),
        make_task_path(closed.dag_id, closed.run_id, index="9" * 4000),
        f"{closed.path}?try=7",
        f"{closed.report}?try=0",
        f"{closed.report}?try={'9' * 30}",
        "/gpualert/failures?page=x",
        "/gpualert/static/..%2Fplugin.py",
        "/gpualert/static/base.html",
    ):
        assert pages.get(path).status_code == 404, path


def test_verdict_of_xcom(pages: PagesClient, closed: Trained, elsewhere: None) -> None:
    """Without a readable record the page shows the verdict in XCom, for the newest try."""
    answer = pages.get(closed.report)
    assert "Tried to allocate 20.00 GiB" in answer.text
    assert "report_store" in answer.text
    assert "GPUALERT_STATE_DIR" in pages.get(f"{closed.report}?try=1").text


@pytest.mark.parametrize(
    "value",
    [
        *(None, "", "x", [], {}, 7, {"cause": "cuda_oom"}, {"schema": 99}, "x" * 500_000),
        {"headline": ["x"] * 9},
        {"cause": {"a": 1}, "measured": {"gpu_seconds": "many"}},
        {"cause": "x", "measured": [], "attribution": ["y"]},
    ],
    ids=lambda value: repr(value)[:40],
)
def test_values_that_are_no_verdict(
    pages: PagesClient, closed: Trained, elsewhere: None, value: object
) -> None:
    """A value that is no verdict breaks no page; the tab says how a report is kept."""
    closed.set_xcom(value)
    assert "GPUALERT_STATE_DIR" in pages.get(closed.report).text
    assert pages.get("/gpualert/failures").status_code == 200


_UNUSED = "airflow.example_dags.tutorial_dag"
_NAMES_A_CLASS = {"__classname__": f"{_UNUSED}.DAG", "__version__": 1, "__data__": {"dag_id": "x"}}


@pytest.mark.parametrize("kind", ["class", "part", "text", "old style"])
def test_verdict_that_names_a_class(
    pages: PagesClient,
    closed: Trained,
    runs: tuple[Trained, Trained, Path],
    elsewhere: None,
    kind: str,
) -> None:
    """A value that names a class imports nothing, and no verdict is shown of it."""
    verdict = closed.read_verdict(runs[2])
    values: dict[str, object] = {
        "class": verdict | _NAMES_A_CLASS,
        "part": verdict | {"measured": _NAMES_A_CLASS},
        "text": json.dumps(verdict | {"details": [_NAMES_A_CLASS]}),
        "old style": verdict | {"measured": {"__type": f"{_UNUSED}.DAG", "__var": {}}},
    }
    closed.set_xcom(values[kind])
    assert "GPUALERT_STATE_DIR" in pages.get(closed.report).text
    assert _UNUSED not in sys.modules


def test_verdict_as_text(
    pages: PagesClient, closed: Trained, runs: tuple[Trained, Trained, Path], elsewhere: None
) -> None:
    """A verdict that a back-end stored as a text is shown."""
    closed.set_xcom(json.dumps(closed.read_verdict(runs[2])))
    assert "Tried to allocate 20.00 GiB" in pages.get(closed.report).text


def test_hostile_verdict(
    pages: PagesClient, closed: Trained, runs: tuple[Trained, Trained, Path], elsewhere: None
) -> None:
    """Texts of a verdict are shown as they are: no markup, no control or bidi characters."""
    changed = dict.fromkeys(("headline", "host", "log_path", "implies", "run_id"), HOSTILE)
    closed.set_xcom({**closed.read_verdict(runs[2]), **changed, "do": [HOSTILE]})
    for path in (closed.report, "/gpualert/failures"):
        shown = pages.get(path).text
        assert "&lt;script&gt;" in shown
        for part in ("<script>", "<img", "\u202e", "\x1b"):
            assert part not in shown


def test_no_path_of_a_task_is_opened(
    pages: PagesClient, closed: Trained, state: Path, tmp_path: Path
) -> None:
    """Neither XCom nor a pointer leads to a record outside of the state directories."""
    verdict = closed.read_verdict(state)
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o700)
    for record in closed.list_records(state):
        moved = record.rename(outside / record.name)
    for pointer in (state / "keys").glob("*/run.json"):
        pointer.write_text(json.dumps({"schema": 1, "run": str(moved)}))
    closed.set_xcom({**verdict, "record": str(moved), "headline": "OF XCOM"})
    assert "OF XCOM" in pages.get(closed.report).text


def test_record_of_another_task(
    pages: PagesClient, closed: Trained, opened: Trained, state: Path
) -> None:
    """A pointer to the record of another task shows nothing of it."""
    theirs = closed.list_records(state)[-1]
    opened.find_pointer(state).write_text(json.dumps({"schema": 1, "run": str(theirs)}))
    shown = pages.get(opened.report, "openview")
    assert shown.status_code == 200
    assert theirs.name not in shown.text


def test_link_in_a_record(pages: PagesClient, closed: Trained, state: Path, tmp_path: Path) -> None:
    """A log that was replaced by a link to another file is not read."""
    secret = tmp_path / "airflow.cfg"
    secret.write_text("RuntimeError: fernet_key = DO-NOT-SHOW\n" * 50)
    record = closed.list_records(state)[-1]
    (record / "output.log").unlink()
    (record / "output.log").symlink_to(secret)
    (record / "verdict.json").unlink()
    answer = pages.get(closed.report)
    assert answer.status_code == 200
    assert "DO-NOT-SHOW" not in answer.text


def test_record_that_is_not_trusted(pages: PagesClient, closed: Trained, state: Path) -> None:
    """A record that others can write is not read; the tab shows XCom."""
    record = closed.list_records(state)[-1]
    record.chmod(0o777)
    with pytest.raises(RecordError, match="not trusted"):
        Record.open(str(record))
    assert "report_store" in pages.get(closed.report).text


def test_headers(pages: PagesClient, closed: Trained, state: Path) -> None:
    """Every answer forbids foreign frames, scripts and caches."""
    for user, path in (
        ("admin", closed.path),
        ("admin", closed.report),
        ("admin", "/gpualert/failures"),
        ("", closed.path),
        ("openview", closed.path),
        ("admin", "/gpualert/nothing"),
    ):
        headers = pages.get(path, user).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'self'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_store_that_never_answers(
    closed: Trained,
    runs: tuple[Trained, Trained, Path],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """A store that never answers holds the task no longer than the deadline."""
    ti = WorkerTask(closed, 1)
    run_id = quote(closed.run_id, safe="")
    pipe = tmp_path / closed.dag_id / run_id / "train" / "-1" / "1.html.z"
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)  # opening it waits for a reader
    monkeypatch.setenv("AIRFLOW__GPUALERT__REPORT_STORE", f"file://{tmp_path}")
    monkeypatch.setattr(report_store, "DEADLINE_S", 3.0)
    record = Record.open(str(closed.list_records(runs[2])[0]))
    store_report(ti, record, ti, secrets={}, with_xcom=True)
    os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))
    assert ti.warnings == [
        f"The report could not be stored in file://{tmp_path}: not done after 3 s"
    ]


@pytest.mark.parametrize("kind", ["xcom", "folder"])
def test_stored_report(
    pages: PagesClient,
    closed: Trained,
    runs: tuple[Trained, Trained, Path],
    elsewhere: None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    kind: str,
) -> None:
    """Without the record the tab shows the report that the worker stored for the try.

    The secrets of the channels are masked in it.
    """
    store = "xcom" if kind == "xcom" else f"file://{tmp_path}/reports"
    monkeypatch.setenv("AIRFLOW__GPUALERT__REPORT_STORE", store)
    for number, path in enumerate(closed.list_records(runs[2]), start=1):
        ti = WorkerTask(closed, number)
        secrets = {"mine": {"password": "TOP-SECRET-LINE"}}
        store_report(ti, Record.open(str(path)), ti, secrets=secrets, with_xcom=True)
        assert ti.warnings == []
        shown = pages.get(f"{closed.report}?try={number}")
        if number == 2 or kind == "folder":
            assert path.name in shown.text
            assert "TOP-SECRET-LINE" not in shown.text
            assert "sandbox" in shown.headers["content-security-policy"]


def test_option_that_cannot_be_read(
    pages: PagesClient, closed: Trained, elsewhere: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a report store that cannot be read the tab shows the verdict, and the reason."""
    conf.read_string("[gpualert]\nreport_store = s3://me:pass@x/a%20b")
    try:
        shown = pages.get(closed.report).text
    finally:
        conf.remove_section("gpualert")
    assert "Tried to allocate 20.00 GiB" in shown
    assert "write %% for each %" in shown
    assert "20b" not in shown


def test_store_that_hangs(
    pages: PagesClient,
    closed: Trained,
    elsewhere: None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """While a store does not answer, the tab shows the verdict in XCom."""
    name = ReportName(closed.dag_id, closed.run_id, "train", -1, 2)
    pipe = tmp_path.joinpath(*name.list_parts())
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)  # opening it waits for a writer
    monkeypatch.setenv("AIRFLOW__GPUALERT__REPORT_STORE", f"file://{tmp_path}")
    reads = WorkSlots(2, wait_s=0.1, deadline_s=0.1)
    monkeypatch.setattr(task_report, "STORE_READS", reads)
    for _ in range(3):
        shown = pages.get(closed.report).text
        assert "The report store does not answer" in shown
        assert "Tried to allocate 20.00 GiB" in shown
    os.close(os.open(pipe, os.O_RDWR))


def test_many_reports(
    pages: PagesClient, closed: Trained, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While two reports are made, the page of another one says so and loads itself again."""
    slots = WorkSlots(2, wait_s=0.1, deadline_s=60)
    monkeypatch.setattr(task_report, "_REPORTS", slots)
    begun, end = threading.Barrier(3), threading.Event()

    def work() -> None:
        begun.wait(30)
        end.wait(30)

    others = [threading.Thread(target=slots.run, args=(work,)) for _ in range(2)]
    for one in others:
        one.start()
    begun.wait(30)
    answer = pages.get(closed.report)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert 'http-equiv="refresh"' in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    end.set()
    for one in others:
        one.join()
    assert pages.get(closed.report).status_code == 200


def test_cut_period(database: None, closed: Trained, opened: Trained) -> None:
    """The verdicts of a period are cut at the limit, and the result says so."""
    from airflow.utils.session import create_session
    from gpualert_provider.web.task_verdicts import list_verdicts

    since = datetime.now(UTC) - timedelta(days=1)
    with create_session() as session:
        for most, is_cut in ((1, True), (2, False)):
            found = list_verdicts(session, since, {closed.dag_id, opened.dag_id}, most)
            assert (len(found.verdicts), found.is_cut) == (most, is_cut)


_BACK_END = """
import base64, sys, zlib
from airflow.sdk.execution_time.xcom import XCom
from airflow.utils.session import create_session
from gpualert_provider.report_store import REPORT_KEY
from gpualert_provider.web.tries import TaskName
from gpualert_provider.web.xcoms import read_report
from tests.airflow.pages_client import write_xcom

page = "<!doctype html>" + "x" * 5000
names = {"dag_id": sys.argv[1], "run_id": sys.argv[2], "task_id": "train"}
report = base64.b64encode(zlib.compress(page.encode())).decode()
value = XCom.serialize_value(report, key=REPORT_KEY, map_index=-1, **names)
write_xcom(sys.argv[1], sys.argv[2], value, REPORT_KEY)
with create_session() as session:
    assert read_report(session, TaskName(**names)) == page
write_xcom(sys.argv[1], sys.argv[2], "file:///etc/passwd", REPORT_KEY)
with create_session() as session:
    assert read_report(session, TaskName(**names)) is None
print("stored as", value)
"""


def test_xcom_back_end(closed: Trained, tmp_path: Path) -> None:
    """A report is read through the XCom back-end, which may keep it elsewhere."""
    back_end = "airflow.providers.common.io.xcom.backend.XComObjectStorageBackend"
    variables = {
        "AIRFLOW__CORE__XCOM_BACKEND": back_end,
        "AIRFLOW__COMMON_IO__XCOM_OBJECTSTORAGE_PATH": f"file://{tmp_path}/xcom",
        "AIRFLOW__COMMON_IO__XCOM_OBJECTSTORAGE_THRESHOLD": "10",
    }
    done = subprocess.run(
        [sys.executable, "-c", _BACK_END, closed.dag_id, closed.run_id],
        env={**os.environ, **variables},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"stored as file://{tmp_path}/xcom" in done.stdout
