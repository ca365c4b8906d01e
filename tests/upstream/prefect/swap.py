"""Pytest plugin: other names in the place of prefect-shell's, in its own tests.

The tests import them in place of ShellOperation, ShellProcess and shell_run_command.  Tests of
internals are left out: those that mock anyio's processes, or search for log records by the names of
prefect-shell's own classes.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any

import pytest
from prefect.testing import utilities

INTERNAL = (
    "test_shell_run_command_override_shell",
    "test_updated_shell",
    "test_select_powershell",
    "test_output[",
    "test_stream_output[",
    "test_log_prefix_",
)
OTHER_LOOP = "[trio"
"""Part of the names of tests on an event loop that Prefect does not support; the driver of our
browser tests brings it, and anyio's plugin then takes it, too."""
NAMES = ("ShellOperation", "ShellProcess", "shell_run_command")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Module of the names."""
    parser.addoption("--operator", choices=sorted(_THEIRS), required=True)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Give the server of their conftest.py two minutes to start: a busy machine needs more than 30
    seconds."""
    harness = partial(utilities.prefect_test_harness, server_startup_timeout=120)
    utilities.prefect_test_harness = harness


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, Any, Any]:
    """Swap the names, import the tests, and put prefect-shell's back."""
    from prefect_shell import commands  # type: ignore[import-untyped]

    theirs = _THEIRS[session.config.getoption("operator")]()
    with pytest.MonkeyPatch.context() as collecting:
        for name, other in zip(NAMES, theirs, strict=True):
            collecting.setattr(commands, name, other)
        result = yield
    return result


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests of internals, and those on another event loop."""
    left_out = [item for item in items if item.name.startswith(INTERNAL) or OTHER_LOOP in item.name]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


def _prefect_shell() -> tuple[Any, Any, Any]:
    from prefect_shell.commands import (  # type: ignore[import-untyped]
        ShellOperation,
        ShellProcess,
        shell_run_command,
    )

    return ShellOperation, ShellProcess, shell_run_command


def _gpualert() -> tuple[Any, Any, Any]:
    from prefect_gpualert import TrainingOperation, TrainingRun, gpualert_run

    return TrainingOperation, TrainingRun, gpualert_run


def _broken() -> tuple[Any, Any, Any]:
    from prefect import task
    from prefect_shell.commands import (
        ShellOperation,
        ShellProcess,
        shell_run_command,
    )

    class Broken(ShellOperation):  # type: ignore[misc]
        """Lose the result and the started processes."""

        async def arun(self, **open_kwargs: Any) -> list[str]:
            await super().arun(**open_kwargs)
            return []

        def run(self, **open_kwargs: Any) -> Any:
            return self.arun(**open_kwargs)

        async def aclose(self) -> None:
            self._exit_stack.pop_all()

    @task
    async def broken(*args: Any, **kwargs: Any) -> str:
        await shell_run_command.fn(*args, **kwargs)
        return ""

    return Broken, ShellProcess, broken


_THEIRS = {"broken": _broken, "gpualert": _gpualert, "prefect_shell": _prefect_shell}
