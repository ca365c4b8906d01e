"""One group of processes that the agent watches: its record, its samples, and its end.

The work of a group is done by threads of its own, so that a process whose memory is locked, or a
log on a file system that does not answer, delays no other group.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress

from gpualert_common.agent.gpu_use import GpuUse
from gpualert_common.agent.group_sources import GroupSources
from gpualert_common.agent.group_stop import GroupStop
from gpualert_common.agent.grouping import FoundGroup
from gpualert_common.agent.log_copy import LAST_BYTES
from gpualert_common.agent.output_copies import OutputCopies
from gpualert_common.agent.output_files import Outputs
from gpualert_common.agent.watch_hooks import WatchHooks
from gpualert_common.classifier import RunClassifier
from gpualert_common.launch.preparation import PreparedRun
from gpualert_common.processes.pidfd import Process
from gpualert_common.processes.process_ends import await_exit_code
from gpualert_common.processes.procfs import read_stat
from gpualert_common.record import WARNING_RAISED, Event
from gpualert_common.record.watch_history import (
    MADE_BY_AGENT,
    PROCESS_ENDED,
    PROCESS_WATCHED,
    Identity,
    combine_codes,
    read_history,
)
from gpualert_common.spec import Ending, RunSpec
from gpualert_common.supervise.live_events import LiveEvents
from gpualert_common.supervise.record_writer import RecordWriter
from gpualert_common.telemetry.nvml.background_call import BackgroundCall
from gpualert_common.telemetry.source import ObservedRun, Sample, SourceEvent
from gpualert_common.telemetry.storage import TELEMETRY, TelemetryWriter

_CODE_S = 0.5
_LAST_SAMPLE_S = 0.5
_MOST_LOG_BYTES = (32 << 20) - LAST_BYTES
"""Of one log before the end: nobody chose these runs one by one, and the file is still there."""
_CHECKED_EVERY = 2
"""Samples between two checks for warnings, 20 s: they are about minutes."""


class WatchedGroup:
    """A group with a record, from its discovery, or a restart of the agent, to its end.

    ``tops`` are its processes that no other process of it started: the leader, and others of the
    same Slurm job or container.  The group has ended when all of them have.
    """

    def __init__(
        self, group: FoundGroup, spec: RunSpec, prepared: PreparedRun, outputs: Outputs
    ) -> None:
        self.group = group
        self.record = prepared.record
        self.gpu_use = GpuUse()
        self.warnings: set[str] = set()
        self._hooks = WatchHooks(spec, prepared)
        self._writer = RecordWriter(self.record, prepared.launch_record, prepared.logs)
        self._telemetry = TelemetryWriter(self.record)
        self._classifier = RunClassifier(self.record.spec, self.record, is_live=True)
        self._live_events = LiveEvents(self._writer, self._hooks, self._note_warning)
        self._tops: list[Process] = []
        history = read_history(self.record)
        self._codes = list(history.codes)
        self._recorded = set(history.unended)
        self._stop = GroupStop(self.record, self._writer, spec.grace_s)
        self._samples = 0
        self._sources = self._open_sources()
        self._sampling = BackgroundCall(self._sources.sample, "group")
        self._copies = OutputCopies(prepared, outputs, _MOST_LOG_BYTES)
        self._note_begin(outputs)
        for identity in history.unended:
            if not self._open_top(identity):
                self._note_end(identity, None)
        self.add_top(group.leader.pid, group.leader.start_ticks)
        self._stop.resume(self._identities)

    # -- processes ---------------------------------------------------------------------------

    @property
    def fds(self) -> list[int]:
        """Descriptors that are readable when a process of the top has exited."""
        return [top.fd for top in self._tops]

    @property
    def has_ended(self) -> bool:
        """True once all processes of the top have exited."""
        return not self._tops

    @property
    def _identities(self) -> list[Identity]:
        return [top.identity for top in self._tops]

    def add_top(self, pid: int, start_ticks: int) -> None:
        """Add a process that no other one of the group started."""
        identity = pid, start_ticks
        if self._open_top(identity) and identity not in self._recorded:
            self._recorded.add(identity)
            self._writer.append_event(PROCESS_WATCHED, pid=pid, start_ticks=start_ticks)

    def check_tops(self) -> None:
        """Take the exit statuses of processes of the top that have exited."""
        for top in [top for top in self._tops if not top.is_alive]:
            self._note_end(top.identity, await_exit_code(top, _CODE_S))
            self._tops.remove(top)
            top.close()

    def _note_begin(self, outputs: Outputs) -> None:
        leader = self.group.leader
        output_pid, output_start_ticks = outputs.of or (None, None)
        self._writer.append_event(
            MADE_BY_AGENT,
            by_pid=os.getpid(),
            output_pid=output_pid,
            output_start_ticks=output_start_ticks,
        )
        if self.record.event("launched") is None:
            self._recorded.add((leader.pid, leader.start_ticks))
            self._writer.append_event(
                "launched", at=leader.started_at, pid=leader.pid, start_ticks=leader.start_ticks
            )

    def _open_top(self, identity: Identity) -> bool:
        """Watch a process from now on; False if it has ended."""
        if any(top.identity == identity for top in self._tops):
            return True
        top, stat = Process.open(identity[0]), read_stat(identity[0])
        if top is None:
            return False
        if stat is None or stat.identity != identity:
            top.close()
            return False
        self._tops.append(top)
        self._sources.include(stat)
        return True

    def _note_end(self, identity: Identity, code: int | None) -> None:
        self._codes.append(code)
        pid, start_ticks = identity
        self._writer.append_event(PROCESS_ENDED, pid=pid, start_ticks=start_ticks, code=code)

    # -- samples -----------------------------------------------------------------------------

    def set_gpu_facts(self, facts: Mapping[str, object]) -> None:
        """Write the facts about the GPUs of the machine."""
        self._note_source("nvml", {"available": True, "facts": dict(facts)})

    def request(self, output: Iterable[Sample | SourceEvent], used: Mapping[str, float]) -> None:
        """Begin a sample, with those of the GPUs; ``used`` are the bytes of the group on each."""
        now = time.time()
        output = list(output)
        self.gpu_use.update(output, used, now)
        with suppress(OSError):
            found = (("nvml", one) for one in output if self.gpu_use.concerns(one.of))
            self._telemetry.add(now, found)
        self._sampling.request()
        self._copies.take_turn()

    def collect(self, deadline: float) -> None:
        """Write the samples that are complete by this time of ``time.monotonic``, and warnings."""
        with suppress(TimeoutError):
            at, found = self._sampling.wait(deadline)
            with suppress(OSError):
                self._telemetry.add(at, found)
        self._writer.check_logs()
        self._samples += 1
        is_due = self._samples % _CHECKED_EVERY == 0
        self._live_events.update(self._classifier.update() if is_due else ())

    def _open_sources(self) -> GroupSources:
        leader = self.group.leader
        sampled_at = self.record.stored_at(TELEMETRY)  # by an earlier agent
        sources = GroupSources(
            ObservedRun(
                run_id=self.record.run_id,
                pid=leader.pid,
                marker="",  # no process of it carries one
                started_at=sampled_at or self.record.spec.created_at,
                record_path=self.record.path,
                cwd=leader.cwd,
                logs=self.record.log_paths,
            )
        )
        for name, fields in sources.availability.items():
            self._note_source(name, fields)
        return sources

    def _note_source(self, name: str, fields: Mapping[str, object]) -> None:
        with suppress(OSError):
            self._telemetry.add_source(name, **fields)

    # -- warnings and requests -------------------------------------------------------------------

    def _note_warning(self, event: Event) -> None:
        kind = str(event.fields.get("kind"))
        if event.name == WARNING_RAISED:
            self.warnings.add(kind)
        else:
            self.warnings.discard(kind)

    def take_requests(self) -> None:
        """Begin the stop of the group, if a person requests it."""
        self._stop.take_requests(self._identities)

    # -- the end -----------------------------------------------------------------------------

    def finish(self) -> None:
        """Record the end, and have verdict and alert made by programs of their own."""
        ending = Ending(self.record.spec.created_at, time.time())
        ending.pid = self.group.leader.pid
        ending.code = combine_codes(self._codes)
        if self._stop.sender is not None:
            ending.signal, ending.sender = int(signal.SIGTERM), self._stop.sender
        self.request((), {})
        self.collect(time.monotonic() + _LAST_SAMPLE_S)
        self._copies.finish()
        for problem in self._copies.problems:
            self._writer.append_event("output_not_copied", problem=problem)
        self._writer.check_logs()
        self._live_events.end()
        self._writer.store_exit({**ending.to_json(), "survivors": []})
        self._writer.release_log_reserves(has_survivors=False)
        self._conclude()

    def _conclude(self) -> None:
        lock_fd = self.record.share_lock()
        try:
            self._hooks.start_late_verdict(lock_fd)
        except (OSError, ValueError, RuntimeError) as error:
            problem = str(error) or type(error).__name__
            self._writer.append_event("not_started", what="late verdict", problem=problem)
        finally:
            os.close(lock_fd)
        self.close()
        self._hooks.send_alerts_detached()

    def close(self) -> None:
        """Let go of the record; another watch, or recovery, may take it."""
        self._copies.close()
        self._live_events.stop()
        self._sampling.stop()
        if self._sampling.requested_at is None:  # else a thread still uses them
            self._sources.close()
        for top in self._tops:
            top.close()
        self._tops = []
        self.record.release_own_lock()
