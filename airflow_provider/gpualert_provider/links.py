"""Link from a task in Airflow's pages to its verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import BaseOperatorLink

from gpualert_provider.identity import make_attempt_url

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import BaseOperator, TaskInstanceKey

_ONLY_VERDICT = "log_level=error&log_level=critical&log_level=warning"
"""The block with the verdict, and Airflow's own report of the error."""


class VerdictLink(BaseOperatorLink):
    """Link to the attempt's log, and there to the errors and warnings: they are the verdict."""

    name = "Verdict"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the URL of the log; of a training that ended well, of the whole log."""
        url = make_attempt_url(ti_key)
        if not getattr(operator, "has_logged_verdict", False):
            return url
        return f"{url}{'&' if '?' in url else '?'}{_ONLY_VERDICT}"
