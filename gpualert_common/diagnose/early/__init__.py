"""What people should hear of a run while it goes on, one file for each kind of warning.

A file's docstring is its rule in words, and its numbers stand in
:mod:`gpualert_common.diagnose.thresholds`.  A new kind is a new file, and no list elsewhere:

===========  =====================================================================
judge        of the evidence of a run that goes on: a :class:`Sign`, ``FINE``, or None
DO           what people can do at once
FOLLOWS      kinds of which this one is a consequence: after them it is no news
FORETELLS    causes that it is a first sign of
===========  =====================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Protocol

from gpualert_common.diagnose.early._sign import FINE, Sign
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.plugins import load_plugins

__all__ = ["FINE", "Kind", "Sign", "judge", "load_kinds"]


class Kind(Protocol):
    """A module of this folder."""

    DO: tuple[str, ...]
    FOLLOWS: frozenset[str]
    FORETELLS: frozenset[str]
    __doc__: str | None

    def judge(self, evidence: Evidence) -> Sign | None:
        """What is to be seen now: a sign, ``FINE``, or None where nobody can tell."""


@cache
def load_kinds() -> dict[str, Kind]:
    """Return every kind of warning, by the name of its file."""
    return load_plugins(__name__)


def judge(evidence: Evidence) -> Iterator[tuple[str, Sign | Exception]]:
    """What is seen of each kind of which anything can be told, and what kept others from it."""
    for name, kind in load_kinds().items():
        try:
            sign = kind.judge(evidence)
        except Exception as error:  # noqa: BLE001 - telemetry is anybody's numbers
            yield name, error
            continue
        if sign is not None:
            yield name, sign
