"""Struct, the base of our data classes, which msgspec makes sixty times faster than dataclasses.

Import it from here, and only after the launch.  :func:`encode` and :func:`decode` of
:mod:`.codec` convert such classes.
"""

from __future__ import annotations

import contextlib
import sys
import threading


def _load_msgspec() -> None:
    """Import msgspec in a thread of its own, where no signal handler runs.

    A handler that raises during the import leaves the C code of msgspec 0.22 without a pointer that
    it needs, and its next use crashes the process.  The import takes 10 ms.
    """

    def load() -> None:
        with contextlib.suppress(ImportError):  # the caller's own import raises it again
            import msgspec  # noqa: F401

    loader = threading.Thread(target=load, daemon=True)
    with contextlib.suppress(RuntimeError):  # no more threads are allowed
        loader.start()
        loader.join()


if "msgspec" not in sys.modules:
    _load_msgspec()

from msgspec import Struct, ValidationError, convert, field, to_builtins  # noqa: E402
from msgspec.structs import asdict, force_setattr, replace  # noqa: E402

__all__ = [
    "Struct",
    "ValidationError",
    "asdict",
    "convert",
    "field",
    "force_setattr",
    "replace",
    "to_builtins",
]
