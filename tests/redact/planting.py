"""Secrets of every form, and the parts of them that a text still contains."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from gpualert_common.redact import load_secrets, secrets_directory
from gpualert_common.redact.samples import SecretSample, expand_sample

LONGEST_RUN = 7
"""Characters of a secret that may be left."""
WORDS = "the training reads and writes its files step by step "
_OWN_LINES = ("netrc_line", "private_key-end", "table_column", "table_cell-5", "table_cell-7")
"""Forms that are recognized by the lines of which they consist."""
_PUBLIC_HEADER = "DEK-Info: "
"""Its value is not secret."""
_BY_ITS_END = "private_key-end"
"""The second half of a private key; without its end it cannot be recognized."""
_KINDS = load_secrets(secrets_directory(), samples=True)
FORMS = [
    pytest.param(hit, id=f"{kind.id}-{pattern.name}-{number}")
    for kind in _KINDS
    for pattern in kind.patterns
    for number, hit in enumerate(kind.samples[pattern.name].hits)
]
FORMS_IN_A_LINE = [form for form in FORMS if not any(own in str(form.id) for own in _OWN_LINES)]
_KEY_WITHOUT_END = "private_key-block-5"
WHOLE_FORMS = [form for form in FORMS if form.id != _KEY_WITHOUT_END]
FORMS_BY_THEIR_START = [form for form in FORMS if _BY_ITS_END not in str(form.id)]


class PlantedSecret:
    """The sample of *notation*, and the drawn characters in it that are secret.

    ``text`` is the sample in one line.
    """

    def __init__(self, notation: str) -> None:
        self.sample = sample = expand_sample(notation)
        self.text = " ".join(sample.text.split())
        self._runs = _drawn_runs(sample, notation)

    def find_survivors(self, text: str) -> list[str]:
        """Return the runs of the secret in *text* that are longer than allowed."""
        return [run for run in self._runs if run in text]

    def offsets(self, limit: int, step: int = 1) -> range:
        """Return the places at which the sample touches *limit* or is near it."""
        return range(max(0, limit - len(self.text) - 5), limit + 6, step)


def fill_words(length: int) -> str:
    """Return words of that length together, with a blank at the end."""
    return (WORDS * (length // len(WORDS) + 1))[: max(0, length - 1)] + " "


def _drawn_runs(sample: SecretSample, notation: str) -> list[str]:
    """Return the runs that another draw of the same notation does not have."""
    other = expand_sample(notation, random.Random(f"other {notation}")).text
    has_fixed_secret = other == sample.text
    runs = {run for secret in sample.secrets for run in _runs(secret)}
    return sorted(run for run in runs if has_fixed_secret or run not in other)


def _runs(secret: str) -> Iterator[str]:
    size = LONGEST_RUN + 1
    for line in secret.split("\n"):
        if line.startswith(_PUBLIC_HEADER):
            continue
        yield from (line[at : at + size] for at in range(len(line) - size + 1))
