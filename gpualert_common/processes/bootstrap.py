"""Entry point of every program of ours: ``python -I .../bootstrap.py MODULE ARGUMENTS``.

It calls ``main(*ARGUMENTS)`` of the module.  Python's ``-I`` keeps the working directory,
PYTHONPATH and the user's site-packages out of ``sys.path``, so that no file of a training stands in
for a module; the folder that this package lies in is put there instead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from importlib import import_module


def import_path() -> list[str]:
    """Return the folders that this process imports from, as far as their paths are absolute."""
    return [folder for folder in sys.path if os.path.isabs(folder)]


def extend_import_path(folders: Iterable[str]) -> None:
    """Import from these folders too: a program finds the modules of its caller behind ours."""
    sys.path += [folder for folder in folders if folder not in sys.path]


if __name__ == "__main__":
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path.insert(0, os.path.dirname(package))
    import_module(sys.argv[1]).main(*sys.argv[2:])
