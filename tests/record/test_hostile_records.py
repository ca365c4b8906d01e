"""Records with damaged files: every command reports them in a line, and reads the others."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from gpualert_common.cli.main import main
from gpualert_common.errors import GPUAlertError
from gpualert_common.external_run import ExternalRun
from gpualert_common.notify.compose import compose
from gpualert_common.notify.message import Budget
from gpualert_common.notify.reconciliation import queue_warnings, reconcile
from gpualert_common.record import Record
from gpualert_common.spec import Ending
from tests.notify.alerting import alerts
from tests.record.hostile import SECRET, damages
from tests.supervised import Lab, python, shell

EXAMPLES = int(os.environ.get("GPUALERT_TEST_DAMAGES", "2000"))
"""Number of damaged records of the long test."""
QUICK_EXAMPLES = 20
DEADLINE_S = 30.0
TRAINING = """
for step in range(20):
    print(f"step {step}/20 loss={1 / (step + 1):.4f}")
"""
BUDGET = Budget(
    text_bytes=20_000, html_bytes=20_000, files=5, file_bytes=1 << 20, files_bytes=4 << 20
)
COMMANDS = (
    *(["runs"], ["runs", "--json"], ["show", "RUN"], ["show", "--json", "RUN"]),
    *(["show", "--full", "RUN"], ["show", "--markdown", "RUN"], ["follow", "RUN"]),
    *(["progress", "RUN"], ["outbox", "list", "--all"], ["outbox", "list", "--json"]),
    *(["stop", "RUN"], ["recover"], ["show", "last"], ["outbox", "drop", "RUN"]),
)


class HangError(BaseException):
    """A command does not end."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory whose ``records`` has one record of each kind, made by real runs."""
    with pytest.MonkeyPatch.context() as patch:
        lab = Lab(tmp_path_factory.mktemp("hostile"))
        (lab.home / "tmp").mkdir()
        for name in [name for name in os.environ if name.startswith("GPUALERT_")]:
            patch.delenv(name)
        for name, value in {
            **lab.environment(),
            "GPUALERT_NOTIFY_DEADLINE": "5s",
            "GPUALERT_OBSERVE": "true",
        }.items():
            patch.setenv(name, value)
        patch.chdir(lab.home)
        records = lab.home / "records"
        records.mkdir(0o700)
        try:
            _make_records(lab, records)
            yield lab.home
        finally:
            lab.end_everything()


def _make_records(lab: Lab, records: Path) -> None:
    runs = lab.state / "runs"

    def keep(name: str) -> None:
        (path,) = lab.records()
        path.rename(records / name)

    lab.gpualert("run", "--", *python(TRAINING))
    keep("completed")
    failing = shell("echo 'RuntimeError: CUDA error: out of memory' >&2; exit 1")
    lab.gpualert("run", "--notify", "mailbox", "--", *failing)
    keep("failed")
    lab.launch("sleep", "1000", options=("--notify", "command:false"))
    (path,) = lab.records()
    shutil.copytree(path, records / "running")
    lab.end_everything()
    shutil.rmtree(path)
    ending = Ending(time.time() - 5.0, time.time())
    ending.code = 1
    record = ExternalRun(
        key=("airflow", "dag", "run", "task", "-1"),
        number=1,
        name="dag.task",
        state="up_for_retry",
        ending=ending,
        is_last=False,
        log=b"ValueError: no data\n",
    ).record(alerts(), str(lab.state))
    reconcile(record)
    record.close()
    keep("held")
    assert not list(runs.iterdir())


@contextmanager
def deadline() -> Iterator[None]:
    """Raise HangError in a block that does not end."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise HangError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, DEADLINE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def call(*arguments: str) -> tuple[int, str]:
    """Run a command in this process; return its status and its output.

    Any exception but the program's own errors passes through, as a traceback would.
    """
    taken = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with deadline(), redirect_stdout(taken), redirect_stderr(taken):
        status = main(arguments)
    return status, taken.buffer.getvalue().decode("utf-8", "replace")


def read_json(output: str) -> Any:
    """Return the object of the line of an output that is JSON, which knows no NaN."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    (line,) = (line for line in output.splitlines() if line.startswith("{"))
    return json.loads(line, parse_constant=refuse)


def list_tree(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Return inode, size and time of each file below a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        found[str(path)] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return found


def check_commands(place: Path, kind: str, damage: Callable[[Path], None]) -> None:
    """Damage a record of that kind, and run every command on it and a sound one."""
    state, elsewhere = place / "state", place / "elsewhere"
    for folder in (state, elsewhere):
        shutil.rmtree(folder, ignore_errors=True)
    runs = state / "runs"
    runs.mkdir(0o700, parents=True)
    elsewhere.mkdir(0o700)
    (elsewhere / "secret").write_text(f"{SECRET}\n" * 3)
    shutil.copytree(place / "records" / "completed", runs / "20260101-000000-000000-0000")
    record = runs / "20260102-000000-000000-0000"
    shutil.copytree(place / "records" / kind, record)
    damage(record)
    before = list_tree(elsewhere)
    for arguments in COMMANDS:
        words = [record.name if word == "RUN" else word for word in arguments]
        status, output = call(*words)
        note(f"{words} -> {status}: {output[:200]}")
        assert status in (0, 1, 2), (words, output)
        assert SECRET not in output, words
        if "--json" in arguments and status == 0:
            found = read_json(output)
        if arguments == ["runs", "--json"]:
            rows = {row["run_id"]: row for row in found["runs"]}
            assert rows.keys() == {"20260101-000000-000000-0000", record.name}
            assert "error" not in rows["20260101-000000-000000-0000"]
    check_messages(record)
    assert list_tree(elsewhere) == before


def check_messages(path: Path) -> None:
    """Compose the messages about a record, as a sender does; only our own errors are raised."""
    record = Record.open(str(path))
    try:
        with deadline():
            reconcile(record)
            queue_warnings(record)
            message, _bundle = compose(record, BUDGET, [])
    except (GPUAlertError, OSError):
        return
    finally:
        record.close()
    assert SECRET not in message.text
    assert not any(SECRET.encode() in file.content for file in message.attachments)


def list_files(record: Path) -> tuple[str, ...]:
    """Return the files of a record, by their names in it."""
    return tuple(sorted(str(p.relative_to(record)) for p in record.rglob("*") if p.is_file()))


KINDS = ("completed", "failed", "running", "held")
HYPOTHESIS = settings(
    deadline=None,
    max_examples=QUICK_EXAMPLES,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@HYPOTHESIS
@given(data=st.data())
def test_damaged_records(place: Path, data: st.DataObject) -> None:
    """A damaged record causes no traceback, no hang and no write outside the state directory."""
    check_random_damages(place, data)


@pytest.mark.nightly
@settings(HYPOTHESIS, max_examples=EXAMPLES)
@given(data=st.data())
def test_many_damaged_records(place: Path, data: st.DataObject) -> None:
    """The same holds for thousands of damaged records."""
    check_random_damages(place, data)


def check_random_damages(place: Path, data: st.DataObject) -> None:
    """Check the commands on a record of a drawn kind with up to three drawn damages."""
    kind = data.draw(st.sampled_from(KINDS))
    files = list_files(place / "records" / kind)
    drawn = data.draw(st.lists(damages(files), min_size=1, max_size=3))
    for description, _function in drawn:
        note(f"{kind}: {description}")

    def damage(record: Path) -> None:
        for _description, function in drawn:
            function(record)

    check_commands(place, kind, damage)
