"""The training reports several losses in a row that are not finite.

A single such loss may come from a bad batch that is skipped.  While a mixed-precision training
searches for its loss scale, its gradients overflow and its losses are finite.  So the warning needs
a few losses in a row, or many gradient norms: some frameworks print those and hide the losses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.detection import NOT_DETECTED, Detection
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.phenomena.losses.divergence import claim_of_point
from gpualert_common.progress import Point

DO = (
    "stop it: weights that are not finite stay so, and all further training is lost",
    "resume from a checkpoint before that step: lower learning rate, gradient clipping, or bf16",
    "check the batch of that step; `torch.autograd.set_detect_anomaly(True)` names the operation",
)
FOLLOWS: frozenset[str] = frozenset()
PREDICTS = frozenset(("nan_loss", "not_learning"))


def detect(evidence: Evidence) -> Detection | None:
    """Return whether the last losses or norms are not finite; None where there are none."""
    progress = evidence.progress
    if progress is None:
        return None
    losses = [point for point in progress.points if point.loss is not None]
    norms = [point for point in progress.points if point.grad_norm is not None]
    last = _select_trailing(losses, [not math.isfinite(one.loss or 0.0) for one in losses])
    if len(last) >= thresholds.NAN_LOSSES:
        return _detection("losses not finite", last)
    last = _select_trailing(norms, [not math.isfinite(one.grad_norm or 0.0) for one in norms])
    if len(last) >= thresholds.NAN_NORMS:
        return _detection("gradients not finite", last)
    return NOT_DETECTED if losses or norms else None


def _select_trailing(points: Sequence[Point], odd: Sequence[bool]) -> Sequence[Point]:
    """Return the points after the last finite one."""
    first = len(odd)
    while first and odd[first - 1]:
        first -= 1
    return points[first:]


def _detection(summary: str, points: Sequence[Point]) -> Detection:
    first = points[0]
    place = f"step {first.step}" if first.step is not None else f"line {first.line}"
    return Detection(
        f"{summary} (from {place} on)", shows=(claim_of_point(first), claim_of_point(points[-1]))
    )
