"""Wrong values in the files of a record, and other things in place of its files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.cli.main import main
from gpualert_common.diagnose.warning_state import RAISED, WarningState
from gpualert_common.notify.reconciliation import reconcile
from gpualert_common.processes.pidfd import open_pidfd
from gpualert_common.record import EVENTS, EXIT, SPEC, VERDICT, Event, Record
from gpualert_common.report.run_view import view_run
from gpualert_common.report.text_sanitizer import NoMasks
from gpualert_common.telemetry.series import Telemetry
from gpualert_common.telemetry.storage import TELEMETRY, read_lines
from tests.notify.alerting import ended_run, send
from tests.record.hostile import SECRET, THINGS
from tests.supervised import Lab

LOG = "output.log"
READERS = (
    *(["runs"], ["runs", "--json"], ["show"], ["show", "--json"], ["show", "--markdown"]),
    *(["follow"], ["progress", "last"], ["outbox", "list", "--all"], ["recover"], ["stop"]),
)


def change(record: Record, name: str, **fields: Any) -> None:
    """Replace fields of a file of the record, which may then have values that JSON lacks."""
    path = Path(record.path, name)
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **fields}))


def list_rows(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    """Return the rows of ``runs --json`` by run id."""
    assert main(["runs", "--json"]) == 0
    return {row["run_id"]: row for row in json.loads(capsys.readouterr().out)["runs"]}


WRONG = [
    (SPEC, {"logs": 5}, "logs: Expected `array`"),
    (SPEC, {"logs": ["../../etc/passwd"]}, "logs[0]: Invalid enum value '../../etc/passwd'"),
    (SPEC, {"logs": ["/etc/passwd"]}, "logs[0]: "),
    (SPEC, {"logs": ["events.jsonl"]}, "logs[0]: "),
    (SPEC, {"command": "train"}, "command: "),
    (SPEC, {"created_at": -1}, "created_at: not a time: -1"),
    (SPEC, {"created_at": "x"}, "created_at: not a time: 'x'"),
    (SPEC, {"created_at": "a - at `$.b"}, "created_at: not a time: 'a - at `$.b'"),
    (SPEC, {"grace_s": float("inf")}, "grace_s: not a duration in seconds: inf"),
    (SPEC, {"custody": {"number": 10**30}}, "custody.number: not a number"),
    (EXIT, {"started_at": float("inf")}, "started_at: not a time: inf"),
    (EXIT, {"started_at": 10**400}, "started_at: not a time: 1000"),
    (EXIT, {"ended_at": float("nan")}, "ended_at: not a time: nan"),
    (EXIT, {"ended_at": 10**12}, "ended_at: not a time: 1000"),
    (EXIT, {"ended_at": True}, "ended_at: not a time: True"),
    (EXIT, {"code": "x"}, "code: not a number: 'x'"),
    (EXIT, {"start_error": 5}, "start_error: "),
    (EXIT, {"survivors": 5}, "survivors: "),
    (EXIT, {"sender": {"pid": "x"}}, "sender.pid: "),
    (VERDICT, {"cause": [1]}, "cause: "),
    (VERDICT, {"shows": 5}, "shows: "),
]


@pytest.mark.parametrize(("name", "fields", "words"), WRONG)
def test_wrong_value(
    name: str,
    fields: dict[str, Any],
    words: str,
    lab: Lab,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The list of runs has one line for a record with a wrong value, with file and key."""
    monkeypatch.setenv("COLUMNS", "160")
    record, sound = ended_run(lab), ended_run(lab)
    change(record, name, **fields)
    rows = list_rows(capsys)
    assert f"{record.path}/{name}: {words}" in rows[record.run_id]["error"]
    assert rows[sound.run_id]["state"] == "ended"
    assert main(["runs"]) == 0
    cells = [line.split() for line in capsys.readouterr().out.splitlines()[1:-1]]
    assert [line[2] for line in cells if record.run_id.startswith(line[0])] == ["damaged"]
    for command in READERS:
        words_of_run = [record.run_id if word == "last" else word for word in command]
        assert main(words_of_run) in (0, 1)


def test_damaged_end_is_unknown(lab: Lab) -> None:
    """A damaged value of the end counts as missing, and costs no other one."""
    record = ended_run(lab, code=3)
    change(record, EXIT, ended_at="x", sender={"pid": "x", "because": "y"}, survivors=[5])
    ending = record.ending
    assert ending is not None
    assert (ending.code, ending.ended_at, ending.sender) == (3, None, {"because": "y"})


@pytest.mark.parametrize("logs", [5, [], ["../../etc/passwd"], [LOG] * 3, [LOG, "/etc/passwd"]])
def test_names_of_logs(logs: object, lab: Lab) -> None:
    """Only names of logs are logs, each one once; without one the default is the log."""
    record = ended_run(lab)
    change(record, SPEC, logs=logs)
    assert record.logs == [LOG]


def test_logs_of_separate_streams(lab: Lab) -> None:
    """Without a valid name of a log, the logs are those of the streams."""
    record = ended_run(lab)
    change(record, SPEC, logs=None, streams="apart")
    assert record.logs == ["stdout.log", "stderr.log"]


@pytest.mark.parametrize("thing", THINGS)
@pytest.mark.parametrize("name", [LOG, SPEC, EXIT, VERDICT, EVENTS, TELEMETRY])
def test_other_thing_than_a_file(
    thing: str, name: str, lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is in place of a file: no command follows it, waits for it or fails otherwise."""
    (lab.home / "elsewhere").mkdir()
    (lab.home / "elsewhere" / "secret").write_text(f"{SECRET}\n")
    record = ended_run(lab)
    path = Path(record.path, name)
    path.unlink(missing_ok=True)
    THINGS[thing](path)
    for command in READERS:
        assert main(command) in (0, 1, 2), command
    output = capsys.readouterr()
    assert SECRET not in output.out + output.err
    assert "Traceback" not in output.err


@pytest.mark.parametrize("thing", ["a named pipe", "a link to another file", "a folder"])
def test_log_that_is_no_file(thing: str, lab: Lab) -> None:
    """Another thing in place of a log is not opened, and has no size."""
    record = ended_run(lab)
    path = Path(record.path, LOG)
    path.unlink()
    (lab.home / "elsewhere").mkdir()
    (lab.home / "elsewhere" / "secret").write_text(SECRET)
    THINGS[thing](path)
    with pytest.raises(OSError, match=r"not a file|symbolic links"):
        record.open_log(LOG)
    assert record.log_status(LOG) is None
    assert view_run(record, record.verdict, masks=NoMasks()).log_bytes == 0


@pytest.mark.parametrize("thing", ["a named pipe", "a link to a device", "a link to another file"])
def test_telemetry_that_is_no_file(thing: str, lab: Lab) -> None:
    """Another thing in place of the telemetry is not read."""
    record = ended_run(lab)
    THINGS[thing](Path(record.path, TELEMETRY))
    telemetry = Telemetry()
    telemetry.read(record)
    assert telemetry.sample_count == 0
    with pytest.raises(OSError, match=r"not a file|symbolic links"):
        list(read_lines(record))


@pytest.mark.parametrize("name", ["events.jsonl", ".beat", "control/.lease-x"])
def test_pipe_in_place_of_a_written_file(name: str, lab: Lab) -> None:
    """A named pipe in place of a file that is appended to or touched is an error, not a wait."""
    record = ended_run(lab)
    Path(record.path, "control").mkdir(0o700)
    Path(record.path, name).unlink(missing_ok=True)
    os.mkfifo(Path(record.path, name))
    writes = {"events.jsonl": lambda: record.append_event("x"), ".beat": record.beat}
    with pytest.raises(OSError, match="No such device"):
        writes.get(name, lambda: record.renew_lease("x"))()


def test_pipe_in_place_of_a_lock(lab: Lab) -> None:
    """A named pipe in place of a lock file is not waited for."""
    record = ended_run(lab)
    os.mkfifo(Path(record.path, ".watch"))
    assert not record.is_locked(".watch")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (SPEC, b'{"schema": 1, "x": "' + b"x" * (17 << 20) + b'"}'),
        (SPEC, b'{"schema": 1, "logs": [' + b"5," * (4 << 20) + b"5]}"),
        (EXIT, b'{"schema": 1, "x":' + b'{"x":' * 200_000),
        (EVENTS, b"{}\n" * (1 << 20)),
        (EVENTS, b'{"x": ' * (1 << 20)),
        ("output.idx", b"1 1\n" * (1 << 20)),
    ],
    ids=["long text", "many values", "deep", "many events", "long event", "long index"],
)
def test_huge_file(name: str, content: bytes, lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    """A huge or deep file costs little more than reading it, and no other record."""
    record, sound = ended_run(lab), ended_run(lab)
    Path(record.path, name).write_bytes(content)
    assert list_rows(capsys)[sound.run_id]["state"] == "ended"
    assert main(["show", record.run_id]) in (0, 2)


def test_events_of_a_huge_file(lab: Lab) -> None:
    """Events are read in bounded parts, and a line that is longer than a part is skipped."""
    record = ended_run(lab)
    with Path(record.path, EVENTS).open("wb") as file:
        file.write(b'{"event": "first"}\n')
        file.truncate(1 << 30)
    assert [event.name for event in record.events()] == ["first"]
    events, offset = record.events_from(0)
    assert [event.name for event in events] == ["first"]
    _events, after = record.events_from(offset)
    assert offset < after <= offset + (8 << 20)


def test_half_of_a_character(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    """Half of a pair of surrogates, which is no text, is replaced."""
    record = ended_run(lab)
    change(record, VERDICT, headline="half \ud83d and whole \U0001f600")
    assert record.verdict is not None
    assert record.verdict.headline == "half ? and whole \U0001f600"
    assert "error" not in list_rows(capsys)[record.run_id]


@pytest.mark.parametrize(
    "fields",
    [
        {"state": "held", "due": 1e400},
        {"state": "held", "due": 10**400},
        {"queued_at": float("nan")},
        {"attempts": "x"},
        {"channel": {"name": "mailbox"}},
        {"last": 5},
        {"warning": "x"},
    ],
)
def test_damaged_entry(
    fields: dict[str, Any], lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    """A damaged entry of an outbox counts as none, and hides no other alert."""
    record, sound = ended_run(lab), ended_run(lab)
    for one in (record, sound):
        reconcile(one)
    (name,) = (path.name for path in Path(record.path, "outbox").glob("*.json"))
    change(record, f"outbox/{name}", **fields)
    assert main(["outbox", "list", "--json", "--all"]) == 0
    rows = json.loads(capsys.readouterr().out)["alerts"]
    assert [row["state"] for row in rows if row["run_id"] == sound.run_id] == ["pending"]


def test_pipe_in_place_of_the_log_of_a_sender(lab: Lab) -> None:
    """A named pipe in place of the sender's log does not keep it from sending."""
    record = ended_run(lab)
    os.mkfifo(Path(record.path, "sender.log"))
    assert [fields["state"] for fields in send(record, deadline_s=60.0)] == ["sent"]


def test_number_that_json_lacks(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON of a run is JSON: a number that is not finite is a text."""
    record = ended_run(lab)
    change(record, SPEC, grace_s=float("nan"), timeout_s=1e400)
    assert main(["show", "--json", record.run_id]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=str.encode)
    assert (found["spec"]["grace_s"], found["spec"]["timeout_s"]) == ("nan", "inf")


@pytest.mark.parametrize("since", [10**400, 1e400, -1, "x", None])
def test_damaged_warning(since: object) -> None:
    """A warning without a valid time is left out."""
    event = Event(RAISED, 1.0, kind="nan_loss", says="the loss is not finite", since=since)
    assert WarningState([event]).advice() == []


def test_impossible_process_number() -> None:
    """A number that no process can have names no process."""
    assert open_pidfd(2**40) == -1
