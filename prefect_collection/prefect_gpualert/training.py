"""One training, from its launch or adoption to its end."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from gpualert_common.errors import GPUAlertError, SupersededError
from gpualert_common.guardian import Attempt, RunHandle
from gpualert_common.guardian.engine_jobs import MOST_FOLLOWERS
from gpualert_common.guardian.job_cancellation import cancel_left_job, is_job_left
from gpualert_common.spec import RunSpec
from gpualert_common.suspicion import OnSuspect, choose_reaction
from prefect_gpualert import known_runs, publishing, suspicion
from prefect_gpualert.attempts import has_reruns_left, next_within_s
from prefect_gpualert.contexts import current
from prefect_gpualert.interrupts import FlowEndedError, Interrupts
from prefect_gpualert.outcome import OutcomeReport
from prefect_gpualert.rescue_mark import mark_rescuable
from prefect_gpualert.run_log import Logger, log_line
from prefect_gpualert.training_result import is_success

if TYPE_CHECKING:
    from gpualert_common.api import RunResult
    from gpualert_common.guardian.engine_jobs import EngineJob
    from gpualert_common.guardian.handle import StopKind
    from gpualert_common.redact import Redactor

ShowLine = Callable[[str, str], None]
"""Shows one line of the log view: given the name of its log, and the line."""

_POLL_S = 0.25
_AFTER_GRACE_S = 30.0
"""For the guardian's SIGKILL after the grace, and for the verdict."""


class Training:
    """The training of a task or a block.

    Call :meth:`launch`, :meth:`complete` and :meth:`close` once each, in this order.
    """

    def __init__(
        self,
        spec: RunSpec,
        attempt: Attempt,
        logger: Logger,
        show: ShowLine,
        *,
        publish: bool = True,
        on_suspect: OnSuspect = OnSuspect.WARN,
        engine_job: EngineJob | None = None,
    ) -> None:
        self._spec = spec if engine_job is None else engine_job.spec
        self._engine_job = engine_job
        self._followers = 0
        self._attempt = attempt
        self._logger = logger
        self._show = show
        self._next_within_s = next_within_s()
        """The longest time until the next attempt if this one fails; None if none follows."""
        self._handle: RunHandle | None = None
        self._on_suspect = on_suspect
        self._publish = publish
        self._publication: publishing.Publication | None = None
        self._has_outcome = False
        self._is_asked_to_stop = False
        self._is_lost = False
        """True when the training belongs to a later attempt."""

    @property
    def handle(self) -> RunHandle:
        """The handle of the run, after its launch."""
        assert self._handle is not None, "it has to be launched first"
        return self._handle

    @cached_property
    def pid(self) -> int:
        """The process of the command, after waiting for its start; 0 where none was started."""
        return self.handle.wait_for_pid() or 0

    @property
    def exit_code(self) -> int | None:
        """The exit code, negative for a signal; None while it runs, or if it is unknown."""
        ending = self.handle.record.ending
        return None if ending is None else ending.exit_code

    @cached_property
    def redactor(self) -> Redactor:
        """Masks likely secrets, and those of the channels of the training's alerts."""
        from gpualert_common.redact import Redactor  # not needed before the launch

        secrets = self._spec.secrets or {}
        return Redactor(secret for channel in secrets.values() for secret in channel.values())

    # -- launch and follow -----------------------------------------------------------------

    def launch(self, interrupts: Interrupts) -> None:
        """Launch the run, or take over the run of an earlier attempt.  Raises every error."""
        handle = RunHandle.launch(
            self._spec,
            self._attempt,
            log=self.log,
            check=interrupts.check,
            on_handle=self._take_handle,
            prepare=None if self._engine_job is None else self._engine_job.prepare,
        )
        self._followers += 1
        known_runs.remember(handle.record.path)
        self.log(f"Training {handle.run_id} {handle.origin}, record: {handle.record.path}")
        _context, flow = current()
        if flow is not None and has_reruns_left():
            mark_rescuable(flow, handle.run_id)
        if self._publish:
            self._publication = publishing.begin(handle.record, self.log, self._spec.secrets)

    def _take_handle(self, handle: RunHandle) -> None:
        self._handle = handle

    def follow(self, interrupts: Interrupts) -> Iterator[dict[str, list[str]]]:
        """Yield the new lines of each log under its name until the training has ended.

        Raises the errors of ``interrupts``; the training continues.
        """
        for new in self.handle.follow_logs():
            yield new
            if self._publication is not None:
                self._publication.publish_progress()
            interrupts.check()

    def wait(self, interrupts: Interrupts, timeout_s: float | None = None) -> None:
        """Wait for the end of the training.  Raises TimeoutError, and those of ``interrupts``."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left_s = _POLL_S if deadline is None else min(_POLL_S, deadline - time.monotonic())
            try:
                self.handle.wait(timeout_s=max(0.0, left_s))
                return
            except TimeoutError:
                interrupts.check()
                if deadline is not None and time.monotonic() >= deadline:
                    message = f"{self.handle.run_id} still runs after {timeout_s:g} s"
                    raise TimeoutError(message) from None

    def complete(self, interrupts: Interrupts) -> RunResult:
        """Follow the training to its end, report its outcome, and return its result.

        Raises the errors of ``interrupts``; the training then continues until it is closed.
        """
        try:
            result = self._follow_to_end(interrupts)
        except SupersededError:
            self._has_outcome = self._is_lost = True
            raise
        self._report_result(result, interrupts)
        return result

    def _follow_to_end(self, interrupts: Interrupts) -> RunResult:
        """Return the result; the job of a follower that was killed is followed on."""
        while True:
            self._show_log(interrupts)
            result = self._wait_for_result(interrupts)
            is_left = is_job_left(self.handle.record)
            if not is_left or self._followers >= MOST_FOLLOWERS:
                if is_left or self._next_within_s is None:
                    cancel_left_job(self.handle.record)  # nobody would follow it
                return result
            self.log("The follower of the job was killed; another one follows it", logging.WARNING)
            self.handle.close()
            self.__dict__.pop("pid", None)
            self.launch(interrupts)

    def _show_log(self, interrupts: Interrupts) -> None:
        try:
            for new in self.follow(interrupts):
                for name, lines in new.items():
                    for line in lines:
                        self._show(name, line)
        except TimeoutError:  # the timeout of the task, which is an OSError
            raise
        except OSError as error:  # a log that was moved stops no training
            self.log(f"The log cannot be followed any more: {error}", logging.WARNING)

    def _wait_for_result(self, interrupts: Interrupts) -> RunResult:
        while True:
            try:
                return self.handle.wait(timeout_s=_POLL_S)
            except TimeoutError:
                interrupts.check()

    # -- the end ---------------------------------------------------------------------------

    def close(self, interrupts: Interrupts, error: BaseException | None = None) -> None:
        """Release the training: stop it if it runs, and report its outcome if nothing has.

        ``error`` is the reason for the stop.  When this returns, the training has received the stop
        signal and has had its grace.  If this process is killed meanwhile, the guardian continues.
        """
        if self._handle is None:
            return
        try:
            if not self._is_lost and is_job_left(self._handle.record):
                cancel_left_job(self._handle.record)
            if not self._has_outcome and self._has_ended_by_itself():
                self._report_result(self._handle.wait(), interrupts)
            elif not self._has_outcome:
                self._stop(interrupts, error)
            if not self._is_lost and not self._spec.end_survivors:
                self._end_survivors(interrupts.left_s)
        except SupersededError:
            pass  # a later attempt owns the training
        finally:
            self._handle.close()

    @contextmanager
    def closing(self, interrupts: Interrupts) -> Iterator[None]:
        """Close the training at the end of a block, with the error that left the block."""
        try:
            yield
        except BaseException as error:
            self.close(interrupts, error)
            raise
        self.close(interrupts)

    def ask_to_stop(self, interrupts: Interrupts, error: BaseException | None = None) -> None:
        """Begin the stop that :meth:`close` would make, without waiting for it."""
        if self._handle is not None and not self._has_outcome and not self._has_ended_by_itself():
            meant_as, reason = _stop_kind(interrupts, error)
            self._handle.stop(reason, meant_as=meant_as)
            self._is_asked_to_stop = True

    def _has_ended_by_itself(self) -> bool:
        """Return True for a training that ended before, or in spite of, the request to stop."""
        ending = self.handle.record.ending
        return ending is not None and not (self._is_asked_to_stop and ending.signal is not None)

    def _stop(self, interrupts: Interrupts, error: BaseException | None) -> None:
        self._has_outcome = True
        meant_as, reason = _stop_kind(interrupts, error)
        self._end(reason, meant_as)
        if self._is_lost:
            return
        # Prefect takes an error that is no Exception for a crash, except for its own timeout.
        is_retried = meant_as == "timeout" or isinstance(error, Exception)
        report = self._report
        report.record("stopped", self._next_within_s if is_retried else None)
        report.send(None if meant_as == "timeout" else interrupts.left_s)

    def _end(self, reason: str, meant_as: StopKind) -> None:
        handle = self.handle
        if handle.record.ending is None:
            handle.stop(reason, meant_as=meant_as)
            self.log(f"Stopping training {handle.run_id} because {reason}", logging.WARNING)
        try:
            code = handle.wait(timeout_s=self._spec.grace_s + _AFTER_GRACE_S).exit_code
            self.log(f"Training {handle.run_id} ended, exit code {code}", logging.WARNING)
        except SupersededError:
            self._is_lost = True
        except (GPUAlertError, TimeoutError):
            pass
        if not self._is_lost and not handle.record.is_held:
            cancel_left_job(handle.record)

    def _end_survivors(self, left_s: float | None) -> None:
        """Stop the processes that the commands left behind, within the time that is left."""
        grace_s = self._spec.grace_s if left_s is None else min(self._spec.grace_s, left_s)
        self.handle.end_survivors(grace_s)

    def is_success(self, result: RunResult) -> bool:
        """Return True if the task succeeds, or is skipped."""
        return is_success(result, self._on_suspect)

    def _report_result(self, result: RunResult, interrupts: Interrupts) -> None:
        """Record the state of the task, and wait for the alerts that are then due."""
        self._has_outcome = True
        report = self._report
        if is_success(result):
            remark = suspicion.remark(result.verdict, self.redactor)
            if remark:
                message = f"Training {self.handle.run_id} ended with 0, but {remark}"
                self.log(message, logging.WARNING)
        if self.is_success(result):
            is_skipped = choose_reaction(result.verdict, self._on_suspect) is OnSuspect.SKIP
            report.record("skipped" if is_skipped else "success", None)
        else:
            report.record("failed", next_within_s(result.verdict))
        # The outcome is final: the end of the flow does not change it.
        with contextlib.suppress(FlowEndedError):
            report.send(interrupts.left_s, interrupts.check)

    @property
    def _report(self) -> OutcomeReport:
        return OutcomeReport(self.handle, self._publication, self._spec.secrets, self.log)

    def log(self, text: str, level: int = logging.INFO) -> None:
        """Log a line if possible."""
        log_line(self._logger, text, level)


def _stop_kind(interrupts: Interrupts, error: BaseException | None) -> tuple[StopKind, str]:
    return ("cancelled", "it was closed") if error is None else interrupts.stop_kind(error)
