"""Pytest plugin: another class in BashOperator's place, in its tests and under ``@task.bash``.

The tests import it in place of BashOperator; classes that derive from BashOperator, and Airflow
itself, still use the real one.  ``@task.bash`` stays the provider's
own function, which builds our decorated operator instead of its own.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Name of the class."""
    parser.addoption("--operator", choices=sorted(_PAIRS), required=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, Any, Any]:
    """Swap the class, import the tests, and put BashOperator back."""
    from airflow.providers.standard.decorators import bash as decorators
    from airflow.providers.standard.operators import bash as operators

    own = operators.BashOperator
    operator, decorated = _PAIRS[session.config.getoption("operator")]()
    patch = pytest.MonkeyPatch()
    session.config.add_cleanup(patch.undo)
    patch.setattr(decorators, "_BashDecoratedOperator", decorated)
    with pytest.MonkeyPatch.context() as collecting:
        collecting.setattr(operators, "BashOperator", operator)
        result = yield
    assert operators.BashOperator is own
    return result


def _bash() -> tuple[type, type]:
    from airflow.providers.standard.decorators.bash import _BashDecoratedOperator
    from airflow.providers.standard.operators.bash import BashOperator

    return BashOperator, _BashDecoratedOperator


def _gpualert() -> tuple[type, type]:
    from gpualert_provider.decorators.gpualert import GPUAlertDecoratedOperator
    from gpualert_provider.operators.gpualert import GPUAlertOperator

    return GPUAlertOperator, GPUAlertDecoratedOperator


def _broken() -> tuple[type, type]:
    from airflow.providers.standard.decorators.bash import _BashDecoratedOperator
    from airflow.providers.standard.operators.bash import BashOperator

    class Broken(BashOperator):
        """Lose the result."""

        def execute(self, context: Any) -> None:
            super().execute(context)

    class BrokenDecorated(_BashDecoratedOperator, Broken):
        """Lose the result, too."""

    return Broken, BrokenDecorated


_PAIRS = {"bash": _bash, "broken": _broken, "gpualert": _gpualert}
