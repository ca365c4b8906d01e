"""One record and several processes: its holder, and requests between them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpualert_common.record import Record
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


# -- who holds it ------------------------------------------------------------------------------


def test_record_is_held_by_its_creator(record: Record) -> None:
    """The creator of a record holds it, for every other reader too."""
    assert record.is_held
    other = opened(record)
    assert other.is_held
    assert not other.take()


def test_record_is_free_after_its_creator_closed(record: Record) -> None:
    """A record can be taken once after its creator has closed it."""
    record.close()
    one, two = opened(record), opened(record)
    assert not one.is_held
    assert one.take()
    assert two.is_held
    assert not two.take()
    one.close()
    assert two.take()


def test_hold_outlives_a_forked_helper(record: Record) -> None:
    """A forked helper that has disowned the record neither ends nor keeps the hold."""
    read_fd, write_fd = os.pipe()
    pid = os.fork()
    if pid == 0:
        record.release_own_lock()
        os.write(write_fd, b".")
        signal_wait()
    os.read(read_fd, 1)
    assert opened(record).is_held
    record.close()
    assert not opened(record).is_held
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    os.close(read_fd)
    os.close(write_fd)


def signal_wait() -> None:
    """Wait until killed."""
    while True:
        signal.pause()


def test_check_takes_nothing(record: Record) -> None:
    """A check whether a record is held does not block another holder."""
    record.close()
    one, two = opened(record), opened(record)
    assert not one.is_held
    assert two.take()


def test_record_can_be_taken_during_checks(record: Record) -> None:
    """A process that keeps checking a record does not hold it."""
    record.close()
    checks = (
        "import sys\n"
        "from gpualert_common.record import Record\n"
        "record = Record.open(sys.argv[1])\n"
        "print('ready', flush=True)\n"
        "while True: record.is_held\n"
    )
    others = [
        subprocess.Popen((*python(checks), record.path), stdout=subprocess.PIPE) for _other in "12"
    ]
    try:
        for other in others:
            assert other.stdout is not None
            assert other.stdout.readline() == b"ready\n"
        for _take in range(50):
            mine = opened(record)
            assert mine.take()
            mine.close()
    finally:
        for other in others:
            other.kill()
            other.communicate()


def test_hold_ends_with_the_process(lab: Lab) -> None:
    """The hold of a killed process ends without any cleanup."""
    run = lab.launch("sleep", "1000")
    assert run.record.is_held
    run.process.kill()
    run.process.wait()
    until(lambda: not run.record.is_held, "the hold to be gone")
    assert run.record.state == "lost"


# -- requests ----------------------------------------------------------------------------------


def test_request_is_kept_until_it_is_forgotten(record: Record) -> None:
    """Requests come in their order, and again until they were forgotten."""
    asker = opened(record)
    name = asker.request("stop", grace_s=3.0)
    asker.request("handover")
    pending = record.requests()
    assert [request["kind"] for request in pending] == ["stop", "handover"]
    assert pending[0]["grace_s"] == 3.0
    assert asker.is_pending(name)
    for request in pending:
        record.forget(request)
    assert record.requests() == []
    assert not asker.is_pending(name)


def test_no_requests(record: Record) -> None:
    """Without a request there is nothing to read."""
    assert record.requests() == []


@pytest.mark.parametrize("content", [b"", b"not JSON", b"[]", b'{"schema": 9, "kind": "stop"}'])
def test_request_that_cannot_be_read(record: Record, content: bytes) -> None:
    """A damaged request is removed and reported, and does not hide the next one."""
    (Path(record.path) / "control").mkdir(0o700)
    (Path(record.path) / "control" / "0.bad").write_bytes(content)
    opened(record).request("stop")
    assert [request["kind"] for request in record.requests()] == ["unreadable", "stop"]
    assert [request["kind"] for request in record.requests()] == ["stop"]


def test_only_files_are_requests(record: Record) -> None:
    """An object that is no file, or too large, is moved aside at once and costs no descriptor."""
    control = Path(record.path) / "control"
    control.mkdir(0o700)
    (control / "0.directory").mkdir()
    os.mkfifo(control / "1.fifo")
    (control / "2.large").write_bytes(b" " * (1 << 20))
    before = len(os.listdir("/proc/self/fd"))
    kinds = [request["kind"] for _read in range(20) for request in record.requests()]
    assert kinds == ["unreadable"] * 3
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"grace_s": "soon"},
        {"grace_s": float("nan")},
        {"grace_s": 1e300},
        {"grace_s": []},
        {"grace_s": -5},
        {"grace_s": None},
        {"sender": "me"},
        {"at": []},
    ],
    ids=str,
)
def test_odd_stop_request(lab: Lab, fields: dict[str, object]) -> None:
    """A stop request with invalid fields does not kill the supervisor and is not lost."""
    run = lab.launch(*shell("trap 'exit 4' TERM; echo ready; while :; do sleep 0.01; done"))
    run.wait_for_output(b"ready")
    run.record.request("stop", **fields)
    assert run.wait() == 4


@pytest.mark.parametrize("content", [b"not JSON", b'{"schema": 1}', b'{"schema": 1, "kind": "x"}'])
def test_unknown_request_changes_nothing(lab: Lab, content: bytes) -> None:
    """An unknown request is refused in the record, and the run continues."""
    run = lab.launch(*shell("echo ready; until [ -e go ]; do sleep 0.01; done; exit 3"))
    run.wait_for_output(b"ready")
    (Path(run.record.path) / "control").mkdir(0o700)
    (Path(run.record.path) / "control" / "1.x").write_bytes(content)
    run.wait_for_event("request_refused")
    (lab.home / "go").touch()
    assert run.wait() == 3
