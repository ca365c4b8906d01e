"""What a task raises when its training has not ended well."""

from __future__ import annotations

from gpualert_common.guardian.failure import TrainingFailure
from gpualert_common.retries import Action, RetryRules


class TrainingFailed(TrainingFailure, RuntimeError):  # noqa: N818 - as users will catch it
    """A training failed, or somebody stopped it; the first line of the message says why.

    Carries ``cause``, ``verdict``, ``exit_code``, ``log_path``, ``run_id`` and ``retryable``, also
    where it was pickled in between.
    """

    @property
    def retryable(self) -> bool:
        """False only where it is sure that the same command would meet the same failure again."""
        return RetryRules.of().advise(self.verdict).action is not Action.STOP

    def __repr__(self) -> str:
        """The first line alone: Prefect's log lines have no room for the end of a log."""
        first = str(self).partition("\n")[0]
        return f"{type(self).__name__}({first!r})"
