"""The program that renews the digest of a run while it goes on.

A program (:mod:`gpualert_common.processes.program`); its argument is the path of the record.  It
exits with the run's leader, and continues if the supervisor dies: the run goes on, too.  After the
end of such a run it has the record completed, so that the job has its verdict.  A store that fails
is tried again at the next renewal.  One that hangs holds up only this process, which the recorder
kills at the end of the run.
"""

from __future__ import annotations

import json
import os
import select
import time

from gpualert_common.errors import GPUAlertError, StoreError
from gpualert_common.jobs.digests.digest_collection import DigestCollector, Renewal
from gpualert_common.jobs.job_directory import JobDirectory
from gpualert_common.jobs.reading.opening import open_job_directory
from gpualert_common.jobs.renewal.clock_exchange import ClockExchange, ExchangeTimes
from gpualert_common.jobs.renewal.renewal_schedule import RenewalSchedule
from gpualert_common.jobs.renewal.renewal_state import StoreNotes, read_state, store_state
from gpualert_common.processes.bootstrap import import_path
from gpualert_common.processes.program import start_program
from gpualert_common.record import Record
from gpualert_common.record.files import write_all
from gpualert_common.record.marks import find_state_dir
from gpualert_common.structs import replace

LOCK = ".digest"
"""Locked by the process that writes the digest."""
CHECK_S = 1.0
"""Time between two looks for something important."""
_NICENESS = 10
_LAUNCH_TIMEOUT_S = 10.0
_RECOVERY = "gpualert_common.background_recovery"
_RELEASE_S = 2.0
"""Time in which a recorder that has lost its supervisor exits."""


class DigestRenewal:
    """The digest of one run, renewed in its job directory."""

    def __init__(self, record: Record, directory: JobDirectory) -> None:
        self._record = record
        self._collector = DigestCollector(record)
        self._exchange = ClockExchange(directory, ExchangeTimes(time.time, time.monotonic))
        self._notes = StoreNotes(record)
        self._sequence = read_state(record).sequence
        self._change: tuple[object, ...] = ()
        job = record.spec.job or {}
        self._nodes = job.get("nodes")
        self.schedule = RenewalSchedule.begin(self._nodes, time.monotonic(), job.get("node"))

    def update(self) -> None:
        """Renew the digest if that is due, or something important has changed."""
        change = self._collector.find_change()
        if change != self._change:
            self._change = change
            self.schedule.hasten()
        if time.monotonic() >= self.schedule.due_at:
            self.renew()

    def renew(self) -> None:
        """Write the digest: three requests, five of the node that is the reference."""
        self.schedule.note_renewal(time.monotonic())
        renewal = Renewal(self._sequence + 1, self.schedule.interval_s, self._exchange.offset)
        digest = self._collector.collect(renewal)
        is_first = False
        try:
            self._exchange.write(digest)
            self._exchange.read_reference(digest.run_id)
            is_reference = self._exchange.serve(digest)
            self.schedule.adjust(self._nodes, is_reference=is_reference)
        except StoreError as error:
            self._notes.note_failure(str(error))
        else:
            is_first = digest.sequence == 1
            self._sequence = digest.sequence
            store_state(self._record, replace(digest, clock=self._exchange.offset), is_final=False)
            self._notes.note_success()
        self.schedule.note_renewal(time.monotonic())
        if is_first:
            self.schedule.note_first()


def renew_digest(record: Record) -> None:
    """Renew the digest of this run until its leader ends.  Raises OSError and GPUAlertError."""
    pid = _wait_for_leader(record)
    if pid is None or record.try_lock(LOCK) < 0:  # held until this process exits
        return
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        return  # the leader has ended
    try:
        directory = open_job_directory(record)
    except GPUAlertError as error:  # as for a missing extra: no later try can succeed
        StoreNotes(record).note_failure(str(error))
        return
    renewal = DigestRenewal(record, directory)
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    parent = os.getppid()
    while not poll.poll(CHECK_S * 1000):
        renewal.update()
    if os.getppid() != parent:  # the recorder is dead, and perhaps the supervisor
        _recover(record)


def _recover(record: Record) -> None:
    """Start the recovery of a run that has ended without a supervisor.  Raises OSError."""
    deadline = time.monotonic() + _RELEASE_S
    while record.is_held:
        if time.monotonic() >= deadline:
            return
        time.sleep(0.05)
    request = {"places": [find_state_dir(record.path)], "sys_path": import_path()}
    stdin = os.memfd_create("gpualert", os.MFD_CLOEXEC)
    write_all(stdin, json.dumps(request).encode())
    os.lseek(stdin, 0, os.SEEK_SET)
    start_program(_RECOVERY, stdin=stdin)


def _wait_for_leader(record: Record) -> int | None:
    """Return the process number of the leader once the recorder has written it."""
    deadline = time.monotonic() + _LAUNCH_TIMEOUT_S
    while time.monotonic() < deadline:
        pid = record.leader_pid
        if pid is not None:
            return pid
        time.sleep(0.05)
    return None


def main(record_path: str) -> None:
    """Renew until the run ends; exits, never returns."""
    try:
        os.nice(_NICENESS)
        os.chdir("/")
        renew_digest(Record.open(record_path))
    except Exception:  # noqa: BLE001 - the boundary: no process waits for this one
        os._exit(1)
    os._exit(0)
