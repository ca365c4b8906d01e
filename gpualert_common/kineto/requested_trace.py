"""A request for a trace from its discovery in the record to its result there."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from typing import Any

from gpualert_common.codec import encode
from gpualert_common.errors import RecordError
from gpualert_common.kineto import stored_traces
from gpualert_common.kineto.clients import Clients
from gpualert_common.kineto.daemon_launch import TRACES
from gpualert_common.kineto.requests import TraceRequest, TraceResult
from gpualert_common.kineto.session import TraceSession
from gpualert_common.kineto.stored_traces import RAW, RESULT, StoredTrace
from gpualert_common.kineto.targets import Targets, find_targets
from gpualert_common.kineto.trace_files import is_temporary
from gpualert_common.kineto.traced_end import TRACE_BEGUN, TRACE_COMPLETE
from gpualert_common.record import Record


class RequestedTrace:
    """The oldest request without a result, if there is one.

    Its processes are looked for in a thread, since that reads /proc of the whole machine.
    """

    def __init__(self, record: Record, leader: int | None, marker: str, clients: Clients) -> None:
        self._record = record
        self._leader = leader
        self._marker = marker
        self._clients = clients
        self._request: StoredTrace | None = None
        self._targets = Targets()
        self._problem = "no thread could be started"
        self._session: TraceSession | None = None
        self._result: TraceResult | None = None
        self._ended: list[int] = []
        self._ended_at = 0.0
        self._search = threading.Thread(target=self._find, daemon=True)
        with suppress(RuntimeError):
            self._search.start()

    @property
    def has_request(self) -> bool:
        """True if there was a request."""
        return self._request is not None

    def _find(self) -> None:
        """Find the request and its processes."""
        self._problem = "its processes cannot be read"
        self._request = _find_pending(self._record)
        if self._request is None:
            return
        self._clients.await_all()
        request = self._request.request
        problem = request.find_problem()
        try:
            if not problem:
                self._targets = find_targets(
                    self._leader, self._marker, request.ranks, self._clients
                )
                problem = "" if self._targets.processes else _describe_missing(request)
        except OSError as error:
            problem = f"its processes cannot be read: {error.strerror}"
        self._problem = problem

    def configure(self, pid: int) -> str:
        """Return the configuration for a process that asks now; "" for none."""
        return "" if self._session is None else self._session.configure(pid)

    def update(self) -> bool:
        """Continue; True when there is no request, or its result is stored.

        A result that cannot be stored, as on a full disk, is kept for the next call.
        """
        if self._search.is_alive():
            return False
        if self._request is None:
            return True
        if self._session is None and self._result is None:
            self._begin(self._request)
        if self._session is not None:
            if not self._session.update():
                return False
            self._finish(self._session)
        return self._store_result(self._request.name)

    def close(self) -> None:
        """Store what there is; each process without a file has its reason."""
        if self._session is not None:
            self._finish(self._session)
        if self._request is not None:
            self._store_result(self._request.name)

    def _finish(self, session: TraceSession) -> None:
        self._result, self._session = session.finish(), None
        self._ended, self._ended_at = session.ended_pids, time.time()

    def _store_result(self, name: str) -> bool:
        """Store the result, if there is one; False if that fails."""
        result = self._result
        if result is None:
            return True
        if not _store(self._record, name, result):
            return False
        if self._ended_at:
            pids = [one.pid for one in result.processes if one.file]
            self._note(TRACE_COMPLETE, self._ended_at, pids=pids, ended=self._ended)
        return True

    def _begin(self, stored: StoredTrace) -> None:
        """Begin the session, or make the result that says why there is none."""
        if self._problem:
            self._result = TraceResult(problem=self._problem)
            return
        raw = os.path.join(stored.path, RAW)
        try:
            os.mkdir(raw, 0o700)
            self._session = TraceSession(
                stored.request, self._targets, self._clients, stored.path, raw
            )
        except OSError as error:
            self._result = TraceResult(problem=f"no trace can be stored: {error.strerror}")
            self._targets.close()
            return
        pids = sorted(one.pid for one in self._targets.processes.values())
        self._note(TRACE_BEGUN, time.time(), pids=pids, duration_s=stored.request.duration_s)

    def _note(self, event: str, at: float, **fields: Any) -> None:
        """Note an event in the record: it may explain a process that crashes meanwhile."""
        name = "" if self._request is None else self._request.name
        with suppress(OSError):
            self._record.append_event(event, at, trace=name, **fields)


def fail_unfinished(record: Record) -> None:
    """Store a result for each trace that an earlier daemon had begun."""
    for name in stored_traces.list_names(record):
        raw = os.path.join(record.path, TRACES, name, RAW)
        if not os.path.isdir(raw):
            continue
        with suppress(OSError, RecordError):
            if os.path.exists(os.path.join(record.path, TRACES, name, RESULT)):
                stored_traces.remove_folder(raw)
                continue
        is_stored = _store(record, name, TraceResult(problem="the tracing daemon died; try again"))
        with suppress(OSError):
            if not is_stored:  # it would block each trace from now on
                stored_traces.remove_trace(record, name)
            record.append_event(TRACE_COMPLETE, trace=name, pids=[])


def _find_pending(record: Record) -> StoredTrace | None:
    for name in stored_traces.list_names(record):
        try:
            stored = stored_traces.read_trace(record, name)
        except RecordError:
            continue
        if stored.result is None:
            return stored
    return None


def _store(record: Record, name: str, result: TraceResult) -> bool:
    """Store a result, and remove what PyTorch wrote, and what was not compressed to its end.

    Returns False if that fails, and True also for a request that was withdrawn meanwhile.  The
    files go first, since a full disk then has space for the result; their folder goes last, since
    a request that has neither it nor a result counts as one that was not taken up.
    """
    path = os.path.join(record.path, TRACES, name)
    raw = os.path.join(path, RAW)
    try:
        folder = stored_traces.open_trace(record, name)
        with suppress(OSError):
            stored_traces.empty_folder(raw)
            for file in os.listdir(path):
                if is_temporary(file):
                    os.unlink(os.path.join(path, file))
        folder.write_json(RESULT, encode(result))
    except (OSError, RecordError):
        return not os.path.isdir(path)
    with suppress(OSError):
        stored_traces.remove_folder(raw)
    return True


def _describe_missing(request: TraceRequest) -> str:
    """Return why there is no process to trace."""
    if not request.ranks:
        return "no process of the run can be traced"
    return f"the run has no rank {', '.join(map(str, request.ranks))} on this machine"
