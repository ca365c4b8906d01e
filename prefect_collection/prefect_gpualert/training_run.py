"""A training that was triggered: followed, waited for and read by its flow."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from prefect.blocks.abstract import JobRun

from gpualert_common.errors import UsageError
from gpualert_common.settings import parse_duration
from prefect_gpualert import output
from prefect_gpualert.sync_async import dispatches_to, in_thread, interrupts
from prefect_gpualert.training import ended_well, failure

if TYPE_CHECKING:
    from gpualert_common.api import RunResult
    from gpualert_common.model import Verdict
    from prefect_gpualert.interrupts import Interrupts
    from prefect_gpualert.training import Training

_FAILED = "PID {pid} failed with return code {{code}}."


class TrainingRun(JobRun[list[str]]):
    """The training of a :class:`TrainingOperation`, launched or taken over.

    ``log_path`` is the durable log, ``verdict`` what is known once it has ended.
    """

    def __init__(self, training: Training, *, is_in_block: bool = False) -> None:
        self._training = training
        self._is_in_block = is_in_block
        """Whether a ``with`` stops the training when nobody waits for it any more."""
        self._process = Process(training)
        self._result: RunResult | None = None

    @property
    def pid(self) -> int:
        """The process that runs the commands, the leader of a session of its own."""
        return self._training.pid

    @property
    def return_code(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs, or when it is unknown."""
        return self._training.exit_code

    @property
    def log_path(self) -> str:
        """The whole output, on disk since before the launch; of two logs that of stderr."""
        return self._training.handle.log_path

    @property
    def verdict(self) -> Verdict | None:
        """Why it ended as it did; None before it was waited for, or where none could be made."""
        return None if self._result is None else self._result.verdict

    # -- following -------------------------------------------------------------------------

    async def afollow(self) -> AsyncIterator[str]:
        """As :meth:`follow`; the event loop stays free meanwhile."""
        asked = interrupts()
        new = self._new_lines(asked)
        while (lines := await in_thread(lambda: next(new, None), asked)) is not None:
            for line in lines:
                yield line

    @dispatches_to(afollow)
    def follow(self) -> Any:
        """New lines of the output as they come, bounded and rate-limited, until its end.

        An iterator, and in an event loop an asynchronous one.  Whoever gives up following leaves
        the training to go on.
        """
        return (line for lines in self._new_lines(interrupts()) for line in lines)

    def _new_lines(self, asked: Interrupts) -> Iterator[list[str]]:
        for new in self._training.follow(asked):
            yield [line for lines in new.values() for line in lines]

    # -- waiting ---------------------------------------------------------------------------

    async def await_for_completion(self) -> None:
        """As :meth:`wait_for_completion`; the event loop stays free meanwhile."""
        await in_thread(self._wait_for_completion)

    @dispatches_to(await_for_completion)
    def wait_for_completion(self) -> None:
        """Wait for its end, and log what a person can follow of its output.

        Raises TrainingFailed, a RuntimeError, when it failed or was stopped by anybody.
        """
        self._wait_for_completion()

    def _wait_for_completion(self) -> None:
        if self._result is None:
            self._result = self._completed(interrupts())
        if not ended_well(self._result):
            raise failure(self._result, _FAILED.format(pid=self.pid))
        self._training.tell(f"PID {self.pid} completed with return code {self.return_code}.")

    def _completed(self, asked: Interrupts) -> RunResult:
        try:
            return self._training.complete(asked)
        except BaseException as error:
            if not self._is_in_block:
                self._training.close(asked, error)
            raise

    # -- its output ------------------------------------------------------------------------

    async def afetch_result(self) -> list[str]:
        """As :meth:`fetch_result`."""
        return await in_thread(self._fetch_result)

    @dispatches_to(afetch_result)
    def fetch_result(self) -> list[str]:
        """Lines of its standard output so far, without empty ones; at most the last 32 MiB."""
        return self._fetch_result()

    def _fetch_result(self) -> list[str]:
        tell = self._training.tell
        if self.return_code is None:
            tell("Process is still running, result may be incomplete.")
        record = self._training.handle.record
        try:
            lines, left_out = output.all_lines(record.log_path(record.logs[0]))
        except OSError as error:
            tell(f"The output cannot be returned: {error}", logging.WARNING)
            return []
        if left_out:
            tell(f"The first {left_out:,} bytes of the output are not returned", logging.WARNING)
        return [line.rstrip() for line in lines if line.strip()]

    # -- the end ---------------------------------------------------------------------------

    def stop(
        self, reason: str = "its flow wants it ended", *, grace: float | str | None = None
    ) -> None:
        """Ask the training to end, and return at once; after ``grace`` it is ended by force.

        ``grace`` is in seconds, or as "2m".  Raises UsageError where it is neither.
        """
        try:
            grace_s = None if grace is None else parse_duration(grace)
        except ValueError as error:
            raise UsageError(f"grace: {error}") from None
        self._training.handle.stop(reason, grace_s=grace_s)


class Process:
    """A Popen of the commands, for those who reach for the one that ShellProcess has."""

    def __init__(self, training: Training) -> None:
        self._training = training

    @property
    def pid(self) -> int:
        """As Popen's."""
        return self._training.pid

    @property
    def returncode(self) -> int | None:
        """As Popen's."""
        return self._training.exit_code

    def terminate(self) -> None:
        """As Popen's, for all of the training."""
        self._training.handle.stop("it was terminated")

    def kill(self) -> None:
        """As Popen's, for all of the training."""
        self._training.handle.stop("it was killed", grace_s=0.0)

    async def _await(self, timeout: float | None = None) -> int | None:
        return await in_thread(lambda: self._wait(timeout))

    @dispatches_to(_await)
    def wait(self, timeout: float | None = None) -> int | None:
        """As Popen's, and in an event loop as asyncio's.  Raises TimeoutError."""
        return self._wait(timeout)

    def _wait(self, timeout: float | None) -> int | None:
        self._training.wait(interrupts(), timeout)
        return self.returncode
