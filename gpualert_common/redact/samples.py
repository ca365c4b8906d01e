"""The notation of sample lines: where the secret stands, and letters that are drawn.

``«...»`` marks what must be masked; ``{{hex:40}}`` stands for forty characters of that alphabet,
so that no rule file holds anything that looks like a real token.
"""

from __future__ import annotations

import random
import re
import string
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class SecretSample:
    """A line, the secrets in it, and the line around them: one piece more than secrets."""

    text: str
    secrets: tuple[str, ...]
    around: tuple[str, ...]

    def masked(self, kind: str) -> str:
        """The line as it should read after redaction."""
        return f"[redacted {kind}]".join(self.around)


def expand(notation: str, draw: random.Random | None = None) -> SecretSample:
    """The sample that *notation* describes, its letters drawn by *draw*, else always the same.

    Raises ValueError for an alphabet that does not exist.
    """
    source = draw or random.Random(notation)

    def fill(match: re.Match[str]) -> str:
        alphabet = _ALPHABETS.get(match[1])
        if alphabet is None:
            raise ValueError(f"{match[0]}: the alphabets are {', '.join(_ALPHABETS)}")
        return "".join(source.choices(alphabet, k=int(match[2])))

    pieces = _MARKED.split(_FILL.sub(fill, notation))
    return SecretSample("".join(pieces), tuple(pieces[1::2]), tuple(pieces[::2]))
