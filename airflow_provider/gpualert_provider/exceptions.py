"""What a task raises when its training has not ended well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from gpualert_common.guardian.failure import TrainingFailure

if TYPE_CHECKING:
    from typing import Self

    from gpualert_common.api import RunResult


def unsecret(text: str) -> str:
    """*text* as Airflow may keep it in its database: what looks like a secret is masked."""
    from gpualert_common.redact import Redactor  # a DAG's reader needs none

    return Redactor().mask_text(text)


class TrainingFailed(TrainingFailure, AirflowException):
    """A training failed or was stopped; the first line of the message says why."""

    @classmethod
    def of(cls, result: RunResult) -> Self:
        """The failure that a run's result is, whatever its status."""
        verdict, code = result.verdict, result.exit_code
        if code is None:
            said = "Bash command failed. Its exit status is not known: its guardian died."
        elif code == 0:
            said = "Bash command failed. It was stopped before its end, and then returned 0."
        else:
            said = f"Bash command failed. The command returned a non-zero exit code {code}."
        headline = "no verdict" if verdict is None else unsecret(verdict.headline)
        cause = "unknown" if verdict is None else verdict.cause
        return cls(
            f"{cause}: {headline}\n{said}\nLog: {result.log_path}",
            cause=cause,
            exit_code=code,
            log_path=result.log_path,
            run_id=result.record.run_id,
            verdict=verdict,
        )


class TrainingFailedForGood(TrainingFailed, AirflowFailException):
    """A training failed of what it would meet again: Airflow retries it no more.

    Raised before Airflow 3.3 only, which asks a ``retry_policy`` instead.
    """
