"""The program that samples the machine during a run and writes the telemetry.

Started with the path of the record and the run's marker (:mod:`gpualert_common.processes.program`).
It ends with the run's leader, and goes on when the supervisor dies.  A source that hangs, as a
driver may, delays no other one: each has a thread.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Iterable
from contextlib import suppress

from gpualert_common.record import Record
from gpualert_common.telemetry import source
from gpualert_common.telemetry.source import (
    PERIOD_S,
    ObservedRun,
    Sample,
    SourceEvent,
    SourceUnavailableError,
)
from gpualert_common.telemetry.storage import TelemetryWriter

LOCK = ".observer"
NICENESS = 10
"""A training that takes every core still leaves us some time."""
_LAUNCHED_WITHIN_S = 10.0
_GATHER_S = 0.5
"""So long one look waits for all sources; what comes later is in the next one."""
_STALLED_AFTER = 12
"""A source that did not answer for so many looks, a minute, is told to have stalled."""

Seen = tuple[str, Sample | SourceEvent]


class SourceWorker(threading.Thread):
    """Opens one source, and looks by it whenever it is asked to."""

    def __init__(self, name: str, subject: ObservedRun) -> None:
        super().__init__(name=f"gpualert-{name}", daemon=True)
        self.source = name
        self._subject = subject
        self._asked = threading.Semaphore(0)
        self._seen: list[Seen] = []
        self._lock = threading.Lock()
        self.idle = threading.Event()
        self.told: dict[str, object] | None = None
        """Whether it can be had, to be written down once."""
        self.over = False
        self.missed = 0

    def ask(self) -> None:
        """Have it look, unless it is still at it, or cannot be had."""
        if self.over:
            return
        if self.idle.is_set():
            self.missed = 0
            self.idle.clear()
            self._asked.release()
        else:
            self.missed += 1

    def take(self) -> list[Seen]:
        """What it has seen since the last time."""
        with self._lock:
            seen, self._seen = self._seen, []
        if self.missed == _STALLED_AFTER:
            text = f"{self.source} has not answered for {self.missed * PERIOD_S:.0f} s"
            seen.append((self.source, SourceEvent("source_stalled", "host", text)))
        return seen

    def run(self) -> None:
        """Until the process ends, or the source can be had no more."""
        try:
            opened = source.source_class(self.source)(self._subject)
            self.told = {"available": True, "facts": dict(opened.facts)}
            while True:
                self.idle.set()
                self._asked.acquire()
                self._keep(opened.sample())
        except SourceUnavailableError as error:
            self.told = {"available": False, "why": error.why, "remedy": error.remedy}
        except Exception as error:  # noqa: BLE001 - the boundary of each source
            why = f"{type(error).__name__}: {error}"
            if self.told is None:
                self.told = {"available": False, "why": why}
            else:
                text = f"{self.source} failed, and was given up: {why}"
                self._keep([SourceEvent("source_failed", "host", text)])
        finally:
            self.over = True
            self.idle.set()

    def _keep(self, seen: Iterable[Sample | SourceEvent]) -> None:
        for one in seen:  # each as it comes: what was seen before a source fails counts
            with self._lock:
                self._seen.append((self.source, one))


def observe(record: Record, mark: str) -> None:
    """Look at the run of this record until its leader has ended.  Raises OSError."""
    pid = _leader_of(record)
    if pid is None:
        return
    with suppress(OSError):  # without locks two may look, which is better than none
        if record.try_lock(LOCK) < 0:  # for as long as this process lives
            return  # the one that a recorder started which has died
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        return  # it has ended
    subject = ObservedRun(
        run_id=record.run_id,
        pid=pid,
        mark=mark,
        started_at=record.spec["created_at"],
        record_path=record.path,
        cwd=record.spec.get("cwd"),
        logs=tuple(record.log_path(name) for name in record.logs),
    )
    workers = [SourceWorker(name, subject) for name in source.source_names()]
    for worker in workers:
        worker.start()
    writer = TelemetryWriter(record)
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    next_at = time.monotonic()
    ended = False
    while True:
        _sample(workers, writer)
        if ended:
            return
        next_at = max(next_at + PERIOD_S, time.monotonic())
        ended = bool(poll.poll((next_at - time.monotonic()) * 1000))


def _sample(workers: Iterable[SourceWorker], writer: TelemetryWriter) -> None:
    at = time.time()
    deadline = time.monotonic() + _GATHER_S
    for worker in workers:
        worker.ask()
    for worker in workers:
        worker.idle.wait(max(0.0, deadline - time.monotonic()))
    with suppress(OSError):  # a full disk: later looks may find space again
        for worker in workers:
            if worker.told is not None:
                writer.add_source(worker.source, **worker.told)
                worker.told = None
        writer.add(at, [one for worker in workers for one in worker.take()])


def _leader_of(record: Record) -> int | None:
    """The leader of the run; the recorder may not have said yet which process that is."""
    deadline = time.monotonic() + _LAUNCHED_WITHIN_S
    while time.monotonic() < deadline:
        launched = record.event("launched")
        if launched is not None:
            return int(launched["pid"])
        time.sleep(0.05)
    return None


def main(record_path: str, marker: str) -> None:
    """Sample until the run ends; exits, never returns: a thread that hangs keeps no process."""
    try:
        os.nice(NICENESS)
        os.chdir("/")
        observe(Record.open(record_path), marker)
    except Exception:  # noqa: BLE001 - the boundary: nobody waits for us, and nobody listens
        os._exit(1)
    os._exit(0)
