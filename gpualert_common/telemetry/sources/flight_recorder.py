"""Dumps of PyTorch's flight recorder: the last collectives of each rank, and who did not enter.

PyTorch records the last 2,000 collectives of each rank.  With NCCL, each rank writes them into a
file when a collective times out, before the ranks exit.  The file is the value of
``TORCH_FR_DUMP_TEMP_FILE`` or ``TORCH_NCCL_DEBUG_INFO_TEMP_FILE`` with the rank's number, else
``~/.cache/torch/comm_lib_trace_rank_N``, or ``/tmp/nccl_trace_rank_N`` in older releases.  Current
releases record and dump by default; for older ones, set ``TORCH_NCCL_TRACE_BUFFER_SIZE=2000`` and
``TORCH_NCCL_DUMP_ON_TIMEOUT=1``.  Gloo records, too, but writes no file; a program that writes the
dump itself to such a file is read as well.

GPUAlert sets none of these variables.  Newer releases print a warning for the old names.  A folder
that exists on one machine only would lose the dumps of the others, and a pipe that cannot be made
fails the training.

Only files of the run's user that are newer than its start are read, and as plain data: a dump that
holds anything else is reported and not loaded.  Two runs of one user on one machine at the same
time need different files.

If the user has set ``TORCH_NCCL_DEBUG_INFO_PIPE_FILE`` and the run prints nothing for five minutes,
the source asks each rank for a dump through its pipe, at most three times in a run.  The training
goes on, and prints a line about the dump.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping

from gpualert_common.collectives.analysis import find_stall
from gpualert_common.collectives.dump_reader import UnreadableDumpError, read_dump
from gpualert_common.collectives.rank_positions import locate_ranks
from gpualert_common.collectives.recorded_calls import read_trace
from gpualert_common.collectives.stall_text import describe_stall
from gpualert_common.collectives.trace import RankTrace
from gpualert_common.processes.procfs import read_stat
from gpualert_common.structs import to_builtins
from gpualert_common.telemetry.rank_environments import RankEnvironment, RankEnvironments
from gpualert_common.telemetry.silence import measure_silence_s
from gpualert_common.telemetry.source import (
    ObservedRun,
    Sample,
    Source,
    SourceEvent,
    SourceUnavailableError,
)

_FILE_VARIABLES = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
_PIPE_VARIABLE = "TORCH_NCCL_DEBUG_INFO_PIPE_FILE"
_OLD_DEFAULT = "/tmp/nccl_trace_rank_"  # noqa: S108 - the place that PyTorch chose
_NEW_DEFAULT = "torch/comm_lib_trace_rank_"
_REQUEST_AFTER_S = 300.0
_MOST_REQUESTS = 3
_MOST_PROBLEMS = 10

_State = tuple[int, int]
"""Time of the last change of a file, and its size."""


class FlightRecorder(Source):
    """Events: ``collective_stall``, of "job": the ranks that the others wait for, with their call,
    as soon as the dumps show it, and ``collective_stall_over`` if newer ones show none.
    ``collective_positions``, of "job": the collectives that each rank of this machine entered and
    completed last, in the largest group, by which all machines together show the rank that is
    behind.  ``dump_unreadable`` for a file that is no plain dump, and ``dump_requested``."""

    decides = (
        "stalled collectives, by the calls of each rank: who did not enter, and who called another "
        "collective"
    )

    def __init__(self, run: ObservedRun | None) -> None:
        if not os.path.isdir("/proc/self"):
            raise SourceUnavailableError("/proc is not mounted", "mount it")
        self._run = run
        self._ranks = None if run is None else RankEnvironments(run)
        self._states: dict[int, tuple[str, _State]] = {}
        self._analysed: dict[int, tuple[str, _State]] = {}
        self._problems: set[str] = set()
        self._requests = 0
        self._is_requested = False
        self._is_stalled = False

    def sample(self) -> Iterable[Sample | SourceEvent]:
        """Yield what new dumps show, and request dumps of a silent run."""
        if self._run is None or self._ranks is None:
            return
        ranks = self._ranks.update()
        if not ranks:
            return
        before, self._states = self._states, dict(self._find_dumps(ranks, self._run.started_at))
        leader = read_stat(self._run.pid)
        is_over = leader is None or not leader.is_live
        is_settled = is_over or before == self._states
        if self._states and is_settled and self._states != self._analysed:
            self._analysed = self._states
            yield from self._analyse(ranks)
        if not is_over:
            yield from self._request(self._run, ranks)

    def _find_dumps(
        self, ranks: Mapping[int, RankEnvironment], since: float
    ) -> Iterator[tuple[int, tuple[str, _State]]]:
        """Yield the newest dump of each rank, with its path."""
        for rank, one in ranks.items():
            found = []
            for prefix in _list_prefixes(one):
                path = f"{prefix}{rank}"
                try:
                    status = os.stat(path, follow_symlinks=False)
                except (OSError, ValueError):
                    continue
                if status.st_mtime > since and status.st_size:
                    found.append((status.st_mtime_ns, status.st_size, path))
            if found:
                at, size, path = max(found)
                yield rank, (path, (at, size))

    def _analyse(self, ranks: Mapping[int, RankEnvironment]) -> Iterator[SourceEvent]:
        traces: list[RankTrace] = []
        unread: set[int] = set()
        for rank, (path, _state) in self._states.items():
            try:
                traces.append(read_trace(read_dump(path, ranks[rank].uid), rank))
            except UnreadableDumpError as error:
                unread.add(rank)
                if str(error) not in self._problems and len(self._problems) < _MOST_PROBLEMS:
                    self._problems.add(str(error))
                    yield SourceEvent("dump_unreadable", f"rank:{rank}", str(error))
        sizes = [size for one in ranks.values() if (size := one.world_size) is not None]
        local = {rank for one in ranks.values() for rank in one.local_ranks} - unread
        world_size = max(sizes, default=None)
        stall = find_stall(traces, world_size, local) if traces else None
        at = max(state[0] for _path, state in self._states.values()) / 1e9
        positions = locate_ranks(traces, world_size)
        if positions is not None:
            fields = to_builtins(positions)
            yield SourceEvent("collective_positions", "job", positions.describe(), fields, at)
        if stall is not None:
            self._is_stalled = True
            fields = to_builtins(stall)
            yield SourceEvent("collective_stall", "job", describe_stall(stall), fields, at)
        elif self._is_stalled:
            self._is_stalled = False
            text = "newer dumps show no rank that waits for another one"
            yield SourceEvent("collective_stall_over", "job", text, {}, at)

    def _request(
        self, run: ObservedRun, ranks: Mapping[int, RankEnvironment]
    ) -> Iterator[SourceEvent]:
        if measure_silence_s(run) < _REQUEST_AFTER_S:
            self._is_requested = False
            return
        if self._is_requested or self._requests >= _MOST_REQUESTS:
            return
        self._is_requested = True
        asked = [rank for rank, one in ranks.items() if _request_dump(one)]
        if asked:
            self._requests += 1
            text = f"{len(asked)} ranks were asked for a dump of their flight recorder"
            yield SourceEvent("dump_requested", "job", text, {"ranks": asked})


SOURCE: type[Source] = FlightRecorder


def _list_prefixes(one: RankEnvironment) -> list[str]:
    """Return the places where a rank may write its dump, without its number."""
    given = [one.variables[name] for name in _FILE_VARIABLES if one.variables.get(name)]
    if given:
        return [os.path.join(one.cwd, given[0])]
    home = one.variables.get("HOME", "/tmp")  # noqa: S108 - the place that PyTorch chooses
    cache = one.variables.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    return [os.path.join(cache, _NEW_DEFAULT), _OLD_DEFAULT]


def _request_dump(one: RankEnvironment) -> bool:
    """Write to the pipe of a rank, if it has one that it reads; return whether it did."""
    stem = one.variables.get(_PIPE_VARIABLE)
    if not stem:
        return False
    path = os.path.join(one.cwd, f"{stem}{one.rank}.pipe")
    try:
        fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (OSError, ValueError):
        return False
    try:
        status = os.fstat(fd)
        if not stat.S_ISFIFO(status.st_mode) or status.st_uid != one.uid:
            return False
        return os.write(fd, b"1") == 1
    except OSError:
        return False
    finally:
        os.close(fd)
