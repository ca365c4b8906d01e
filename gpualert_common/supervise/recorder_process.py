"""Starts a recorder process and waits for it, never longer than a deadline."""

from __future__ import annotations

import _thread
import os
import select
from collections.abc import Callable

from gpualert_common.processes.load_scaled_deadline import LoadScaledDeadline
from gpualert_common.supervise.recorder import VERDICT_DEADLINE_S, Recorder
from gpualert_common.supervise.recorder_link import RecorderLink, connect_recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpualert_common.model import Verdict

EXIT_DEADLINE_S = 0.5
"""A disk that has not taken the exit record by then is stalled; the status does not wait for it."""
_MAX_STARTS = 3
_MAX_FINISHES = 2
_MARGIN_S = 1.0
"""Time for the recorder to report that the classifier missed its deadline."""


class RecorderProcess:
    """A recorder and the supervisor's end of its link.

    ``in_process`` True runs it as a thread, False as a forked process that calls ``after_fork``
    first; ``make`` builds it for its end of the link.  Once the end is recorded, anything readable
    on ``interrupt_fd`` (a second Ctrl-C) ends the wait for the verdict and for a slow reader.
    """

    def __init__(
        self,
        make: Callable[[RecorderLink], Recorder],
        *,
        in_process: bool,
        after_fork: Callable[[], None] = lambda: None,
    ) -> None:
        self._make = make
        self._in_process = in_process
        self._after_fork = after_fork
        self._link: RecorderLink | None = None
        self._recorder: Recorder | None = None
        self.pid: int | None = None
        self.is_finished = False
        self.sender = ""
        """Which alerts a sender has to send, as the recorder reported it; empty for none."""
        self.interrupt_fd = -1
        self._starts = 0
        self._received_kinds: set[str] = set()
        self._messages: list[dict[str, Any]] = []
        self._passed_requests: set[str] = set()

    @property
    def has_started(self) -> bool:
        """True once there is a recorder, dead or alive."""
        return self._link is not None

    @property
    def can_restart(self) -> bool:
        """False when recorders have died too often."""
        return self._starts < _MAX_STARTS

    @property
    def fd(self) -> int:
        """Readable when the recorder has sent a message; -1 when it cannot any more."""
        return -1 if self._link is None or self._link.is_closed else self._link.read_fd

    @property
    def is_late(self) -> bool:
        """True if it recorded the end of the run, but did not finish its work in time."""
        return "recorded" in self._received_kinds and "done" not in self._received_kinds

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of a recorder in this process, once it is done."""
        return self._recorder.verdict if self._recorder is not None else None

    def start(self) -> None:
        """Start the recorder; where that fails, the run goes on unrecorded."""
        self.close()
        self._starts += 1
        try:
            ours, theirs = connect_recorder()
            if self._in_process:
                self._recorder = self._make(theirs)
                self._start_thread(self._recorder)
            else:
                self.pid = os.fork()
                if self.pid == 0:
                    self._run_forked(ours, theirs)
                theirs.close()
        except (OSError, RuntimeError):
            return
        self._link = ours

    def _start_thread(self, recorder: Recorder) -> None:
        try:
            _thread.start_new_thread(recorder.run, ())
        except RuntimeError:
            recorder.close()
            raise

    def _run_forked(self, ours: RecorderLink, theirs: RecorderLink) -> None:
        try:
            os.setsid()  # what ends the caller's session or group does not end a late verdict
            self._after_fork()
            ours.close()
            self._make(theirs).run()
        finally:
            os._exit(0)

    def send(self, message: dict[str, Any]) -> None:
        """Send a message if there is a recorder to read it."""
        if self._link is not None:
            self._link.send(message)

    def take_messages(self) -> list[dict[str, Any]]:
        """Return what the recorder reported since the last call, in order.

        ``request`` is a request to the run; ``look`` has the leases in the record, None where the
        record was removed.  Leases that were read before a request do not reflect its effect.
        ``hang`` says that the run hangs and is to be stopped; ``stacks_taken`` follows a dump for
        which a stop waits.
        """
        self._receive()
        messages, self._messages = self._messages, []
        return [one for one in messages if one["kind"] != "request" or self._is_new(one["request"])]

    def _is_new(self, request: dict[str, Any]) -> bool:
        """False for one that a new recorder passes on again, since the last one died just then."""
        name = str(request.get("file"))
        if name in self._passed_requests:
            return False
        self._passed_requests.add(name)
        return True

    def finish(self, message: dict[str, Any]) -> None:
        """Have the end recorded, classified and shown, each within its deadline.

        A recorder that died is replaced once; one that is merely late finishes by itself.
        """
        for _attempt in range(_MAX_FINISHES):
            if self.fd < 0:
                self.start()
            self.send(message)
            if self._await("recorded", EXIT_DEADLINE_S):
                self._await("done", VERDICT_DEADLINE_S + _MARGIN_S, self.interrupt_fd)
            if self.fd >= 0 or "done" in self._received_kinds:
                break
        self.is_finished = True

    def _await(self, kind: str, deadline_s: float, interrupt_fd: int = -1) -> bool:
        """True when the message came; progress of the recorder starts the deadline anew."""
        deadline = LoadScaledDeadline(deadline_s)
        poll = select.poll()
        if interrupt_fd >= 0:
            poll.register(interrupt_fd, select.POLLIN)
        while kind not in self._received_kinds:
            if self.fd < 0 or self._link is None:
                return False
            self._link.flush()
            poll.register(self.fd, select.POLLIN)
            left_s = deadline.left_s()
            ready = poll.poll(left_s * 1000)
            if not (ready or left_s) or any(fd == interrupt_fd for fd, _ in ready):
                return False
            if self._receive():
                deadline = LoadScaledDeadline(deadline_s)
        return True

    def _receive(self) -> bool:
        """Receive messages; True when the recorder is still writing to a slow reader."""
        is_draining = False
        for message in self._link.receive() if self._link is not None else ():
            if message["kind"] in ("request", "look", "hang", "stacks_taken"):
                self._messages.append(message)
            if message["kind"] == "done":
                self.sender = message["sender"]
            is_draining = is_draining or message["kind"] == "draining"
            self._received_kinds.add(message["kind"])
        return is_draining

    def close(self) -> None:
        """Close the link; a recorder that is late finishes by itself."""
        if self._link is not None:
            self._link.close()
            self._link = None
