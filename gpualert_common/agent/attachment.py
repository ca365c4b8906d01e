"""Watch over one process that gpualert did not start, from the middle of its life to its end.

The recorder of a supervised run does the work: it samples, warns, classifies and alerts.  Here is
the part of the supervisor: the end of the process, requests, and the copy of its output.  The
process is never touched, except by a request to stop it.
"""

from __future__ import annotations

import os
import select
import signal
import time

from gpualert_common.agent.foreign_process import ForeignProcess
from gpualert_common.agent.output_copies import OutputCopies
from gpualert_common.agent.output_files import Outputs
from gpualert_common.agent.watch_hooks import WatchHooks
from gpualert_common.agent.watched_records import prepare_watch
from gpualert_common.errors import UsageError
from gpualert_common.launch.preparation import PreparedRun
from gpualert_common.launch.signals import STOPS, Inbox
from gpualert_common.processes.marker import run_marker
from gpualert_common.processes.pidfd import Process
from gpualert_common.processes.process_ends import await_exit_code
from gpualert_common.processes.tree import ProcessTree
from gpualert_common.record import NO_LONGER_WATCHED
from gpualert_common.spec import Ending, RunSpec
from gpualert_common.supervise import SupervisedRun
from gpualert_common.supervise.recorder import Recorder
from gpualert_common.supervise.recorder_messages import end_message, event_message
from gpualert_common.supervise.recorder_process import RecorderProcess
from gpualert_common.supervise.stop import Stop, read_terms
from gpualert_common.supervise.terminal_output import TerminalOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gpualert_common.end_record import Sender

_TICK_S = 0.5
_CODE_S = 2.0
"""For the exit status: its parent may take a moment to wait for the process."""


class AttachedRun(SupervisedRun):
    """A watch that is over; ``is_left`` says that the process goes on."""

    __slots__ = ("is_left",)

    def __init__(self, prepared: PreparedRun, watch: ProcessWatch) -> None:
        super().__init__(prepared.record, watch.ending, watch.recorder)
        self.is_left = watch.is_left


def attach(
    process: ForeignProcess,
    spec: RunSpec,
    outputs: Outputs,
    make_terminal: Callable[[PreparedRun], TerminalOutput],
) -> AttachedRun:
    """Watch the process until it ends, or this program gets SIGTERM, SIGINT or SIGHUP.

    Raises UsageError and NoDurableLogError before the watch begins.
    """
    pinned = Process.open(process.pid)
    if pinned is None or pinned.start_ticks != process.start_ticks:
        raise UsageError(f"process {process.pid} has exited just now")
    prepared = prepare_watch(spec, process, outputs)
    inbox = Inbox()
    inbox.install()
    recorder = RecorderProcess(
        lambda link: Recorder(
            prepared.record,
            prepared.launch_record,
            prepared.logs,
            WatchHooks(spec, prepared, make_terminal(prepared)),
            link,
        ),
        in_process=False,
        after_fork=inbox.ignore_in_recorder,
    )
    inbox.arm()
    copies = OutputCopies(prepared, outputs)
    watch = ProcessWatch(process, pinned, spec, recorder, inbox, copies)
    try:
        watch.run(prepared)
    finally:
        recorder.close()
        prepared.record.release_own_lock()
        pinned.close()
    return AttachedRun(prepared, watch)


class ProcessWatch:
    """The loop of one watch; ``ending`` is filled when it returns."""

    def __init__(
        self,
        process: ForeignProcess,
        pinned: Process,
        spec: RunSpec,
        recorder: RecorderProcess,
        inbox: Inbox,
        copies: OutputCopies,
    ) -> None:
        self._process = process
        self._pinned = pinned
        self._spec = spec
        self._inbox = inbox
        self._copies = copies
        self._stop: Stop | None = None
        self._problems: set[str] = set()
        self.recorder = recorder
        self.is_left = False
        self.ending = Ending(process.started_at)
        self.ending.pid = process.pid

    def run(self, prepared: PreparedRun) -> None:
        """Watch to the end, and have it recorded."""
        tree = ProcessTree(self._process.pid, run_marker(prepared.record.run_id))
        self._start_recorder(is_first=prepared.record.event("launched") is None)
        while self._pinned.is_alive and not self.is_left:
            self._take_turn(tree)
        if self.is_left:
            self.ending.ended_at = None
        else:
            self.ending.ended_at = time.time()
            self.ending.code = await_exit_code(self._pinned, _CODE_S)
            tree.leader_reaped = True
            self._complete_stop()
        self._copies.finish()
        self._note_problems()
        survivors = [] if self.is_left else tree.survivors()
        self.recorder.interrupt_fd = self._inbox.fd
        self.recorder.finish(end_message(self.ending, survivors))

    def _start_recorder(self, *, is_first: bool) -> None:
        self.recorder.start()
        if is_first:
            launched = event_message(
                "launched", pid=self._process.pid, start_ticks=self._process.start_ticks
            )
            self.recorder.send({**launched, "at": self._process.started_at})
        self.recorder.send(event_message("attached", by_pid=os.getpid()))

    def _take_turn(self, tree: ProcessTree) -> None:
        poll = select.poll()
        for fd in (self._pinned.fd, self._inbox.fd, self.recorder.fd):
            if fd >= 0:
                poll.register(fd, select.POLLIN)
        poll.poll(_TICK_S * 1000)
        for received in self._inbox.take():
            if received.number in STOPS:
                self._leave(received.number, received.sender)
        for message in self.recorder.take_messages():
            if message["kind"] == "request":
                self._handle_request(message["request"], tree)
        if self.recorder.fd < 0 and self.recorder.can_restart:
            self._start_recorder(is_first=False)
        if self._stop is not None and not self._stop.is_over:
            self._stop.advance(time.monotonic())
        self._copies.take_turn()
        self._note_problems()

    def _leave(self, number: int, sender: Sender) -> None:
        """End the watch; the process goes on."""
        self.is_left = True
        self.recorder.send(event_message(NO_LONGER_WATCHED, signal=number, sender=sender))

    def _handle_request(self, request: dict[str, object], tree: ProcessTree) -> None:
        if request.get("kind") != "stop":
            refused = "unknown kind of request"
            self.recorder.send(event_message("request_refused", request=request, because=refused))
            return
        if self._stop is not None:
            return
        number = signal.SIGTERM
        sender, grace_s = read_terms(request)
        grace_s = self._spec.grace_s if grace_s is None else grace_s
        self.ending.signal, self.ending.sender = number, sender
        self.recorder.send(
            event_message("stopping", signal=int(number), sender=sender, grace_s=grace_s)
        )
        self._stop = Stop(tree, number, grace_s, time.monotonic())

    def _complete_stop(self) -> None:
        """Stop what is left of the tree after a request, by its own deadlines."""
        if self._stop is not None and not self._stop.is_over:
            self._stop.complete()

    def _note_problems(self) -> None:
        for problem in self._copies.problems - self._problems:
            self._problems.add(problem)
            self.recorder.send(event_message("output_not_copied", problem=problem))
