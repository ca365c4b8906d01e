"""The program that asks the PyTorch processes of a run for traces.

Its arguments are the path of the record, the run's marker, the directory of the socket and, before
the launch, the descriptor of the bound socket; its stdin then has the number of the leader, or ends
without one if nothing was launched.  It lives as long as any process of the run does, also after
the supervisor, and sleeps until a process asks.
"""

from __future__ import annotations

import os
import select
import socket
import time
from contextlib import suppress

from gpualert_common.kineto import protocol
from gpualert_common.kineto.clients import LATE_S, POLL_S, Clients
from gpualert_common.kineto.daemon_launch import LOCK, TRACES
from gpualert_common.kineto.daemon_socket import DaemonSocket, Question
from gpualert_common.kineto.socket_directory import bind_socket, remove_socket_directory
from gpualert_common.processes.pidfd import Process
from gpualert_common.processes.procfs import read_stat
from gpualert_common.processes.tree import ProcessTree
from gpualert_common.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpualert_common.kineto.requested_trace import RequestedTrace

_TICK_S = 0.2
_MOST_WATCHED = 64
_LOCK_TRIES = 20
_FRESH_NS = 1_000_000_000
"""A folder may change twice within a step of its clock, which is some milliseconds."""
_STDIN = 0


class TracingProgram:
    """The daemon of one run; ``clients`` are the processes that have asked it.

    It answers each process within milliseconds: what takes longer is done in threads.
    """

    def __init__(
        self, record: Record, marker: str, directory: str, bound: socket.socket, clients: Clients
    ) -> None:
        self._record = record
        self._marker = marker
        self._socket = DaemonSocket(bound, directory)
        self._clients = clients
        self._leader: int | None = None
        self._watched: dict[int, Process] = {}
        self._trace: RequestedTrace | None = None
        self._seen_at = 0
        self._poll = select.poll()
        self._poll.register(self._socket.fd, select.POLLIN)

    def serve(self, leader: int | None) -> None:
        """Serve the processes of the run until none is left; ``leader`` is None once it ended."""
        self._leader = leader
        self._fail_unfinished()
        process = None if leader is None else Process.open(leader)
        self._watch([] if process is None else [process])
        while self._watched or self._watch_members():
            timeout_s = self._socket.check_due_s if self._trace is None else _TICK_S
            for fd, _event in self._poll.poll(None if timeout_s is None else timeout_s * 1000):
                if fd == self._socket.fd:
                    self._receive()
                else:
                    self._forget(fd)
            if self._socket.has_late_answer() and self._trace is None:
                self._clients.skip_all()  # during a trace each question has its time
            self.update_trace()
        if self._trace is not None:
            self._trace.close()

    # -- processes -------------------------------------------------------------------------

    def _watch(self, processes: list[Process]) -> None:
        for process in processes[:_MOST_WATCHED]:
            self._watched[process.fd] = process
            self._poll.register(process.fd, select.POLLIN)
        for process in processes[_MOST_WATCHED:]:
            process.close()

    def _forget(self, fd: int) -> None:
        process = self._watched.pop(fd)
        self._poll.unregister(fd)
        process.close()

    def _watch_members(self) -> bool:
        """Watch the processes that the run has now; False if there is none."""
        self._watch(ProcessTree(None, self._marker).members())
        return bool(self._watched)

    # -- questions and requests ------------------------------------------------------------

    def _receive(self) -> None:
        """Answer the processes that have asked, then look for a request to trace them."""
        for question in self._socket.receive():
            if isinstance(question.message, protocol.Registration):
                if not question.is_late:
                    self._socket.answer(question, protocol.format_count(1))
            else:
                self._answer_poll(question, question.message)
        self.find_request()

    def _answer_poll(self, question: Question, poll: protocol.Poll) -> None:
        client = self._clients.note(question.pid, time.monotonic(), is_idle=poll.is_idle)
        if client.is_skipped:
            client.is_skipped = False  # it reads the answer that it got too late
            return
        text = ""
        if self._trace is not None and poll.is_idle:
            text = self._trace.configure(question.pid)
        if question.is_late and not text:
            return
        self._socket.answer(question, protocol.format_configuration(text))

    def find_request(self) -> None:
        """Take up a request, if there is a new one."""
        if self._trace is not None:
            return
        try:
            changed_at = os.stat(os.path.join(self._record.path, TRACES)).st_mtime_ns
        except OSError:
            return
        if changed_at == self._seen_at:
            return  # most questions come when there is no request
        self._seen_at = changed_at
        if not os.listdir(os.path.join(self._record.path, TRACES)):
            return
        from gpualert_common.kineto.requested_trace import RequestedTrace

        self._trace = RequestedTrace(self._record, self._leader, self._marker, self._clients)

    def update_trace(self) -> bool:
        """Continue with a request; True if there is none, or it has come to its end."""
        trace = self._trace
        if trace is None:
            return True
        if not trace.update():
            return False
        self._trace = None
        if trace.has_request:  # the next one may have come meanwhile
            self._seen_at = 0
            self.find_request()
        elif abs(time.time_ns() - self._seen_at) < _FRESH_NS:
            self._seen_at = 0  # the next question looks again
        return True

    def _fail_unfinished(self) -> None:
        """Store a result for the trace that an earlier daemon had begun."""
        with suppress(OSError):
            if os.listdir(os.path.join(self._record.path, TRACES)):
                from gpualert_common.kineto.requested_trace import fail_unfinished

                fail_unfinished(self._record)


def _read_leader() -> int:
    """Return the number of the leader once it is launched; 0 if nothing was launched."""
    text = b""
    while not text.endswith(b"\n") and (data := os.read(_STDIN, 64)):
        text += data
    return int(text) if text.strip().isdigit() else 0


def take_lock(record: Record) -> bool:
    """Take the lock of the daemon until this process exits; False if another one has it.

    A process that looks for a daemon holds it for some microseconds.
    """
    for _try in range(_LOCK_TRIES):
        try:
            if record.try_lock(LOCK) >= 0:
                return True
        except OSError:
            return True  # without locks two may serve, which is better than none
        time.sleep(_TICK_S / _LOCK_TRIES)
    return False


def find_leader(record: Record) -> int | None:
    """Return the number of the leader; None once another process may have it."""
    launched = record.event("launched")
    pid = record.leader_pid
    stat = None if pid is None else read_stat(pid)
    if launched is None or stat is None:
        return None
    return stat.pid if stat.start_ticks == launched.fields.get("start_ticks") else None


def _run(record_path: str, marker: str, directory: str, bound_fd: str) -> None:
    leader: int | None = None
    if bound_fd:
        bound = socket.socket(fileno=int(bound_fd))
        leader = _read_leader()
        if not leader:
            remove_socket_directory(directory)
            return
    record = Record.open(record_path)
    if not take_lock(record):
        raise RuntimeError("another daemon serves")  # it may be killed: try again later
    clients = Clients()
    if not bound_fd:
        bound = bind_socket(directory)
        leader = find_leader(record)
        clients = Clients(time.monotonic() + POLL_S + LATE_S)  # those that asked the earlier daemon
    TracingProgram(record, marker, directory, bound, clients).serve(leader)
    remove_socket_directory(directory)


def main(record_path: str, marker: str, directory: str, bound_fd: str = "") -> None:
    """Serve until the run ends; exits, never returns."""
    try:
        _run(record_path, marker, directory, bound_fd)
    except Exception:  # noqa: BLE001 - the boundary: the run's supervisor starts another one
        os._exit(1)
    os._exit(0)
