"""Digests and claims as JSON and back.

Every file of a job directory may be damaged, cut, or made by another program: what is not valid
counts as missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TypeVar

import msgspec

from gpualert_common.codec import decode, encode
from gpualert_common.errors import RecordError
from gpualert_common.jobs.digests.digest import MOST_RANKS, ClockOffset, Digest
from gpualert_common.model import SCHEMA
from gpualert_common.printable_text import make_printable
from gpualert_common.quantities import MOST_SECONDS
from gpualert_common.structs import Struct

_MOST_COUNT = 1 << 53
_MOST_TEXT = 4000

T = TypeVar("T", bound=Struct)


def encode_file(value: Struct) -> bytes:
    """Return a digest or a claim as JSON; a number that is not finite is a string.

    What is no text in a text, as in a path that is not UTF-8, is replaced.
    """
    fields = encode(value)
    try:
        return msgspec.json.encode(fields, enc_hook=_encode_quantity)
    except UnicodeEncodeError:
        return msgspec.json.encode(_clean(fields), enc_hook=_encode_quantity)


def _encode_quantity(value: object) -> float:
    """Return a quantity of an object that was decoded as a plain number."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    raise NotImplementedError(f"no field has the type {type(value)}")


def decode_file(kind: type[T], data: bytes) -> T | None:
    """Return the object in a file; None where it holds none of that kind.

    Control characters in its texts are replaced.  Fields that are not known are ignored, so that
    the files of later releases can be read.
    """
    try:
        value = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    schema = value.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        value["schema"] = SCHEMA
    try:
        return decode(kind, value if _is_plain(data) else _clean(value), "")
    except (RecordError, RecursionError):
        return None


def is_plausible(digest: Digest) -> bool:
    """Return whether the numbers of a digest are those of a job, and its texts are no floods."""
    counts = (digest.node, digest.nodes, digest.world_size, *_list_ranks(digest))
    return (
        all(one is None or 0 <= one < MOST_RANKS for one in counts)
        and all(map(_is_count, (digest.sequence, digest.attempt)))
        and is_plausible_offset(digest.clock)
        and len(digest.run_id) <= _MOST_TEXT
        and (digest.verdict is None or 0 <= digest.verdict.confidence <= 1)
    )


def is_plausible_offset(clock: ClockOffset) -> bool:
    """Return whether an offset and its error are numbers that clocks have."""
    return _is_offset(clock.offset_s) and _is_offset(clock.error_s) and clock.error_s >= 0


def _list_ranks(digest: Digest) -> Iterator[int | None]:
    for rank in digest.ranks:
        yield rank.rank
    for group in digest.stacks:
        yield from group.ranks
    for observation in digest.observations:
        yield observation.rank


def _is_count(value: int | None) -> bool:
    return value is None or 0 <= value < _MOST_COUNT


def _is_offset(value: float) -> bool:
    return math.isfinite(value) and abs(value) <= MOST_SECONDS


def _is_plain(data: bytes) -> bool:
    """Return whether JSON is plain ASCII without an escape: its texts have no control character."""
    return data.isascii() and b"\\" not in data and b"\x7f" not in data


def _clean(value: object) -> object:
    """Return decoded JSON with its texts printable."""
    if isinstance(value, str):
        return value if value.isprintable() else make_printable(value)
    if isinstance(value, list):
        return [_clean(one) for one in value]
    if isinstance(value, Mapping):
        return {make_printable(name): _clean(one) for name, one in value.items()}
    return value
