"""A progress as JSON and back.

The keys are the names of the fields; what is None is left out.  JSON has no NaN and no infinity, so
a number that is one is the string "nan", "inf" or "-inf".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

from gpualert_common.errors import RecordError
from gpualert_common.model import SCHEMA
from gpualert_common.progress.model import (
    Checkpoint,
    CheckpointAction,
    Counts,
    Marker,
    Phase,
    Point,
    Progress,
    Segment,
    Start,
    StepJump,
    TrainingEnd,
    TrainingEndKind,
)


def to_json(progress: Progress) -> dict[str, Any]:
    """*progress* as plain dicts, lists, strings and finite numbers, ``schema`` first."""
    plain: dict[str, Any] = _plain(progress)
    return {"schema": plain.pop("schema"), **plain}


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    named = ((name, getattr(value, name)) for name in value.__slots__)
    return {name: _plain(one) for name, one in named if one is not None}


def from_json(data: Mapping[str, Any]) -> Progress:
    """The progress that :func:`to_json` made *data* of; unknown keys are passed over.

    Raises :class:`RecordError` when *data* is of a newer schema or no progress.
    """
    schema = data.get("schema")
    if not isinstance(schema, int) or schema > SCHEMA:
        raise RecordError(f"progress of schema {schema!r}; this gpualert reads up to {SCHEMA}")
    try:
        return _progress(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordError(f"not a progress: {type(error).__name__}: {error}") from error


def _progress(data: Mapping[str, Any]) -> Progress:
    known = _known(Progress, data)
    for name in ("files", "unverifiable", "notes"):
        known[name] = tuple(known.get(name, ()))
    for name, make in _EVENTS.items():
        known[name] = tuple(make(one) for one in known.get(name, ()))
    known["jump"] = StepJump(**_known(StepJump, data["jump"])) if "jump" in data else None
    known["counts"] = Counts(**_known(Counts, data["counts"]))
    return Progress(**known)


def _point(data: Mapping[str, Any]) -> Point:
    known = _known(Point, data)
    known["phase"] = Phase(known["phase"])
    return Point(**known)


def _segment(data: Mapping[str, Any]) -> Segment:
    return Segment(**_known(Segment, data))


def _checkpoint(data: Mapping[str, Any]) -> Checkpoint:
    known = _known(Checkpoint, data)
    known["action"] = CheckpointAction(known["action"])
    return Checkpoint(**known)


def _marker(data: Mapping[str, Any]) -> Marker:
    known = _known(Marker, data)
    known["says"] = Start(known["says"])
    return Marker(**known)


def _ending(data: Mapping[str, Any]) -> TrainingEnd:
    known = _known(TrainingEnd, data)
    known["kind"] = TrainingEndKind(known["kind"])
    known["values"] = {name: _number(value) for name, value in known["values"].items()}
    return TrainingEnd(**known)


_EVENTS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "points": _point,
    "evals": _point,
    "segments": _segment,
    "checkpoints": _checkpoint,
    "markers": _marker,
    "endings": _ending,
}
_NUMBERS = {"loss", "learning_rate", "grad_norm", "step_s", "throughput", "epoch", "at"}


def _known(kind: type, data: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of *data* that are fields of *kind*."""
    names = {field.name for field in fields(kind)}
    return {
        name: _number(value) if name in _NUMBERS else value
        for name, value in data.items()
        if name in names
    }


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, str) else value
