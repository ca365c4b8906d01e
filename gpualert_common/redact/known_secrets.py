"""Secrets that are known by their letters, in the forms in which they travel."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

from gpualert_common.regex import compile_bytes, escape

SHORTEST = 6
"""Characters; a shorter secret would mask innocent text all over."""


def known_regex(secrets: Iterable[str]) -> re.Pattern[bytes] | None:
    """Return an expression for every form of *secrets*; None when all are too short."""
    forms = {form for secret in secrets for form in _forms(secret.strip()) if len(form) >= SHORTEST}
    if not forms:
        return None
    # The longest first: of two forms that begin alike the whole one is masked.
    ordered = sorted(forms, key=lambda form: (-len(form), form))
    return compile_bytes(b"|".join(map(escape, ordered)), spans_lines=True)


def _forms(secret: str) -> Iterator[bytes]:
    if len(secret) < SHORTEST:
        return
    raw = secret.encode("utf-8", "surrogatepass")
    yield raw
    for ascii_only in (True, False):
        escaped = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        yield escaped.encode("utf-8", "surrogatepass")
        # JSON in JSON, as loggers wrap it.
        yield json.dumps(escaped)[1:-1].encode("utf-8", "surrogatepass")
    for encoded in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
        yield encoded.encode()
        yield _lower_percent(encoded).encode()
    for shift in range(3):
        yield from _base64_forms(raw, shift)


def _lower_percent(encoded: str) -> str:
    head, *rest = encoded.split("%")
    return "".join((head, *(f"%{piece[:2].lower()}{piece[2:]}" for piece in rest)))


def _base64_forms(raw: bytes, shift: int) -> Iterator[bytes]:
    """What base64 makes of *raw* behind *shift* bytes, without the characters it shares."""
    encoded = base64.b64encode(bytes(shift) + raw)
    first = -(-shift * 8 // 6)
    last = (shift + len(raw)) * 8 // 6
    yield encoded[first:last]
    yield encoded[first:last].translate(bytes.maketrans(b"+/", b"-_"))
