"""Credentials of one start of the server: its token, and the values that browsers get for it."""

from __future__ import annotations

import hmac
import secrets

from gpualert_common.structs import Struct

_BYTES = 32
"""256 bits: nobody guesses them."""


class Credentials(Struct, frozen=True):
    """Random texts of 256 bits each, made at the start and kept in memory only.

    ``token`` is in the address that the server prints.  A browser that shows it gets ``session`` as
    a cookie, which scripts cannot read; pages hold ``form_token`` in each form of an action.
    """

    token: str
    session: str
    form_token: str


def make_credentials() -> Credentials:
    """Return new credentials."""
    return Credentials(*(secrets.token_urlsafe(_BYTES) for _ in range(3)))


def is_same_secret(given: str | None, secret: str) -> bool:
    """True if a text is the secret; the time of the comparison does not depend on the texts."""
    return hmac.compare_digest((given or "").encode("utf-8", "replace"), secret.encode())
