"""Detection: a problem of a run in progress."""

from __future__ import annotations

from gpualert_common.model import Claim
from gpualert_common.structs import Struct


class Detection(Struct, frozen=True):
    """A detected problem, with the evidence for it.

    ``summary`` is a few words without a verb that a time can follow: "GPU 3 idle".  ``since`` is in
    seconds since the epoch, 0 for the time of the first detection.  ``do`` is advice for this
    problem; without it, that of the kind counts.
    """

    summary: str
    since: float = 0.0
    shows: tuple[Claim, ...] = ()
    do: tuple[str, ...] = ()


NOT_DETECTED = Detection("")
"""The evidence shows that the problem does not exist."""
