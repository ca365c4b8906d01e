"""Errors that a task raises when its training has failed or was stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from gpualert_common.guardian.failure import TrainingFailure
from gpualert_common.suspicion import is_suspect

if TYPE_CHECKING:
    from typing import Self

    from gpualert_common.api import RunResult
    from gpualert_common.record import Record


def mask_secrets(text: str) -> str:
    """Return *text* as Airflow may keep it in its database: likely secrets are masked."""
    from gpualert_common.redact import Redactor  # not needed to parse a DAG

    return Redactor().mask_text(text)


def describe_verdict(result: RunResult) -> str:
    """Return cause and headline of a result in one line; likely secrets are masked."""
    verdict = result.verdict
    if verdict is None:
        from gpualert_common.report.wording import describe_missing_verdict

        return f"unknown: {describe_missing_verdict(is_pending=result.record.is_verdict_pending)}"
    return f"{verdict.cause}: {mask_secrets(verdict.headline)}"


class JobLeftError(Exception):
    """The follower of a job of Slurm was killed, and the job may go on; ``record`` is its run's."""

    def __init__(self, record: Record) -> None:
        super().__init__(record.run_id)
        self.record = record


class TrainingTaskFailed(TrainingFailure, AirflowException):
    """A training failed or was stopped; the first line of the message is the reason."""

    @classmethod
    def of(cls, result: RunResult) -> Self:
        """Return the error for a result, whatever its status."""
        verdict, code = result.verdict, result.exit_code
        if code is None:
            status = "Bash command failed. Its exit status is not known: its guardian died."
        elif code == 0 and is_suspect(verdict):
            status = "Bash command failed. It returned 0, but its log reports a failure."
        elif code == 0:
            status = "Bash command failed. It was stopped before its end, and then returned 0."
        else:
            status = f"Bash command failed. The command returned a non-zero exit code {code}."
        cause = "unknown" if verdict is None else verdict.cause
        return cls(
            f"{describe_verdict(result)}\n{status}\nLog: {result.log_path}",
            cause=cause,
            exit_code=code,
            log_path=result.log_path,
            run_id=result.record.run_id,
            verdict=verdict,
        )


class TrainingTaskFailedForGood(TrainingTaskFailed, AirflowFailException):
    """A training failed for a deterministic cause: Airflow makes no further attempt.

    Raised only before Airflow 3.3, which asks a ``retry_policy`` instead.
    """
