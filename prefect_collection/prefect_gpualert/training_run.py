"""A triggered training, as its flow follows it, waits for it and reads its output."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from prefect.blocks.abstract import JobRun

from gpualert_common.errors import UsageError
from gpualert_common.settings import parse_duration
from prefect_gpualert import output
from prefect_gpualert.sync_async import current_interrupts, dispatches_to, run_in_thread
from prefect_gpualert.training_result import make_error

if TYPE_CHECKING:
    from gpualert_common.api import RunResult
    from gpualert_common.model import Verdict
    from prefect_gpualert.interrupts import Interrupts
    from prefect_gpualert.training import Training

_FAILED = "PID {pid} failed with return code {{code}}."


class TrainingRun(JobRun[list[str]]):
    """The training of a :class:`TrainingOperation`, launched or adopted.

    ``log_path`` is the durable log, ``verdict`` the cause after the end.
    """

    def __init__(self, training: Training, *, is_in_block: bool = False) -> None:
        self._training = training
        self._is_in_block = is_in_block
        """True if a ``with`` block stops the training."""
        self._process = TrainingProcess(training)
        self._result: RunResult | None = None

    @property
    def pid(self) -> int:
        """The process that runs the commands, which leads its own session."""
        return self._training.pid

    @property
    def return_code(self) -> int | None:
        """The exit code, negative for a signal; None while it runs, or if it is unknown."""
        return self._training.exit_code

    @property
    def log_path(self) -> str:
        """The complete log on disk; of two logs that of stderr."""
        return self._training.handle.log_path

    @property
    def verdict(self) -> Verdict | None:
        """The verdict; None before the wait for the end, or if none could be made."""
        return None if self._result is None else self._result.verdict

    # -- following -------------------------------------------------------------------------

    async def afollow(self) -> AsyncIterator[str]:
        """As :meth:`follow`; the event loop stays free meanwhile."""
        interrupts = current_interrupts()
        new = self._new_lines(interrupts)
        while (lines := await run_in_thread(lambda: next(new, None), interrupts)) is not None:
            for line in lines:
                yield line

    @dispatches_to(afollow)
    def follow(self) -> Any:
        """Yield new lines of the output until its end, bounded and rate-limited.

        In an event loop it is an asynchronous iterator.  The training continues if the caller stops
        following.
        """
        return (line for lines in self._new_lines(current_interrupts()) for line in lines)

    def _new_lines(self, interrupts: Interrupts) -> Iterator[list[str]]:
        for new in self._training.follow(interrupts):
            yield [line for lines in new.values() for line in lines]

    # -- waiting ---------------------------------------------------------------------------

    async def await_for_completion(self) -> None:
        """As :meth:`wait_for_completion`; the event loop stays free meanwhile."""
        await run_in_thread(self._wait_for_completion)

    @dispatches_to(await_for_completion)
    def wait_for_completion(self) -> None:
        """Wait for the end of the training, and log a view of its output.

        Raises TrainingFailed, a RuntimeError, if the training failed or was stopped.
        """
        self._wait_for_completion()

    def _wait_for_completion(self) -> None:
        if self._result is None:
            self._result = self._complete(current_interrupts())
        if not self._training.is_success(self._result):
            status = _FAILED.format(pid=self.pid)
            raise make_error(self._result, self._training.redactor, status)
        self._training.log(f"PID {self.pid} completed with return code {self.return_code}.")

    def _complete(self, interrupts: Interrupts) -> RunResult:
        try:
            return self._training.complete(interrupts)
        except BaseException as error:
            if not self._is_in_block:
                self._training.close(interrupts, error)
            raise

    # -- output ----------------------------------------------------------------------------

    async def afetch_result(self) -> list[str]:
        """As :meth:`fetch_result`."""
        return await run_in_thread(self._fetch_result)

    @dispatches_to(afetch_result)
    def fetch_result(self) -> list[str]:
        """Return the non-empty lines of stdout so far, at most the last 32 MiB."""
        return self._fetch_result()

    def _fetch_result(self) -> list[str]:
        log = self._training.log
        if self.return_code is None:
            log("Process is still running, result may be incomplete.")
        try:
            lines, left_out = output.all_lines(self._training.handle.record)
        except OSError as error:
            log(f"The output cannot be returned: {error}", logging.WARNING)
            return []
        if left_out:
            log(f"The first {left_out:,} bytes of the output are not returned", logging.WARNING)
        return [line.rstrip() for line in lines if line.strip()]

    # -- the end ---------------------------------------------------------------------------

    def stop(
        self, reason: str = "its flow stopped it", *, grace: float | str | None = None
    ) -> None:
        """Request a stop, and return at once; after ``grace`` the training is killed.

        ``grace`` is in seconds, or a text such as "2m".  Raises UsageError for another value.
        """
        try:
            grace_s = None if grace is None else parse_duration(grace)
        except ValueError as error:
            raise UsageError(f"grace: {error}") from None
        self._training.handle.stop(reason, grace_s=grace_s)


class TrainingProcess:
    """The training with the methods of a Popen, in place of the process of ShellProcess."""

    def __init__(self, training: Training) -> None:
        self._training = training

    @property
    def pid(self) -> int:
        """Popen's attribute."""
        return self._training.pid

    @property
    def returncode(self) -> int | None:
        """Popen's attribute."""
        return self._training.exit_code

    def terminate(self) -> None:
        """Popen's method, for all processes of the training."""
        self._training.handle.stop("it was terminated")

    def kill(self) -> None:
        """Popen's method, for all processes of the training."""
        self._training.handle.stop("it was killed", grace_s=0.0)

    async def _await(self, timeout: float | None = None) -> int | None:
        return await run_in_thread(lambda: self._wait(timeout))

    @dispatches_to(_await)
    def wait(self, timeout: float | None = None) -> int | None:
        """Popen's method, or asyncio's in an event loop.  Raises TimeoutError."""
        return self._wait(timeout)

    def _wait(self, timeout: float | None) -> int | None:
        self._training.wait(current_interrupts(), timeout)
        return self.returncode
