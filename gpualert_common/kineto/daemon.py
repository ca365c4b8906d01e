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
import struct
import time
from contextlib import suppress

from gpualert_common.codec import encode
from gpualert_common.errors import RecordError
from gpualert_common.kineto import protocol
from gpualert_common.kineto.clients import Clients
from gpualert_common.kineto.daemon_launch import LOCK, TRACES
from gpualert_common.kineto.socket_directory import (
    bind_socket,
    is_client_address,
    remove_socket_directory,
)
from gpualert_common.processes.pidfd import Process
from gpualert_common.processes.tree import ProcessTree
from gpualert_common.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpualert_common.kineto.requests import TraceRequest, TraceResult
    from gpualert_common.kineto.session import TraceSession

NICENESS = 10
_TICK_S = 0.2
_MOST_WATCHED = 64
_MOST_AT_ONCE = 256
_CREDENTIALS = struct.Struct("=iII")
_STDIN = 0


class TracingProgram:
    """The daemon of one run."""

    def __init__(self, record: Record, marker: str, directory: str, bound: socket.socket) -> None:
        self._record = record
        self._marker = marker
        self._directory = directory
        self._socket = bound
        self._clients = Clients()
        self._leader = 0
        self._watched: dict[int, Process] = {}
        self._session: TraceSession | None = None
        self._name = ""
        self._seen_at = 0
        self._poll = select.poll()
        self._poll.register(bound.fileno(), select.POLLIN)

    def serve(self, leader: int) -> None:
        """Serve the processes of the run until none is left."""
        self._leader = leader
        self._fail_unfinished()
        self._watch([one for one in (Process.open(leader),) if one is not None])
        while self._watched or self._watch_members():
            timeout_ms = None if self._session is None else _TICK_S * 1000
            for fd, _event in self._poll.poll(timeout_ms):
                if fd == self._socket.fileno():
                    self._receive()
                else:
                    self._forget(fd)
            self._update()
        self._close_session()

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

    # -- datagrams -------------------------------------------------------------------------

    def _receive(self) -> None:
        """Answer the processes that have asked, and look for a request to trace them."""
        for _number in range(_MOST_AT_ONCE):
            try:
                data, ancillary, _flags, address = self._socket.recvmsg(
                    protocol.MOST_DATAGRAM_BYTES,
                    socket.CMSG_SPACE(_CREDENTIALS.size),
                    socket.MSG_DONTWAIT,
                )
            except OSError:
                break
            self._find_request()
            self._answer(data, _read_sender(ancillary), address)

    def _answer(self, data: bytes, pid: int | None, address: object) -> None:
        """Answer a process of this user; another user's gets nothing."""
        message = protocol.parse_datagram(data)
        if message is None or pid is None or not is_client_address(address, self._directory):
            return
        if isinstance(message, protocol.Registration):
            answer = protocol.format_count(1)
        else:
            answer = protocol.format_configuration(self._configure(pid, message))
        with suppress(OSError):  # it has ended, or does not read; it asks again
            self._socket.sendto(answer, socket.MSG_DONTWAIT, str(address))

    def _configure(self, pid: int, poll: protocol.Poll) -> str:
        self._clients.note(pid, time.monotonic())
        if self._session is None or not poll.is_idle:
            return ""
        return self._session.configure(pid)

    # -- requests --------------------------------------------------------------------------

    def _find_request(self) -> None:
        """Take up a request, if there is a new one."""
        if self._session is not None:
            return
        try:
            changed_at = os.stat(os.path.join(self._record.path, TRACES)).st_mtime_ns
        except OSError:
            return
        if changed_at == self._seen_at:
            return  # most questions come when there is no request
        from gpualert_common.kineto import stored_traces

        self._seen_at = changed_at
        for name in stored_traces.list_names(self._record):
            try:
                stored = stored_traces.read_trace(self._record, name)
            except RecordError:
                continue
            if stored.result is None:
                self._begin(name, stored.request)
                return

    def _begin(self, name: str, request: TraceRequest) -> None:
        from gpualert_common.kineto.requests import TraceResult
        from gpualert_common.kineto.session import TraceSession
        from gpualert_common.kineto.stored_traces import RAW
        from gpualert_common.kineto.targets import find_targets

        self._name = name
        problem = request.find_problem()
        try:
            targets = {} if problem else find_targets(self._leader, self._marker, request.ranks)
            if targets:
                folder = os.path.join(self._record.path, TRACES, name)
                raw = os.path.join(folder, RAW)
                os.mkdir(raw, 0o700)
                self._session = TraceSession(request, targets, self._clients, folder, raw)
                self._note("trace_begun", sorted(one.pid for one in targets.values()))
                return
        except OSError as error:
            problem = f"no trace can be stored: {error.strerror}"
        self._store(TraceResult(problem=problem or _describe_missing(request)))

    def _update(self) -> None:
        if self._session is not None and self._session.update():
            self._close_session()

    def _close_session(self) -> None:
        if self._session is not None:
            result = self._session.finish()
            self._session = None
            self._store(result)
            self._note("trace_complete", [one.pid for one in result.processes if one.file])

    def _store(self, result: TraceResult) -> None:
        """Store a result, and remove what PyTorch wrote."""
        from gpualert_common.kineto import stored_traces

        with suppress(OSError, RecordError):
            folder = stored_traces.open_trace(self._record, self._name)
            stored_traces.remove_folder(os.path.join(folder.path, stored_traces.RAW))
            folder.write_json(stored_traces.RESULT, encode(result))
        self._seen_at = 0  # the next request may have come meanwhile

    def _note(self, event: str, pids: list[int]) -> None:
        """Note an event in the record: it may explain a process that crashes meanwhile."""
        with suppress(OSError):
            self._record.append_event(event, trace=self._name, pids=pids)

    def _fail_unfinished(self) -> None:
        """Store a result for the trace that an earlier daemon had begun."""
        if not os.listdir(os.path.join(self._record.path, TRACES)):
            return
        from gpualert_common.kineto import stored_traces
        from gpualert_common.kineto.requests import TraceResult

        for name in stored_traces.list_names(self._record):
            folder = os.path.join(self._record.path, TRACES, name)
            if os.path.isdir(os.path.join(folder, stored_traces.RAW)):
                self._name = name
                self._store(TraceResult(problem="the tracing daemon died; try again"))


def _describe_missing(request: TraceRequest) -> str:
    """Return why there is no process to trace."""
    if not request.ranks:
        return "no process of the run can be traced"
    return f"the run has no rank {', '.join(map(str, request.ranks))} on this machine"


def _read_sender(ancillary: list[tuple[int, int, bytes]]) -> int | None:
    """Return the process that sent a datagram, as the kernel says; None for another user's."""
    for level, kind, data in ancillary:
        is_credentials = (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS)
        if is_credentials and len(data) >= _CREDENTIALS.size:
            pid, uid, _gid = _CREDENTIALS.unpack_from(data)
            return pid if uid == os.geteuid() else None
    return None


def _read_leader() -> int:
    """Return the number of the leader once it is launched; 0 if nothing was launched."""
    text = b""
    while not text.endswith(b"\n") and (data := os.read(_STDIN, 64)):
        text += data
    return int(text) if text.strip().isdigit() else 0


def _run(record_path: str, marker: str, directory: str, bound_fd: str) -> None:
    leader = 0
    if bound_fd:
        bound = socket.socket(fileno=int(bound_fd))
        leader = _read_leader()
        if not leader:
            remove_socket_directory(directory)
            return
    record = Record.open(record_path)
    with suppress(OSError):  # without locks two may serve, which is better than none
        if record.try_lock(LOCK) < 0:  # held until this process exits
            return  # another daemon serves
    if not bound_fd:
        bound = bind_socket(directory)
        leader = record.leader_pid or 0
    TracingProgram(record, marker, directory, bound).serve(leader)
    remove_socket_directory(directory)


def main(record_path: str, marker: str, directory: str, bound_fd: str = "") -> None:
    """Serve until the run ends; exits, never returns."""
    try:
        os.nice(NICENESS)
        _run(record_path, marker, directory, bound_fd)
    except Exception:  # noqa: BLE001 - the boundary: the run's supervisor starts another one
        os._exit(1)
    os._exit(0)
