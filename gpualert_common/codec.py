"""Data classes as JSON and back.

The keys are the names of the fields.  A key that the class does not know is ignored, and a missing
one takes the field's default, so that records of older and newer versions can be read.  JSON has no
NaN and no infinity: such a number is the string "nan", "inf" or "-inf".
"""

from __future__ import annotations

from gpualert_common.errors import DamagedFileError, RecordError
from gpualert_common.quantities import Number, Seconds, Time
from gpualert_common.spec import SCHEMA

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")

_INFINITE = float("inf")
_QUANTITIES = (Number, Seconds, Time)
_PLAIN = (str, int, bool, type(None))
"""Types of which JSON has each value as it is."""
_KNOWN_DEFAULTS: dict[Any, dict[str, object]] = {}
_MOST_REMOVALS = 100
"""Invalid values that are removed one by one; each costs a conversion of the whole object."""


def encode(value: Any) -> dict[str, Any]:
    """Return a data class as plain dicts, lists, strings and finite numbers, ``schema`` first.

    All fields of *value* itself are present.  In the objects below it, None is left out where it is
    the default.
    """
    fields = {name: _plain(getattr(value, name)) for name in _defaults(type(value))}
    return {"schema": fields.pop("schema"), **fields} if "schema" in fields else fields


def encode_part(value: Any) -> dict[str, Any]:
    """Return a data class as :func:`encode` does for an object below another one."""
    fields: dict[str, Any] = _plain(value)
    return fields


def _plain(value: Any) -> Any:
    if type(value) in _PLAIN or isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if -_INFINITE < value < _INFINITE else str(value)
    if isinstance(value, str):
        return str(value)  # of an enum its value
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return {
        name: _plain(one)
        for name, default in _defaults(type(value)).items()
        if (one := getattr(value, name)) is not None or default is not None
    }


def _defaults(kind: Any) -> dict[str, object]:
    """Return the default of each field of a Struct; not None where it has none."""
    found = _KNOWN_DEFAULTS.get(kind)
    if found is None:
        names, defaults = kind.__struct_fields__, kind.__struct_defaults__
        found = dict(zip(names, [...] * (len(names) - len(defaults)) + list(defaults), strict=True))
        _KNOWN_DEFAULTS[kind] = found
    return found


def decode(kind: type[T], data: Any, where: str) -> T:
    """Return the object of *kind* that :func:`encode` made *data* of.

    *where* names the file in errors.  Raises DamagedFileError, which names the key, for a value of
    a wrong type, and RecordError for data of a newer version.
    """
    if "schema" in getattr(kind, "__annotations__", ()):
        require_schema(data, where)
    found, problem, key = _convert(kind, data)
    if found is None:
        raise DamagedFileError(f"{where}: {key and f'{key}: '}{problem}")
    return found


def decode_valid(kind: type[T], data: dict[str, Any], where: str) -> T:
    """Return what :func:`decode` returns, made of the valid values only.

    The others are removed from *data*.  Every field of *kind* has a default.
    """
    removals = 0
    while True:
        found, problem, key = _convert(kind, data)
        if found is not None:
            return found
        if not key:
            raise DamagedFileError(f"{where}: {problem}")
        part: Any = data
        path = key.partition("[...]")[0].replace("[", ".").replace("]", "").split(".")
        removals += 1
        *above, name = path if removals <= _MOST_REMOVALS else path[:1]
        for step in above:
            part = part[int(step) if isinstance(part, list) else step]
        del part[int(name) if isinstance(part, list) else name]


def _convert(kind: type[T], data: Any) -> tuple[T | None, str, str]:
    """Return the object of *kind*, or the problem with *data* and the key that has it."""
    from gpualert_common.structs import ValidationError, convert

    try:
        return convert(data, kind, strict=False, dec_hook=_check_quantity), "", ""
    except (ValidationError, RecursionError) as error:
        problem, at, key = str(error).rpartition(" - at `$")  # the value may have it, too
        return None, problem if at else str(error), key.strip("`.") if at else ""


def _check_quantity(kind: type[float], value: Any) -> float:
    """Return *value* as that kind of a quantity.  Raises ValueError if it is not valid."""
    if kind not in _QUANTITIES:
        raise NotImplementedError(f"no field has the type {kind}")
    return kind(value)


def require_schema(data: Any, where: str) -> None:
    """Raise DamagedFileError for data without a schema number, RecordError for a newer one."""
    schema = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(schema, int):
        raise DamagedFileError(f"{where}: not a file of a run record: no schema number")
    if schema > SCHEMA:
        raise RecordError(
            f"{where}: schema {schema} was written by a newer gpualert; this one reads "
            f"up to {SCHEMA}: upgrade gpualert-common"
        )
