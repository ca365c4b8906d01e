"""A verdict as JSON and back.  The keys are the names of the fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
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
    data = _fields_of(verdict)
    for name in _ENUMS:
        data[name] = str(data[name])
    for name in _TUPLES:
        data[name] = list(data[name])
    data["shows"] = [claim_to_json(claim) for claim in verdict.shows]
    return {"schema": data.pop("schema"), **data}


def claim_to_json(claim: Claim) -> dict[str, Any]:
    """*claim* as plain dicts and strings, without what it does not say."""
    data = _fields_of(claim)
    if claim.where is not None:
        data["where"] = _fields_of(claim.where)
    return {key: value for key, value in data.items() if value is not None}


def _fields_of(value: Verdict | Claim | Where) -> dict[str, Any]:
    """One level deep: ``asdict`` copies everything below, at ten times the price."""
    return {name: getattr(value, name) for name in value.__slots__}


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
