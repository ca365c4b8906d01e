"""The kernel's log of the host: kills for want of memory, crashes, GPUs, disks, network.

Read from ``/dev/kmsg`` from the moment at which the run began, as far as the kernel still holds it,
so it may be opened late, or after the end.  What a process wrote into the log does not count.
Needs root, CAP_SYSLOG, or ``kernel.dmesg_restrict=0``; most containers have none.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections import Counter
from collections.abc import Iterable, Iterator

from gpualert_common.processes.sampled_tree import SampledTree
from gpualert_common.telemetry.kernel_messages import KernelMessageParser
from gpualert_common.telemetry.kernel_pattern import KernelMessage
from gpualert_common.telemetry.kmsg import KERNEL, RECORD_BYTES, KmsgReader, KmsgRecord
from gpualert_common.telemetry.source import (
    ObservedRun,
    Sample,
    Source,
    SourceEvent,
    SourceUnavailableError,
)

PATH = "/dev/kmsg"

MOST_OF_A_KIND = 50
"""Events of one kind in a run; all are counted.  A GPU that is lost says so with every request."""

_TOLERANCE_S = 0.5
"""The kernel's own clock strayed 21 ms from CLOCK_MONOTONIC in 19 hours where it was measured."""
_TWINS_WITHIN_S = 0.05
"""The records of one kill follow each other in microseconds."""
_DEVICE = os.makedev(1, 11)
_NAMESPACE_OF_HOST = "pid:[4026531836]"
"""The kernel's own number for it; elsewhere the process numbers of the log mean nothing."""
_REMEDY = "run as root, with CAP_SYSLOG, or where sysctl kernel.dmesg_restrict is 0"


class KernelLog(Source):
    """What the kernel said since the run began.

    Events carry the kernel's line as text, and its parts as fields: ``oom_kill`` (process, pid,
    ``limit_kind`` "cgroup", "host", "cpuset" or "mempolicy", cgroups, bytes), ``segfault`` and
    ``trap`` (process, pid, library), ``suppressed`` (so many crashes were not told), ``xid``,
    ``sxid``, ``gpu_not_initialised``, ``hung_task``, ``soft_lockup``, ``nfs_stalled``, ``nfs_ok``,
    ``lustre_stalled``, ``lustre_ok``, ``readonly_remount``, ``io_error``, ``nvme_timeout``,
    ``hardware_error``, ``file_max``, ``pids_limit``, ``link_down``, ``link_up``, ``nic_fault``.
    Where they name a process, ``in_run`` says whether it was one of the run; it is absent where
    that is not known, as for one that lived between two looks.
    ``kernel_log_overwritten`` says that records of the run were gone before they could be read: no
    fault was seen then does not mean that there was none.

    Numbers, of "kernel": how many of each kind (``xid_total``) and ``records_lost_total``.
    """

    decides = (
        "A2 by kills for want of memory, whose limit it was, and crashes with their library, "
        "B2 by Xids, SXids and hardware errors; "
        "supports C2, C3 and F1 by stalled storage and network links"
    )

    def __init__(self, subject: ObservedRun | None) -> None:
        self._fd = _open(PATH)
        self._reader = KmsgReader(lambda: os.read(self._fd, RECORD_BYTES))
        self._messages = KernelMessageParser()
        self._counts: Counter[str] = Counter()
        self._told: dict[str, int] = {}
        self._begin_s = _kernel_time(time.time() if subject is None else subject.started_at)
        self._is_begun = False
        self._looked_at: float | None = None
        self._facilities = {KERNEL}
        if forged := os.environ.get("GPUALERT_TEST_KMSG_FACILITY"):
            self._facilities.add(int(forged))
        self._tree: SampledTree | None = None
        if subject is None:
            self._try()
        elif os.readlink("/proc/self/ns/pid") == _NAMESPACE_OF_HOST:
            self._tree = SampledTree(subject.pid, subject.mark)

    def sample(self) -> Iterable[Sample | SourceEvent]:
        """What the kernel said since the last look."""
        before, self._looked_at = self._looked_at, time.time()
        if self._tree is not None:
            self._tree.members()  # who is killed is there until somebody has waited for it
        yield from self._read(before)
        if self._messages.is_waiting:
            time.sleep(_TWINS_WITHIN_S)
            yield from self._read(before)
        for message in self._messages.end():
            yield from self._event(message, self._looked_at)
        counts = {f"{what}_total": count for what, count in self._counts.items()}
        counts["records_lost_total"] = self._reader.lost
        if counts != self._told:
            self._told = counts
            yield Sample("kernel", counts)

    def close(self) -> None:
        """Close the device."""
        os.close(self._fd)

    def _try(self) -> None:
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
        for record in self._reader.records():
            if not self._is_begun:
                self._is_begun = True
                late_s = record.at_s - self._begin_s - _TOLERANCE_S
                if record.sequence > 0 and late_s > 0:
                    yield _gap(f"those of the first {late_s:.0f} s of the run")
            if record.at_s < self._begin_s or record.facility not in self._facilities:
                continue
            for message in self._messages.feed(record.text):
                yield from self._event(message, self._time_of(record, before))
        if self._reader.lost > lost:
            yield _gap(f"{self._reader.lost - lost} of them")

    def _time_of(self, record: KmsgRecord, before: float | None) -> float:
        """When it was said, by the kernel's clock; not before the look that did not see it yet."""
        now = time.time()
        return min(max(_wall_time(record.at_s), before or 0.0), now)

    def _event(self, message: KernelMessage, at: float) -> Iterator[SourceEvent]:
        self._counts[message.what] += 1
        if self._counts[message.what] <= MOST_OF_A_KIND:
            fields = dict(message.fields)
            ours = self._tree.belongs(fields["pid"]) if self._tree and "pid" in fields else None
            if ours is not None:
                fields["in_run"] = ours
            yield SourceEvent(message.what, message.of, message.text, fields, at)


SOURCE: type[Source] = KernelLog


def _open(path: str) -> int:
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


def _kernel_time(at: float) -> float:
    """The earliest that the kernel's clock may have shown at that time.

    It may follow either of two clocks, which differ by what was corrected since the boot.
    """
    age = time.time() - at
    now = min(time.monotonic(), time.clock_gettime(time.CLOCK_MONOTONIC_RAW))
    return now - age - _TOLERANCE_S


def _gap(which: str) -> SourceEvent:
    text = f"records of the kernel's log were overwritten before they could be read: {which}"
    return SourceEvent("kernel_log_overwritten", "kernel", text)


def _wall_time(kernel_s: float) -> float:
    return time.time() - (time.monotonic() - kernel_s)
