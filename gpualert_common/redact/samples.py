"""Notation of sample lines in the rule files of secrets.

``«...»`` marks the text to mask.  ``{{hex:40}}`` stands for forty random characters of an alphabet,
so that no rule file contains a string that looks like a real token.
"""

from __future__ import annotations

import random
import re
import string

from gpualert_common.structs import Struct

_FILL = re.compile(r"\{\{(\w+):(\d+)\}\}")
_MARKED = re.compile("«([^»]*)»")
_ALPHABETS = {
    "alnum": string.ascii_letters + string.digits,
    "base64": string.ascii_letters + string.digits + "+/",
    "digit": string.digits,
    "hex": "0123456789abcdef",
    "lower": string.ascii_lowercase + string.digits,
    "upper": string.ascii_uppercase + string.digits,
    "url": string.ascii_letters + string.digits + "-_",
}


class SecretSample(Struct, frozen=True):
    """A line, the secrets in it, and the pieces around them: one more than secrets."""

    text: str
    secrets: tuple[str, ...]
    around: tuple[str, ...]

    def mask(self, kind: str) -> str:
        """Return the expected line after redaction."""
        return f"[redacted {kind}]".join(self.around)


def expand_sample(notation: str, draw: random.Random | None = None) -> SecretSample:
    """Return the sample of *notation* with characters from *draw*, by default always the same.

    Raises ValueError for an unknown alphabet.
    """
    source = draw or random.Random(notation)

    def fill(match: re.Match[str]) -> str:
        alphabet = _ALPHABETS.get(match[1])
        if alphabet is None:
            raise ValueError(f"{match[0]}: the alphabets are {', '.join(_ALPHABETS)}")
        return "".join(source.choices(alphabet, k=int(match[2])))

    pieces = _MARKED.split(_FILL.sub(fill, notation))
    return SecretSample("".join(pieces), tuple(pieces[1::2]), tuple(pieces[::2]))
