"""The supervisor's loop: one child, one pidfd, signals, a time limit, requests, stops.

After launch nothing in here waits for a disk, a terminal or a classifier; that is the scribe's.
"""

from __future__ import annotations

import os
import select
import signal
import time

from gpualert_common.launch import libc
from gpualert_common.launch.signals import STOPS
from gpualert_common.processes.children import reap_adopted
from gpualert_common.processes.pidfd import await_exit, is_ready, open_pidfd
from gpualert_common.processes.procfs import read_name, read_stat
from gpualert_common.spec import Ending, is_seconds
from gpualert_common.supervise.recorder_messages import end_message, event_message
from gpualert_common.supervise.stop import Stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gpualert_common.launch.signals import Inbox
    from gpualert_common.launch.spawn import Child
    from gpualert_common.processes.tree import ProcessTree
    from gpualert_common.spec import RunSpec
    from gpualert_common.supervise.ownership_policy import OwnershipPolicy
    from gpualert_common.supervise.recorder_process import RecorderProcess

_TICK_S = 1.0
_BLIND_S = 0.02
"""How often to look for the exit where no pidfd could be had to tell it."""
_COPIER_DEADLINE_S = 2.0
_MOST_INTERRUPTIONS = 100
"""So many exceptions during one stop are no caller's impatience any more."""
_PATIENCE = 3
"""So many further signals or requests after the first end the grace: Ctrl-C, four times."""
_QUICK_S = 0.005
"""A child that is done by then never needs a scribe beside it, only after it."""


class Watch:
    """Supervises one child from just after its launch until its tree is settled."""

    def __init__(
        self,
        child: Child,
        spec: RunSpec,
        tree: ProcessTree,
        scribe: RecorderProcess,
        inbox: Inbox | None,
        guard: OwnershipPolicy | None = None,
        copiers: Sequence[int] = (),
    ) -> None:
        self._child = child
        self._copiers = copiers
        self._spec = spec
        self._tree = tree
        self._scribe = scribe
        self._inbox = inbox
        self._guard = guard
        self._follower_fd = -1
        self._pidfd = open_pidfd(child.pid)
        self._poll = select.poll()
        if self._pidfd >= 0:
            self._poll.register(self._pidfd, select.POLLIN)
        if inbox is not None and inbox.fd >= 0:
            self._poll.register(inbox.fd, select.POLLIN)
        self._exited = False
        self._stop: Stop | None = None
        self._asked_again = 0
        self._started = time.monotonic()
        self._next_tick = self._started + _TICK_S
        self.ending = Ending(time.time())
        self.ending.pid = child.pid
        self.survivors: list[dict[str, Any]] = []

    def run(self) -> None:
        """Return when the child has ended and, after a stop, nothing of its tree is left.

        An exception of the caller (KeyboardInterrupt, an engine's time-out) that lands in here
        stops the run first, a second one at once, and is then raised again.
        """
        try:
            self._loop()
        except BaseException as error:
            self._interrupted(error)
            raise
        finally:
            if self._pidfd >= 0:
                os.close(self._pidfd)

    def _interrupted(self, error: BaseException) -> None:
        number = signal.SIGINT if isinstance(error, KeyboardInterrupt) else signal.SIGTERM
        for _attempt in range(_MOST_INTERRUPTIONS):
            try:
                self._begin_stop(number, {"command": type(error).__name__, "pid": os.getpid()})
                self._loop()
                return
            except BaseException:  # noqa: BLE001 - the child must not outlive its caller
                if self._stop is not None:
                    self._stop.force(time.monotonic())

    # -- the loop --------------------------------------------------------------------------

    def _loop(self) -> None:
        self._poll.poll(_QUICK_S * 1000)
        self._reap_leader()
        if not self._exited and not self._scribe.started:
            self._start_scribe()
        while not (self._exited and (self._stop is None or self._stop.over)):
            self._take_signals()
            self._hear_scribe()
            if self._guard is not None:
                self._ask_guard(self._guard)
            self._poll.poll(self._timeout_ms())
            now = time.monotonic()
            self._reap_leader()
            self._keep_time_limit(now)
            if now >= self._next_tick:
                self._tick(now)
            if self._stop is not None and not self._stop.over and now >= self._stop.due:
                self._stop.advance(now)
        self._settle()

    def _timeout_ms(self) -> float:
        due = [self._next_tick]
        if self._pidfd < 0:
            due.append(time.monotonic() + _BLIND_S)
        if self._stop is not None and not self._stop.over:
            due.append(self._stop.due)
        elif self._spec.timeout_s is not None and self._stop is None and not self._exited:
            due.append(self._started + self._spec.timeout_s)
        return max(0.0, min(due) - time.monotonic()) * 1000

    def _start_scribe(self) -> None:
        self._scribe.start()
        if self._scribe.fd >= 0:
            self._poll.register(self._scribe.fd, select.POLLIN)
        if self._scribe.pid is not None:
            self._tree.exclude.add(self._scribe.pid)
        status = read_stat(self._child.pid)
        self._tell(
            "launched",
            pid=self._child.pid,
            start_ticks=status.start_ticks if status is not None else 0,
        )

    def _tell(self, event: str, **fields: Any) -> None:
        self._scribe.tell(event_message(event, **fields))

    # -- the child -------------------------------------------------------------------------

    def _reap_leader(self) -> None:
        if self._exited:
            return
        ending = self.ending
        status: int | None
        try:
            pid, status, usage = os.wait4(self._child.pid, os.WNOHANG)
        except ChildProcessError:  # somebody else in this process reaped it
            if self._pidfd >= 0 and not is_ready(self._pidfd):
                return
            status = libc.reaped_status(self._pidfd) if self._pidfd >= 0 else None
        else:
            if pid == 0:
                return
            ending.rusage = {
                "user_s": usage.ru_utime,
                "system_s": usage.ru_stime,
                "max_rss_bytes": usage.ru_maxrss * 1024,
            }
        self._exited = self._tree.leader_reaped = True
        if self._pidfd >= 0:
            self._poll.unregister(self._pidfd)
        ending.ended_at = time.time()
        if status is not None:
            ending.code = os.waitstatus_to_exitcode(status)
            ending.core_dumped = os.WCOREDUMP(status)
        if self._stop is None and self._spec.end_survivors:
            self._end_survivors()
        if self._stop is not None:
            self._tell("leader_exited", code=ending.code)

    def _tick(self, now: float) -> None:
        self._next_tick = now + _TICK_S
        if not self._exited:
            self._notice_stopped()
        if self._guard is not None and self._scribe.fd < 0:
            self._start_scribe()  # without one nobody could reach the run any more
        if self._tree.adopts:
            reap_adopted(self._child.pid)

    def _notice_stopped(self) -> None:
        try:
            change = os.waitid(os.P_PID, self._child.pid, os.WSTOPPED | os.WCONTINUED | os.WNOHANG)
        except ChildProcessError:
            return
        if change and change.si_code == os.CLD_CONTINUED:  # None when nothing changed
            self._tell("child_continued")
        elif change:
            self._tell("child_stopped", signal=change.si_status)

    # -- what is asked of us ---------------------------------------------------------------

    def _take_signals(self) -> None:
        for received in self._inbox.take() if self._inbox is not None else ():
            self._tell("signal", signal=received.number, sender=received.sender)
            if not self._may_signal(received.sender):
                self._tell("signal_refused", signal=received.number, because="it was superseded")
            elif received.number in STOPS:
                self._begin_stop(received.number, received.sender)
            elif not self._exited:
                self._pass_on(received.number)

    def _may_signal(self, sender: dict[str, Any]) -> bool:
        return self._guard is None or self._guard.may_signal(sender.get("pid", 0))

    def _pass_on(self, number: int) -> None:
        try:
            os.kill(self._child.pid, number)
        except PermissionError:  # it runs as somebody else by now
            self._tell("signal_refused", signal=number)

    def _hear_scribe(self) -> None:
        fd = self._scribe.fd
        heard = self._scribe.heard()
        if fd >= 0 and self._scribe.fd < 0:  # the scribe died; its link would be ready for ever
            self._poll.unregister(fd)
            if self._scribe.may_start_again:
                self._start_scribe()
        for message in heard:
            if message["kind"] == "request":
                self._take_request(message["request"])
            elif self._guard is not None:
                self._tell_all(self._guard.handle_leases(message["leases"], time.monotonic()))

    def _take_request(self, request: dict[str, Any]) -> None:
        if request.get("kind") != "stop":
            self._answer(request)
            return
        if self._guard is not None and not self._guard.may_stop(request):
            self._tell("request_refused", request=request, because="it was superseded")
            return
        sender, grace_s = request.get("sender"), request.get("grace_s")
        self._begin_stop(
            signal.SIGTERM,
            sender if isinstance(sender, dict) else {},
            grace_s if is_seconds(grace_s) else None,
        )

    def _answer(self, request: dict[str, Any]) -> None:
        if self._guard is None:
            self._tell("request_refused", request=request, because="unknown kind of request")
        elif not self._exited:
            try:
                self._tell_all(self._guard.answer(request))
            except Exception as error:  # noqa: BLE001 - a request is a file that anybody may write
                self._tell("request_refused", request=request, because=f"it failed: {error!r}")

    def _ask_guard(self, guard: OwnershipPolicy) -> None:
        """Tell the guard what is seen of the followers, and end the run if it says so."""
        if guard.follower_fd >= 0 and is_ready(guard.follower_fd):
            self._tell_all(guard.handle_follower_exit())
        because = guard.end_reason(time.monotonic())
        if because is not None and self._stop is None:
            sender = {"pid": os.getpid(), "meant_as": "preempted", "because": because}
            self._begin_stop(signal.SIGTERM, sender)
        if guard.follower_fd != self._follower_fd:
            self._watch_follower(guard.follower_fd)

    def _watch_follower(self, fd: int) -> None:
        if self._follower_fd >= 0:
            self._poll.unregister(self._follower_fd)
        if fd >= 0:
            self._poll.register(fd, select.POLLIN)
        self._follower_fd = fd

    def _tell_all(self, told: list[tuple[str, dict[str, Any]]]) -> None:
        for event, fields in told:
            self._tell(event, **fields)

    def _keep_time_limit(self, now: float) -> None:
        limit = self._spec.timeout_s
        if limit is None or self._stop is not None or self._exited:
            return
        if now >= self._started + limit:
            self.ending.limit = "time"
            self._tell("time_limit", limit_s=limit)
            self._begin_stop(signal.SIGTERM, {})

    def _begin_stop(
        self, number: int, sender: dict[str, Any], grace_s: float | None = None
    ) -> None:
        if self._stop is not None:
            self._hurry(number, grace_s)
            return
        if self._exited:
            return
        if self.ending.limit is None:
            self.ending.signal, self.ending.sender = number, sender
        grace_s = self._spec.grace_s if grace_s is None else grace_s
        self._tell("stopping", signal=number, sender=sender, grace_s=grace_s)
        self._stop = Stop(self._tree, number, grace_s, time.monotonic())
        if self._guard is not None:
            self._guard.begin_stop()

    def _hurry(self, number: int, grace_s: float | None) -> None:
        """Asked again: pass it on, shorten the grace if that is asked, lose patience with it."""
        assert self._stop is not None
        now = time.monotonic()
        self._asked_again += 1
        if self._asked_again >= _PATIENCE:
            self._stop.force(now)
        elif grace_s is not None:
            self._stop.shorten(now + grace_s, now)
        self._stop.ask(number)

    # -- the end ---------------------------------------------------------------------------

    def _end_survivors(self) -> None:
        survivors = self._living()
        if survivors:
            if not self._scribe.started:
                self._start_scribe()
            self._tell("ending_survivors", survivors=survivors)
            self._stop = Stop(self._tree, signal.SIGTERM, self._spec.grace_s, time.monotonic())

    def _settle(self) -> None:
        deadline = time.monotonic() + _COPIER_DEADLINE_S
        for pid in () if self._stop is not None and self._stop.left else self._copiers:
            await_exit(pid, max(0.0, deadline - time.monotonic()))
        if self._scribe.started or not self._tree.created_none():
            self.survivors = self._living()
        if self._inbox is not None:
            self._inbox.take()
            self._scribe.impatient_fd = self._inbox.fd
        self._scribe.finish(end_message(self.ending, self.survivors))

    def _living(self) -> list[dict[str, Any]]:
        try:
            members = self._tree.members()
        except OSError:
            return []
        found = [{"pid": process.pid, "command": read_name(process.pid)} for process in members]
        for process in members:
            process.close()
        return found
