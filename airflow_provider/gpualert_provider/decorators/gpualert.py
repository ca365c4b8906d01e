"""``@task.gpualert``: like ``@task.bash``, it runs a command that a function returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import DecoratedOperator, task_decorator_factory
from airflow.providers.standard.decorators.bash import _BashDecoratedOperator

from gpualert_provider.operators.gpualert import GPUAlertOperator

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import TaskDecorator


class GPUAlertDecoratedOperator(_BashDecoratedOperator, GPUAlertOperator):
    """Runs the command that the function returns, as :class:`GPUAlertOperator` does."""

    template_fields = (*DecoratedOperator.template_fields, *GPUAlertOperator.template_fields)
    template_fields_renderers: ClassVar[dict[str, str]] = {
        **DecoratedOperator.template_fields_renderers,
        **GPUAlertOperator.template_fields_renderers,
    }
    custom_operator_name = "@task.gpualert"


def gpualert_task(
    python_callable: Callable[..., Any] | None = None, **kwargs: Any
) -> TaskDecorator:
    """Wrap a function that returns a bash command into a GPUAlertOperator.

    Takes the operator's arguments except the command.
    """
    return task_decorator_factory(
        python_callable=python_callable,
        decorated_operator_class=GPUAlertDecoratedOperator,
        **kwargs,
    )
