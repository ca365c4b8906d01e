"""Struct, the base of our data classes, which msgspec makes sixty times faster than dataclasses.

Import it from here, and only after the launch.  :func:`encode` and :func:`decode` of
:mod:`.codec` convert such classes.
"""

from __future__ import annotations

import contextlib
import functools
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

from msgspec import NODEFAULT, Struct, ValidationError, convert, field, to_builtins  # noqa: E402
from msgspec.structs import asdict, fields, force_setattr, replace  # noqa: E402

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import Field
    from typing import Any


class _DataclassFields:
    """The fields of a Struct in the form of :mod:`dataclasses`, which are made at need."""

    def __get__(self, _instance: object, kind: type[Struct]) -> dict[str, Field[Any]]:
        return _list_fields(kind)


@functools.cache
def _list_fields(kind: type[Struct]) -> dict[str, Field[Any]]:
    import dataclasses

    made = []
    for one in fields(kind):
        here = dataclasses.field()
        if one.default is not NODEFAULT:
            here.default = one.default
        if one.default_factory is not NODEFAULT:
            here.default_factory = one.default_factory
        made.append((one.name, one.type, here))
    twin: Any = dataclasses.make_dataclass(kind.__name__, made)
    found: dict[str, Field[Any]] = twin.__dataclass_fields__
    return found


class Result(Struct, frozen=True):
    """Base of what callers of the package get: the functions of :mod:`dataclasses` work on it."""

    __dataclass_fields__ = _DataclassFields()


__all__ = [
    "Result",
    "Struct",
    "ValidationError",
    "asdict",
    "convert",
    "field",
    "force_setattr",
    "replace",
    "to_builtins",
]
