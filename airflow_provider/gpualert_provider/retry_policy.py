"""Retries decided by the cause of the failure; needs Airflow 3.3."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk.definitions.retry_policy import RetryDecision, RetryPolicy

from gpualert_common.guardian.failure import TrainingFailure
from gpualert_common.retries import SURE, Action, RetryRules
from gpualert_provider.exceptions import mask_secrets
from gpualert_provider.retry_choices import in_seconds

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from gpualert_common.retries import RetryChoice


class RetryByCause(RetryPolicy):
    """Stops retries that would waste GPU time; leaves all others to the task.

    GPUAlertOperator uses it when the task has no other policy.  It stops the retries when the
    verdict is sure and the cause is deterministic (a missing module, an invalid option, a model
    that does not fit into the GPU's memory).  It does not change the retries after errors of other
    operators.

    :param causes: the action for single causes: "stop", "retry", "default" (the task's own
        retries), or the delay of the retry, as timedelta, seconds or text such as "10m".
    :param sure: the confidence from which on a verdict may stop retries.

    Raises UsageError for an unknown cause or an invalid action.
    """

    def __init__(
        self, causes: Mapping[str, RetryChoice | timedelta] | None = None, *, sure: float = SURE
    ) -> None:
        self.causes = in_seconds(causes or {})
        self.sure = sure
        self._rules = RetryRules.of(self.causes, sure=sure)

    def evaluate(
        self,
        exception: BaseException,
        try_number: int,
        max_tries: int,
        context: Context | None = None,  # noqa: ARG002 - Airflow's signature, called by names
    ) -> RetryDecision:
        """Return the decision about the next attempt, by the verdict that *exception* carries."""
        if not isinstance(exception, TrainingFailure):
            return RetryDecision.default()
        advice = self._rules.advise(exception.verdict)
        reason = mask_secrets(advice.reason)
        if advice.action is Action.STOP:
            return RetryDecision.fail(reason=reason)
        if try_number > max_tries:
            return RetryDecision.default()  # no attempt is left, so there is no reason to show
        if advice.action is Action.RETRY:
            delay = None if advice.delay_s is None else timedelta(seconds=advice.delay_s)
            return RetryDecision.retry(delay, reason=reason)
        return RetryDecision.retry(reason=reason)  # the default, but Airflow shows the reason

    def serialize(self) -> dict[str, Any]:
        """Return the arguments, as Airflow stores them with the DAG."""
        return {"causes": self.causes, "sure": self.sure}

    @classmethod
    def deserialize(cls, data: dict[str, Any]) -> RetryByCause:
        """Return the policy that :meth:`serialize` described."""
        return cls(data["causes"], sure=data["sure"])
