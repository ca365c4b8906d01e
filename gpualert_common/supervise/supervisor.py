"""The supervisor's loop: one child, one pidfd, signals, a time limit, requests, stops.

After launch nothing in here waits for a disk, a terminal or a classifier; the recorder does.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Mapping, Sequence

from gpualert_common.launch.signals import STOPS, Inbox
from gpualert_common.processes.children import reap, reap_adopted
from gpualert_common.processes.pidfd import await_exit, is_ready
from gpualert_common.processes.tree import ProcessTree
from gpualert_common.record import LOG_CUT
from gpualert_common.spec import Ending, RunSpec
from gpualert_common.supervise.captures import LEAST_AGE_S, STOP_WAITS_S
from gpualert_common.supervise.leader import Leader
from gpualert_common.supervise.recorder_messages import end_message, event_message, stacks_message
from gpualert_common.supervise.recorder_process import RecorderProcess
from gpualert_common.supervise.stop import Stop, read_terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpualert_common.end_record import Sender, Survivor
    from gpualert_common.supervise.ownership_policy import OwnershipPolicy

_TICK_S = 1.0
_BLIND_S = 0.02
"""Time between two checks for the exit where there is no pidfd to wait for."""
_COPIER_DEADLINE_S = 2.0
MAX_INTERRUPTIONS = 100
"""A caller interrupts one stop by exceptions at most so often; more of them are a fault."""
_FORCE_AFTER = 3
"""A stop that was requested so often again kills at once: Ctrl-C, four times."""
_SHORT_RUN_S = 0.005
"""A child that exits within this time needs no recorder during the run, only after it."""


class Supervisor:
    """Supervises one child from just after its launch until nothing of its tree is left to stop."""

    def __init__(
        self,
        pid: int,
        spec: RunSpec,
        tree: ProcessTree,
        recorder: RecorderProcess,
        inbox: Inbox | None,
        policy: OwnershipPolicy | None = None,
        copiers: Sequence[int] = (),
    ) -> None:
        self._leader = Leader(pid)
        self._spec = spec
        self._tree = tree
        self._recorder = recorder
        self._inbox = inbox
        self._policy = policy
        self._follower_fd = -1
        self._copiers = copiers
        self._is_log_cut = False
        self._poll = select.poll()
        for fd in (self._leader.pidfd, inbox.fd if inbox is not None else -1):
            if fd >= 0:
                self._poll.register(fd, select.POLLIN)
        self._stop: Stop | None = None
        self._repeated_stops = 0
        self._started = time.monotonic()
        self._next_tick = self._started + _TICK_S
        self.ending = Ending(time.time())
        self.ending.pid = pid
        self.survivors: list[Survivor] = []

    def run(self) -> None:
        """Return when the child has exited and, after a stop, nothing of its tree is left.

        An exception of the caller (KeyboardInterrupt, an engine's timeout) that is raised in here
        stops the run first, a second one at once, and is then raised again.
        """
        try:
            self._loop()
        except BaseException as error:
            self._stop_interrupted(error)
            raise
        finally:
            self._leader.close()

    def _stop_interrupted(self, error: BaseException) -> None:
        number = signal.SIGINT if isinstance(error, KeyboardInterrupt) else signal.SIGTERM
        for _attempt in range(MAX_INTERRUPTIONS):
            try:
                self._request_stop(number, {"command": type(error).__name__, "pid": os.getpid()})
                self._loop()
                return
            except BaseException:  # noqa: BLE001 - the child must not outlive its caller
                if self._stop is not None:
                    self._stop.force(time.monotonic())

    # -- the loop --------------------------------------------------------------------------

    def _loop(self) -> None:
        self._poll.poll(_SHORT_RUN_S * 1000)
        self._reap_leader()
        if not self._leader.has_exited and not self._recorder.has_started:
            self._start_recorder()
        while not (self._leader.has_exited and (self._stop is None or self._stop.is_over)):
            self._handle_signals()
            self._handle_messages()
            if self._policy is not None:
                self._consult(self._policy)
            self._poll.poll(self._timeout_ms())
            now = time.monotonic()
            self._handle_signals()  # before the exit that they may have caused
            self._reap_leader()
            self._enforce_time_limit(now)
            if now >= self._next_tick:
                self._tick(now)
            if self._stop is not None and not self._stop.is_over and now >= self._stop.due:
                self._stop.advance(now)
        self._finish()

    def _timeout_ms(self) -> float:
        due = [self._next_tick]
        if self._leader.pidfd < 0:
            due.append(time.monotonic() + _BLIND_S)
        if self._stop is not None and not self._stop.is_over:
            due.append(self._stop.due)
        elif self._has_time_limit:
            due.append(self._started + (self._spec.timeout_s or 0.0))
        return max(0.0, min(due) - time.monotonic()) * 1000

    def _tick(self, now: float) -> None:
        self._next_tick = now + _TICK_S
        if not self._leader.has_exited:
            change = self._leader.job_control_event()
            if change is not None:
                self._record(change[0], **change[1])
        if self._policy is not None and self._recorder.fd < 0:
            self._start_recorder()  # without one no request would reach the run any more
        if self._tree.adopts:
            failed = reap_adopted(self._leader.pid)
            self._is_log_cut = self._is_log_cut or not set(failed).isdisjoint(self._copiers)

    def _reap_leader(self) -> None:
        if not self._leader.reap(self.ending):
            return
        self._tree.leader_reaped = True
        if self._stop is not None:
            self._stop.begin(time.monotonic())
        if self._leader.pidfd >= 0:
            self._poll.unregister(self._leader.pidfd)
        if self._stop is None and self._spec.end_survivors:
            self._stop_survivors()
        if self._stop is not None:
            self._record("leader_exited", code=self.ending.code)

    # -- the recorder ----------------------------------------------------------------------

    def _start_recorder(self) -> None:
        self._recorder.start()
        if self._recorder.fd >= 0:
            self._poll.register(self._recorder.fd, select.POLLIN)
        if self._recorder.pid is not None:
            self._tree.exclude.add(self._recorder.pid)
        self._record("launched", pid=self._leader.pid, start_ticks=self._leader.start_ticks())

    def _record(self, event: str, **fields: Any) -> None:
        self._recorder.send(event_message(event, **fields))

    def _record_all(self, events: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        for event, fields in events:
            self._record(event, **fields)

    def _handle_messages(self) -> None:
        fd = self._recorder.fd
        messages = self._recorder.take_messages()
        if fd >= 0 and self._recorder.fd < 0:  # it died; its link would be readable for ever
            self._poll.unregister(fd)
            if self._recorder.can_restart:
                self._start_recorder()
        for message in messages:
            if message["kind"] == "request":
                self._handle_request(message["request"])
            elif message["kind"] == "stacks_taken":
                if self._stop is not None:
                    self._stop.begin(time.monotonic())
            elif message["kind"] == "hang":
                self._stop_hung()
            elif self._policy is not None:
                leases = message["leases"]
                self._record_all(self._policy.handle_leases(leases, time.monotonic()))

    # -- signals and requests --------------------------------------------------------------

    def _handle_signals(self) -> None:
        for received in self._inbox.take() if self._inbox is not None else ():
            number, sender = received.number, received.sender
            self._record("signal", signal=number, sender=sender)
            if self._policy is not None and not self._policy.may_signal(sender.get("pid", 0)):
                self._record("signal_refused", signal=number, because="it was superseded")
            elif number in STOPS:
                self._request_stop(number, sender)
            elif not self._leader.has_exited and not self._leader.send(number):
                self._record("signal_refused", signal=number)

    def _handle_request(self, request: dict[str, Any]) -> None:
        if request.get("kind") != "stop":
            self._answer(request)
            return
        if self._policy is not None and not self._policy.may_stop(request):
            self._refuse(request, "it was superseded")
            return
        self._request_stop(signal.SIGTERM, *read_terms(request), is_own=True)

    def _answer(self, request: dict[str, Any]) -> None:
        if self._policy is None:
            self._refuse(request, "unknown kind of request")
        elif not self._leader.has_exited:
            try:
                self._record_all(self._policy.answer(request))
            except Exception as error:  # noqa: BLE001 - a request is a file that anybody may write
                self._refuse(request, f"it failed: {error!r}")

    def _refuse(self, request: dict[str, Any], because: str) -> None:
        self._record("request_refused", request=request, because=because)

    def _consult(self, policy: OwnershipPolicy) -> None:
        """Report the follower's exit to the policy, and stop the run if the policy says so."""
        if policy.follower_fd >= 0 and is_ready(policy.follower_fd):
            self._record_all(policy.handle_follower_exit())
        because = policy.end_reason(time.monotonic())
        if because is not None and self._stop is None:
            sender: Sender = {"pid": os.getpid(), "meant_as": "cancelled", "because": because}
            self._request_stop(signal.SIGTERM, sender, is_own=True)
        if policy.follower_fd != self._follower_fd:
            self._watch_follower(policy.follower_fd)

    def _watch_follower(self, fd: int) -> None:
        if self._follower_fd >= 0:
            self._poll.unregister(self._follower_fd)
        if fd >= 0:
            self._poll.register(fd, select.POLLIN)
        self._follower_fd = fd

    # -- stops -----------------------------------------------------------------------------

    @property
    def _has_time_limit(self) -> bool:
        is_running = self._stop is None and not self._leader.has_exited
        return is_running and self._spec.timeout_s is not None

    def _enforce_time_limit(self, now: float) -> None:
        limit_s = self._spec.timeout_s
        if self._has_time_limit and limit_s is not None and now >= self._started + limit_s:
            self.ending.limit = "time"
            self._record("time_limit", limit_s=limit_s)
            self._request_stop(signal.SIGTERM, {}, is_own=True)

    def _stop_hung(self) -> None:
        """Stop a run that hangs; its stacks have been taken."""
        if self._stop is None and not self._leader.has_exited:
            self.ending.limit = "hang"
            self._record("hang", limit_s=self._spec.hang_timeout_s)
            self._request_stop(signal.SIGTERM, {})

    def _request_stop(
        self, number: int, sender: Sender, grace_s: float | None = None, *, is_own: bool = False
    ) -> None:
        """Stop the run; ``is_own`` says that we decided it, and do not pass on a signal."""
        if self._stop is not None:
            self._repeat_stop(self._stop, number, grace_s)
            return
        if self._leader.has_exited:
            return
        if self.ending.limit is None:
            self.ending.signal, self.ending.sender = number, sender
        grace_s = self._spec.grace_s if grace_s is None else grace_s
        self._record("stopping", signal=number, sender=sender, grace_s=grace_s)
        now = time.monotonic()
        wait_s = self._request_stacks(now) if is_own else 0.0
        self._stop = Stop(self._tree, number, grace_s, now, wait_s=wait_s)
        if self._policy is not None:
            self._policy.begin_stop()

    def _request_stacks(self, now: float) -> float:
        """Have the stacks taken before a stop; return the time that it waits for them at most."""
        has_reader = self._spec.observe and self._recorder.fd >= 0
        if not has_reader or now - self._started < LEAST_AGE_S:
            return 0.0
        reason = "at the time limit" if self.ending.limit is not None else "before a stop"
        self._recorder.send(stacks_message(reason))
        return STOP_WAITS_S

    def _repeat_stop(self, stop: Stop, number: int, grace_s: float | None) -> None:
        """Send the signal of a further request; shorten the grace if it wants so, or force."""
        now = time.monotonic()
        self._repeated_stops += 1
        stop.begin(now)
        if self._repeated_stops >= _FORCE_AFTER:
            stop.force(now)
        elif grace_s is not None:
            stop.shorten(now + grace_s, now)
        stop.request(number)

    def _stop_survivors(self) -> None:
        survivors = self._tree.survivors()
        if survivors:
            if not self._recorder.has_started:
                self._start_recorder()
            self._record("ending_survivors", survivors=survivors)
            self._stop = Stop(self._tree, signal.SIGTERM, self._spec.grace_s, time.monotonic())

    # -- the end ---------------------------------------------------------------------------

    def _finish(self) -> None:
        deadline = time.monotonic() + _COPIER_DEADLINE_S
        for pid in () if self._stop is not None and self._stop.survivors else self._copiers:
            await_exit(pid, max(0.0, deadline - time.monotonic()))
            self._is_log_cut = not reap(pid) or self._is_log_cut
        if self._is_log_cut:
            if not self._recorder.has_started:
                self._start_recorder()
            self._record(LOG_CUT)
        if self._recorder.has_started or not self._tree.is_childless():
            self.survivors = self._tree.survivors()
        if self._inbox is not None:
            self._inbox.take()
            self.ending.name_sender(self._inbox.senders)
            self._recorder.interrupt_fd = self._inbox.fd
        self._recorder.finish(end_message(self.ending, self.survivors))
