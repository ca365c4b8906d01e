"""Struct of msgspec, the base of all data classes: defining one takes less time than a dataclass.

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

import msgspec  # noqa: E402
from msgspec import NODEFAULT, Struct, ValidationError, field, to_builtins  # noqa: E402
from msgspec.structs import fields, force_setattr, replace  # noqa: E402

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import Field
    from typing import Any, TypeVar

    Kind = TypeVar("Kind")

_LOCKED_S = 1.0
"""Longest wait for the first conversion of another thread: one that a fork cut off never ends."""
_lock = threading.RLock()
_known: set[object] = set()


def convert(
    data: Any,
    kind: type[Kind],
    *,
    strict: bool = True,
    dec_hook: Callable[[type, Any], Any] | None = None,
) -> Kind:
    """Return *data* as an object of that kind, as :func:`msgspec.convert` does.

    The first conversion to a kind resolves the types of its fields.  A second thread that comes
    meanwhile crashes the process with msgspec 0.22, so that one thread at a time does that.
    """
    if kind in _known:
        return msgspec.convert(data, kind, strict=strict, dec_hook=dec_hook)
    is_locked = _lock.acquire(timeout=_LOCKED_S)
    try:
        return msgspec.convert(data, kind, strict=strict, dec_hook=dec_hook)
    finally:
        _known.add(kind)
        if is_locked:
            _lock.release()


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


class DataclassStruct(Struct, frozen=True):
    """A Struct on which the functions of :mod:`dataclasses` work, since callers get it."""

    __dataclass_fields__ = _DataclassFields()


__all__ = [
    "DataclassStruct",
    "Struct",
    "ValidationError",
    "convert",
    "field",
    "force_setattr",
    "replace",
    "to_builtins",
]
