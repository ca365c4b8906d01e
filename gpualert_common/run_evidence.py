"""Evidence about a run other than its log: telemetry, clock, earlier runs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from gpualert_common.coordinator.last_trial import (
    TAIL_BYTES,
    reports_failed_rendezvous,
    try_again,
)
from gpualert_common.coordinator.state import CoordinatorState
from gpualert_common.diagnose.evidence import Capture, RunObservations
from gpualert_common.diagnose.regression import describe_history
from gpualert_common.errors import RecordError
from gpualert_common.kineto.traced_end import was_being_traced
from gpualert_common.launch_record import LaunchRecord
from gpualert_common.progress import Progress, read_index
from gpualert_common.progress.step_dates import date_steps, measure_silent_steps
from gpualert_common.quantities import is_number, is_time
from gpualert_common.record import INDEX, Record
from gpualert_common.slurm.submissions.follower_command import submission_path
from gpualert_common.spec import OBSERVER, Ending
from gpualert_common.stacks.dump import Dump
from gpualert_common.stacks.storage import STACKS, read_dumps
from gpualert_common.structs import ValidationError, convert, to_builtins
from gpualert_common.telemetry.series import (
    SourceAvailability,
    Telemetry,
    TelemetryEvent,
    sample_once,
)
from gpualert_common.telemetry.source import ObservedRun, list_sources

if TYPE_CHECKING:
    from gpualert_common.end_record import SchedulerStop
    from gpualert_common.history import EarlierRuns
    from gpualert_common.slurm.submissions.followed_state import FollowedState
    from gpualert_common.slurm_evidence import SlurmAnswer

_LEAST_S = 1.0
"""Least duration of a run that is compared with earlier runs: a shorter one trained nothing."""
_MOST_INDEX_BYTES = 64 << 20
"""Limit for reading: the index of a run of thirty days has 50 MB."""
_MOST_MOMENTS = 1000
"""Most points of the log's growth that are read: a thousandth of the run's time is exact enough."""


_RECENT_S = 10.0
"""Time after a run's end in which the machine's ports are still those of the run."""
_PORT_TAIL_BYTES = 64 << 10
_USED_PORT = (b"ddress already in use", b"EADDRINUSE")


class RunEvidence:
    """Evidence in the record of one run except its logs, read piece by piece.

    ``is_live`` says that the run is ours and ends now, so that the network is that of its end.
    """

    def __init__(
        self, launch_record: LaunchRecord, record: Record, *, is_live: bool = False
    ) -> None:
        self.record = record
        self._is_live = is_live
        self.telemetry = Telemetry()
        self._launch_record = launch_record
        self._recalled: EarlierRuns | None = None
        self._stacks: tuple[int, tuple[Dump, ...]] = (0, ())
        self._slurm: SlurmAnswer | None = None
        self._followed: FollowedState | None = None

    def recall(self) -> EarlierRuns:
        """Return the earlier runs of the same command, looked up once.  Never raises."""
        if self._recalled is None:
            # Not imported for a short run.
            from gpualert_common.history import EarlierRuns, find_earlier_runs

            try:
                self._recalled = find_earlier_runs(self.record.path, self._launch_record)
            except Exception as error:  # noqa: BLE001 - the boundary: it costs only the comparison
                self._recalled = EarlierRuns(problem=f"{type(error).__name__}: {error}")
        return self._recalled

    def read(self) -> None:
        """Read the samples that the sources wrote since the last call."""
        with suppress(OSError):  # a failing disk costs samples, but no verdict
            self.telemetry.read(self.record)
        if submission_path(self._launch_record.command) is not None:
            self._read_followed_job()

    def _read_followed_job(self) -> None:
        """Add the state of the job of Slurm that this run follows, if it is new."""
        # Not imported for a run that follows no job.
        from gpualert_common.slurm.submissions.followed_state import read_followed_state
        from gpualert_common.telemetry.slurm_events import make_followed_event

        state = read_followed_state(self._launch_record.command)
        if state is None or state == self._followed:
            return
        self._followed = state
        now = time.time()
        one = make_followed_event(state, now)
        event = TelemetryEvent(one.what, one.of, "slurm", now, one.text, one.fields)
        self.telemetry.events.append(event)

    @property
    def printed_at(self) -> float:
        """Time of the last output, in seconds since the epoch; 0 while the logs are empty."""
        found = map(self.record.log_status, self._launch_record.logs)
        return max((one.st_mtime for one in found if one and one.st_size), default=0.0)

    def read_log_bytes_at_stop(self, ending: Ending) -> dict[str, int]:
        """Return the sizes of the logs when the run was stopped; empty if they are not known."""
        if ending.signal is None and ending.limit is None:
            return {}
        try:
            stopping = self.record.event("stopping")
        except (OSError, RecordError):
            return {}
        sizes = None if stopping is None else stopping.fields.get("log_bytes")
        found = sizes if isinstance(sizes, dict) else {}
        return {name: size for name, size in found.items() if is_number(size)}

    def find_scheduler_stop(self, ending: Ending) -> SchedulerStop | None:
        """Return the stop of the run by its scheduler, which is asked about it.  Never raises."""
        try:
            self.read()
            sampled = self.telemetry.sources.get("slurm")
            known_job = self._launch_record.slurm or submission_path(self._launch_record.command)
            if known_job is None and (sampled is None or not sampled.available):
                return None
            # Not imported for a run outside of Slurm.
            from gpualert_common.slurm_evidence import ask_about_run, find_scheduler_stop

            self._slurm = ask_about_run(self._launch_record, ending, is_live=self._is_live)
            known = Telemetry()
            known.sources, known.events = dict(self.telemetry.sources), [*self.telemetry.events]
            known.events += () if self._slurm is None else self._slurm.events
            return find_scheduler_stop(known, ending)
        except Exception:  # noqa: BLE001 - the boundary: it costs only the scheduler's answer
            return None

    def read_stacks(self) -> tuple[Dump, ...]:
        """Return the dumps in the record, read again when there are more of them."""
        status = self.record.log_status(STACKS)
        size = 0 if status is None else status.st_size
        if size != self._stacks[0]:
            self._stacks = size, tuple(read_dumps(self.record))
        return self._stacks[1]

    def _read_stop(self, ending: Ending | None) -> tuple[float, float] | None:
        """Return the time at which the run was stopped, and that of its last output before; None
        if it was not stopped, or that is not known."""
        if ending is None or (ending.signal is None and ending.limit is None):
            return None
        try:
            stopping = self.record.event("stopping")
        except (OSError, RecordError):
            return None
        printed_at = None if stopping is None else stopping.fields.get("printed_at")
        if stopping is None or not is_time(printed_at):
            return None
        return stopping.at, float(printed_at)

    def collect(self, ending: Ending | None, progress: Progress | None) -> RunObservations:
        """Return all evidence; without an ending, that of a run in progress.

        Raises any error of reading a damaged record.
        """
        self.read()
        started_at = self._launch_record.created_at
        pid = self.record.leader_pid if ending is None else ending.pid
        if ending is not None:
            self._sample_once(ending, pid, started_at, progress)
            if self._is_live and ending.code != 0:
                self._try_coordinator(ending)
            if self._slurm is not None:
                self.telemetry.add(self._slurm.source, self._slurm.events)
            self._name_missing_sources(ending)
        ended_at = (None if ending is None else ending.ended_at) or time.time()
        recalled = None
        if ending is not None and ending.code == 0 and ended_at - started_at >= _LEAST_S:
            recalled = self.recall()
            self.telemetry.add(describe_history(recalled), ())
        stopped_at, printed_at = self._read_stop(ending) or (ended_at, self.printed_at)
        arrivals = () if ending is None else self._read_arrivals(ended_at, progress)
        return RunObservations(
            self.telemetry,
            pid,
            started_at,
            ended_at,
            stopped_at=min(stopped_at, ended_at),
            last_output_at=min(max(started_at, printed_at), ended_at)
            if self._launch_record.unread_output is None
            else ended_at,
            progress=progress,
            command=self._launch_record.command,
            host=self._launch_record.host,
            stepping=measure_silent_steps(progress, arrivals),
            step_times=date_steps(progress, arrivals, started_at) if self._has_gpus else (),
            earlier=() if recalled is None else recalled.runs,
            stacks=self.read_stacks(),
            hang_timeout_s=self._launch_record.hang_timeout_s,
            captures=self._read_captures(),
            is_traced=self._launch_record.tracing and was_being_traced(self.record, ended_at),
        )

    def _read_captures(self) -> tuple[Capture, ...]:
        if self._launch_record.on_slowdown == "off":
            return ()
        from gpualert_common.diagnose.captures import read_captures  # most runs have none

        return read_captures(self.record, self._launch_record.cwd)

    def _sample_once(
        self, ending: Ending, pid: int | None, started_at: float, progress: Progress | None
    ) -> None:
        """Sample once the sources that still have evidence of a run without samples."""
        if self.telemetry.sources or not self._launch_record.observe:
            return
        logs = tuple(self.record.log_path(name) for name in self._launch_record.logs)
        subject = ObservedRun(
            self.record.run_id, pid or 0, "", started_at, self.record.path, logs=logs
        )
        left = ["checkpoints"] if ending.code == 0 else ["kernel_log"]
        if ending.code == 0 and progress is not None and progress.counts.last_step:
            left.append("checkpoint_files")
        is_recent = abs(time.time() - (ending.ended_at or 0.0)) < _RECENT_S
        if ending.code != 0 and is_recent and any(map(_reports_used_port, logs)):
            left.append("rendezvous")
        for source in left:
            self.telemetry.add(*sample_once(source, subject))

    def _try_coordinator(self, ending: Ending) -> None:
        """Try the coordinator's address a last time, if the run ended by a failed rendezvous."""
        events = self.telemetry.find_events("rendezvous_state", "port_in_use", "training_began")
        if not events or events[-1].what != "rendezvous_state":
            return
        tails = [_read_tail(self.record.log_path(name)) for name in self._launch_record.logs]
        if not any(map(reports_failed_rendezvous, tails)):
            return
        last = events[-1]
        try:
            state = try_again(convert(last.fields, CoordinatorState))
        except ValidationError:  # of a sampler of another release
            return
        if state is not None:
            at, fields = ending.ended_at or time.time(), to_builtins(state)
            event = TelemetryEvent(last.what, last.of, last.source, at, state.describe(), fields)
            self.telemetry.events.append(event)

    @property
    def _has_gpus(self) -> bool:
        return bool(self.telemetry.list_entities("gpu"))

    def _name_missing_sources(self, ending: Ending) -> None:
        """Add each source without samples, with the reason."""
        missing = set(list_sources()) - self.telemetry.sources.keys()
        if not missing or not ending.started:
            return
        why = self._explain_missing()
        for name in sorted(missing):
            self.telemetry.add(SourceAvailability(name, available=False, why=why), ())

    def _explain_missing(self) -> str:
        if not self._launch_record.observe:
            return "not sampled: the sampling of this run is switched off"
        try:
            problem = next(
                one.fields.get("problem", "")
                for one in self.record.events()
                if one.name == "not_started" and one.fields.get("what") == OBSERVER
            )
        except (OSError, RecordError):
            return "not sampled: the events of the run cannot be read"
        except StopIteration:
            return "not sampled: the run ended before its first sample"
        return f"not sampled: the observer could not be started: {problem}"

    def _read_arrivals(
        self, ended_at: float, progress: Progress | None
    ) -> Sequence[tuple[float, int]]:
        """Return the growth of the log with the training's points; empty for a short run."""
        points = () if progress is None else progress.points
        logs = self._launch_record.logs
        if not points or points[-1].file not in logs:
            return ()
        try:
            with open(self.record.open_log(INDEX), "rb") as file:
                lines = file.readlines(_MOST_INDEX_BYTES)
        except OSError:
            return ()
        index = b"".join(lines[:: len(lines) // _MOST_MOMENTS + 1])
        started_at = self._launch_record.created_at
        arrivals = read_index(index, started_at, logs.index(points[-1].file))
        return [*arrivals, (ended_at, sys.maxsize)]


def _reports_used_port(path: str) -> bool:
    """Return whether the end of a log reports that a port was in use."""
    tail = _read_tail(path, _PORT_TAIL_BYTES)
    return any(words in tail for words in _USED_PORT)


def _read_tail(path: str, most_bytes: int = TAIL_BYTES) -> bytes:
    """Return the end of a log; empty where it cannot be read."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - most_bytes))
            return file.read(most_bytes)
    except OSError:
        return b""
