"""One trace: the processes that take part, their common start, and their files.

Each process gets the configuration when it asks the next time, which all do within five seconds.
The start is late enough for the last of them.  PyTorch writes its file under another name first, so
that a file under its own name is complete.
"""

from __future__ import annotations

import os
import threading
import time

from gpualert_common.kineto.clients import LATE_S, POLL_S, Clients
from gpualert_common.kineto.requests import (
    WRITING_S,
    TracedProcess,
    TraceRequest,
    TraceResult,
)
from gpualert_common.kineto.targets import Targets
from gpualert_common.kineto.trace_files import (
    CompressedFile,
    DiscardedFiles,
    compress_trace,
    find_shortage,
)
from gpualert_common.processes.load_scaled_deadline import read_load
from gpualert_common.processes.pidfd import Process

NICENESS = 10
"""Of the compression: even a training that uses every core leaves it some time."""
WARM_UP_S = 2
"""CUPTI takes a second or more to start on a GPU, which is not to be part of the trace."""
_SCHEDULER_S = 1.0
"""Kineto looks at its requests once a second."""
_MARGIN_S = 2.0
"""For a process that asks late; longer where the machine is busy."""
_SILENT_S = 60.0
"""A process whose file has not grown for so long writes none."""
_PREPARATION_SHARE = 5.0
"""Of the duration: PyTorch prepares what it has recorded before it writes."""
_COMPRESSION_S = 60.0
"""Time for the compressions that are not complete when the run ends."""
_RAW_NAME = "trace"


class _Part:
    """The part of one process in a trace; it is over once it has a file or a problem."""

    def __init__(self, rank: str, process: Process) -> None:
        self.rank = rank
        self.process = process
        self.is_configured = False
        self.has_ended = False
        self.compression: threading.Thread | None = None
        self.stored = CompressedFile()
        self.is_over = False

    @property
    def file(self) -> str:
        """Name of the trace in its folder."""
        return f"{self.rank.replace(':', '-')}.json.gz"

    def fail(self, problem: str) -> None:
        """End it without a file."""
        self.stored, self.is_over = CompressedFile(problem=problem), True

    def describe(self) -> TracedProcess:
        """Return the result of this process."""
        file = "" if self.stored.problem else self.file
        return TracedProcess(
            self.rank, self.process.pid, file, self.stored.trace_bytes, self.stored.problem
        )


class TraceSession:
    """A trace in progress; ``folder`` is its folder in the record, ``raw`` the one that PyTorch
    writes to.  Times are monotonic, but for the start that the processes get."""

    def __init__(
        self,
        request: TraceRequest,
        targets: Targets,
        clients: Clients,
        folder: str,
        raw: str,
    ) -> None:
        now = time.monotonic()
        self._request = request
        self._clients = clients
        self._raw = raw
        self._folder_fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._raw_fd = os.open(raw, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._targets = targets
        parts = (_Part(rank, process) for rank, process in targets.processes.items())
        self._parts = {part.process.pid: part for part in parts}
        self._leave_out_others()
        start = self._find_start(now)
        self._start = start
        self._asked_until = start - WARM_UP_S - _SCHEDULER_S
        self.start_at = time.time() + start - now
        end = start + request.duration_s
        self._written_until = end + _PREPARATION_SHARE * request.duration_s + _SILENT_S
        self._last_written_at = end + WRITING_S
        self._raw_bytes = 0
        self._discarded = DiscardedFiles()
        self._shortage = ""

    def _leave_out_others(self) -> None:
        """Wait for no process without PyTorch: with it, it would have asked when it loaded that."""
        for pid in self._targets.without_torch:
            if self._clients.find(pid) is None:
                self._parts[pid].fail("it has not loaded PyTorch")

    def _find_start(self, now: float) -> float:
        """Return the start for which the last process still gets its configuration in time."""
        last = now
        for pid in (one.process.pid for one in self._parts.values() if not one.is_over):
            client = self._clients.find(pid)
            due = None if client is None else client.next_at(now)
            last = max(last, now + POLL_S if due is None else due)
        return last + WARM_UP_S + _SCHEDULER_S + _MARGIN_S * read_load()

    def configure(self, pid: int) -> str:
        """Return the configuration for a process that asks now; "" for none."""
        part = self._parts.get(pid)
        if part is None or part.is_configured or part.is_over:
            return ""
        if time.monotonic() > self._asked_until:
            part.fail("it asked for its configuration too late; is the machine overloaded?")
            return ""
        part.is_configured = True
        path = os.path.join(self._raw, f"{_RAW_NAME}-{part.process.pid}.json")
        lines = {
            "ACTIVITIES_LOG_FILE": path,
            "ACTIVITIES_DURATION_MSECS": round(self._request.duration_s * 1000),
            "ACTIVITIES_WARMUP_PERIOD_SECS": WARM_UP_S,
            "PROFILE_START_TIME": round(self.start_at * 1000),
            "PROFILE_REPORT_INPUT_SHAPES": "true",
            "PROFILE_WITH_STACK": "true" if self._request.with_stacks else "false",
        }
        return "".join(f"{name}={value}\n" for name, value in lines.items())

    def update(self) -> bool:
        """Continue; True when every process has its file, or a problem."""
        now = time.monotonic()
        names = self._list_raw(now)
        if names and not self._shortage:
            self._shortage = find_shortage(self._raw_fd, self._raw_bytes)
        if self._shortage:
            self._discard(names)
        for part in self._parts.values():
            if not part.is_over:
                self._update_part(part, names, now)
        is_quiet = self._discarded.free(now)
        return is_quiet and all(part.is_over for part in self._parts.values())

    def _update_part(self, part: _Part, names: list[str], now: float) -> None:
        if part.compression is not None:
            part.is_over = not part.compression.is_alive()
            return
        name = next((one for one in names if _is_trace_of(one, part.process.pid)), None)
        if name is not None:
            self._compress(part, name)
        elif not part.process.is_alive:
            part.has_ended = True
            part.fail("it ended before its trace was complete")
        elif not part.is_configured and now > self._asked_until:
            part.fail(self._explain_silence(part.process.pid))
        elif now > self._last_written_at or (
            now > self._written_until
            and not any(_is_trace_of(one, part.process.pid, ".json.tmp") for one in names)
        ):
            part.fail("it has written no trace; does another profiler run in it?")

    def _discard(self, names: list[str]) -> None:
        """Free the space of the files; a compression in progress finds that its own ends early."""
        for part in self._parts.values():
            if not part.is_over and part.compression is None:
                part.fail(self._shortage)
        for name in names:
            self._discarded.add(self._raw_fd, name)

    def _compress(self, part: _Part, name: str) -> None:
        def work() -> None:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
            part.stored = compress_trace(self._raw_fd, name, self._folder_fd, part.file)

        part.stored = CompressedFile(problem="its trace cannot be stored")  # if the thread fails
        part.compression = threading.Thread(target=work, daemon=True)
        try:
            part.compression.start()
        except RuntimeError:
            part.fail("no thread could be started")

    def _list_raw(self, now: float) -> list[str]:
        """Return the names of the raw files; a file that grows is waited for."""
        names, size = [], 0
        try:
            for name in os.listdir(self._raw_fd):
                names.append(name)
                size += os.stat(name, dir_fd=self._raw_fd, follow_symlinks=False).st_size
        except OSError:
            return names  # it was renamed or removed just now
        if size > self._raw_bytes:
            self._written_until = max(self._written_until, now + _SILENT_S)
        self._raw_bytes = size
        return names

    def _explain_silence(self, pid: int) -> str:
        """Return why a process got no configuration."""
        client = self._clients.find(pid)
        if client is not None:
            silent_s = time.monotonic() - client.asked_at
            if not client.is_idle and silent_s < POLL_S + LATE_S:
                return "another profiler runs in it"
            return f"it has not asked for a configuration for {silent_s:.0f} s: is it stopped?"
        return (
            "its PyTorch never asked for a configuration: it is older than 2.0, or built without "
            "Kineto, or changed its environment"
        )

    @property
    def ended_pids(self) -> list[int]:
        """The processes that ended before their traces were complete."""
        return [part.process.pid for part in self._parts.values() if part.has_ended]

    def finish(self) -> TraceResult:
        """Return the result, and release what the trace holds.

        At the end of the run it waits for compressions in progress, and begins those of files that
        are complete.
        """
        self.update()
        deadline = time.monotonic() + _COMPRESSION_S
        for part in self._parts.values():
            if part.compression is not None and part.compression.ident is not None:
                part.compression.join(max(0.0, deadline - time.monotonic()))
        missing = (
            TracedProcess(f"rank:{one}", 0, problem="the run has no such rank on this machine")
            for one in self._targets.missing
        )
        found = (*(part.describe() for part in self._parts.values()), *missing)
        self._targets.close()
        self._discarded.close()
        os.close(self._raw_fd)
        os.close(self._folder_fd)
        return TraceResult(
            start_at=self.start_at, duration_s=self._request.duration_s, processes=found
        )


def _is_trace_of(name: str, pid: int, ending: str = ".json") -> bool:
    """True for the name of a complete file of a process: PyTorch appends the number once more."""
    prefix = f"{_RAW_NAME}-{pid}"
    return name.startswith(prefix) and name.endswith(ending) and not name[len(prefix)].isdigit()
