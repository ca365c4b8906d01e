"""The training tells losses that are not finite, several times in a row.

One such loss may be a bad batch that is skipped; a mixed-precision training that looks for its
scale has gradients that overflow, and finite losses.  So it takes a few losses in a row, or many
gradient norms, as they are printed where a framework hides the losses themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.early._sign import FINE, Sign
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.families.divergence import claim_of
from gpualert_common.progress import Point

DO = (
    "stop it: weights that are not finite stay so, and what is trained from here on is lost",
    "go on from a checkpoint before that step: lower learning rate, gradient clipping, or bf16",
    "look at the batch of that step; `torch.autograd.set_detect_anomaly(True)` names the operation",
)
FOLLOWS: frozenset[str] = frozenset()
FORETELLS = frozenset(("nan_loss", "not_learning"))


def judge(evidence: Evidence) -> Sign | None:
    """Whether the last losses, or the last norms, are finite; None where none were read."""
    progress = evidence.progress
    if progress is None:
        return None
    losses = [point for point in progress.points if point.loss is not None]
    norms = [point for point in progress.points if point.grad_norm is not None]
    last = _trailing(losses, [not math.isfinite(one.loss or 0.0) for one in losses])
    if len(last) >= thresholds.NAN_LOSSES:
        return _sign("losses not finite", last)
    last = _trailing(norms, [not math.isfinite(one.grad_norm or 0.0) for one in norms])
    if len(last) >= thresholds.NAN_NORMS:
        return _sign("gradients not finite", last)
    return FINE if losses or norms else None


def _trailing(points: Sequence[Point], odd: Sequence[bool]) -> Sequence[Point]:
    """The points from the last one on that was finite."""
    first = len(odd)
    while first and odd[first - 1]:
        first -= 1
    return points[first:]


def _sign(says: str, points: Sequence[Point]) -> Sign:
    first = points[0]
    place = f"step {first.step}" if first.step is not None else f"line {first.line}"
    return Sign(f"{says} (from {place} on)", shows=(claim_of(first), claim_of(points[-1])))
