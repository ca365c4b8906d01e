"""Evidence against slow training by its own settings: few checkpoints, and launches do not block.

The family also holds slow links between GPUs, so only a run with one GPU at most is judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.diagnose.run_metrics import count_saves

FAMILY = "D2"


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield the number of checkpoints of a run that saved far less often than in a save storm."""
    progress = evidence.progress
    if progress is None or not evidence.is_completed or progress.counts.last_step is None:
        return
    saves = count_saves(progress)
    steps = progress.counts.last_step - (progress.counts.first_step or 0) + 1
    is_known = evidence.is_available("environment") and len(evidence.gpus) <= 1
    blocks = evidence.environment.get("CUDA_LAUNCH_BLOCKING") not in (None, "", "0")
    if saves and is_known and not blocks and saves <= thresholds.RARE_SAVES * steps:
        text = f"it saved {saves} checkpoints in {steps} steps, and its launches do not block"
        yield Finding(FAMILY, Weight.RULED_OUT, text)
