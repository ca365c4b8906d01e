"""Tests of the source ``kernel_log``: author, time and process of each record."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualert_common.telemetry.kmsg import KERNEL_FACILITY, KmsgReader, parse_record
from gpualert_common.telemetry.source import Source, SourceUnavailableError, load_source_class
from gpualert_common.telemetry.sources import kernel_log
from tests.supervised import python, shell, until
from tests.telemetry import host
from tests.telemetry.host import SourceOutput, sample
from tests.telemetry.kernel_lines import HITS, KILLED, LIMIT

root = pytest.mark.e2e


# -- records -----------------------------------------------------------------------------------


def test_a_record_is_parsed() -> None:
    r"""Facility, level, number, time and text are parsed; ``\x`` is decoded, further lines are
    dropped."""
    record = parse_record(rb"12,4711,1500000,-;a\x5cx2db \xe2\x82\xac" + b"\n SUBSYSTEM=pci\n")
    assert record is not None
    assert (record.facility, record.level, record.sequence) == (1, 4, 4711)
    assert record.at_s == 1.5
    assert record.text == r"a\x2db €"


@given(st.binary())
def test_no_bytes_are_too_odd(data: bytes) -> None:
    """Invalid data gives None and never raises."""
    parse_record(data)
    parse_record(b"6,1,2,-;" + data)


def replies(*given: bytes | OSError) -> Callable[[], bytes]:
    """Return a device that returns these records and is then empty."""
    left = list(given)

    def read() -> bytes:
        reply = left.pop(0) if left else BlockingIOError()
        if isinstance(reply, OSError):
            raise reply
        return reply

    return read


def test_overwritten_records_are_counted() -> None:
    """A slow reader continues with the oldest record left and counts the lost ones."""
    reader = KmsgReader(replies(b"6,7,1,-;a", BrokenPipeError(), b"6,19,2,-;b", b"6,20,3,-;c"))
    assert [record.text for record in reader.read_records()] == ["a", "b", "c"]
    assert reader.lost == 11


def test_a_read_that_fails_is_an_error() -> None:
    """An unreadable device is an error, not an empty log."""
    reader = KmsgReader(replies(b"6,7,1,-;a", PermissionError()))
    with pytest.raises(PermissionError):
        list(reader.read_records())


# -- the source, on records that are given to it -------------------------------------------------


class Device:
    """Stand-in for ``/dev/kmsg``: a socket also returns one record for each read."""

    def __init__(self) -> None:
        self._here, self.there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.there.setblocking(False)
        self._sequence = -1

    def write(
        self, text: str, ago_s: float = 0.0, facility: int = KERNEL_FACILITY, skip: int = 0
    ) -> None:
        """Write a record of the kernel, or of a process."""
        self._sequence += 1 + skip
        at = int((time.monotonic() - ago_s) * 1e6)
        self._here.send(f"{8 * facility + 4},{self._sequence},{at},-;{text}\n".encode())

    def close(self) -> None:
        """Close both ends."""
        self._here.close()
        self.there.close()


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    """The device that the source opens."""
    stand_in = Device()
    monkeypatch.setattr(kernel_log, "_open_device", lambda path: os.dup(stand_in.there.fileno()))
    yield stand_in
    stand_in.close()


XID = "NVRM: Xid (PCI:0000:05:00): 48, pid=4107, name=python3, DBE"


def test_messages_since_the_start(device: Device) -> None:
    """A source that is opened late finds only the messages since the start of the run."""
    device.write(XID.replace("05", "01"), ago_s=100)
    device.write(XID.replace("05", "02"), ago_s=50)
    device.write(XID.replace("05", "03"))
    source = host.opened("kernel_log", started_at=time.time() - 60)
    events = sample(source).of_kind("xid")
    assert [event.of for event in events] == ["pci:0000:02:00", "pci:0000:03:00"]
    assert events[0].at == pytest.approx(time.time() - 50, abs=5)
    device.write(XID)
    (event,) = sample(source).events
    assert event.of == "pci:0000:05:00"


def test_only_records_of_the_kernel_count(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that a process writes into the log is ignored, unless a test allows it."""
    source = host.opened("kernel_log")
    device.write(XID, facility=1)
    assert sample(source).events == []
    monkeypatch.setenv("GPUALERT_TEST_KMSG_FACILITY", "1")
    source = host.opened("kernel_log")
    device.write(XID, facility=1)
    device.write(XID, facility=3)
    assert len(sample(source).of_kind("xid")) == 1


def test_events_of_a_storm_are_limited(device: Device) -> None:
    """Events of one kind are limited; their count is complete."""
    source = host.opened("kernel_log")
    reported = 0
    for _round in range(3):
        for _record in range(30):
            device.write(XID)
        output = sample(source)
        reported += len(output.events)
    assert reported == kernel_log.MOST_OF_A_KIND
    assert output.samples["kernel"]["xid_total"] == 90


def test_no_sample_without_new_messages(device: Device) -> None:
    """Without new messages there is no sample after the first one."""
    source = host.opened("kernel_log")
    assert sample(source).samples == {"kernel": {"records_lost_total": 0}}
    assert sample(source) == SourceOutput({}, [])


def test_overwritten_records_are_reported(device: Device) -> None:
    """Records lost before reading are an event and a number."""
    device.write("first", ago_s=100)
    source = host.opened("kernel_log")
    sample(source)
    device.write("later", skip=40)
    output = sample(source)
    assert [event.what for event in output.events] == ["kernel_log_overwritten"]
    assert output.samples["kernel"]["records_lost_total"] == 40


def test_records_lost_before_the_opening_are_reported(device: Device) -> None:
    """Records lost before a late opening of the source are reported."""
    device.write("the oldest that is left", ago_s=10, skip=7)
    events = sample(host.opened("kernel_log", started_at=time.time() - 60)).events
    assert [event.what for event in events] == ["kernel_log_overwritten"]
    assert "first 50 s" in events[0].text


def test_a_kill_in_two_samples(device: Device) -> None:
    """An announced kill waits a moment for its last record and is reported without it."""
    source = host.opened("kernel_log")
    device.write(LIMIT)
    (event,) = sample(source).events
    assert event.fields["limit_kind"] == "cgroup"


def test_processes_of_the_run_and_others(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """A known process of the run, a stranger and an unknown process are distinguished."""
    monkeypatch.setattr(kernel_log, "HOST_PID_NAMESPACE", os.readlink("/proc/self/ns/pid"))
    with subprocess.Popen(
        shell("read line"), stdin=subprocess.PIPE, start_new_session=True
    ) as ours:
        source = host.opened("kernel_log", ours.pid)
        sample(source)
        for pid in (ours.pid, os.getppid(), 4_000_000):
            device.write(KILLED.replace("4107", str(pid)))
        known = {event.of: event.fields.get("in_run") for event in sample(source).events}
    assert known == {f"pid:{ours.pid}": True, f"pid:{os.getppid()}": False, "pid:4000000": None}


def test_numbers_of_another_namespace(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container, process numbers of the log are not matched with its processes."""
    monkeypatch.setattr(kernel_log, "HOST_PID_NAMESPACE", "pid:[1]")
    source = host.opened("kernel_log")
    sample(source)
    device.write(KILLED.replace("4107", str(os.getpid())))
    (event,) = sample(source).events
    assert "in_run" not in event.fields


# -- unavailable -------------------------------------------------------------------------------


def missing(tmp_path: Path) -> str:
    """A container without the device."""
    return str(tmp_path / "none")


def plain_file(tmp_path: Path) -> str:
    """A regular file in its place."""
    (tmp_path / "file").write_bytes(b"6,1,1,-;NVRM\n")
    return str(tmp_path / "file")


def pipe(tmp_path: Path) -> str:
    """A pipe without a writer."""
    os.mkfifo(tmp_path / "pipe")
    return str(tmp_path / "pipe")


def null(_tmp_path: Path) -> str:
    """A device of the same kind, which some containers put in its place."""
    return os.devnull


@pytest.mark.parametrize("place", [missing, plain_file, pipe, null])
def test_a_place_without_a_kernel_log(
    place: Callable[[Path], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing or replaced device makes the source unavailable, never "no fault"."""
    monkeypatch.setattr(kernel_log, "PATH", place(tmp_path))
    with pytest.raises(SourceUnavailableError) as caught:
        load_source_class("kernel_log")(None)
    assert caught.value.why
    assert caught.value.remedy


# -- the real log, for root --------------------------------------------------------------------


def write_as_process(*texts: str) -> None:
    """Write records into the kernel's log; each open file has its own rate limit."""
    for text in texts:
        with open("/dev/kmsg", "wb", buffering=0) as log:
            log.write(f"{text}\n".encode())


@pytest.fixture
def forged(monkeypatch: pytest.MonkeyPatch) -> Source:
    """The source with the real log, which accepts records of this process."""
    monkeypatch.setenv("GPUALERT_TEST_KMSG_FACILITY", "1")
    return host.opened("kernel_log")


@root
def test_real_records_of_every_kind(forged: Source) -> None:
    """Records of all patterns pass through the real device unchanged."""
    texts = [text for text, *_rest in HITS if "\n" not in text]
    write_as_process(*texts)
    output = sample(forged)
    assert {event.text for event in output.events} >= set(texts) - {LIMIT}
    assert all(abs((event.at or 0) - time.time()) < 5 for event in output.events)


@root
def test_a_process_cannot_forge() -> None:
    """Records that a process writes into the real log are ignored."""
    source = host.opened("kernel_log")
    write_as_process("NVRM: Xid (PCI:00fe:05:00): 48, forged")
    assert [event for event in sample(source).events if event.of == "pci:00fe:05:00"] == []


@root
def test_a_real_kill_for_want_of_memory() -> None:
    """An out-of-memory kill has the process number, its cgroup, and ``in_run``."""
    with host.limited_group(64 << 20) as group:
        with host.eat(python(host.EATS), group) as process:
            source = host.opened("kernel_log", process.pid)
            sample(source)
            process.communicate(b"go\n")
        assert process.returncode == -signal.SIGKILL
        (event,) = [one for one in sample(source).events if one.of == f"pid:{process.pid}"]
    assert event.what == "oom_kill"
    assert event.fields["limit_kind"] == "cgroup"
    assert event.fields["oom_memcg"] == event.fields["task_memcg"] == f"/{group.name}"
    assert event.fields["in_run"] is True
    assert event.fields["anon_rss_bytes"] > 32 << 20
    assert event.at == pytest.approx(time.time(), abs=10)


@root
def test_a_real_kill_found_afterwards() -> None:
    """A source that is opened after the end finds the kill by the leader's number."""
    with host.limited_group(64 << 20) as group:
        started_at = time.time()
        with host.eat(python(host.EATS), group) as process:
            process.communicate(b"go\n")
    source = host.opened("kernel_log", process.pid, started_at=started_at)
    (event,) = [one for one in sample(source).events if one.of == f"pid:{process.pid}"]
    assert event.what == "oom_kill"
    assert event.fields["in_run"] is True


ILLEGAL = """
import ctypes, mmap, os
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(b"\\x0f\\x0b" if os.uname().machine == "x86_64" else bytes(4))
ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
"""


@root
@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("import ctypes; ctypes.string_at(0)", "segfault"),
        (
            ILLEGAL,
            "trap",
        ),
    ],
    ids=["segfault", "trap"],
)
def test_a_real_crash(code: str, what: str) -> None:
    """A crash without a handler has its process, and its library if there is one."""
    source = host.opened("kernel_log")
    crashing = subprocess.Popen(python(code), env={"PATH": os.environ["PATH"]})
    assert crashing.wait() in (-signal.SIGSEGV, -signal.SIGILL)
    events = until(
        lambda: [one for one in sample(source).events if one.of == f"pid:{crashing.pid}"],
        "the record of the crash",
    )
    assert [event.what for event in events] == [what]
