"""One training, from its launch or adoption to what its task returns or raises."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prefect.logging.loggers import LoggingAdapter

from gpualert_common.errors import GPUAlertError
from gpualert_common.guardian import Attempt, RunHandle
from gpualert_common.spec import RunSpec
from prefect_gpualert import alerts, output, trainings
from prefect_gpualert.errors import TrainingFailed
from prefect_gpualert.interrupts import FlowEnded, Interrupts

if TYPE_CHECKING:
    from gpualert_common.api import RunResult

Logger = logging.Logger | LoggingAdapter

_LOOK_S = 0.25
_AFTER_GRACE_S = 10.0
"""The guardian's last call and its KILL after the grace, and the verdict."""


@dataclass(frozen=True, slots=True)
class Training:
    """What a task is to run, and how it tells about it.

    ``next_within_s`` is how soon Prefect's next attempt begins when this one fails, None when no
    other follows.
    """

    spec: RunSpec
    attempt: Attempt
    logger: Logger
    stream_level: int
    return_all: bool
    next_within_s: float | None

    def run(self, interrupts: Interrupts) -> str | list[str]:
        """Follow the training to its end; returns its last line, or all of them.

        Raises TrainingFailed when it failed or somebody stopped it, what ``interrupts`` raises, and
        what the launch raises.  Whatever gets out of here, the training has been asked to stop
        before, and has had its grace; if we are killed meanwhile, its guardian goes on.
        """
        with RunHandle.launch(
            self.spec, self.attempt, tell=self._tell, check=interrupts.check
        ) as handle:
            trainings.remember(handle.record.path)
            self._tell(f"Training {handle.run_id} {handle.origin}, record: {handle.record.path}")
            try:
                result = self._follow(handle, interrupts)
            except GPUAlertError:
                raise  # superseded: the training belongs to a later attempt
            except BaseException as error:
                self._stop(handle, interrupts, error)
                raise
            return self._conclude(handle, result, interrupts)

    def _follow(self, handle: RunHandle, interrupts: Interrupts) -> RunResult:
        for lines in self._lines_of(handle):
            for line in lines:
                self._tell(line, self.stream_level)
            interrupts.check()
        while True:
            try:
                return handle.wait(timeout_s=_LOOK_S)
            except TimeoutError:
                interrupts.check()

    def _lines_of(self, handle: RunHandle) -> Iterator[list[str]]:
        try:
            yield from handle.follow()
        except OSError as error:  # somebody moved the log: that ends no training
            self._tell(f"The log cannot be followed any more: {error}", logging.WARNING)

    def _stop(self, handle: RunHandle, interrupts: Interrupts, error: BaseException) -> None:
        meant_as, reason = interrupts.meaning(error)
        handle.stop(reason, meant_as=meant_as)
        self._tell(f"Stopping training {handle.run_id} because {reason}", logging.WARNING)
        with contextlib.suppress(GPUAlertError, TimeoutError):
            code = handle.wait(timeout_s=self.spec.grace_s + _AFTER_GRACE_S).exit_code
            self._tell(f"Training {handle.run_id} stopped, exit code {code}", logging.WARNING)
        retried = isinstance(error, Exception)  # what is none, Prefect takes for a crash
        self._outcome(handle, "stopped", self.next_within_s if retried else None)
        left_s = None if meant_as == "timeout" else interrupts.left_s
        self._see_to_alerts(handle, left_s)

    def _conclude(
        self, handle: RunHandle, result: RunResult, interrupts: Interrupts
    ) -> str | list[str]:
        ending = result.record.ending
        stopped = ending is None or ending.signal is not None or ending.limit is not None
        succeeded = result.exit_code == 0 and not stopped
        if succeeded:
            self._outcome(handle, "success", None)
        else:
            self._outcome(handle, "failed", self.next_within_s)
        # What became of the training stands: neither its time nor its flow's end may change it.
        with contextlib.suppress(FlowEnded):
            self._see_to_alerts(handle, interrupts.left_s, interrupts.check)
        if not succeeded:
            raise failure(result)
        return self._returned(result)

    def _returned(self, result: RunResult) -> str | list[str]:
        path = result.record.log_path(result.record.logs[0])
        try:
            if not self.return_all:
                return output.last_line(path)
            lines, left_out = output.all_lines(path)
        except OSError as error:  # the training has succeeded, whatever became of its log since
            self._tell(f"The output cannot be returned: {error}", logging.WARNING)
            return [] if self.return_all else ""
        if left_out:
            self._tell(f"The first {left_out:,} bytes of {path} are not returned", logging.WARNING)
        return lines

    def _outcome(self, handle: RunHandle, state: str, next_within_s: float | None) -> None:
        try:
            handle.outcome(state, final=next_within_s is None, next_within_s=next_within_s)
        except (GPUAlertError, OSError) as error:
            said = f"The record does not say what became of the task: {error}"
            self._tell(said, logging.WARNING)

    def _see_to_alerts(
        self,
        handle: RunHandle,
        left_s: float | None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Wait for the alerts of the run that has ended, and say what became of each."""
        secrets = self.spec.secrets
        try:
            for fields in handle.await_alerts(within_s=left_s, secrets=secrets, check=check):
                self._tell(*alerts.line(fields))
        except TimeoutError:  # Prefect's
            raise
        except Exception as error:  # noqa: BLE001 - the task's state is known, and stands
            self._tell(f"What became of the alerts is not known: {error}", logging.WARNING)

    def _tell(self, text: str, level: int = logging.INFO) -> None:
        """Log a line, if that can be done: no training ends because nobody hears of it."""
        try:
            self.logger.log(level, "%s", text)
        except (Exception, SystemExit):  # noqa: BLE001 - see above; and Prefect's console handler
            pass  # exits where stdout is the pipe of a worker that has died


def failure(result: RunResult) -> TrainingFailed:
    """What a training that did not end well raises; its first line has cause and exit code."""
    verdict, code = result.verdict, result.exit_code
    cause = "unknown" if verdict is None else verdict.cause
    headline = "no verdict could be made" if verdict is None else " ".join(verdict.headline.split())
    status = "an unknown exit code" if code is None else f"exit code {code}"
    lines = [f"{cause}: {headline} (Command failed with {status})"]
    with contextlib.suppress(OSError):
        logs = [result.record.log_path(name) for name in reversed(result.record.logs)]
        lines += next(filter(None, map(output.tail, logs)), [])
    lines.append(f"log: {result.log_path}")
    return TrainingFailed(
        "\n".join(lines),
        cause=cause,
        exit_code=code,
        log_path=result.log_path,
        run_id=result.record.run_id,
        verdict=verdict,
    )
