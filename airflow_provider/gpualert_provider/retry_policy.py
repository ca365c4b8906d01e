"""Retries decided by the cause of the failure; needs Airflow 3.3."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk.definitions.retry_policy import RetryDecision, RetryPolicy

from gpualert_common.guardian.failure import TrainingFailure
from gpualert_common.retries import SURE, Action, RetryRules
from gpualert_provider.exceptions import unsecret
from gpualert_provider.retries import plain

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from gpualert_common.retries import RetryChoice


class RetryByCause(RetryPolicy):
    """Stops retries that would burn GPU time for nothing; leaves all others to the task.

    GPUAlertOperator uses it where no other policy is given.  It stops where the verdict is sure
    and the cause deterministic beyond doubt (a missing module, an invalid option, a model that
    does not fit the card).  Errors of other operators are none of its business.

    :param causes: what to do for single causes: "stop", "retry", "default" (the task's own
        retries), or the delay of the retry, as timedelta, seconds or text such as "10m".
    :param sure: the confidence from which on a verdict may stop retries.

    Raises UsageError for a cause that does not exist or a value that says nothing.
    """

    def __init__(
        self, causes: Mapping[str, RetryChoice | timedelta] | None = None, *, sure: float = SURE
    ) -> None:
        self.causes = plain(causes or {})
        self.sure = sure
        self._rules = RetryRules.of(self.causes, sure=sure)

    def evaluate(
        self,
        exception: BaseException,
        try_number: int,
        max_tries: int,
        context: Context | None = None,  # noqa: ARG002 - Airflow's signature, called by names
    ) -> RetryDecision:
        """What the verdict that *exception* carries says about the next attempt."""
        if not isinstance(exception, TrainingFailure):
            return RetryDecision.default()
        advice = self._rules.advise(exception.verdict)
        reason = unsecret(advice.reason)
        if advice.action is Action.STOP:
            return RetryDecision.fail(reason=reason)
        if try_number > max_tries:
            return RetryDecision.default()  # nothing to give a reason for
        if advice.action is Action.RETRY:
            delay = None if advice.delay_s is None else timedelta(seconds=advice.delay_s)
            return RetryDecision.retry(delay, reason=reason)
        return RetryDecision.retry(reason=reason)  # as ever, but Airflow shows why

    def serialize(self) -> dict[str, Any]:
        """As Airflow keeps it with the DAG."""
        return {"causes": self.causes, "sure": self.sure}

    @classmethod
    def deserialize(cls, data: dict[str, Any]) -> RetryByCause:
        """What :meth:`serialize` gave."""
        return cls(data["causes"], sure=data["sure"])
