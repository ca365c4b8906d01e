"""What a task raises when its training has not ended well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException

if TYPE_CHECKING:
    from gpualert_common.api import RunResult
    from gpualert_common.model import Verdict


class TrainingFailed(AirflowException):
    """A training failed or was stopped; the first line of the message says why.

    ``cause`` is one of the core's causes ("unknown" without a verdict), ``verdict`` the whole
    verdict or None, ``exit_code`` the child's status (-n: killed by signal n, None: lost),
    ``log_path`` its log and ``run_id`` its record.  Survives pickling.
    """

    def __init__(
        self,
        message: str,
        *,
        cause: str = "unknown",
        exit_code: int | None = None,
        log_path: str | None = None,
        run_id: str | None = None,
        verdict: Verdict | None = None,
    ) -> None:
        super().__init__(message)
        self.cause = cause
        self.exit_code = exit_code
        self.log_path = log_path
        self.run_id = run_id
        self.verdict = verdict

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.args, self.__dict__

    @classmethod
    def of(cls, result: RunResult) -> TrainingFailed:
        """The failure that a run's result is, whatever its status."""
        verdict, code = result.verdict, result.exit_code
        if code is None:
            said = "Bash command failed. Its exit status is not known: its guardian died."
        elif code == 0:
            said = "Bash command failed. It was stopped before its end, and then returned 0."
        else:
            said = f"Bash command failed. The command returned a non-zero exit code {code}."
        headline = "no verdict" if verdict is None else verdict.headline
        cause = "unknown" if verdict is None else verdict.cause
        return cls(
            f"{cause}: {headline}\n{said}\nLog: {result.log_path}",
            cause=cause,
            exit_code=code,
            log_path=result.log_path,
            run_id=result.record.run_id,
            verdict=verdict,
        )
