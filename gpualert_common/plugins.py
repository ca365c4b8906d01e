"""Modules of a package, found by their file names.

Channels, evidence sources, progress formats, families, warnings and the program's commands are
packages of such modules.  Files whose names begin with ``_`` are no plugins.
"""

from __future__ import annotations

import os
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def plugin_names(package: str) -> list[str]:
    """Return the names of all plugins in *package*, in alphabetical order."""
    files = os.listdir(import_module(package).__path__[0])
    names = (file.removesuffix(".py") for file in files if file.endswith(".py"))
    return sorted(name for name in names if not name.startswith("_"))


def load_plugin(package: str, name: str) -> Any:
    """Return the module *name* of *package*.  Every exception of its import passes through."""
    return import_module(f"{package}.{name}")


def load_plugins(package: str) -> dict[str, Any]:
    """Return every plugin module of *package*, by name."""
    return {name: load_plugin(package, name) for name in plugin_names(package)}
