"""From a run record to an alert: real runs and damaged records."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpualert_common.codec import encode
from gpualert_common.errors import RecordError
from gpualert_common.model import Artifact, Bundle, Claim, Fate, LogLocation, VerdictWarning
from gpualert_common.record import EXIT, SPEC, VERDICT, Record
from gpualert_common.report.message import render_alert
from gpualert_common.report.run_view import RunView, view_run
from tests.supervised import Lab, python, shell
from tests.verdicts import UNKNOWN, verdict_with

SECRET = 'hunter2\'s "password"'


class Masks:
    """A redactor that knows one secret."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()

    def mask_text(self, text: str) -> str:
        """Mask the secret."""
        self.found["known"] += text.count(SECRET)
        return text.replace(SECRET, "[redacted known]")


def alert_from(record: Record, outcome: dict[str, Any] | None = None, **extra: Any) -> RunView:
    """Return the alert about a record."""
    try:
        verdict = record.verdict
    except RecordError:
        verdict = None
    return view_run(record, verdict, masks=Masks(), outcome=outcome, **extra)


def write(record: Record, file: str, /, **fields: Any) -> None:
    """Write a file of a record as the program does."""
    Path(record.log_path(file)).write_text(json.dumps({**fields, "schema": 1}))


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Record]:
    """A record with only a launch record."""
    found = Record.create(str(tmp_path / "20261121-023010-412733-9c1e"))
    write(found, SPEC, command=["python", "train.py"], logs=["output.log"])
    yield found
    found.close()


def test_real_failure(lab: Lab) -> None:
    """The alert about a real failure has its cause, evidence, times and log."""
    lab.gpualert(
        *("run", "--name", "train-shapes", "--"),
        *python("raise ValueError('operands could not be broadcast together (2,3) (4,5)')"),
    )
    alert = alert_from(lab.record(), log_lines=["a", "b"])
    assert alert.job == "train-shapes"
    assert alert.command.startswith(f"{python('')[0]} -c ")
    assert (alert.disposition, alert.exit_status) == ("failed", "exit status 1")
    assert alert.host == os.uname().nodename
    assert "no verdict" not in alert.headline
    assert any(shown.where.startswith("stderr.log:") and shown.excerpt for shown in alert.shows)
    assert alert.log_tail == ("a", "b")
    assert alert.log_bytes == os.path.getsize(alert.log_path) > 0
    assert alert.duration_s is not None
    assert alert.started_at + alert.duration_s == pytest.approx(alert.ended_at)
    assert alert.final
    assert alert.next_command == f"gpualert show {alert.run_id}"


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (shell("kill -9 $$"), "killed by signal 9 (SIGKILL)"),
        (shell("exit 3"), "exit status 3"),
        (("/absent/program",), "never started: "),
    ],
    ids=["killed", "failed", "not_started"],
)
def test_real_exit_status(lab: Lab, command: tuple[str, ...], status: str) -> None:
    """The end of a run is described in words, for any kind of end."""
    lab.run(*command)
    assert alert_from(lab.record()).exit_status.startswith(status)


def test_separate_streams(lab: Lab) -> None:
    """If the streams are apart, both logs are named and counted; that of stderr is the main one."""
    lab.gpualert("run", "--streams", "apart", "--", *shell("echo out; echo err >&2; exit 1"))
    alert = alert_from(lab.record())
    assert alert.log_path.endswith("/stderr.log")
    assert [Path(path).name for path in alert.log_paths] == ["stdout.log", "stderr.log"]
    assert alert.log_bytes == 8


def test_nothing_on_stderr(lab: Lab) -> None:
    """If the log of stderr is empty, the other one is named."""
    lab.gpualert("run", "--streams", "apart", "--", *shell("echo out; exit 1"))
    assert alert_from(lab.record()).log_path.endswith("/stdout.log")


def test_error_on_stdout(lab: Lab) -> None:
    """The main log is the one that the verdict cites; logs are named that are empty or missing."""
    command = "echo 'RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB'; exit 1"
    lab.gpualert("run", "--streams", "apart", "--", *shell(command))
    record = lab.record()
    verdict = record.verdict
    assert verdict is not None
    sizes = {one.file: one.bytes_read for one in verdict.sources if one.name == "log"}
    assert sizes == {"stdout.log": 61, "stderr.log": 0}
    stdout, stderr = record.log_paths
    assert verdict.log_path == alert_from(record).log_path == stdout
    assert alert_from(record).logs == (stdout, f"{stderr} (empty)")
    Path(stderr).unlink()
    assert alert_from(record).logs == (stdout, f"{stderr} (missing)")


def test_secrets_are_masked_everywhere(record: Record) -> None:
    """A secret in any part of the record is in no part of the alert."""
    write(
        *(record, SPEC),
        command=["train", SECRET, f"--token={SECRET}"],
        cwd=f"/x/{SECRET}",
        host=SECRET,
        logs=[f"{SECRET}.log"],
        custody={"key": ["other", SECRET], "number": 2},
    )
    where = LogLocation(SECRET, 1, 0)
    verdict = verdict_with(
        **dict.fromkeys(("host", "cause", "headline", "implies"), SECRET),
        cannot_decide=(SECRET,),
        do=(SECRET,),
        shows=(Claim(SECRET, SECRET, where, SECRET, 1), Claim(SECRET, SECRET)),
        warnings=(VerdictWarning("x", SECRET),),
    )
    write(record, VERDICT, **encode(verdict))
    write(record, EXIT, started=False, start_error=[2, SECRET], started_at=1.0)
    bundle = Bundle(
        artifacts=(Artifact(SECRET, SECRET, 1, Fate.ATTACHED, SECRET),), notes=(SECRET,)
    )
    alert = alert_from(record, {"state": SECRET}, bundle=bundle, log_lines=[SECRET])
    assert "hunter2" not in repr(alert)
    assert alert.redactions > 20


def test_texts_are_safe_and_short(record: Record) -> None:
    """Texts with control characters, or of any length, are made safe and short."""
    command = ["\x1b[31mred\n\u202e", "\udce4", "x" * 1_000_000]
    write(record, SPEC, command=command, logs=[])
    verdict = verdict_with(headline="y\x07" * 100_000, do=("z",) * 10_000)
    write(record, VERDICT, **encode(verdict))
    alert = alert_from(record, log_lines=["a\x1b[1m\tb  c" + "d" * 1000])
    assert "\x1b" not in alert.command
    assert "\udce4" not in alert.command
    assert len(alert.command) <= 2000
    assert len(alert.headline) <= 500
    assert len(alert.do) == 50
    assert alert.log_tail[0].startswith("a\ufffd[1m   b  cddd")
    assert len(alert.log_tail[0]) == 500


@pytest.mark.parametrize(
    ("fields", "headline"),
    [
        ({"code": 1}, "Ended with exit status 1; no verdict could be made"),
        ({"code": -9}, "Killed by signal 9 (SIGKILL); no verdict could be made"),
        ({"code": None}, "Ended with an unknown result; no verdict could be made"),
        (None, "No end is recorded; no verdict could be made"),
    ],
    ids=["failed", "killed", "unknown", "no_end"],
)
def test_no_verdict(record: Record, fields: dict[str, Any] | None, headline: str) -> None:
    """If the classifier failed, the alert has the end of the run and an unknown cause."""
    record.release_own_lock()
    if fields is not None:
        write(record, EXIT, started_at=5.0, ended_at=7.0, **fields)
    alert = alert_from(record)
    assert (alert.cause, alert.headline) == ("unknown", headline)
    assert headline in render_alert(alert, text_bytes=9999).text


def test_late_verdict(record: Record) -> None:
    """While a process makes the verdict, the alert says so."""
    write(record, EXIT, started_at=5.0, ended_at=7.0, code=1)
    headline = alert_from(record).headline
    assert headline == "Ended with exit status 1; the verdict is still being made"


@pytest.mark.parametrize("name", [VERDICT, EXIT])
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"schema": 99}', b"null"])
def test_damaged_file(record: Record, name: str, content: bytes) -> None:
    """A damaged file of the record counts as absent."""
    Path(record.log_path(name)).write_bytes(content)
    assert alert_from(record).run_id == record.run_id


def test_without_a_launch_record(record: Record) -> None:
    """A record without its launch record is an error."""
    record.remove(SPEC)
    with pytest.raises(RecordError, match="not a run record"):
        alert_from(record)


TASKS = {
    "nightly.train": ["airflow", "nightly", "scheduled__2026-11-21", "train", "-1"],
    "nightly.train[3]": ["airflow", "nightly", "scheduled__2026-11-21", "train", "3"],
    "train-1a2b3c4d": ["prefect", "0b5c", "train-1a2b3c4d", "0"],
    "some.task": ["some", "task"],
    None: ["prefect", "", "", "77aa"],
}


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_task(record: Record, task: str | None) -> None:
    """A task has the name that users of its engine know."""
    custody = {"key": TASKS[task], "number": 3, "is_last": True}
    write(record, SPEC, command=["x"], logs=[], custody=custody)
    alert = alert_from(record)
    name = None if alert.task is None else alert.task.name
    assert (name, alert.attempt, alert.final) == (task, 3, True)


ENGINE_TASK = {
    "engine": "airflow",
    "workflow": "nightly",
    "workflow_run": "scheduled__2026-11-21",
    "task": "train",
    "map_index": 3,
    "owner": "language-models",
    "url": "https://airflow.example.org/dags/nightly",
}
TASK_ROWS = (
    ("DAG run", "scheduled__2026-11-21"),
    ("Owner", "language-models"),
    ("Page", "https://airflow.example.org/dags/nightly"),
)


def test_task_of_an_engine(record: Record) -> None:
    """A task that its engine names has its workflow, run, map index, owner and page."""
    write(record, SPEC, command=["x"], logs=[], custody={"key": ["k"], "task": ENGINE_TASK})
    task = alert_from(record).task
    assert task is not None
    assert (str(task), task.map_index, task.facts) == ("nightly.train[3]", 3, TASK_ROWS)


def test_task_of_the_last_attempt(record: Record) -> None:
    """The attempt that reports the outcome names the page, not the one that launched the run."""
    write(record, SPEC, command=["x"], logs=[], custody={"key": ["k"], "task": ENGINE_TASK})
    later = {**ENGINE_TASK, "url": "https://airflow.example.org/second"}
    task = alert_from(record, {"state": "failed", "final": True, "task": later}).task
    assert task is not None
    assert task.url == "https://airflow.example.org/second"


@pytest.mark.parametrize(
    ("name", "value"),
    [("url", "javascript:alert(1)"), ("owner", 7), ("workflow_run", ["x"]), ("map_index", "x")],
)
def test_damaged_task_of_an_engine(record: Record, name: str, value: object) -> None:
    """A value that is not valid is left out; the others are shown."""
    damaged = {**ENGINE_TASK, name: value}
    write(record, SPEC, command=["x"], logs=[], custody={"key": ["k"]})
    task = alert_from(record, {"state": "failed", "final": True, "task": damaged}).task
    assert task is not None
    assert str(value) not in (str(task), *dict(task.facts).values())


def test_outcome(record: Record) -> None:
    """The outcome of the task decides whether this was the last attempt."""
    alert = alert_from(record, {"state": "up_for_retry", "final": False})
    assert (alert.state, alert.final) == ("up_for_retry", False)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)


def tables(*names: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return objects with any of these keys and anything at all in them."""
    return st.fixed_dictionaries({}, optional=dict.fromkeys(names, anything))


claims = st.lists(tables("claim", "where", "source", "excerpt", "rank"), max_size=2)


@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    tables("command", "cwd", "name", "host", "logs", "created_at"),
    tables("host", "cause", "headline", "confidence", "do", "warnings", "attempt"),
    tables("started_at", "ended_at", "code", "started", "start_error", "limit"),
    tables("state", "final"),
    anything | tables("key", "number"),
    anything | claims,
)
def test_any_record_gives_an_alert(
    record: Record,
    spec: dict[str, Any],
    verdict: dict[str, Any],
    ending: dict[str, Any],
    outcome: dict[str, Any],
    custody: Any,
    shows: Any,
) -> None:
    """Any JSON objects in the files of a record give a message."""
    write(record, SPEC, **spec, custody=custody)
    write(record, VERDICT, **{**encode(UNKNOWN), **verdict, "shows": shows})
    write(record, EXIT, **ending)
    made = render_alert(alert_from(record, outcome), text_bytes=1 << 20, html_bytes=1 << 20)
    assert record.run_id in made.text
    assert made.html is not None
