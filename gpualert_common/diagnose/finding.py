"""Finding: what one family of failures concludes from the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from gpualert_common.classify.details import Scalar
from gpualert_common.model import Claim
from gpualert_common.structs import Struct, field


class Weight(IntEnum):
    """Weight of a finding for the choice of the cause."""

    RULED_OUT = 0
    """The evidence excludes the family."""
    DOUBTS = 1
    """Evidence that could show another reason for ``cause`` was not available."""
    WARNS = 2
    """It is reported, but is not the reason for the end of the run."""
    SUPPORTS = 3
    """It confirms a cause that other evidence names, or suggests another one."""
    DECIDES = 4
    """It names the cause, in place of any in ``over``."""


class Finding(Struct, frozen=True):
    """Conclusion of one family about a run, with the evidence for it.

    ``because`` is a sentence without its full stop.  ``over`` are the causes from log and
    status that this one replaces.  ``kind`` names a warning.  ``details`` add to those of the log;
    ``corrections`` replace them.  ``most_confidence`` limits that of a cause that it confirms.
    """

    family: str
    weight: Weight
    because: str
    cause: str = ""
    confidence: float = 0.0
    over: frozenset[str] = frozenset()
    kind: str = ""
    claims: tuple[Claim, ...] = ()
    details: Mapping[str, Scalar] = field(default_factory=dict)
    corrections: Mapping[str, Scalar] = field(default_factory=dict)
    cannot_decide: tuple[str, ...] = ()
    most_confidence: float = 1.0
