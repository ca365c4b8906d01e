"""Step of the alert of one run of a job."""

from __future__ import annotations

from gpualert_common.jobs.alerts.alert_action import JobAlertAction
from gpualert_common.jobs.job_report import JobReport
from gpualert_common.structs import Struct


class JobAlertStep(Struct, frozen=True):
    """An action and its reason.

    ``report`` is the job as the alert has to show it; None with SEND for a run that sends its own
    alert, since the job directory cannot be reached.  ``number`` is that of the alert in the
    attempt, and ``claimed_at`` the time of its first claim, which all nodes read from the store.
    """

    action: JobAlertAction
    because: str
    next_at: float = 0.0
    report: JobReport | None = None
    attempt: int = 1
    number: int = 1
    claimed_at: float = 0.0
