"""Starts a scribe beside the supervisor and waits for it, never longer than a deadline."""

from __future__ import annotations

import _thread
import os
import select

from gpualert_common.processes.load_scaled_deadline import LoadScaledDeadline
from gpualert_common.supervise.recorder import VERDICT_DEADLINE_S, Recorder
from gpualert_common.supervise.recorder_link import RecorderLink, connect_recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gpualert_common.model import Verdict

EXIT_DEADLINE_S = 0.5
"""A disk that has not taken the exit record by then is stalled; the status does not wait for it."""
_MOST_STARTS = 3
_MARGIN_S = 1.0
"""For the scribe to say that the classifier missed its deadline."""


class RecorderProcess:
    """A scribe and the supervisor's end of its link.

    ``in_process`` True runs it as a thread, False as a forked process that calls ``after_fork``
    first; ``make`` builds it for the link it is given.  What is readable on ``impatient_fd`` once
    the end is recorded (a second Ctrl-C) ends the wait for verdict and reader.
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
        self._scribe: Recorder | None = None
        self.pid: int | None = None
        self.finished = False
        self.sender = ""
        """What the scribe said that a sender of alerts is needed for."""
        self.impatient_fd = -1
        self._starts = 0
        self._seen: set[str] = set()
        self._heard: list[dict[str, Any]] = []
        self._passed_on: set[str] = set()

    @property
    def started(self) -> bool:
        """True once there is a scribe, dead or alive."""
        return self._link is not None

    @property
    def may_start_again(self) -> bool:
        """False when scribes have died too often of whatever it is that kills them."""
        return self._starts < _MOST_STARTS

    @property
    def fd(self) -> int:
        """Readable when the scribe has something to say; -1 when it cannot any more."""
        return -1 if self._link is None or self._link.closed else self._link.read_fd

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of a scribe in this process, once it is done."""
        return self._scribe.verdict if self._scribe is not None else None

    def start(self) -> None:
        """Start the scribe; without the means for one the run goes on unrecorded."""
        self.close()
        self._starts += 1
        try:
            ours, theirs = connect_recorder()
            if self._in_process:
                self._scribe = self._make(theirs)
                _thread.start_new_thread(self._scribe.run, ())
            else:
                self.pid = os.fork()
                if self.pid == 0:
                    self._run_forked(ours, theirs)
                theirs.close()
        except (OSError, RuntimeError):
            return
        self._link = ours

    def _run_forked(self, ours: RecorderLink, theirs: RecorderLink) -> None:
        try:
            self._after_fork()
            ours.close()
            self._make(theirs).run()
        finally:
            os._exit(0)

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message if there is anyone to read it."""
        if self._link is not None:
            self._link.send(message)

    def heard(self) -> list[dict[str, Any]]:
        """What it passed on since the last call, in the order in which it saw it.

        ``request``: what was asked of the run; ``look``: the leases that were there, None where no
        record was.  A look from before a request knows nothing of what that changed.
        """
        self._read()
        found, self._heard = self._heard, []
        return [one for one in found if one["kind"] == "look" or self._is_new(one["request"])]

    def _is_new(self, request: dict[str, Any]) -> bool:
        """False for one that a scribe passed on again, because the one before it died just then."""
        name = str(request.get("file"))
        if name in self._passed_on:
            return False
        self._passed_on.add(name)
        return True

    def finish(self, ended: dict[str, Any]) -> None:
        """Have the end recorded, judged and shown, each within its deadline.

        A scribe that died is replaced once; one that is merely late finishes without us.
        """
        for _attempt in range(2):
            if self.fd < 0:
                self.start()
            self.tell(ended)
            if self._await("recorded", EXIT_DEADLINE_S):
                self._await("done", VERDICT_DEADLINE_S + _MARGIN_S, self.impatient_fd)
            if self.fd >= 0 or "done" in self._seen:
                break
        self.finished = True

    def _await(self, kind: str, deadline_s: float, impatient_fd: int = -1) -> bool:
        """True when the message came; a scribe that shows progress gets its deadline anew."""
        deadline = LoadScaledDeadline(deadline_s)
        poll = select.poll()
        if impatient_fd >= 0:
            poll.register(impatient_fd, select.POLLIN)
        while kind not in self._seen:
            if self.fd < 0 or self._link is None:
                return False
            self._link.flush()
            poll.register(self.fd, select.POLLIN)
            left_s = deadline.left_s()
            ready = poll.poll(left_s * 1000)
            if not (ready or left_s) or any(fd == impatient_fd for fd, _ in ready):
                return False
            if self._read():
                deadline = LoadScaledDeadline(deadline_s)
        return True

    def _read(self) -> bool:
        """Take in what the scribe said; True when it is still giving its reader what is due."""
        draining = False
        for message in self._link.receive() if self._link is not None else ():
            if message["kind"] in ("request", "look"):
                self._heard.append(message)
            if message["kind"] == "done":
                self.sender = message["sender"]
            draining = draining or message["kind"] == "draining"
            self._seen.add(message["kind"])
        return draining

    def close(self) -> None:
        """Let go of the link; a scribe that is late finishes by itself."""
        if self._link is not None:
            self._link.close()
            self._link = None
