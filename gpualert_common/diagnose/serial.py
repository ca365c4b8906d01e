"""A verdict as JSON and back.  The keys are the names of the fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from gpualert_common.errors import RecordError
from gpualert_common.model import (
    SCHEMA,
    Attribution,
    Claim,
    Disposition,
    Retry,
    Verdict,
    Where,
)

_ENUMS = {"disposition": Disposition, "attribution": Attribution, "retry": Retry}
_TUPLES = ("cannot_decide", "do", "ruled_out", "secondary", "warnings", "sources")


def to_json(verdict: Verdict) -> dict[str, Any]:
    """*verdict* as plain dicts, lists, strings and numbers, ``schema`` first."""
    data = asdict(verdict)
    for name in _ENUMS:
        data[name] = str(data[name])
    for name in _TUPLES:
        data[name] = list(data[name])
    data["shows"] = [
        {key: value for key, value in claim.items() if value is not None} for claim in data["shows"]
    ]
    return {"schema": data.pop("schema"), **data}


def from_json(data: Mapping[str, Any]) -> Verdict:
    """The verdict that :func:`to_json` made *data* of; unknown keys are passed over.

    Raises :class:`RecordError` when *data* is of a newer schema or no verdict.
    """
    schema = data.get("schema")
    if not isinstance(schema, int) or schema > SCHEMA:
        raise RecordError(f"verdict of schema {schema!r}; this gpualert reads up to {SCHEMA}")
    try:
        known = {name.name: data[name.name] for name in fields(Verdict) if name.name in data}
        for name, enum in _ENUMS.items():
            known[name] = enum(known[name])
        for name in _TUPLES:
            known[name] = tuple(known[name])
        known["shows"] = tuple(_claim(claim) for claim in known["shows"])
        return Verdict(**known)
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"not a verdict: {type(error).__name__}: {error}") from error


def _claim(data: Mapping[str, Any]) -> Claim:
    where = data.get("where")
    return Claim(
        claim=data["claim"],
        source=data["source"],
        where=Where(**where) if where is not None else None,
        excerpt=data.get("excerpt"),
        rank=data.get("rank"),
    )
