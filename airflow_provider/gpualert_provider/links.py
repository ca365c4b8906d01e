"""Link from a task in Airflow's pages to its verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import BaseOperatorLink, conf

from gpualert_provider.identity import get_map_index

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import BaseOperator, TaskInstanceKey


class VerdictLink(BaseOperatorLink):
    """Link to the attempt's XCom page, with the verdict and the paths of the log and the record."""

    name = "Verdict"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:  # noqa: ARG002
        """Return the URL of the page."""
        base = conf.get("api", "base_url", fallback="/").rstrip("/")
        index = get_map_index(ti_key)
        mapped = f"/mapped/{index}" if index >= 0 else ""
        return (
            f"{base}/dags/{ti_key.dag_id}/runs/{ti_key.run_id}/tasks/{ti_key.task_id}{mapped}/xcom"
        )
