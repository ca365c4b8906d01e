"""Classifier, helper processes and alerts of a supervised run.

``run()``, the CLI and the guardian use the same hooks.  Heavy modules are imported only when the
recorder calls a hook.
"""

from __future__ import annotations

import contextlib
import os

from gpualert_common.abandoned_runs import finish_abandoned_runs, mark_finished
from gpualert_common.processes.marker import run_marker
from gpualert_common.record.marks import UNDELIVERED, UNPUBLISHED, find_state_dir
from gpualert_common.record_locations import list_places
from gpualert_common.spec import EARLY, OBSERVER
from gpualert_common.supervise.captures import STACKS
from gpualert_common.supervise.helper_process import (
    RESTART_PAUSES_S,
    START_AFTER_S,
    HelperProcess,
    StartedBefore,
)
from gpualert_common.supervise.terminal_output import TerminalOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from subprocess import Popen

    from gpualert_common.launch.preparation import PreparedRun
    from gpualert_common.launch_record import AlertSettings
    from gpualert_common.model import Verdict
    from gpualert_common.notify.entry import EntryFields
    from gpualert_common.record import Record
    from gpualert_common.spec import Ending, RunSpec
    from gpualert_common.supervise import SupervisedRun
    from gpualert_common.supervise.captures import CaptureRequest
    from gpualert_common.supervise.live_classifier import LogClassifier

OWN_ALERTS, OWN_DIGEST, OLDER_ALERTS = "own", "digest", "older"
"""The work of a sender: the alerts of this run, its digest alone, or what earlier runs left."""


class RunHooks:
    """Hooks of one run's recorder; without a ``terminal`` nothing is printed."""

    def __init__(
        self, spec: RunSpec, prepared: PreparedRun, terminal: TerminalOutput | None = None
    ) -> None:
        self._spec = spec
        self._prepared = prepared
        self._record = prepared.record
        self.terminal = TerminalOutput() if terminal is None else terminal

    @property
    def _has_job_directory(self) -> bool:
        return bool((self._prepared.launch_record.get("job") or {}).get("directory"))

    def make_classifier(self) -> LogClassifier:
        """Return the classifier of the run's logs; its modules are imported here."""
        from gpualert_common.classifier import RunClassifier
        from gpualert_common.launch_record import LaunchRecord

        launch_record = LaunchRecord.of_own(self._prepared.launch_record)
        return RunClassifier(launch_record, self._record, is_live=True)

    def helper_processes(self) -> list[HelperProcess]:
        """Return the helper processes, none of them started.

        "survey" lists the files of the working directory, if alerts may carry new ones; "observer"
        samples the machine.  Where there are GPUs, it starts with the run: what a GPU reports
        before the run uses it is the baseline of its counters.  "digest" reports to the job.
        "tracing" was started before the launch, and outlives the run with its processes.
        """
        from gpualert_common.telemetry.nvml.presence import has_library

        record = self._record
        marker = run_marker(record.run_id)
        found: list[HelperProcess] = []
        if self._spec.alerts is not None:
            found.append(
                HelperProcess("survey", lambda: _start_helper("artifacts.snapshot_program", record))
            )
        if self._spec.observe:
            after_s = 0.0 if has_library() else START_AFTER_S
            found.append(
                HelperProcess(
                    OBSERVER, lambda: _start_helper("telemetry.sampler", record, marker), after_s
                )
            )
        if self._has_job_directory:
            found.append(
                HelperProcess(
                    "digest",
                    lambda: _start_helper("jobs.renewal.renewal_program", record),
                    has_last_work=False,  # its last digest is written after the verdict
                    restart_pauses_s=RESTART_PAUSES_S,  # without it the node looks lost
                )
            )
        tracing = self._prepared.tracing
        if tracing is not None:
            from gpualert_common.kineto.daemon_launch import restart_daemon

            found.append(
                HelperProcess(
                    "tracing",
                    lambda: restart_daemon(record),
                    restart_pauses_s=RESTART_PAUSES_S,
                    running=StartedBefore(tracing.pid),
                    ends_itself=True,
                )
            )
        return found

    def start_capture(self, wanted: CaptureRequest) -> Popen[bytes]:
        """Return the program that takes a capture into the record.

        Raises OSError, RuntimeError.
        """
        if wanted.kind != STACKS:
            arguments = (wanted.kind, wanted.reason)
            return _start_helper("slowdown_capture", self._record, *arguments, is_read=True)
        mode = "pause" if wanted.is_pausing else ""
        return _start_helper("stacks.dump_program", self._record, wanted.reason, mode)

    def freeze_artifacts(self, ending: Ending) -> None:
        """Freeze the files that an alert about this end may carry; returns at once.

        An end that people are not notified of costs nothing.  Raises OSError.
        """
        alerts = self._spec.alerts
        is_failure = ending.exit_code != 0
        if (
            alerts is not None
            and (is_failure or alerts["on"] == "always")
            and self._is_alert_wanted(alerts, None, ending)
        ):
            from gpualert_common.notify.sender_launch import start_freeze

            start_freeze(self._record.path)

    def needed_sender(self, verdict: Verdict | None, ending: Ending) -> str:
        """Return the work for a sender: OWN_ALERTS, OWN_DIGEST, OLDER_ALERTS, or "" for none."""
        if self._spec.alerts is not None and (
            self._has_sent_warning(verdict)
            or self._is_alert_wanted(self._spec.alerts, verdict, ending)
        ):
            return OWN_ALERTS
        if self._has_job_directory:
            return OWN_DIGEST
        place = find_state_dir(self._record.path)
        is_left = UNDELIVERED.list_records(place) or UNPUBLISHED.list_records(place)
        return OLDER_ALERTS if is_left else ""

    def mark_finished(self, sender: str) -> None:
        """Mark the record as complete, and as undelivered where a sender has to send its alerts."""
        if self._has_job_directory:
            with contextlib.suppress(OSError):
                UNPUBLISHED.add(self._record.path)
        mark_finished(self._record.path, is_undelivered=sender == OWN_ALERTS)

    def finish_abandoned_runs(self) -> None:
        """Have the records of runs whose supervisor died finished; returns at once."""
        finish_abandoned_runs(list_places(self._spec.state_dir))

    def _is_alert_wanted(
        self, alerts: AlertSettings, verdict: Verdict | None, ending: Ending
    ) -> bool:
        from gpualert_common.stop_origin import is_own_stop

        if alerts["on"] == "failure" and is_own_stop(ending.signal, ending.sender, os.getuid()):
            return False
        is_well = verdict is not None and verdict.cause == "none"
        return not is_well or alerts["on"] == "always"

    def _has_sent_warning(self, verdict: Verdict | None) -> bool:
        """True if a warning was sent, so that people must learn how the run ended."""
        if self._spec.alerts is None or not self._spec.alerts.get("warn") or verdict is None:
            return False
        return any(one.kind.startswith(EARLY) for one in verdict.warnings)

    def send_alerts_detached(self) -> None:
        """Send the run's alerts without waiting for them; they wait for a late verdict."""
        alerts = self._spec.alerts
        if alerts is not None or self._has_job_directory:
            from gpualert_common.notify.sender_launch import VERDICT_SHARE, dispatch

            deadline_s = 0.0 if alerts is None else alerts["deadline_s"]
            dispatch(
                self._record.path,
                secrets=self._spec.secrets,
                deadline_s=0.0,
                verdict_within_s=deadline_s * VERDICT_SHARE,
            )

    def send_unsent_alerts(self) -> None:
        """Send the run's alerts again, if one is queued and was not sent; publish its digest."""
        if self._spec.alerts is not None or self._has_job_directory:
            send_unsent_alerts(self._record, self._spec.secrets or {})

    def start_late_verdict(self, lock_fd: int) -> None:
        """Start the process that completes a late verdict and sends the alerts that follow.

        It inherits the lock of the record.  Raises OSError.
        """
        from gpualert_common.notify.sender_launch import start_detached

        secrets = None if self._spec.alerts is None else self._spec.secrets or {}
        request = {"record": self._record.path, "lock_fd": lock_fd, "secrets": secrets}
        start_detached("gpualert_common.late_verdict", request, pass_fds=[lock_fd])

    def send_warnings(self) -> None:
        """Send the warnings raised so far, if the run has ``warn`` set; return at once."""
        if self._spec.alerts is not None and self._spec.alerts.get("warn"):
            from gpualert_common.notify.sender_launch import send_warnings

            send_warnings(self._record.path, self._spec.secrets)


def send_alerts(spec: RunSpec, run: SupervisedRun) -> list[EntryFields]:
    """Send the alerts of a run that has ended; return the fields of each within their deadline.

    The call does not wait for the alerts that other runs left, nor for those of a recorder that is
    late: their sender waits for the verdict.
    """
    if not run.sender and not (run.is_late and spec.alerts):
        return []
    from gpualert_common.notify.sender_launch import VERDICT_SHARE, dispatch

    path = run.record.path
    if spec.alerts is None or run.sender in (OWN_DIGEST, OLDER_ALERTS):
        return dispatch(path, secrets=spec.secrets, own=run.sender == OWN_DIGEST, deadline_s=0.0)
    deadline_s = spec.alerts["deadline_s"]
    return dispatch(
        path,
        secrets=spec.secrets,
        deadline_s=0.0 if run.is_late else deadline_s,
        verdict_within_s=deadline_s * VERDICT_SHARE,
    )


def send_unsent_alerts(record: Record, secrets: Mapping[str, Mapping[str, str]]) -> None:
    """Send the alerts of a run that has ended, if one is queued and was not sent.

    The sender also publishes the digest of a run with a job directory.  Returns at once.  An alert
    that the disk does not take is with the sender that has it: a second one could not know whether
    it was sent.
    """
    from gpualert_common.notify.job_part import read_part
    from gpualert_common.notify.reconciliation import has_unsent_alerts
    from gpualert_common.notify.sender_launch import dispatch

    if read_part(record) is not None or has_unsent_alerts(record):
        dispatch(record.path, secrets=secrets, deadline_s=0.0)


def _start_helper(
    program: str, record: Record, *arguments: str, is_read: bool = False
) -> Popen[bytes]:
    """Start a program for the time of the run; the modules that start it are imported here.

    ``is_read`` says that its stdout is a pipe to us.
    """
    import subprocess

    from gpualert_common.processes.program import start_program

    module = f"gpualert_common.{program}"
    stdout = subprocess.PIPE if is_read else subprocess.DEVNULL
    return start_program(module, record.path, *arguments, helper_of=record.run_id, stdout=stdout)
