"""Our pages in Airflow's API server: rights, sources of a report, and values that tasks write."""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from gpualert_provider import report_store
from gpualert_provider.report_store import ReportName, read_file, unpack, write_file

from gpualert_common.record import Record
from tests.airflow.conftest import Trials
from tests.airflow.pages_client import PagesClient, make_task_path, start_pages
from tests.supervised import Lab

OOM = (
    "echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a "
    "total capacity of 79.15 GiB of which 3.12 GiB is free.'; exit 1"
)
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202e\x1b[31m"


@pytest.fixture(scope="module")
def pages(database: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PagesClient]:
    """Yield clients of the API server."""
    with start_pages(tmp_path_factory.mktemp("pages")) as client:
        yield client


class Trained:
    """A DAG run whose task has ended, and the values in its XCom."""

    def __init__(self, trials: Trials, arguments: str, *, name: str = "", retries: int = 0) -> None:
        dag_id = f"{name or 'closed'}_{os.urandom(4).hex()}"
        source = (
            "import datetime\nfrom airflow.sdk import DAG\n"
            "from gpualert_provider.operators.gpualert import GPUAlertOperator\n"
            f"with DAG({dag_id!r}, schedule=None) as dag:\n"
            f"    GPUAlertOperator(task_id='train', retries={retries}, "
            f"retry_delay=datetime.timedelta(0), retry_by_cause=False, {arguments})\n"
        )
        dag = trials.dag_of(dag_id, source)
        self.run = dag.test()
        self.dag_id, self.run_id = dag_id, self.run.run_id
        self.path = make_task_path(dag_id, self.run_id)
        _make_known(dag_id)

    def set_xcom(self, key: str, value: object) -> None:
        """Write a value to XCom as a task may."""
        from airflow.models.xcom import XComModel

        names = {"dag_id": self.dag_id, "task_id": "train", "run_id": self.run_id}
        XComModel.set(key=key, value=value, serialize=False, **names)


def _make_known(dag_id: str) -> None:
    """Let Airflow list the DAG, as after the file was parsed."""
    from airflow.models.dag import DagModel
    from airflow.utils.session import create_session

    with create_session() as session:
        model = session.get(DagModel, dag_id)
        assert model is not None
        model.is_stale = False


def test_report_of_the_record(pages: PagesClient, trials: Trials, lab: Lab) -> None:
    """The report is made of the record of each try."""
    trained = Trained(trials, f"bash_command={OOM!r}", retries=1)
    shown = pages.get(trained.path)
    assert (shown.status_code, shown.text.count('class="try')) == (200, 2)
    records = {path.name for path in lab.records()}
    assert len(records) == 2
    found = set()
    for number in (1, 2):
        answer = pages.get(f"{trained.path}/report?try={number}")
        assert answer.status_code == 200
        assert "sandbox" in answer.headers["content-security-policy"]
        found |= {name for name in records if name in answer.text}
    assert found == records


@pytest.mark.parametrize(
    ("user", "closed", "opened"),
    [("admin", 200, 200), ("viewer", 200, 200), ("openview", 403, 200), ("shortsight", 403, 403),
     ("", 401, 401)],
)
def test_rights(
    pages: PagesClient, trials: Trials, user: str, closed: int, opened: int
) -> None:
    """A user sees the pages of a task only with the right to its logs and XComs."""
    for name, status in (("closed", closed), ("open", opened)):
        trained = Trained(trials, f"bash_command={OOM!r}", name=name)
        for path in (trained.path, f"{trained.path}/report"):
            answer = pages.get(path, user)
            assert answer.status_code == status
            assert ("GiB" in answer.text) <= (status == 200)
        listed = pages.get("/gpualert/failures?days=7", user)
        assert (trained.dag_id in listed.text) == (status == 200)


def test_only_get(pages: PagesClient) -> None:
    """No page answers another method."""
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert pages.of("admin").request(method, "/gpualert/failures").status_code == 405


def test_unknown_names(pages: PagesClient, trials: Trials) -> None:
    """A task instance, a try or a file that does not exist is not found."""
    trained = Trained(trials, "bash_command='true'")
    for path in (
        make_task_path(trained.dag_id, trained.run_id, "other"),
        make_task_path(trained.dag_id, trained.run_id, index=4),
        make_task_path(trained.dag_id, trained.run_id, index="x"),
        f"{trained.path}?try=7",
        f"{trained.path}/report?try=0",
        "/gpualert/static/..%2Fplugin.py",
        "/gpualert/static/base.html",
    ):
        assert pages.get(path).status_code == 404, path


def test_verdict_of_xcom(
    pages: PagesClient, trials: Trials, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where the record cannot be read, the page shows the verdict in XCom."""
    trained = Trained(trials, f"bash_command={OOM!r}")
    monkeypatch.setenv("GPUALERT_STATE_DIR", str(tmp_path / "elsewhere"))
    answer = pages.get(f"{trained.path}/report")
    assert "Tried to allocate 20.00 GiB" in answer.text
    assert "report_store" in answer.text


@pytest.mark.parametrize(
    "value",
    [None, "", "x", [], {}, 7, {"cause": "cuda_oom"}, {"schema": 99}, {"headline": ["x"] * 9},
     {"cause": {"a": 1}, "measured": {"gpu_seconds": "many"}}, {"cause": "x", "measured": []}],
)
def test_values_that_are_no_verdict(
    pages: PagesClient,
    trials: Trials,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    value: object,
) -> None:
    """A value that is no verdict breaks no page; the tab says how a report is kept."""
    trained = _one_of(trials)
    trained.set_xcom("gpualert_verdict", value)
    monkeypatch.setenv("GPUALERT_STATE_DIR", str(tmp_path / "elsewhere"))
    assert "GPUALERT_STATE_DIR" in pages.get(f"{trained.path}/report").text
    assert pages.get("/gpualert/failures").status_code == 200


_made: list[Trained] = []


def _one_of(trials: Trials) -> Trained:
    """Return a run for tests that only replace its XCom; a DAG run takes seconds."""
    if not _made:
        _made.append(Trained(trials, f"bash_command={OOM!r}"))
    return _made[0]


def test_hostile_verdict(
    pages: PagesClient, trials: Trials, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Texts of a verdict are shown as they are: no markup, no control or bidi characters."""
    trained = Trained(trials, f"bash_command={OOM!r}")
    verdict = json.loads(_find_record(trained).joinpath("verdict.json").read_text())
    verdict |= {"headline": HOSTILE, "do": [HOSTILE], "host": HOSTILE, "log_path": HOSTILE}
    trained.set_xcom("gpualert_verdict", verdict)
    monkeypatch.setenv("GPUALERT_STATE_DIR", str(tmp_path / "elsewhere"))
    for path in (f"{trained.path}/report", "/gpualert/failures"):
        shown = pages.get(path).text
        assert "&lt;script&gt;" in shown
        for part in ("<script>", "<img", "\u202e", "\x1b"):
            assert part not in shown


def _find_record(trained: Trained) -> Path:
    from gpualert_common.record_locations import list_places, list_record_paths

    for path in list_record_paths(list_places(os.environ["GPUALERT_STATE_DIR"])):
        if trained.dag_id in Path(path, "spec.json").read_text():
            return Path(path)
    raise AssertionError("no record")


def test_no_path_of_a_task_is_opened(
    pages: PagesClient, trials: Trials, lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Neither XCom nor a pointer leads to a record outside of the state directories."""
    trained = Trained(trials, f"bash_command={OOM!r}")
    record = _find_record(trained)
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o700)
    moved = outside / record.name
    record.rename(moved)
    (pointer,) = [
        path for path in (lab.state / "keys").glob("*/run.json") if record.name in path.read_text()
    ]
    pointer.write_text(json.dumps({"schema": 1, "run": str(moved)}))
    verdict = json.loads((moved / "verdict.json").read_text())
    trained.set_xcom("gpualert_verdict", {**verdict, "record": str(moved), "headline": "FROM XCOM"})
    assert "FROM XCOM" in pages.get(f"{trained.path}/report").text


def test_record_of_another_task(pages: PagesClient, trials: Trials, lab: Lab) -> None:
    """A pointer to the record of another task shows nothing of it."""
    secret = Trained(trials, "bash_command='echo TOP-SECRET-LINE; exit 1'")
    mine = Trained(trials, f"bash_command={OOM!r}", name="open")
    theirs, ours = _find_record(secret), _find_record(mine)
    (pointer,) = [
        path for path in (lab.state / "keys").glob("*/run.json") if ours.name in path.read_text()
    ]
    pointer.write_text(json.dumps({"schema": 1, "run": str(theirs)}))
    shown = pages.get(f"{mine.path}/report", "openview")
    assert shown.status_code == 200
    assert theirs.name not in shown.text
    assert "TOP-SECRET-LINE" not in shown.text


def test_link_in_a_record(pages: PagesClient, trials: Trials, tmp_path: Path) -> None:
    """A log that was replaced by a link to another file is not read."""
    trained = Trained(trials, f"bash_command={OOM!r}")
    record = _find_record(trained)
    secret = tmp_path / "airflow.cfg"
    secret.write_text("error: fernet_key = DO-NOT-SHOW\n" * 50)
    (record / "output.log").unlink()
    (record / "output.log").symlink_to(secret)
    (record / "verdict.json").unlink()
    answer = pages.get(f"{trained.path}/report")
    assert answer.status_code == 200
    assert "DO-NOT-SHOW" not in answer.text


STORES = ["xcom", "folder"]


@pytest.mark.parametrize("kind", STORES)
def test_store(
    pages: PagesClient,
    trials: Trials,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    kind: str,
) -> None:
    """The worker stores the report; without the record the tab shows the stored one."""
    store = "xcom" if kind == "xcom" else f"file://{tmp_path}/reports"
    monkeypatch.setenv("AIRFLOW__GPUALERT__REPORT_STORE", store)
    trained = Trained(trials, f"bash_command={OOM!r}", retries=1)
    run_id = _find_record(trained).name
    monkeypatch.setenv("GPUALERT_STATE_DIR", str(tmp_path / "elsewhere"))
    latest = pages.get(f"{trained.path}/report?try=2")
    assert "sandbox" in latest.headers["content-security-policy"]
    assert "Tried to allocate 20.00 GiB" in latest.text
    first = pages.get(f"{trained.path}/report?try=1")
    is_stored = "sandbox" in first.headers["content-security-policy"]
    assert is_stored == (kind == "folder")
    assert run_id in (first.text if is_stored else latest.text) or run_id in latest.text


@pytest.mark.parametrize("store", ["file:///proc/nowhere", "nosuch://bucket/x", "s3://x"])
def test_store_that_fails(
    trials: Trials,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    store: str,
) -> None:
    """A store that cannot be written changes no task; its log says so."""
    monkeypatch.setenv("AIRFLOW__GPUALERT__REPORT_STORE", store)
    done = trials.train("bash_command='echo done'")
    assert (done.state, done.returned) == ("success", "done")
    assert f"The report could not be stored in {store}" in capfd.readouterr()[0]


def test_stalled_store(
    trials: Trials, lab: Lab, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A store that never answers holds the task no longer than the deadline."""
    folder = lab.home / "fifo"
    folder.mkdir()
    monkeypatch.setattr(report_store, "DEADLINE_S", 0.5)
    dag = trials.dag("bash_command='echo done'")
    target = folder / dag.dag_id
    os.mkfifo(target)  # the store opens it as a folder, or waits for a reader
    monkeypatch.setenv("AIRFLOW__GPUALERT__REPORT_STORE", f"file://{folder}")
    assert trials.test(dag).state == "success"
    assert "The report could not be stored" in capfd.readouterr()[0]


def test_names_in_a_store(tmp_path: Path) -> None:
    """No name of a DAG or a run leads out of the store, and no two share a report."""
    store = f"file://{tmp_path}/store"
    pages = {}
    for names in (("..", "..", ".."), ("a/b", "c", "d"), ("a", "b/c", "d"), (".", "x y", "ü")):
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


def test_record_that_is_not_trusted(pages: PagesClient, trials: Trials) -> None:
    """A record that others can write is not read; the tab shows XCom."""
    trained = Trained(trials, f"bash_command={OOM!r}")
    record = _find_record(trained)
    record.chmod(0o777)
    with pytest.raises(Exception, match="not trusted"):
        Record.open(str(record))
    assert "report_store" in pages.get(f"{trained.path}/report").text


def test_headers(pages: PagesClient, trials: Trials) -> None:
    """Every answer forbids foreign frames, scripts and caches."""
    trained = Trained(trials, "bash_command='true'")
    for user, path in (
        ("admin", trained.path),
        ("admin", f"{trained.path}/report"),
        ("admin", "/gpualert/failures"),
        ("", trained.path),
        ("openview", trained.path),
        ("admin", "/gpualert/nothing"),
    ):
        headers = pages.get(path, user).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'self'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


