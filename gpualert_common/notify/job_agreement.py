"""Agreement of a run with the other nodes of its job: which of them sends the alert.

It publishes the final digest of the run, then steps through the states of the job's alert, in a
process of its own: a store may hang.  That process ends with the sender.  Without an answer of it
for a while, the sender sends the alert of its run alone.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Callable, Iterator

from gpualert_common.codec import decode, encode
from gpualert_common.errors import StoreError
from gpualert_common.jobs.alerts.alert_ownership import JobAlert, JobAlertAction, JobAlertStep
from gpualert_common.jobs.digests.digest import Digest
from gpualert_common.jobs.job_directory import JobDirectory
from gpualert_common.jobs.job_report import JobReport
from gpualert_common.jobs.reading.opening import open_job_directory
from gpualert_common.jobs.renewal.publication import make_final_digest, publish_final
from gpualert_common.notify.job_part import JobPart
from gpualert_common.record import Record
from gpualert_common.structs import Struct, replace

SILENCE_S = 120.0
"""Time without a step after which the store counts as hanging: several times its own deadline."""
NOTE_S = 150.0
"""Time in which the store is to take the note that the alert was sent: less than the lease of an
owner that had decided to send."""
_RETRY_S = 15.0
THREADS = 16
_POLL_S = 0.2
_SENT, _REFUSED = b"s", b"r"


class _Answer(Struct, frozen=True, kw_only=True):
    """An answer of the process; ``is_published`` says that the job directory has the digest."""

    part: JobPart = JobPart()
    is_published: bool = False
    report: JobReport | None = None


class JobAgreement:
    """The process that agrees with the other nodes, and its last answer.

    ``is_wanted`` is False for a run whose alert nobody wants: it only publishes its digest.
    ``lock_fd`` is the lock of the caller, which the process does not keep: a store may hold it for
    ever.  To be created where no other thread runs.
    """

    def __init__(
        self,
        record: Record,
        known_secrets: tuple[str, ...],
        *,
        is_wanted: bool,
        latest_at: float,
        lock_fd: int,
    ) -> None:
        self._answer = _Answer()
        self._is_wanted = is_wanted
        self._received = b""
        self._heard_at = time.monotonic()
        answers, writing = os.pipe2(os.O_CLOEXEC)
        reading, self._commands = os.pipe2(os.O_CLOEXEC)
        self._pid = os.fork()
        if self._pid == 0:
            for fd in (answers, self._commands, lock_fd):
                os.close(fd)
            negotiation = _Negotiation(record, known_secrets, writing, reading, latest_at)
            _serve(negotiation, is_wanted=is_wanted)
        os.close(writing)
        os.close(reading)
        os.set_blocking(answers, False)
        self._answers = answers

    @property
    def part(self) -> JobPart:
        """Part of the run in the alert, as far as it is known."""
        return self._answer.part

    @property
    def report(self) -> JobReport | None:
        """The job as the alert has to show it."""
        return self._answer.report

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The pipes to the process, which ends once all copies of them are closed."""
        return tuple(fd for fd in (self._commands, self._answers) if fd >= 0)

    def reach(self, within_s: float) -> Iterator[JobPart]:
        """Yield the part of the run again and again, until it is known or the time is over."""
        deadline = time.monotonic() + within_s
        while not self._is_over() and time.monotonic() < deadline:
            self._wait(_POLL_S)
            self.poll()
            yield self.part

    def poll(self) -> None:
        """Read the answers that have arrived."""
        has_ended = self._receive()
        *lines, self._received = self._received.split(b"\n")
        for line in filter(None, lines):
            self._answer = decode(_Answer, json.loads(line), "the agreement")
        if has_ended:
            self._give_up("the process that agrees with the other nodes has ended")
        elif time.monotonic() - self._heard_at > SILENCE_S:
            self._give_up("the job directory does not answer")

    def _receive(self) -> bool:
        """Receive what has arrived; True once the process has ended."""
        while self._answers >= 0:
            try:
                data = os.read(self._answers, 1 << 16)
            except BlockingIOError:
                return False
            if not data:
                return True
            self._received += data
            self._heard_at = time.monotonic()
        return False

    def note(self, *, is_sent: bool) -> None:
        """Have the store note that the alert was sent or refused; waits for that, not for long."""
        if self._answers < 0:
            return
        try:
            os.write(self._commands, _SENT if is_sent else _REFUSED)
        except OSError:
            return
        deadline = time.monotonic() + NOTE_S
        while self._answers >= 0 and time.monotonic() < deadline:
            self._wait(_POLL_S)
            self.poll()

    def close(self) -> None:
        """End the process.  A claim that is not noted as sent is then open to the other nodes."""
        if self._pid > 0:
            os.kill(self._pid, signal.SIGKILL)
            deadline = time.monotonic() + 1.0  # one in an uninterruptible sleep is left behind
            while os.waitpid(self._pid, os.WNOHANG)[0] == 0 and time.monotonic() < deadline:
                time.sleep(0.01)
            self._pid = 0
            self._hang_up()
            os.close(self._commands)

    def _is_over(self) -> bool:
        if self._answers < 0 or (self._answer.is_published and not self._is_wanted):
            return True
        return self._is_wanted and self.part.action is not JobAlertAction.WAIT

    def _wait(self, within_s: float) -> None:
        if self._answers >= 0:
            select.select([self._answers], [], [], within_s)

    def _give_up(self, because: str) -> None:
        """Send the alert of the run alone, unless the process had an answer before it ended."""
        self._hang_up()
        if self._is_wanted and self.part.action is JobAlertAction.WAIT:
            part = replace(self.part, action=JobAlertAction.SEND, because=because)
            self._answer = replace(self._answer, part=part)

    def _hang_up(self) -> None:
        if self._answers >= 0:
            os.close(self._answers)
            self._answers = -1


def _serve(negotiation: _Negotiation, *, is_wanted: bool) -> None:
    """Publish and agree until the parent has what it needs, or ends; never returns."""
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        negotiation.run(is_wanted=is_wanted)
        os._exit(0)
    except BaseException:  # noqa: BLE001 - the boundary: the sender goes on alone
        import traceback

        traceback.print_exc()  # into the log of the sender
    finally:
        os._exit(1)


class _Negotiation:
    """The work of the process: publishes the digest, and steps through the states of the alert."""

    def __init__(
        self,
        record: Record,
        known_secrets: tuple[str, ...],
        answers: int,
        commands: int,
        latest_at: float,
    ) -> None:
        self._record = record
        self._known_secrets = known_secrets
        self._answers = answers
        self._commands = commands
        self._latest_at = latest_at
        self._offset_s = time.time() - time.monotonic()
        self._last = _Answer()

    def run(self, *, is_wanted: bool) -> None:
        """Return once the digest is published, and the alert is sent or left to another node."""
        directory = open_job_directory(self._record)
        alert: JobAlert | None = None
        while True:
            next_at = self._now() + _RETRY_S
            if not self._last.is_published:
                own, is_published = self._publish(directory)
                if is_wanted and alert is None and own is not None:
                    alert = JobAlert(directory, own, latest_at=self._latest_at, threads=THREADS)
                if alert is not None and is_published:
                    alert.note_published(self._now())
            if alert is not None:
                step = alert.step(self._now())
                self._answer(_take_step(self._last, step))
                next_at = step.next_at
                if step.action is JobAlertAction.LEAVE:
                    alert, is_wanted = None, False
            if alert is None and self._last.is_published:
                return
            word = self._await_command(next_at)
            if word and alert is not None:
                self._note(alert.note_sent if word == _SENT else alert.note_refused)
                return

    def _publish(self, directory: JobDirectory) -> tuple[Digest | None, bool]:
        """Return the last digest of the run, None while it has no end, and if it is published."""
        try:
            own = publish_final(self._record, directory, self._known_secrets)
        except StoreError:
            self._answer(self._last)
            return make_final_digest(self._record, self._known_secrets), False
        self._answer(replace(self._last, is_published=True))
        return own, True

    def _note(self, note: Callable[[float], None]) -> None:
        deadline = self._now() + NOTE_S
        while True:
            try:
                return note(self._now())
            except StoreError:
                if self._now() >= deadline:
                    return None
            os.write(self._answers, b"\n")
            self._await_command(self._now() + 1.0)

    def _answer(self, answer: _Answer) -> None:
        """Pass a new answer on; an empty line says that the store still answers."""
        line = b"" if answer == self._last else json.dumps(encode(answer)).encode()
        self._last = answer
        _write_whole(self._answers, line + b"\n")

    def _await_command(self, until: float) -> bytes:
        """Return the command of the parent; empty at that time.  Exits with the parent."""
        if not select.select([self._commands], [], [], max(0.0, until - self._now()))[0]:
            return b""
        word = os.read(self._commands, 1)
        if not word:
            os._exit(0)
        return word

    def _now(self) -> float:
        """Return the time, by a clock that nobody sets."""
        return self._offset_s + time.monotonic()


def _take_step(before: _Answer, step: JobAlertStep) -> _Answer:
    part = JobPart(
        action=step.action,
        because=step.because,
        attempt=step.attempt,
        number=step.number,
        claimed_at=step.claimed_at,
        has_report=step.report is not None,
    )
    return replace(before, part=part, report=step.report)


def _write_whole(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
