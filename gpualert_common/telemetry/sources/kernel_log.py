"""The kernel's log of the host: out-of-memory kills, crashes, GPUs, disks, network.

Read from ``/dev/kmsg`` from the start of the run on, as far as the kernel still holds it.  So the
source may be opened late, or after the end.  Text that processes write into the log does not count.
Needs root, CAP_SYSLOG, or ``kernel.dmesg_restrict=0``; most containers have none.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections import Counter
from collections.abc import Iterable, Iterator

from gpualert_common.processes.host import HOST_PID_NAMESPACE, pid_namespace
from gpualert_common.processes.sampled_tree import SampledTree
from gpualert_common.telemetry.kernel_message import KernelMessage
from gpualert_common.telemetry.kernel_parser import KernelMessageParser
from gpualert_common.telemetry.kmsg import KERNEL_FACILITY, RECORD_BYTES, KmsgReader, KmsgRecord
from gpualert_common.telemetry.source import (
    ObservedRun,
    Sample,
    Source,
    SourceEvent,
    SourceUnavailableError,
)

PATH = "/dev/kmsg"

MOST_OF_A_KIND = 50
"""Number of events of one kind in a run; all are counted.  A lost GPU repeats its message."""

_TOLERANCE_S = 0.5
"""The kernel's clock deviated 21 ms from CLOCK_MONOTONIC in a measurement of 19 hours."""
_KILL_RECORDS_WITHIN_S = 0.05
"""The records of one kill follow each other within microseconds."""
_DEVICE = os.makedev(1, 11)
_REMEDY = "run as root, with CAP_SYSLOG, or where sysctl kernel.dmesg_restrict is 0"


class KernelLog(Source):
    """Messages of the kernel since the start of the run.

    Events have the kernel's line as text and its parts as fields: ``oom_kill`` (process, pid,
    ``limit_kind`` "cgroup", "host", "cpuset" or "mempolicy", cgroups, bytes), ``segfault`` and
    ``trap`` (process, pid, library), ``suppressed`` (number of crashes that the kernel did not
    report), ``xid``, ``sxid``, ``gpu_not_initialised``, ``hung_task``, ``soft_lockup``,
    ``nfs_stalled``, ``nfs_ok``, ``lustre_stalled``, ``lustre_ok``, ``readonly_remount``,
    ``io_error``, ``nvme_timeout``, ``hardware_error``, ``file_max``, ``pids_limit``, ``link_down``,
    ``link_up``, ``nic_fault``.  If an event names a process, ``in_run`` is whether the process
    belongs to the run.  It is absent if that is unknown, for example for a process that lived
    between two samples.  ``kernel_log_overwritten`` means that records of the run were lost before
    they could be read: then the absence of faults proves nothing.

    Numbers, of "kernel": the count of each kind (``xid_total``) and ``records_lost_total``.
    """

    decides = (
        "kills for memory with their limit, crashes with their library, and GPU hardware, by "
        "Xids, SXids and hardware errors; supports stalled collectives, hangs and lost nodes, by "
        "stalled storage and network links"
    )

    def __init__(self, run: ObservedRun | None) -> None:
        self._fd = _open_device(PATH)
        self._reader = KmsgReader(lambda: os.read(self._fd, RECORD_BYTES))
        self._parser = KernelMessageParser()
        self._counts: Counter[str] = Counter()
        self._reported_counts: dict[str, int] = {}
        self._started_s = _to_kernel_time(time.time() if run is None else run.started_at)
        self._has_records = False
        self._sampled_at: float | None = None
        self._facilities = {KERNEL_FACILITY}
        if forged := os.environ.get("GPUALERT_TEST_KMSG_FACILITY"):
            self._facilities.add(int(forged))
        self._tree: SampledTree | None = None
        if run is None:
            self._check_readable()
        elif pid_namespace() == HOST_PID_NAMESPACE:
            self._tree = SampledTree(run.pid, run.marker)

    def sample(self) -> Iterable[Sample | SourceEvent]:
        """Yield the messages of the kernel since the last sample."""
        before, self._sampled_at = self._sampled_at, time.time()
        if self._tree is not None:
            self._tree.members()  # a killed process exists until its parent waits for it
        yield from self._read(before)
        if self._parser.has_pending_kill:
            time.sleep(_KILL_RECORDS_WITHIN_S)
            yield from self._read(before)
        for message in self._parser.flush():
            yield from self._make_events(message, self._sampled_at)
        counts = {f"{what}_total": count for what, count in self._counts.items()}
        counts["records_lost_total"] = self._reader.lost
        if counts != self._reported_counts:
            self._reported_counts = counts
            yield Sample("kernel", counts)

    def close(self) -> None:
        """Close the device."""
        os.close(self._fd)

    def _check_readable(self) -> None:
        try:
            os.read(self._fd, RECORD_BYTES)
        except (BlockingIOError, BrokenPipeError):
            pass
        except OSError as error:
            self.close()
            raise SourceUnavailableError(
                f"{PATH} cannot be read: {error.strerror}", _REMEDY
            ) from None

    def _read(self, before: float | None) -> Iterator[SourceEvent]:
        lost = self._reader.lost
        for record in self._reader.read_records():
            if not self._has_records:
                self._has_records = True
                late_s = record.at_s - self._started_s - _TOLERANCE_S
                if record.sequence > 0 and late_s > 0:
                    yield _make_gap_event(f"the first {late_s:.0f} s of the run")
            if record.at_s < self._started_s or record.facility not in self._facilities:
                continue
            for message in self._parser.feed(record.text):
                yield from self._make_events(message, self._compute_time(record, before))
        if self._reader.lost > lost:
            yield _make_gap_event(f"{self._reader.lost - lost} records")

    def _compute_time(self, record: KmsgRecord, before: float | None) -> float:
        """Return the time of a record by the kernel's clock, but not before the last sample."""
        now = time.time()
        return min(max(_to_wall_time(record.at_s), before or 0.0), now)

    def _make_events(self, message: KernelMessage, at: float) -> Iterator[SourceEvent]:
        self._counts[message.what] += 1
        if self._counts[message.what] <= MOST_OF_A_KIND:
            fields = dict(message.fields)
            in_run = self._tree.belongs(fields["pid"]) if self._tree and "pid" in fields else None
            if in_run is not None:
                fields["in_run"] = in_run
            yield SourceEvent(message.what, message.of, message.text, fields, at)


SOURCE: type[Source] = KernelLog


def _open_device(path: str) -> int:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        remedy = _REMEDY
        if error.errno == errno.ENOENT:
            remedy = "in a container: run it with the host's /dev/kmsg and CAP_SYSLOG"
        raise SourceUnavailableError(f"{path} cannot be opened: {error.strerror}", remedy) from None
    found = os.fstat(fd)
    if not stat.S_ISCHR(found.st_mode) or found.st_rdev != _DEVICE:
        os.close(fd)
        raise SourceUnavailableError(
            f"{path} is not the kernel's log here", "run outside the container"
        )
    return fd


def _to_kernel_time(at: float) -> float:
    """Return the earliest time that the kernel's clock may have shown then.

    The kernel may follow either of two clocks, which differ by the corrections since the boot.
    """
    age = time.time() - at
    now = min(time.monotonic(), time.clock_gettime(time.CLOCK_MONOTONIC_RAW))
    return now - age - _TOLERANCE_S


def _make_gap_event(which: str) -> SourceEvent:
    text = f"records of the kernel's log were overwritten before they could be read: {which}"
    return SourceEvent("kernel_log_overwritten", "kernel", text)


def _to_wall_time(kernel_s: float) -> float:
    return time.time() - (time.monotonic() - kernel_s)
