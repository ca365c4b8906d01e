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

    T = TypeVar("T")

_PREPARATION_S = 5.0
"""A class takes a millisecond; a fork may have left the lock held."""
_preparation = threading.Lock()
_prepared: set[type] = set()


def convert(
    data: Any,
    kind: type[T],
    *,
    strict: bool = True,
    dec_hook: Callable[[type, Any], Any] | None = None,
) -> T:
    """Return the object of a Struct class that *data* describes, as msgspec does, in any thread.

    Raises ValidationError.
    """
    if kind not in _prepared:
        _prepare(kind, dec_hook)
    return msgspec.convert(data, kind, strict=strict, dec_hook=dec_hook)


def _prepare(kind: type, dec_hook: Callable[[type, Any], Any] | None) -> None:
    """Have msgspec read the types of a class, by one thread at a time.

    If two threads convert to a new class at once, msgspec 0.22 uses a description of the class that
    is not complete, and crashes the process.
    """
    is_locked = _preparation.acquire(timeout=_PREPARATION_S)
    try:
        msgspec.convert(None, kind, dec_hook=dec_hook)
    except ValidationError:
        _prepared.add(kind)
    finally:
        if is_locked:
            _preparation.release()


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
