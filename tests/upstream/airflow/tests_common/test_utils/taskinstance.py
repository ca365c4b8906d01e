"""Running a task instance, and the context of its templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow.models.taskinstance import TaskInstance
    from airflow.sdk import BaseOperator, Context
    from airflow.sdk.types import Operator
    from sqlalchemy.orm import Session


def run_task_instance(ti: TaskInstance, task: Operator, *, session: Session | None = None) -> None:
    """Run it as ``dag.test()`` does: task runner, supervisor's protocol and API in this process.

    Raises what the task has raised.  ``ti`` then has its state, and still the serialized task.
    """
    from airflow import settings
    from airflow.models.taskinstance import TaskInstance
    from airflow.sdk.definitions.dag import _run_task
    from airflow.utils.state import TaskInstanceState

    assert settings.Session is not None
    session = settings.Session()  # one in each thread, that of the caller too
    ti.try_number += 1  # the scheduler does both
    ti.state = TaskInstanceState.SCHEDULED
    session.merge(ti)
    session.commit()
    session.expunge_all()  # what runs is another object, as in another process
    runs = TaskInstance.get_task_instance(
        dag_id=ti.dag_id, run_id=ti.run_id, task_id=ti.task_id, map_index=ti.map_index
    )
    assert runs is not None
    result = _run_task(ti=runs, task=task)
    assert result is not None, "the task runner returned nothing"
    ti.refresh_from_db(session=session)
    if result.error is not None:
        raise result.error


def get_template_context(
    ti: TaskInstance, task: BaseOperator, *, session: Session | None = None
) -> Context:
    """Return the context of the task's templates."""
    from airflow.cli.commands.task_command import _get_template_context

    return _get_template_context(ti, task)


def render_template_fields(
    ti: TaskInstance, task: BaseOperator, *, context: Context | None = None
) -> BaseOperator:
    """The task, its templates rendered in place."""
    task.render_template_fields(context or get_template_context(ti, task))
    return task


class RenderableTaskInstance:
    """A task instance that renders the task it is for, which since Airflow 3 it does not know."""

    def __init__(self, ti: TaskInstance, task: BaseOperator) -> None:
        self._ti = ti
        self._task = task

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ti, name)

    def render_templates(self, context: Context) -> BaseOperator:
        """The task, its templates rendered in place."""
        return render_template_fields(self._ti, self._task, context=context)
