"""What an engine's task holds of its run: launch or take over, follow, wait, stop."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterator, Mapping
from signal import SIGTERM
from typing import Any, Literal, Self

from gpualert_common import record_locations
from gpualert_common import recover as recovery
from gpualert_common.api import RunResult
from gpualert_common.errors import GuardianError, SupersededError
from gpualert_common.guardian import launch, result
from gpualert_common.guardian.alert_wait import AlertWaiter, deadline_of
from gpualert_common.guardian.attempt import Attempt
from gpualert_common.guardian.keys import Key
from gpualert_common.guardian.lease import LeaseRenewer
from gpualert_common.guardian.log_view import LogView
from gpualert_common.guardian.takeover import Takeover
from gpualert_common.processes.load_scaled_deadline import LoadScaledDeadline
from gpualert_common.processes.marker import run_marker
from gpualert_common.processes.pidfd import is_ready
from gpualert_common.processes.tree import ProcessTree
from gpualert_common.record import Record
from gpualert_common.spec import RunSpec
from gpualert_common.supervise.stop import Stop

Meaning = Literal["cancelled", "preempted", "timeout"]

_POLL_S = 0.25
_POLL_SHARE = 0.1
"""Of the time that a run took so far: who follows one that ends at once hears of it at once."""
_LAST_POLL_S = 0.01
"""Once the run has ended: what its guardian still writes takes milliseconds."""
_LAUNCH_S = 5.0
"""For a launch to be written down, which waits for the disk."""
_VERDICT_S = 7.0
"""From the exit record to the end of a guardian: the verdict's deadline and its margins."""


class RunHandle:
    """A run that lives in a guardian, as one attempt at a task sees it.

    ``origin`` says how this attempt came by it: "launched", "adopted" (the attempt before it died,
    and the training did not), "claimed" (it ended while nobody followed), or "attached" (somebody
    else's: it can be watched, and stopped as a person would).  Use as a context manager, or call
    :meth:`close`: that ends the lease, and the guardian does what was agreed for a run without a
    follower.
    """

    def __init__(
        self, record: Record, origin: str, attempt: Attempt | None, keeper: LeaseRenewer | None
    ) -> None:
        self.record = record
        self.origin = origin
        self._attempt = attempt
        self._keeper = keeper
        self._since = time.monotonic()
        self._events_read = 0
        self._owns = origin == "launched"
        self._is_far = origin != "launched" and bool(recovery.elsewhere(record))
        self._superseded_by: int | None = None
        self._patience: LoadScaledDeadline | None = None
        self._result: RunResult | None = None
        self.tried: list[tuple[str, str]] = []
        """Places that had no room for the record, as (place, what came back)."""

    # -- coming by one ---------------------------------------------------------------------

    @classmethod
    def launch(
        cls,
        spec: RunSpec,
        attempt: Attempt | None = None,
        *,
        tell: Callable[[str], None] = lambda _text: None,
        check: Callable[[], None] = lambda: None,
        made: Callable[[Self], None] = lambda _handle: None,
    ) -> Self:
        """Launch the run, or take over what an earlier attempt of the same key left.

        A live run of the same command is adopted, a result that nobody has taken is claimed; one
        that is stopping, or of another command, is waited for first, and ``tell`` is told so.
        Without an ``attempt`` the run belongs to nobody and goes on until it ends or is stopped.
        ``check`` is called ten times a second while it waits, and may raise to give up; ``made``
        gets the handle before anything is launched, for a signal handler that stops the run.

        Raises UsageError and NoDurableLogError when nothing could be launched, GuardianError when
        no guardian started or the run before stands in the way, RecordError when that one cannot
        be read.  Whatever else lands in here (a time-out, KeyboardInterrupt) ends what was begun
        before it gets out.
        """
        begun: list[Self] = []

        def note(handle: Self) -> None:
            begun.append(handle)
            made(handle)

        try:
            return cls._come_by(spec, attempt, tell, check, note)
        except BaseException as error:
            for handle in begun:
                handle.stop("its launch was interrupted")
                handle.close()
            if isinstance(error, OSError) and error.errno is not None:
                raise GuardianError(f"no run was launched or taken over: {error}") from error
            raise  # also an engine's time-out that is a TimeoutError, which is an OSError

    @classmethod
    def _come_by(
        cls,
        spec: RunSpec,
        attempt: Attempt | None,
        tell: Callable[[str], None],
        check: Callable[[], None],
        made: Callable[[Self], None],
    ) -> Self:
        if attempt is None:
            return cls._launch(spec, None, None, made)
        key = Key(attempt.key, spec.state_dir)
        try:
            key.take(check)
            succession = Takeover(key, spec, attempt, tell, check)
            record, origin, keeper = succession.settle()
            if record is None:
                return cls._launch(spec, attempt, key, made)
            handle = cls(record, origin, attempt, keeper)
            made(handle)
            return handle
        finally:
            key.release()

    @classmethod
    def attach(cls, run: str, state_dir: str | None = None) -> Self:
        """Watch any run: a path, a run id, the start of one, or "last".

        Raises UsageError when there is no such run, RecordError when it cannot be trusted.
        """
        return cls(record_locations.find(run, state_dir), "attached", None, None)

    @classmethod
    def _launch(
        cls,
        spec: RunSpec,
        attempt: Attempt | None,
        key: Key | None,
        made: Callable[[Self], None],
    ) -> Self:
        launched = launch.start(spec, attempt, key)
        try:
            keeper = None
            if attempt is not None:
                keeper = LeaseRenewer(launched.record, attempt, launched.guardian_pid)
            handle = cls(launched.record, "launched", attempt, keeper)
            handle.tried = launched.tried
            made(handle)
            launched.go()
        finally:
            launched.close()
        return handle

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    # -- what it is ------------------------------------------------------------------------

    @property
    def run_id(self) -> str:
        """Names the run."""
        return self.record.run_id

    def wait_for_pid(self) -> int | None:
        """The process that the command became, waiting for it; None where none was started."""
        deadline = time.monotonic() + _LAUNCH_S
        while True:
            goes_on = self._goes_on()
            launched, ending = self.record.event("launched"), self.record.ending
            if launched is not None:
                return int(launched["pid"])
            if ending is not None:
                return ending.pid
            if not goes_on or time.monotonic() > deadline:
                return None
            self._pause(_LAST_POLL_S)

    @property
    def log_path(self) -> str:
        """Path of the log, or stderr's where the streams are apart."""
        return self.record.log_path(self.record.logs[-1])

    # -- following -------------------------------------------------------------------------

    def follow(self) -> Iterator[list[str]]:
        """New lines of the log, decoded, without their ends, until the run has ended.

        Yields at least every 0.25 s, an empty list when there is nothing new, so that the caller
        can look at other things in between.  What it yields is bounded and rate-limited
        (:mod:`.view`); the child never waits for it.  Raises as :meth:`wait` does.
        """
        for new in self.follow_each():
            yield [line for lines in new.values() for line in lines]

    def follow_each(self) -> Iterator[dict[str, list[str]]]:
        """As :meth:`follow`, with the new lines of each log under its name."""
        views = self._views()
        try:
            ended = False
            while not ended:
                ended = not self._goes_on()
                new = {name: view.look(last=ended) for name, view in views.items()}
                yield new
                if not ended and not any(new.values()):
                    self._pause()
        finally:
            for view in views.values():
                view.close()

    def _views(self) -> dict[str, LogView]:
        views = {}
        for name in self.record.logs:
            try:
                path = self.record.log_path(name)
                views[name] = LogView(self.record.open_log(name), path, self._telling)
            except FileNotFoundError:
                pass  # somebody removed it; the run goes on
        return views

    def _telling(self, lines: bytes) -> list[int]:
        """Which of *lines* are shown whatever else is left out; the rules are read at need."""
        from gpualert_common.classifier import find_notable_lines  # the child has long begun

        return find_notable_lines(lines, self.record.spec.get("rules"))

    def wait(self, timeout_s: float | None = None) -> RunResult:
        """How the run ended; the result is this attempt's from now on, and nobody else's.

        Raises TimeoutError when it still runs after ``timeout_s``, SupersededError when a later
        attempt took it over.  A run whose guardian died has no known status: what lives of it is
        ended, gracefully, and its ``exit_code`` is None unless it was written down.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while self._goes_on():
            left_s = _POLL_S if deadline is None else deadline - time.monotonic()
            if left_s <= 0:
                raise TimeoutError(f"{self.run_id} still runs after {timeout_s:g} s")
            self._pause(left_s)
        if self._result is None:
            self._result = self._conclude()
        return self._result

    def _goes_on(self) -> bool:
        """False when the run has ended or lost its guardian."""
        if self._result is not None:
            return False
        self._notice_successor()
        if self.record.ending is not None and not self._is_far:
            self._patience = self._patience or LoadScaledDeadline(_VERDICT_S)
            return self.record.held and self._patience.left_s() > 0
        return self.record.held or (self._is_far and self.record.ending is None)

    def _notice_successor(self) -> None:
        events, self._events_read = self.record.events_from(self._events_read)
        for event in events:
            if self._attempt is None or event.get("event") != "adopted":
                continue
            if event.get("owner") == self._attempt.owner:
                self._owns = True
            elif self._owns:
                self._superseded_by = event.get("number")
        if self._superseded_by is not None:
            raise SupersededError(
                f"attempt {self._superseded_by} took run {self.run_id} over from this one"
            )

    def _pause(self, most_s: float = _POLL_S) -> None:
        """Sleep until it is worth another look, but not beyond the guardian's end.

        A guardian that has alerts to send outlives its run.
        """
        keeper = self._keeper
        fd = -1 if keeper is None else keeper.guardian_fd
        followed_s = time.monotonic() - self._since
        poll_s = min(_POLL_S, max(_LAST_POLL_S, followed_s * _POLL_SHARE))
        poll = select.poll()
        if fd >= 0 and is_ready(fd):
            poll_s = _LAST_POLL_S
        elif fd >= 0:
            poll.register(fd, select.POLLIN)
        if self._patience is not None:
            poll_s = _LAST_POLL_S
        poll.poll(max(0.0, min(most_s, poll_s)) * 1000)

    def _conclude(self) -> RunResult:
        if self.record.removed:  # for what it still had to write the guardian made it anew
            self.record = Record.open(self.record.path)
        record, problem = self.record, "gpualert recover finishes it"
        if record.ending is None and not self._is_far and self._attempt is not None:
            try:
                self._finish_lost()
            except OSError as error:
                if error.errno is None:
                    raise  # an engine's time-out, which may land here
                problem = f"its record cannot be finished: {error.strerror}"
        self._notice_successor()  # nobody adopts any more: what it says now is final
        if self._attempt is not None:
            result.claim(record, self._attempt)
        ending = record.ending
        if ending is None:
            raise GuardianError(f"{record.path}: its guardian died before its end; {problem}")
        return RunResult(record, ending, record.verdict)

    def _finish_lost(self) -> None:
        """Its guardian died: end what lives of the run, and complete the record."""
        grace_s = self.record.spec.get("grace_s") or 0.0
        recovery.end_abandoned(self.record, grace_s)

    # -- acting ----------------------------------------------------------------------------

    def stop(
        self, reason: str, *, meant_as: Meaning = "cancelled", grace_s: float | None = None
    ) -> None:
        """Ask for a graceful end and return at once; what was asked is done by the guardian.

        ``reason`` completes "it was stopped because ..."; ``meant_as`` becomes the disposition.

        Safe in a signal handler, from any thread, and any number of times: no disk is touched by
        the caller.  The run is not adopted any more, and its result not claimed by a later attempt.
        """
        sender = _sender(reason, meant_as)
        keeper = self._keeper
        if keeper is not None:
            keeper.stop(sender, grace_s)
        elif self._result is None and self.record.held:
            own = {} if self._attempt is None else {"owner": self._attempt.owner}
            self.record.request("stop", sender=sender, grace_s=grace_s, **own)

    def end_survivors(self, grace_s: float) -> None:
        """End what a run that has ended left behind; it gets so long to do that itself."""
        Stop(
            ProcessTree(None, run_marker(self.run_id)), SIGTERM, grace_s, time.monotonic()
        ).complete()

    def outcome(self, state: str, *, final: bool, next_within_s: float | None = None) -> bool:
        """Record what the task became: ``final`` when no further attempt will follow.

        ``next_within_s`` is how long after the end of the run that attempt begins at the latest:
        so long its alert is held.  False when that could not be written down.
        """
        assert self._attempt is not None, "an attached run belongs to somebody else"
        return result.note_outcome(
            self.record, self._attempt, state, final=final, next_within_s=next_within_s
        )

    def await_alerts(
        self,
        *,
        within_s: float | None = None,
        secrets: Mapping[str, Mapping[str, str]] | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> list[dict[str, Any]]:
        """Wait until the alerts of the run are sent, held or given up; what became of each.

        For after :meth:`outcome`: the guardian sends, and when it died we do, with the spec's
        ``secrets``.  Waits no longer than the run's ``notify_deadline`` and ``within_s``, and
        raises only what others throw in, or ``check``, which is called many times a second.
        """
        deadline = deadline_of(self.record, within_s)
        return AlertWaiter(self.record, secrets).wait(deadline, check)

    def handover(self, within_s: float) -> None:
        """Leave the run alone for so long, for the next attempt to adopt, and close.

        Raises OSError when the request cannot be written down.
        """
        assert self._attempt is not None, "an attached run belongs to somebody else"
        self.record.request("handover", owner=self._attempt.owner, within_s=within_s)
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_keeper"):
            self.close()

    def close(self) -> None:
        """End the lease, once what was asked of the guardian is on its way.

        Of a run that still goes on, the guardian then makes what was agreed for one that nobody
        follows.
        """
        keeper = self._keeper
        if keeper is not None:
            keeper.close()
            self._keeper = None


def _sender(reason: str, meant_as: Meaning) -> dict[str, Any]:
    return {"pid": os.getpid(), "uid": os.getuid(), "because": reason, "meant_as": meant_as}
