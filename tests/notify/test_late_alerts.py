"""An alert that is sent late carries the files of its own run, as they were at the end."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.artifacts.freeze import FREEZE
from gpualert_common.record import Record
from tests.notify.alerting import body, mails, script, write_config
from tests.supervised import Lab, python, shell, until

WRITES = "echo '{\"loss\": 1}' > results.json; echo 1,2 > metrics.csv; echo kept > notes.txt"
LATER = b'{"loss": 999, "of": "another run"}\n'


@pytest.fixture
def work(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory; the only channel accepts nothing, and nothing waits for it."""
    monkeypatch.delenv("GPUALERT_NOTIFY")
    path = script(lab.home / "gate", "exit 75")
    write_config(
        lab,
        f'notify = ["gate"]\nnotify_deadline = 0\n[channels.gate]\nkind = "command"\n'
        f'command = "{path}"\n',
    )
    work = lab.home / "work"
    work.mkdir()
    return work


def fail_in(lab: Lab, work: Path, *options: str) -> Record:
    """Return the record of a run that wrote its results and failed."""
    done = lab.gpualert("run", "--cwd", str(work), *options, "--", *shell(f"{WRITES}; exit 3"))
    assert done.returncode == 3, done.stderr
    (path,) = lab.records()
    return Record.open(str(path))


def await_freeze(record: Record) -> dict[str, Any]:
    """Return the freeze of a run once it is made."""
    return until(lambda: record.read_json(FREEZE), "the freeze")


def change(work: Path) -> None:
    """Do to the files what another run in the same folder does."""
    (work / "results.json").write_bytes(LATER)
    (work / "metrics.csv").unlink()
    (work / "later.json").write_bytes(LATER)


def attached(lab: Lab) -> dict[str, str]:
    """Return the attachments of the only mail: content by name."""
    (mail,) = mails(lab)
    return {str(part.get_filename()): _content(part) for part in mail.iter_attachments()}


def _content(part: Any) -> str:
    data = part.get_content()
    return data.decode() if isinstance(data, bytes) else str(data)


def test_late_alert_carries_the_files_of_its_own_run(lab: Lab, work: Path) -> None:
    """`outbox retry` sends the files as they were at the end, and not those made later."""
    await_freeze(fail_in(lab, work))
    change(work)
    assert lab.gpualert("outbox", "retry", "last", "--notify", "mailbox").returncode in (0, 1)
    found = attached(lab)
    assert found["results.json"].strip() == '{"loss": 1}'
    assert found["metrics.csv"].strip() == "1,2"
    assert found["notes.txt"].strip() == "kept"
    assert "later.json" not in found
    text = " ".join(body(mails(lab)[0]).split())
    assert "another run" not in text
    assert "from the copy made at the end of the run: it changed since" in text
    assert "from the copy made at the end of the run: it was removed since" in text


def test_preview_shows_the_files_of_the_run(lab: Lab, work: Path) -> None:
    """`notify preview` shows what the alert carries: nothing that was made after the end."""
    await_freeze(fail_in(lab, work))
    before = lab.gpualert("notify", "preview", "--channel", "mailbox").stdout
    change(work)
    after = lab.gpualert("notify", "preview", "--channel", "mailbox").stdout
    assert b"[attached: results.json, application/json, 12 bytes]" in before
    assert b"[attached: results.json, application/json, 12 bytes]" in after
    assert b"later.json, " not in after


def test_working_directory_that_was_cleaned(lab: Lab, work: Path) -> None:
    """A late alert carries the files of a working directory that was removed since."""
    await_freeze(fail_in(lab, work))
    shutil.rmtree(work)
    retried = lab.gpualert("outbox", "retry", "last", "--notify", "mailbox")
    assert b"to mailbox sent" in retried.stdout, retried
    assert {"results.json", "metrics.csv", "notes.txt"} <= set(attached(lab))


def test_run_without_a_freeze(lab: Lab, work: Path) -> None:
    """Without a freeze, files that changed after the end are named and left out."""
    record = fail_in(lab, work)
    await_freeze(record)
    record.remove(FREEZE)
    change(work)
    lab.gpualert("outbox", "retry", "last", "--notify", "mailbox")
    found = attached(lab)
    assert found["notes.txt"].strip() == "kept"
    assert not {"results.json", "later.json", "metrics.csv"} & set(found)
    text = " ".join(body(mails(lab)[0]).split())
    assert "results.json" in text
    assert "it changed after the end of the run" in text


def test_success_that_is_previewed_late(lab: Lab, work: Path) -> None:
    """A success, which no alert is due for, is not frozen; its preview leaves out later files."""
    lab.gpualert("run", "--cwd", str(work), "--", *shell(WRITES))
    (path,) = lab.records()
    change(work)
    shown = lab.gpualert("notify", "preview", "--channel", "mailbox").stdout
    assert b"[attached: notes.txt, " in shown
    assert b"[attached: results.json, " not in shown
    assert not (path / FREEZE).exists()


def test_suspect_success_is_frozen(lab: Lab, work: Path) -> None:
    """A failure behind exit status 0, which an alert is due for, is frozen, too."""
    code = shell(f"{WRITES}; for i in 1 2 3 4 5 6 7 8 9; do echo step $i loss nan; done")
    assert lab.gpualert("run", "--cwd", str(work), "--", *code).returncode == 0
    (path,) = lab.records()
    await_freeze(Record.open(str(path)))
    change(work)
    lab.gpualert("outbox", "retry", "last", "--notify", "mailbox")
    assert attached(lab)["results.json"].strip() == '{"loss": 1}'


def test_recovered_run_is_frozen(lab: Lab, work: Path) -> None:
    """`recover` freezes the files of a run whose supervisor was killed."""
    code = f"echo before; until [ -e go ]; do sleep 0.01; done; {WRITES}; echo after; exit 3"
    run = lab.launch(*shell(code), options=("--cwd", str(work)))
    until(lambda: b"before" in run.log(), "the training to start")
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait()
    (work / "go").touch()
    until(lambda: b"after" in run.log(), "the training to end")
    (path,) = lab.records()
    record = Record.open(str(path))
    until(lambda: not record.is_held, "its recorder to end")
    lab.gpualert("recover")
    frozen = await_freeze(record)
    assert {"results.json", "metrics.csv", "notes.txt"} <= {
        row["name"] for row in frozen["candidates"] if not row.get("late_because")
    }
    change(work)
    lab.gpualert("outbox", "retry", "last", "--notify", "mailbox")
    assert attached(lab)["results.json"].strip() == '{"loss": 1}'


SAVES_AFTER_ITS_PARENT = """
import os, signal, time
parent = os.getpid()
if os.fork():
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
    signal.pause()
def save(*_):
    while os.path.exists(f"/proc/{parent}"):
        time.sleep(0.01)
    time.sleep(0.1)  # several ticks of the clock that stamps files
    open("results.json", "w").write('{"loss": 1}')
    os._exit(0)
signal.signal(signal.SIGTERM, save)
print("trains", flush=True)
while True:
    signal.pause()
"""


def test_results_that_are_saved_during_a_stop(lab: Lab, work: Path) -> None:
    """Results that a child saves within the grace of a stop belong to the run, after its leader."""
    options = ("--cwd", str(work), "--timeout", "1s", "--grace", "20s")
    lab.gpualert("run", *options, "--", *python(SAVES_AFTER_ITS_PARENT))
    retried = lab.gpualert("outbox", "retry", "last", "--notify", "mailbox")
    assert b"to mailbox sent" in retried.stdout, retried
    assert attached(lab)["results.json"].strip() == '{"loss": 1}'


def test_freeze_is_readable_by_its_owner_only(lab: Lab, work: Path) -> None:
    """The copies in a record are as private as its logs."""
    record = fail_in(lab, work)
    await_freeze(record)
    copies = list((Path(record.path) / "artifacts").iterdir())
    assert len(copies) == 3
    assert (Path(record.path) / "artifacts").stat().st_mode & 0o777 == 0o700
    assert {copy.stat().st_mode & 0o777 for copy in copies} == {0o600}


def test_record_that_takes_no_freeze(lab: Lab, work: Path) -> None:
    """A freeze that cannot be stored costs neither the exit status nor the alert with its files."""
    code = f"{WRITES}; mkdir {lab.state}/runs/*/{FREEZE}; exit 3"
    options = ("--cwd", str(work), "--notify", "mailbox", "--notify-deadline", "60s")
    assert lab.gpualert("run", *options, "--", *shell(code)).returncode == 3
    assert json.loads(attached(lab)["results.json"]) == {"loss": 1}
