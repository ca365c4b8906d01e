"""GPUAlert for Prefect.

Prefect imports this package when its server and workers start, so nothing heavy is imported here:
a name is looked up in its module when somebody first asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpualert_common._version import __version__

if TYPE_CHECKING:
    from prefect_gpualert.errors import TrainingFailed
    from prefect_gpualert.hooks import gpualert_hook
    from prefect_gpualert.tasks import agpualert_run, gpualert_run

__all__ = ["TrainingFailed", "__version__", "agpualert_run", "gpualert_hook", "gpualert_run"]

_HOMES = {
    "TrainingFailed": "prefect_gpualert.errors",
    "agpualert_run": "prefect_gpualert.tasks",
    "gpualert_hook": "prefect_gpualert.hooks",
    "gpualert_run": "prefect_gpualert.tasks",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
