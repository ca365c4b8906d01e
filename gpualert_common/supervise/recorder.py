"""The recorder: all work after the launch that needs a disk, a classifier or a terminal.

The supervisor must not wait for any of these, so the recorder does: a forked process under the CLI
(a process in a disk's uninterruptible sleep cannot be reaped, and would take the exit status with
it), a thread inside a caller's process.  Both speak over a :class:`~.recorder_link.RecorderLink`:

=====================  ======================================================
to the recorder        event (to be appended), stacks (to be taken), ended
                       (with the ending)
to the supervisor      request and look (from ``control/``), hang, stacks_taken,
                       recorded, draining, closing, done
=====================  ======================================================

A verdict that is late holds up nobody.  The recorder says "done" without it and completes it
afterwards, in a process that is detached from the caller; a thread leaves it to a process that
inherits the lock of the record.
"""

from __future__ import annotations

import os
import select
import time

from gpualert_common.codec import encode
from gpualert_common.record import VERDICT, WARNING_RAISED
from gpualert_common.spec import EndFacts, Ending
from gpualert_common.supervise.detachment import detach
from gpualert_common.supervise.live_classifier import PREPARE_AFTER_S, LiveClassifier
from gpualert_common.supervise.live_events import LiveEvents
from gpualert_common.supervise.record_writer import RecordWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gpualert_common.end_record import Survivor
    from gpualert_common.launch.log_file import LogFile
    from gpualert_common.model import Verdict
    from gpualert_common.record import Event, Record
    from gpualert_common.supervise.recorder_hooks import RecorderHooks
    from gpualert_common.supervise.recorder_link import RecorderLink

HUNG = "hung"
"""Kind of the warning after which a run may be stopped."""
TICK_S = 0.25
VERDICT_DEADLINE_S = 5.0
LAST_SAMPLE_S = 0.2
"""After a failure the helpers have so long to take a last sample of the machine."""
BEAT_S = 5.0
REMEMBERED_S = 1.0
"""A shorter run trained nothing; a caller that makes many of them would notice the cost."""


class Recorder:
    """Writes the record of one run.

    :meth:`run` returns when the run has ended and is recorded, or when the link is closed.
    ``is_thread`` says that it is a thread of the caller's process.  ``reports_leases`` makes it
    report the followers to the supervisor, four times a second.
    """

    def __init__(
        self,
        record: Record,
        launch_record: dict[str, Any],
        logs: list[LogFile],
        hooks: RecorderHooks,
        link: RecorderLink,
        *,
        is_thread: bool = False,
        reports_leases: bool = False,
    ) -> None:
        self._record = record
        self._launch_record = launch_record
        self._logs = logs
        self._hooks = hooks
        self._link = link
        self._is_thread = is_thread
        self._reports_leases = reports_leases
        self._lock_fd = record.share_lock() if is_thread else -1  # the caller may release its own
        self._terminal = hooks.terminal
        self._writer = RecordWriter(record, launch_record, logs)
        self._classifier = LiveClassifier(logs, hooks.make_classifier)
        self._helpers = hooks.helper_processes()
        self._stops_hung = launch_record.get("on_hang") == "stop"
        self._live_events = LiveEvents(
            self._writer,
            hooks,
            self._report_hang,
            on_stacks=lambda: link.send({"kind": "stacks_taken"}),
        )
        self._end: dict[str, Any] | None = None
        self._beat_due = 0.0
        self.verdict: Verdict | None = None

    def run(self) -> None:
        """Follow the run to its end.  Never raises."""
        try:
            self._run()
        except Exception:  # noqa: BLE001 - the boundary: no fault of ours reaches the supervisor
            import traceback

            self._writer.append_event("recorder_failed", problem=traceback.format_exc(limit=-3))
        finally:
            self.close()

    def close(self) -> None:
        """Close the link, and release the record."""
        self._link.close()
        self._release_lock()

    def _release_lock(self) -> None:
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1

    def _run(self) -> None:
        self._terminal.start(self._logs)
        self._receive()
        is_short = self._end is not None
        if not is_short:
            self._start_helpers()
            self._classifier.start()
            self._hooks.finish_abandoned_runs()
            self._follow()
        if self._end is not None:
            self._finish(Ending.from_json(self._end["ending"]), self._end["survivors"])
        if is_short:
            self._hooks.finish_abandoned_runs()

    # -- while it runs ---------------------------------------------------------------------

    def _follow(self) -> None:
        while self._end is None and not self._link.is_closed:
            poll = select.poll()
            for fd in (self._link.read_fd, *self._live_events.fds):
                poll.register(fd, select.POLLIN)
            poll.poll(TICK_S * 1000)
            self._receive()
            self._link.flush()
            self._pass_on_requests()
            if self._reports_leases:
                self._report_leases()
            self._writer.check_logs()
            self._live_events.update(self._classifier.take_events())
            self._start_helpers()
            self._prepare_terminal()

    def _receive(self) -> None:
        for message in self._link.receive():
            if message["kind"] == "ended":
                self._end = message
            elif message["kind"] == "stacks":
                self._live_events.request_stacks(message["reason"])
            else:
                fields = message["fields"]
                self._writer.append_event(message["event"], at=message["at"], **fields)

    def _report_hang(self, warning: Event) -> None:
        """Have the supervisor stop a run that hangs, if that is wanted."""
        is_hang = warning.name == WARNING_RAISED and warning.fields.get("kind") == HUNG
        if is_hang and self._stops_hung:
            self._link.send({"kind": "hang"})

    def _pass_on_requests(self) -> None:
        try:
            for request in self._record.requests():
                self._writer.append_event("request", request=request)
                self._link.send({"kind": "request", "request": request})
                self._record.forget(request)  # last: one that comes twice is known by its name
        except OSError:
            pass  # on a full or failing disk; pending requests are read again

    def _report_leases(self) -> None:
        """Report the leases, once other hosts, which cannot see our lock, can see our beat."""
        try:
            if self._record.is_removed:
                self._link.send({"kind": "look", "leases": None})
                return
            now = time.monotonic()
            if now >= self._beat_due:
                self._record.beat()
                self._beat_due = now + BEAT_S
            self._link.send({"kind": "look", "leases": self._record.leases()})
        except OSError:
            pass  # and no report: the record is gone, or its disk is full

    def _start_helpers(self) -> None:
        for helper in self._helpers:
            problem = helper.update(self._writer.age_s)
            if problem:
                self._writer.append_event("not_started", what=helper.name, problem=problem)

    def _prepare_terminal(self) -> None:
        if self._writer.age_s >= PREPARE_AFTER_S:
            try:
                self._terminal.prepare()
            except Exception:  # noqa: BLE001 - the boundary: it is tried again at the end
                pass

    # -- at the end ------------------------------------------------------------------------

    def _finish(self, ending: Ending, survivors: list[Survivor]) -> None:
        """Complete the record.  The exit record comes first: the supervisor waits for it."""
        self._terminal.finish()
        self._writer.store_exit({**ending.to_json(), "survivors": survivors})
        self._link.send({"kind": "recorded"})
        self._start("freeze", lambda: self._hooks.freeze_artifacts(ending))
        self._live_events.end()
        for helper in self._helpers:
            helper.stop(LAST_SAMPLE_S if ending.code != 0 else 0.0)
        if ending.code != 0:
            self._writer.check_logs()
        self._writer.finalize_logs()
        is_late = not self._conclude(ending, survivors)
        self._drain_terminal()
        self._link.send({"kind": "closing"})
        if not self._link.has_no_reader:
            self._terminal.print_closing(self.verdict, ending, is_late=is_late)
        for helper in self._helpers:
            helper.reap()
        self._leave_for_history(ending)
        if is_late and self._is_thread:
            self._hand_over()
        if is_late:
            self._writer.append_event("verdict_late")
        sender = self._hooks.needed_sender(self.verdict, ending)
        if not is_late:
            self._hooks.mark_finished(sender)
        self._release_lock()
        self._link.send({"kind": "done", "sender": sender})
        if self._link.has_no_reader:  # the supervisor exited without us, and sent no alert
            self._hooks.send_alerts_detached()
        # Last, since nobody waits for it.
        self._writer.release_log_reserves(has_survivors=bool(survivors))
        if is_late and not self._is_thread:
            self._complete_late(ending)
        if not (is_late and self._is_thread):
            self._record.release_spare()
            self._update_history(ending)

    def _conclude(self, ending: Ending, survivors: list[Survivor]) -> bool:
        """Make and store the verdict; False when it is late."""
        facts = EndFacts(
            log_path=self._logs[-1].current_path,
            survivors=len(survivors),
            log_disk_full=self._writer.is_disk_full or bool(self._writer.dropped_bytes),
            is_log_cut=self._writer.is_log_cut,
        )
        if self._classifier.conclude(ending, facts, VERDICT_DEADLINE_S):
            self._store_verdict()
            return True
        self._live_events.append(self._classifier.take_events())
        return False

    def _store_verdict(self) -> None:
        self._live_events.append(self._classifier.take_events())
        self.verdict = self._classifier.verdict
        if self.verdict is None:
            import traceback

            error = self._classifier.problem
            lines = traceback.format_exception(error, limit=-3) if error else []
            self._writer.append_event("classifier_failed", problem="".join(lines))
        else:
            self._writer.store(VERDICT, encode(self.verdict))

    def _complete_late(self, ending: Ending) -> None:
        """Complete the verdict in this process, which nobody waits for any more."""
        detach()
        self._classifier.wait()
        self._store_verdict()
        self._leave_for_history(ending)
        self._hooks.mark_finished(self._hooks.needed_sender(self.verdict, ending))
        self._hooks.send_unsent_alerts()

    def _hand_over(self) -> None:
        """Leave the verdict to a process: the caller, whose thread this is, may exit."""
        self._classifier.give_up()
        self._start("late verdict", lambda: self._hooks.start_late_verdict(self._lock_fd))

    def _start(self, name: str, start: Callable[[], None]) -> None:
        """Start a process that goes on without us."""
        try:
            start()
        except (OSError, ValueError, RuntimeError) as error:
            problem = str(error) or type(error).__name__
            self._writer.append_event("not_started", what=name, problem=problem)

    def _drain_terminal(self) -> None:
        left_bytes = self._terminal.drain(lambda: self._link.send({"kind": "draining"}))
        if left_bytes is not None:
            self._writer.append_event("reader_stalled", left_bytes=left_bytes)
        if self._terminal.problems:
            self._writer.append_event("output_lost", problems=self._terminal.problems)

    @property
    def _state_dir(self) -> str:
        return os.path.dirname(os.path.dirname(self._record.path))

    def _leave_for_history(self, ending: Ending) -> None:
        """Queue the run for the history: our caller may end this process before it is indexed."""
        if not _is_remembered(ending):
            return
        try:
            from gpualert_common.history import make_past_run, queue_run
            from gpualert_common.launch_record import LaunchRecord

            launch_record = LaunchRecord.of_own(self._launch_record)
            run = make_past_run(launch_record, ending.to_json(), self.verdict)
            if run is not None:
                queue_run(self._state_dir, run)
        except Exception as error:  # noqa: BLE001 - the boundary: the supervisor waits for us
            self._writer.append_event("history", problem=str(error) or type(error).__name__)

    def _update_history(self, ending: Ending) -> None:
        if not _is_remembered(ending):
            return
        from gpualert_common.history import import_pending

        problem = import_pending(self._state_dir)
        if problem:
            self._writer.append_event("history", problem=problem)


def _is_remembered(ending: Ending) -> bool:
    return (ending.ended_at or 0.0) - ending.started_at >= REMEMBERED_S
