"""GPUAlert for Prefect.

Prefect imports this package when its server and workers start, so nothing heavy is imported here:
each public name is imported from its module at its first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpualert_common._version import __version__

if TYPE_CHECKING:
    from prefect_gpualert.blocks import ChatChannel, MailChannel
    from prefect_gpualert.errors import TrainingFailed
    from prefect_gpualert.hooks import gpualert_hook
    from prefect_gpualert.operation import TrainingOperation
    from prefect_gpualert.retry_condition import retry_by_cause
    from prefect_gpualert.tasks import gpualert_run
    from prefect_gpualert.training_run import TrainingRun

__all__ = [
    "ChatChannel",
    "MailChannel",
    "TrainingFailed",
    "TrainingOperation",
    "TrainingRun",
    "__version__",
    "gpualert_hook",
    "gpualert_run",
    "retry_by_cause",
]

_HOMES = {
    "ChatChannel": "prefect_gpualert.blocks",
    "MailChannel": "prefect_gpualert.blocks",
    "TrainingFailed": "prefect_gpualert.errors",
    "TrainingOperation": "prefect_gpualert.operation",
    "TrainingRun": "prefect_gpualert.training_run",
    "gpualert_hook": "prefect_gpualert.hooks",
    "gpualert_run": "prefect_gpualert.tasks",
    "retry_by_cause": "prefect_gpualert.retry_condition",
}


def __dir__() -> list[str]:
    """Return all public names: ``prefect block register`` searches them for blocks."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
