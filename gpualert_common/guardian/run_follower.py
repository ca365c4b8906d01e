"""Follows a run by its record: new log lines, the end, the loss to a later attempt."""

from __future__ import annotations

import select
import time
from collections.abc import Iterator

from gpualert_common import recover as recovery
from gpualert_common.api import RunResult
from gpualert_common.errors import GuardianError, SupersededError
from gpualert_common.guardian import result
from gpualert_common.guardian.attempt import Attempt
from gpualert_common.guardian.lease import LeaseRenewer
from gpualert_common.guardian.log_view import LogView
from gpualert_common.guardian.stack_lines import StackLines
from gpualert_common.processes.load_scaled_deadline import LoadScaledDeadline
from gpualert_common.processes.pidfd import is_ready
from gpualert_common.record import STACKS_TAKEN, Record

POLL_S = 0.25
_POLL_SHARE = 0.1
"""Part of the run's age between two looks: the end of a short run is noticed at once."""
_LAST_POLL_S = 0.005
"""Once the run has ended: its guardian needs milliseconds for what it still writes."""
STACKS = "stacks"
"""Name of the lines of stacks among those of the logs."""
_LAUNCH_S = 5.0
"""For a launch to be recorded, which waits for the disk."""
_VERDICT_S = 7.0
"""From the exit record to the end of a guardian: the verdict's deadline and its margins."""


class RunFollower:
    """Follows one run, as its owner with an ``attempt``, else as a spectator.

    ``lease`` is the owner's lease while it is kept; it shows when the guardian ends.
    """

    def __init__(
        self, record: Record, attempt: Attempt | None, lease: LeaseRenewer | None, *, is_new: bool
    ) -> None:
        self.record = record
        self.lease = lease
        self.result: RunResult | None = None
        self._attempt = attempt
        self._is_owner = is_new
        self._is_remote = not is_new and recovery.is_remote(record)
        self._began = time.monotonic()
        self._events_read = 0
        self._is_superseded = self._has_new_stacks = False
        self._verdict_deadline: LoadScaledDeadline | None = None

    def wait_for_pid(self) -> int | None:
        """Wait for the launch; return the command's process, None where none was started."""
        deadline = time.monotonic() + _LAUNCH_S
        while True:
            goes_on = self._goes_on()
            pid, ending = self.record.leader_pid, self.record.ending
            if pid is not None:
                return pid
            if ending is not None:
                return ending.pid
            if not goes_on or time.monotonic() > deadline:
                return None
            self._pause(_LAST_POLL_S)

    def follow_logs(self) -> Iterator[dict[str, list[str]]]:
        """Yield the new lines of each log, at least every 0.25 s, until the run has ended.

        Stacks that were taken meanwhile are lines of their own.
        """
        views, stacks = self._open_views(), StackLines(self.record)
        try:
            has_ended = False
            while not has_ended:
                has_ended = not self._goes_on()
                new = {name: view.take_lines(last=has_ended) for name, view in views.items()}
                if self._has_new_stacks:
                    self._has_new_stacks = False
                    new[STACKS] = stacks.take()
                yield new
                if not has_ended and not any(new.values()):
                    self._pause()
        finally:
            for view in views.values():
                view.close()

    def wait(self, timeout_s: float | None) -> RunResult:
        """Return how the run ended; the result then belongs to this attempt.

        Raises TimeoutError, SupersededError and GuardianError.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while self._goes_on():
            left_s = POLL_S if deadline is None else deadline - time.monotonic()
            if left_s <= 0:
                raise TimeoutError(f"{self.record.run_id} still runs after {timeout_s:g} s")
            self._pause(left_s)
        if self.result is None:
            self.result = self._conclude()
        return self.result

    def _open_views(self) -> dict[str, LogView]:
        views = {}
        for name in self.record.logs:
            try:
                path = self.record.log_path(name)
                views[name] = LogView(self.record.open_log(name), path, self._find_notable)
            except OSError as error:
                if error.errno is None:
                    raise  # an engine's time-out, which may land here
                # It was removed, or is not a log; the run goes on.
        return views

    def _find_notable(self, lines: bytes) -> list[int]:
        """Return the starts of *lines* that are shown in any case; loads the rules at need."""
        from gpualert_common.classifier import find_notable_lines

        return find_notable_lines(lines, self.record.spec.rules)

    def _goes_on(self) -> bool:
        """False when the run has ended or lost its guardian."""
        if self.result is not None:
            return False
        self._check_owner()
        if self.record.ending is not None and not self._is_remote:
            self._verdict_deadline = self._verdict_deadline or LoadScaledDeadline(_VERDICT_S)
            return self.record.is_held and self._verdict_deadline.left_s() > 0
        return self.record.is_held or (self._is_remote and self.record.ending is None)

    def _check_owner(self) -> None:
        """Raises SupersededError once a later attempt owns the run."""
        events, self._events_read = self.record.events_from(self._events_read)
        for event in events:
            self._has_new_stacks = self._has_new_stacks or event.name == STACKS_TAKEN
            if self._attempt is None or event.name != "adopted":
                continue
            if event.fields.get("owner") == self._attempt.owner:
                self._is_owner = True
            elif self._is_owner:
                self._is_superseded = True
        if self._is_superseded:
            raise SupersededError(
                f"a later attempt took run {self.record.run_id} over from this one"
            )

    def _pause(self, most_s: float = POLL_S) -> None:
        """Sleep until the next look at the record, at most until the guardian ends.

        A guardian that has alerts to send outlives its run.
        """
        fd = -1 if self.lease is None else self.lease.guardian_fd
        followed_s = time.monotonic() - self._began
        poll_s = min(POLL_S, max(_LAST_POLL_S, followed_s * _POLL_SHARE))
        poll = select.poll()
        if fd >= 0 and is_ready(fd):
            poll_s = _LAST_POLL_S
        elif fd >= 0:
            poll.register(fd, select.POLLIN)
        if self._verdict_deadline is not None:
            poll_s = _LAST_POLL_S
        poll.poll(max(0.0, min(most_s, poll_s)) * 1000)

    def _conclude(self) -> RunResult:
        if self.record.is_removed:  # the guardian created it anew for its last files
            self.record = Record.open(self.record.path)
        record, problem = self.record, "gpualert recover finishes it"
        if record.ending is None and not self._is_remote and self._attempt is not None:
            try:
                # Its guardian died: end the processes that live, and complete the record.
                recovery.finish_abandoned(record, record.spec.grace_s)
            except OSError as error:
                if error.errno is None:
                    raise  # an engine's time-out, which may land here
                problem = f"its record cannot be finished: {error.strerror}"
        self._check_owner()  # nobody adopts any more: the record is final
        if self._attempt is not None:
            result.claim(record, self._attempt)
        ending = record.ending
        if ending is None:
            raise GuardianError(f"{record.path}: its guardian died before its end; {problem}")
        return RunResult(record, ending, record.verdict)
