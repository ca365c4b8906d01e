"""Removal of a test's rows from Airflow's database."""

from __future__ import annotations

from airflow.models.dag import DagModel
from airflow.models.dag_version import DagVersion
from airflow.models.dagrun import DagRun
from airflow.models.renderedtifields import RenderedTaskInstanceFields
from airflow.utils.session import create_session
from sqlalchemy import delete


def _clear(*models: type) -> None:
    with create_session() as session:
        for model in models:
            session.execute(delete(model))


def clear_db_runs() -> None:
    """Remove DAG runs, and their task instances with them."""
    _clear(DagRun)


def clear_db_dags() -> None:
    """Remove DAGs, once their runs are gone."""
    _clear(DagVersion, DagModel)


def clear_rendered_ti_fields() -> None:
    """Remove the rendered fields of task instances."""
    _clear(RenderedTaskInstanceFields)
