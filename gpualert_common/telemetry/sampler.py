"""The program that samples the machine during a run and writes the telemetry.

Its arguments are the path of the record and the run's marker
(:mod:`gpualert_common.processes.program`).  It exits with the run's leader, and continues if the
supervisor dies.  Each source has a thread, so a source that hangs, as a driver may, delays no other
source.

A source takes its first sample as soon as it is open.  That sample has a line of its own in the
telemetry, with its own time: on a machine with GPUs, where the sampler starts with the run, it is
the baseline of their counters.
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
"""Even a training that uses every core leaves the sampler some time."""
_LAUNCH_TIMEOUT_S = 10.0
_SAMPLE_TIMEOUT_S = 0.5
"""Time that one sample waits for all sources; later output becomes part of the next sample."""
_STALLED_AFTER_SAMPLES = 12
"""A source that misses this many samples (one minute) is reported as stalled."""

SourceOutput = tuple[str, Sample | SourceEvent]


class SourceWorker(threading.Thread):
    """Thread that opens one source, samples it once, and then on request.

    After the first sample, or without one where that fails, it writes a byte to ``first_fd``.
    """

    def __init__(self, name: str, run: ObservedRun, first_fd: int) -> None:
        super().__init__(name=f"gpualert-{name}", daemon=True)
        self.source = name
        self._run = run
        self._first_fd = first_fd
        self._requests = threading.Semaphore(0)
        self._output: list[SourceOutput] = []
        self._lock = threading.Lock()
        self.idle = threading.Event()
        self.availability: dict[str, object] = {}
        self.first_sample_at: float | None = None
        """Time at which the first sample was complete, in seconds since the epoch."""
        self.is_first_written = False
        self.is_closed = False
        self.missed_samples = 0

    def request_sample(self) -> None:
        """Request a sample, unless the last one is unfinished or the source is closed."""
        if self.is_closed:
            return
        if self.idle.is_set():
            self.missed_samples = 0
            self.idle.clear()
            self._requests.release()
        else:
            self.missed_samples += 1

    def take_output(self) -> list[SourceOutput]:
        """Return the samples and events since the last call."""
        with self._lock:
            output, self._output = self._output, []
        return output

    def find_stall(self) -> list[SourceOutput]:
        """Return the event for a source that has just missed too many samples, if it has."""
        if self.missed_samples != _STALLED_AFTER_SAMPLES:
            return []
        text = f"{self.source} has not answered for {self.missed_samples * PERIOD_S:.0f} s"
        return [(self.source, SourceEvent("source_stalled", "host", text))]

    def run(self) -> None:
        """Sample until the process ends or the source fails."""
        try:
            opened = source.load_source_class(self.source)(self._run)
            self.availability = {"available": True, "facts": dict(opened.facts)}
            self._store(opened.sample())
            self._finish_first()
            while True:
                self.idle.set()
                self._requests.acquire()
                self._store(opened.sample())
        except SourceUnavailableError as error:
            self.availability = {"available": False, "why": error.why, "remedy": error.remedy}
        except Exception as error:  # noqa: BLE001 - the boundary of each source
            why = f"{type(error).__name__}: {error}"
            if not self.availability:
                self.availability = {"available": False, "why": why}
            else:
                text = f"{self.source} failed and was closed: {why}"
                self._store([SourceEvent("source_failed", "host", text)])
        finally:
            self.is_closed = True
            self._finish_first()
            self.idle.set()

    def _finish_first(self) -> None:
        if self.first_sample_at is None:
            self.first_sample_at = time.time()
            os.write(self._first_fd, b"\n")

    def _store(self, output: Iterable[Sample | SourceEvent]) -> None:
        for one in output:  # store each at once, so a failure loses none before it
            with self._lock:
                self._output.append((self.source, one))


def sample_run(record: Record, marker: str) -> None:
    """Sample the run of this record until its leader ends.  Raises OSError."""
    pid = _wait_for_leader(record)
    if pid is None:
        return
    with suppress(OSError):  # without locks two may sample, which is better than none
        if record.try_lock(LOCK) < 0:  # held until this process exits
            return  # a sampler of an earlier recorder is still running
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        return  # the leader has ended
    spec = record.spec
    run = ObservedRun(
        run_id=record.run_id,
        pid=pid,
        marker=marker,
        started_at=spec.created_at,
        record_path=record.path,
        cwd=spec.cwd,
        logs=tuple(record.log_path(name) for name in spec.logs),
    )
    first_fd, write_fd = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    workers = [SourceWorker(name, run, write_fd) for name in source.list_sources()]
    for worker in workers:
        worker.start()
    writer = TelemetryWriter(record)
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    poll.register(first_fd, select.POLLIN)
    next_at = time.monotonic() + PERIOD_S
    while True:
        ready = {fd for fd, _ in poll.poll(max(0.0, next_at - time.monotonic()) * 1000)}
        if first_fd in ready:
            os.read(first_fd, len(workers))
            _write_first(workers, writer)
        if pidfd in ready or time.monotonic() >= next_at:
            _sample_all(workers, writer)
            next_at = max(next_at + PERIOD_S, time.monotonic())
        if pidfd in ready:
            _write_first(workers, writer)
            return


def _write_first(workers: Iterable[SourceWorker], writer: TelemetryWriter) -> None:
    """Write the first samples that were taken since the last call, each with its own time."""
    with suppress(OSError):  # a full disk may have space again later
        for worker in workers:
            if worker.first_sample_at is not None and not worker.is_first_written:
                worker.is_first_written = True
                writer.add_source(worker.source, **worker.availability)
                writer.add(worker.first_sample_at, worker.take_output())


def _sample_all(workers: Iterable[SourceWorker], writer: TelemetryWriter) -> None:
    _write_first(workers, writer)
    at = time.time()
    deadline = time.monotonic() + _SAMPLE_TIMEOUT_S
    for worker in workers:
        worker.request_sample()
    for worker in workers:
        worker.idle.wait(max(0.0, deadline - time.monotonic()))
    output = [one for worker in workers for one in worker.find_stall()]
    output += [one for worker in workers if worker.is_first_written for one in worker.take_output()]
    with suppress(OSError):
        writer.add(at, output)


def _wait_for_leader(record: Record) -> int | None:
    """Return the process number of the leader once the recorder has written it; None if it does
    not."""
    deadline = time.monotonic() + _LAUNCH_TIMEOUT_S
    while time.monotonic() < deadline:
        pid = record.leader_pid
        if pid is not None:
            return pid
        time.sleep(0.05)
    return None


def main(record_path: str, marker: str) -> None:
    """Sample until the run ends.  Exits and never returns, so a hanging thread keeps no process
    alive."""
    try:
        os.nice(NICENESS)
        os.chdir("/")
        sample_run(Record.open(record_path), marker)
    except Exception:  # noqa: BLE001 - the boundary: no process waits for this one
        os._exit(1)
    os._exit(0)
