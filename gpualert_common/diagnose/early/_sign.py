"""What one kind of warning is told by."""

from __future__ import annotations

from dataclasses import dataclass

from gpualert_common.model import Claim


@dataclass(frozen=True, slots=True)
class Sign:
    """That something is wrong with a run that goes on.

    ``says`` is a few words without a verb that a time can follow: "GPU 3 idle".  ``since`` is in
    seconds since the epoch, 0 for when it was first seen.
    """

    says: str
    since: float = 0.0
    shows: tuple[Claim, ...] = ()


FINE = Sign("")
"""It was looked for, and is not there."""
