"""Secrets with known values, in the encodings in which they occur in text."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

from gpualert_common.regex import compile_bytes, escape
from gpualert_common.whole_words import MARK, ends_word

SHORTEST = 6
"""Characters; a shorter secret would mask unrelated text."""


def compile_known(secrets: Iterable[str]) -> re.Pattern[bytes] | None:
    """Return an expression for every form of *secrets*; None when all are too short."""
    forms = {
        form
        for secret in secrets
        for form in _encode_forms(secret.strip())
        if len(form) >= SHORTEST
    }
    if not forms:
        return None
    # Longest first: of two forms with the same start, the longer one is masked.
    ordered = sorted(forms, key=lambda form: (-len(form), form))
    return compile_bytes(b"|".join(map(escape, ordered)), spans_lines=True)


def _encode_forms(secret: str) -> Iterator[bytes]:
    if len(secret) < SHORTEST:
        return
    raw = secret.encode("utf-8", "surrogatepass")
    yield raw
    yield from _list_cut_forms(secret)
    for ascii_only in (True, False):
        escaped = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        yield escaped.encode("utf-8", "surrogatepass")
        # JSON within JSON, as from loggers.
        yield json.dumps(escaped)[1:-1].encode("utf-8", "surrogatepass")
    for encoded in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
        yield encoded.encode()
        yield _lower_percent_codes(encoded).encode()
    for shift in range(3):
        yield from _encode_base64(raw, shift)


def _list_cut_forms(secret: str) -> Iterator[bytes]:
    """Yield the words of *secret* that a cut after or before whole words can leave."""
    for at, character in enumerate(secret):
        if ends_word(character):
            if at >= SHORTEST:
                yield f"{secret[:at].rstrip()} {MARK}".encode("utf-8", "surrogatepass")
            yield f"{MARK}{secret[at + 1 :]}".encode("utf-8", "surrogatepass")


def _lower_percent_codes(encoded: str) -> str:
    head, *rest = encoded.split("%")
    return "".join((head, *(f"%{piece[:2].lower()}{piece[2:]}" for piece in rest)))


def _encode_base64(raw: bytes, shift: int) -> Iterator[bytes]:
    """Yield *raw* in base64 after *shift* bytes, without characters shared with its neighbours."""
    encoded = base64.b64encode(bytes(shift) + raw)
    first = -(-shift * 8 // 6)
    last = (shift + len(raw)) * 8 // 6
    yield encoded[first:last]
    yield encoded[first:last].translate(bytes.maketrans(b"+/", b"-_"))
