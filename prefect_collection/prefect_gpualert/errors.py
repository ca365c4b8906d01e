"""The error of a task whose training failed or was stopped."""

from __future__ import annotations

from gpualert_common.guardian.failure import TrainingFailure
from gpualert_common.retries import Action, RetryRules


class TrainingFailed(TrainingFailure, RuntimeError):  # noqa: N818 - the name that users catch
    """A training failed or was stopped; the first line of the message says why.

    Carries ``cause``, ``verdict``, ``exit_code``, ``log_path``, ``run_id`` and ``retryable``, also
    after pickling.
    """

    @property
    def retryable(self) -> bool:
        """False only if the same command is certain to fail again in the same way."""
        return RetryRules.of().advise(self.verdict).action is not Action.STOP

    def __repr__(self) -> str:
        """Return the first line only: the end of a log is too long for Prefect's log lines."""
        first = str(self).partition("\n")[0]
        return f"{type(self).__name__}({first!r})"
