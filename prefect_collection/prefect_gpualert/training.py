"""One training, from its launch or adoption to how it ended."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from prefect.logging.loggers import LoggingAdapter

from gpualert_common.errors import GPUAlertError, SupersededError
from gpualert_common.guardian import Attempt, RunHandle
from gpualert_common.spec import RunSpec
from prefect_gpualert import alerts, known_runs, output, publishing, suspicion
from prefect_gpualert.attempts import next_within_s
from prefect_gpualert.errors import TrainingFailed
from prefect_gpualert.interrupts import FlowEndedError, Interrupts

if TYPE_CHECKING:
    from gpualert_common.api import RunResult
    from gpualert_common.guardian.handle import Meaning

Logger = logging.Logger | LoggingAdapter
Show = Callable[[str, str], None]
"""What is done with a line of the view: given the name of its log, and the line."""

_LOOK_S = 0.25
_AFTER_GRACE_S = 30.0
"""The guardian's last call and its KILL after the grace, and the verdict."""


class Training:
    """What a task or a block is to run, and how it tells about it.

    To be launched, completed and closed, in this order, each once.
    """

    def __init__(
        self,
        spec: RunSpec,
        attempt: Attempt,
        logger: Logger,
        show: Show,
        *,
        publish: bool = True,
    ) -> None:
        self._spec = spec
        self._attempt = attempt
        self._logger = logger
        self._show = show
        self._next_within_s = next_within_s()
        """How soon Prefect's next attempt begins when this one fails; None: no other follows."""
        self._handle: RunHandle | None = None
        self._publish = publish
        self._publication: publishing.Publication | None = None
        self._is_settled = False
        self._is_asked = False
        self._is_lost = False

    @property
    def handle(self) -> RunHandle:
        """The run, once it is launched."""
        assert self._handle is not None, "it has to be launched first"
        return self._handle

    @cached_property
    def pid(self) -> int:
        """The process that the command became, waiting for it; 0 where none was started."""
        return self.handle.wait_for_pid() or 0

    @property
    def exit_code(self) -> int | None:
        """Negative for a signal; None while it runs, or when it is unknown."""
        ending = self.handle.record.ending
        return None if ending is None else ending.exit_code

    def launch(self, interrupts: Interrupts) -> None:
        """Launch the run or take over what is left of one.  Raises what comes up."""
        handle = RunHandle.launch(
            self._spec, self._attempt, log=self.tell, check=interrupts.check, on_handle=self._made
        )
        known_runs.remember(handle.record.path)
        self.tell(f"Training {handle.run_id} {handle.origin}, record: {handle.record.path}")
        if self._publish:
            self._publication = publishing.begin(handle.record, self.tell, self._spec.secrets)

    def _made(self, handle: RunHandle) -> None:
        self._handle = handle

    def complete(self, interrupts: Interrupts) -> RunResult:
        """Follow the training to its end; returns how it ended, well or not.

        Raises what ``interrupts`` raises; the training then goes on until it is closed.
        """
        try:
            result = self._follow(interrupts)
        except SupersededError:
            self._is_settled = self._is_lost = True  # the training belongs to a later attempt
            raise
        self._settle(result, interrupts)
        return result

    def close(self, interrupts: Interrupts, error: BaseException | None = None) -> None:
        """Let go of it; one that nobody has completed is stopped, or settled if it has ended.

        ``error`` is what made nobody wait for it any more.  When this returns, the training has
        been asked to stop, and has had its grace; if we are killed meanwhile, its guardian goes on.
        """
        if self._handle is None:
            return
        try:
            if not self._is_settled and self._has_ended_by_itself():
                self._settle(self._handle.wait(), interrupts)
            elif not self._is_settled:
                self._stop(interrupts, error)
            if not self._is_lost and not self._spec.end_survivors:
                self._end_survivors(interrupts.left_s)
        except SupersededError:
            pass  # as above
        finally:
            self._handle.close()

    @contextmanager
    def closing(self, interrupts: Interrupts) -> Iterator[None]:
        """Close it at the end, with what came up."""
        try:
            yield
        except BaseException as error:
            self.close(interrupts, error)
            raise
        self.close(interrupts)

    def ask_to_stop(self, interrupts: Interrupts, error: BaseException | None = None) -> None:
        """Have a training that :meth:`close` would stop begin with it."""
        if self._handle is not None and not self._is_settled and not self._has_ended_by_itself():
            meant_as, reason = _meaning(interrupts, error)
            self._handle.stop(reason, meant_as=meant_as)
            self._is_asked = True

    def _has_ended_by_itself(self) -> bool:
        """True for a training that has ended before, or although, it was asked to stop."""
        ending = self.handle.record.ending
        return ending is not None and not (self._is_asked and ending.signal is not None)

    def wait(self, interrupts: Interrupts, timeout_s: float | None = None) -> None:
        """Until it has ended, whatever comes of it.  Raises TimeoutError, as interrupts do."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left_s = _LOOK_S if deadline is None else min(_LOOK_S, deadline - time.monotonic())
            try:
                self.handle.wait(timeout_s=max(0.0, left_s))
                return
            except TimeoutError:
                interrupts.check()
                if deadline is not None and time.monotonic() >= deadline:
                    said = f"{self.handle.run_id} still runs after {timeout_s:g} s"
                    raise TimeoutError(said) from None

    def _end_survivors(self, left_s: float | None) -> None:
        """End what the commands left behind, in the time that there is."""
        grace_s = self._spec.grace_s if left_s is None else min(self._spec.grace_s, left_s)
        self.handle.end_survivors(grace_s)

    def follow(self, interrupts: Interrupts) -> Iterator[dict[str, list[str]]]:
        """New lines of each log under its name, as they come, until the training has ended.

        Raises what ``interrupts`` raises; the training goes on.
        """
        for new in self.handle.follow_logs():
            yield new
            if self._publication is not None:
                self._publication.look()
            interrupts.check()

    def _follow(self, interrupts: Interrupts) -> RunResult:
        for new in self._new_lines(interrupts):
            for name, lines in new.items():
                for line in lines:
                    self._show(name, line)
        while True:
            try:
                return self.handle.wait(timeout_s=_LOOK_S)
            except TimeoutError:
                interrupts.check()

    def _new_lines(self, interrupts: Interrupts) -> Iterator[dict[str, list[str]]]:
        try:
            yield from self.follow(interrupts)
        except TimeoutError:  # a task's, and an OSError
            raise
        except OSError as error:  # somebody moved the log: that ends no training
            self.tell(f"The log cannot be followed any more: {error}", logging.WARNING)

    def _stop(self, interrupts: Interrupts, error: BaseException | None) -> None:
        meant_as, reason = _meaning(interrupts, error)
        # What is no Exception, Prefect takes for a crash, unless it is its own time-out.
        retried = meant_as == "timeout" or isinstance(error, Exception)
        self._end(reason, meant_as, "stopped", self._next_within_s if retried else None)
        if not self._is_lost:
            self._see_to_alerts(None if meant_as == "timeout" else interrupts.left_s)

    def _end(self, reason: str, meant_as: Meaning, state: str, next_within_s: float | None) -> None:
        self._is_settled = True
        handle = self.handle
        if handle.record.ending is None:
            handle.stop(reason, meant_as=meant_as)
            self.tell(f"Stopping training {handle.run_id} because {reason}", logging.WARNING)
        try:
            code = handle.wait(timeout_s=self._spec.grace_s + _AFTER_GRACE_S).exit_code
            self.tell(f"Training {handle.run_id} ended, exit code {code}", logging.WARNING)
        except SupersededError:
            self._is_lost = True
            return
        except (GPUAlertError, TimeoutError):
            pass
        self._outcome(state, next_within_s)

    def _settle(self, result: RunResult, interrupts: Interrupts) -> None:
        """Write down what becomes of the task, and wait for the alerts that are then due."""
        self._is_settled = True
        if ended_well(result):
            remark = suspicion.remark(result.verdict)
            if remark:
                said = f"Training {self.handle.run_id} ended with 0, but {remark}"
                self.tell(said, logging.WARNING)
            self._outcome("success", None)
        else:
            self._outcome("failed", next_within_s(result.verdict))
        # What became of the training stands: neither its time nor its flow's end may change it.
        with contextlib.suppress(FlowEndedError):
            self._see_to_alerts(interrupts.left_s, interrupts.check)

    def _outcome(self, state: str, next_within_s: float | None) -> None:
        try:
            self.handle.record_outcome(
                state, final=next_within_s is None, next_within_s=next_within_s
            )
        except (GPUAlertError, OSError) as error:
            said = f"The record does not say what became of the task: {error}"
            self.tell(said, logging.WARNING)

    def _see_to_alerts(
        self, left_s: float | None, check: Callable[[], None] = lambda: None
    ) -> None:
        """Wait for the alerts of the run that has ended, and say what became of each.

        What is to be seen of it in Prefect is published meanwhile, and waited for, too.
        """
        secrets = self._spec.secrets
        if self._publication is not None:
            self._publication.end(left_s)
        try:
            for fields in self.handle.await_alerts(within_s=left_s, secrets=secrets, check=check):
                self.tell(*alerts.line(fields))
        except TimeoutError:  # Prefect's
            raise
        except Exception as error:  # noqa: BLE001 - the task's state is known, and stands
            self.tell(f"What became of the alerts is not known: {error}", logging.WARNING)
        if self._publication is not None:
            self._publication.wait(check)

    def tell(self, text: str, level: int = logging.INFO) -> None:
        """Log a line, if that can be done."""
        log_to(self._logger, text, level)


def _meaning(interrupts: Interrupts, error: BaseException | None) -> tuple[Meaning, str]:
    return ("cancelled", "it was closed") if error is None else interrupts.meaning(error)


def log_to(logger: Logger, text: str, level: int = logging.INFO) -> None:
    """Log a line, if that can be done: no training ends because nobody hears of it."""
    try:
        logger.log(level, "%s", text)
    except (Exception, SystemExit):  # noqa: BLE001 - see above; and Prefect's console handler
        pass  # exits where stdout is the pipe of a worker that has died


def ended_well(result: RunResult) -> bool:
    """True for a training that ended with 0, and that nobody stopped."""
    ending = result.record.ending
    stopped = ending is None or ending.signal is not None or ending.limit is not None
    return result.exit_code == 0 and not stopped


def failure(
    result: RunResult, said: str = "Command failed with exit code {code}"
) -> TrainingFailed:
    """What a training that did not end well raises; its first line has cause and exit code.

    ``said`` is what upstream's error says.
    """
    verdict, code = result.verdict, result.exit_code
    cause = "unknown" if verdict is None else verdict.cause
    headline = "no verdict could be made" if verdict is None else " ".join(verdict.headline.split())
    status = said.format(code="unknown" if code is None else code)
    lines = [f"{cause}: {headline} ({status})"]
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
