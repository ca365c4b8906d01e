"""The record is complete, private, readable during the run, and trusted only if it is ours."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpualert_common.errors import RecordError
from gpualert_common.record import EXIT, SPARE_BYTES, SPEC, VERDICT, Record, name_spare
from gpualert_common.spec import Ending
from tests.supervised import Lab, python, shell, until


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Record]:
    """A new record, held by this process."""
    made = Record.create(str(tmp_path / "20261120-000000-000001-abcd"))
    yield made
    made.close()


def opened(record: Record) -> Record:
    """Open the same record as another process does."""
    return Record.open(record.path)


# -- trust -------------------------------------------------------------------------------------


def test_absent_record(tmp_path: Path) -> None:
    """A path without a record is an error that names it."""
    with pytest.raises(RecordError, match="no run record here: No such file"):
        Record.open(str(tmp_path / "none"))


def test_path_of_a_file(tmp_path: Path) -> None:
    """A file is no record."""
    (tmp_path / "file").touch()
    with pytest.raises(RecordError, match="Not a directory"):
        Record.open(str(tmp_path / "file"))


def test_link_to_a_record(record: Record, tmp_path: Path) -> None:
    """A symbolic link is not followed, since its owner could redirect it."""
    (tmp_path / "link").symlink_to(record.path)
    with pytest.raises(RecordError):
        Record.open(str(tmp_path / "link"))


@pytest.mark.parametrize("mode", [0o707, 0o777, 0o1777])
def test_record_that_others_can_write(record: Record, mode: int) -> None:
    """A record that all users can write to is not trusted."""
    os.chmod(record.path, mode)
    with pytest.raises(RecordError, match="writable by others"):
        opened(record)


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o755])
def test_record_that_others_can_read(record: Record, mode: int) -> None:
    """A record that its owner made readable is still a record."""
    os.chmod(record.path, mode)
    assert opened(record).run_id == record.run_id


@pytest.mark.parametrize("name", [SPEC, EXIT, VERDICT])
def test_file_that_is_a_link(record: Record, tmp_path: Path, name: str) -> None:
    """A link in the place of a file of the record is not followed."""
    (tmp_path / "elsewhere").write_text('{"schema": 1}')
    os.symlink(tmp_path / "elsewhere", os.path.join(record.path, name))
    with pytest.raises(RecordError):
        opened(record).read_json(name)


# -- schemas and damage ------------------------------------------------------------------------

DAMAGED = {
    "newer": (b'{"schema": 2}', "schema 2 was written by a newer gpualert.*upgrade"),
    "not JSON": (b'{"schema": 1', "not valid JSON"),
    "empty": (b"", "not valid JSON"),
    "a list": (b"[1]", "no schema number"),
    "a number": (b"7", "no schema number"),
    "no schema": (b"{}", "no schema number"),
    "schema as text": (b'{"schema": "1"}', "no schema number"),
    "schema of nothing": (b'{"schema": null}', "no schema number"),
    "not UTF-8": (b"\xff\xfe\x00", "not valid JSON"),
    "NULs": (b"\0" * 4096, "not valid JSON"),
    "deep": (b"[" * 100_000, "not valid JSON"),
}


@pytest.mark.parametrize("name", [SPEC, EXIT, VERDICT])
@pytest.mark.parametrize("damage", DAMAGED)
def test_damaged_file(record: Record, name: str, damage: str) -> None:
    """A file that is damaged or of a newer release is an error that names it and says why."""
    content, words = DAMAGED[damage]
    (Path(record.path) / name).write_bytes(content)
    with pytest.raises(RecordError, match=f"(?s){name}.*{words}"):
        opened(record).read_json(name)


@pytest.mark.parametrize("command", ["show", "follow", "stop", "recover"])
def test_command_refuses_a_newer_record(lab: Lab, command: str) -> None:
    """A command reports a record of a newer release and the remedy, in one line."""
    lab.run("true")
    (lab.records()[0] / SPEC).write_text('{"schema": 2, "run_id": "x"}')
    (lab.records()[0] / EXIT).unlink()
    done = lab.gpualert(command, lab.records()[0].name)
    words = done.stderr + done.stdout
    assert done.returncode in (1, 2)
    assert b"schema 2 was written by a newer gpualert" in words
    assert b"Traceback" not in words


@pytest.mark.parametrize("damage", ["newer", "not JSON", "a list"])
def test_list_with_a_damaged_record(lab: Lab, damage: str) -> None:
    """``runs`` lists readable records and names the others."""
    lab.run("true")
    lab.run("true")
    (lab.records()[0] / SPEC).write_bytes(DAMAGED[damage][0])
    damaged, sound = lab.json("runs")["runs"]
    assert (damaged["state"], sound["state"]) == ("damaged", "ended")
    assert SPEC in damaged["error"]
    assert b"damaged" in lab.gpualert("runs").stdout


def test_other_files_among_the_records(lab: Lab) -> None:
    """Files, empty directories and links among the records disturb no command."""
    lab.run("true")
    runs = lab.state / "runs"
    (runs / "a file").touch()
    (runs / "an empty directory").mkdir(0o700)
    (runs / "open to all").mkdir()
    (runs / "open to all").chmod(0o777)
    (runs / "a link").symlink_to("/")
    rows = lab.json("runs")["runs"]
    assert [row["state"] for row in rows if row["exit_code"] is not None] == ["ended"]
    assert lab.gpualert("runs").returncode == 0


def test_torn_last_event(record: Record) -> None:
    """An incomplete last line is dropped, and the next event is complete."""
    record.append_event("one")
    with open(os.path.join(record.path, "events.jsonl"), "ab") as file:
        file.write(b'{"at": 1, "event": "tw')
    assert [event.name for event in record.events()] == ["one"]


@pytest.mark.parametrize(
    "line", [b"garbage", b"[1]", b"\xff\xfe", b"", b"\0\0", b'{"no": "event"}']
)
def test_damaged_event(record: Record, line: bytes) -> None:
    """A damaged line costs that line; the events around it are read."""
    record.append_event("one")
    with open(os.path.join(record.path, "events.jsonl"), "ab") as file:
        file.write(line + b"\n")
    record.append_event("two")
    assert [event.name for event in record.events() if event.name] == ["one", "two"]


@pytest.mark.parametrize(
    "line",
    [
        b'{"event": "launched"}',
        b'{"event": "launched", "pid": "x", "start_ticks": []}',
        b'{"at": 1}',
    ],
    ids=["no-pid", "odd-pid", "no-event"],
)
def test_odd_event_disturbs_no_command(lab: Lab, line: bytes) -> None:
    """Events without the fields they should have disturb neither runs, show nor recover."""
    lab.run("true")
    (lab.records()[0] / EXIT).unlink()
    (lab.records()[0] / "events.jsonl").write_bytes(line + b"\n")
    assert lab.gpualert("runs").returncode == 0
    assert lab.gpualert("show").returncode == 0
    assert lab.json("recover")["records"][0]["outcome"] == "recovered"


def test_text_that_is_no_unicode(record: Record) -> None:
    """Names that are no valid text (surrogates) are written and read without an error."""
    record.append_event("odd", command="caf\udce9")
    record.write_json(EXIT, {"schema": 1, "text": "\ud800"})
    assert [event.name for event in record.events()] == ["odd"]
    assert record.read_json(EXIT) is not None


def test_run_of_a_command_that_is_no_unicode(lab: Lab) -> None:
    """A command with bytes that are no text runs, and its record can be shown."""
    done = lab.call(
        (
            *python(
                "import os; os.execv(os.sys.executable, [os.sys.executable, '-m',"
                " 'gpualert_common', 'run', '--', 'echo', b'caf\\xe9'])"
            ),
        )
    )
    assert done.stdout == b"caf\xe9\n"
    assert lab.gpualert("show").returncode == 0


# -- written whole -----------------------------------------------------------------------------


def test_reader_never_sees_half_a_file(record: Record) -> None:
    """A reader in another process sees the old or the new content, never a mixture."""
    record.write_json(EXIT, {"schema": 1, "fill": "x" * 100_000, "number": 0})
    reader = (
        "import sys\n"
        "from gpualert_common.record import Record\n"
        "record = Record.open(sys.argv[1])\n"
        "numbers = set()\n"
        "print('ready', flush=True)\n"
        "while 200 not in numbers: numbers.add(record.read_json('exit.json')['number'])\n"
        "print(len(numbers))\n"
    )
    process = subprocess.Popen((*python(reader), record.path), stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    for number in range(201):
        record.write_json(EXIT, {"schema": 1, "fill": "x" * 100_000, "number": number})
    assert process.wait(30) == 0
    process.stdout.close()


def test_failed_write_leaves_the_old_file(record: Record) -> None:
    """If a file cannot be written the previous one is kept."""
    record.write_json(EXIT, {"schema": 1, "number": 1})
    with pytest.raises(TypeError):
        record.write_json(EXIT, {"schema": 1, "number": object()})
    assert record.read_json(EXIT) == {"schema": 1, "number": 1}


@pytest.mark.parametrize("kept_bytes", [1, 100_000])
def test_written_over_reserved_space(record: Record, kept_bytes: int) -> None:
    """A file replaces the one that reserved its space, of any length."""
    fd = record.create_log("kept")
    os.write(fd, b"x" * kept_bytes)
    os.close(fd)
    record.write_into_spare("kept", EXIT, {"schema": 1, "fill": "y" * 1000}, sync=True)
    assert record.read_json(EXIT) == {"schema": 1, "fill": "y" * 1000}
    assert not record.has("kept")


def test_no_reserved_space(record: Record) -> None:
    """Without reserved space the previous file is kept."""
    record.write_json(EXIT, {"schema": 1, "number": 1})
    with pytest.raises(FileNotFoundError):
        record.write_into_spare("kept", EXIT, {"schema": 1, "number": 2}, sync=True)
    assert record.read_json(EXIT) == {"schema": 1, "number": 1}


def test_kept_space_is_given_back(lab: Lab) -> None:
    """Space for the last files is reserved only during the run."""
    run = lab.launch(*shell("echo ready; until [ -e go ]; do sleep 0.01; done; exit 3"))
    run.wait_for_output(b"ready")
    here = Path(run.record.path)
    kept = {here / name_spare(name): size for name, size in SPARE_BYTES.items()}
    assert {path: path.stat().st_blocks * 512 for path in kept} == kept
    (lab.home / "go").touch()
    assert run.wait() == 3
    until(lambda: not any(path.exists() for path in kept), "the space to be given back")


def test_record_is_readable_during_the_run(lab: Lab) -> None:
    """Another process reads launch record, events and log of a run that is going on."""
    run = lab.launch(*shell("echo ready; until [ -e go ]; do sleep 0.01; done; exit 3"))
    run.wait_for_output(b"ready")
    shown = lab.json("show")
    assert (shown["state"], shown["exit"], shown["verdict"]) == ("running", None, None)
    assert shown["pid"] == run.leader
    assert shown["spec"]["run_id"] == run.record.run_id
    (lab.home / "go").touch()
    assert run.wait() == 3
    assert lab.json("show")["state"] == "ended"


# -- endings -----------------------------------------------------------------------------------

ENDINGS: dict[str, tuple[dict[str, object], int | None, int]] = {
    "code": ({"code": 3}, 3, 3),
    "signal": ({"code": -15}, -15, 143),
    "unknown": ({}, None, 125),
    "limit": ({"code": -15, "limit": "time"}, 124, 124),
    "limit and success": ({"code": 0, "limit": "time"}, 124, 124),
    "not found": ({"started": False, "start_error": (2, "x")}, 127, 127),
    "not executable": ({"started": False, "start_error": (13, "x")}, 126, 126),
}


@pytest.mark.parametrize("case", ENDINGS)
def test_ending_survives_the_record(record: Record, case: str) -> None:
    """An ending that was written is read back with the same statuses."""
    fields, exit_code, shell_code = ENDINGS[case]
    ending = Ending(1.0, 2.0)
    for name, value in fields.items():
        setattr(ending, name, value)
    record.write_json(EXIT, ending.to_json())
    read = record.ending
    assert read is not None
    assert (read.exit_code, read.shell_code) == (exit_code, shell_code)
    assert read.to_json() == ending.to_json()


def test_ending_with_unknown_fields() -> None:
    """Fields of a later release of the same schema are ignored."""
    ending = Ending.from_json({"schema": 1, "code": 3, "weather": "fine"})
    assert ending.exit_code == 3
    assert json.loads(json.dumps(ending.to_json()))["code"] == 3
