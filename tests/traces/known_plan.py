"""Plan of the training whose truth is known: its modes, and the set times of each kind of work."""

from __future__ import annotations

STEPS = 8
"""Steps of a mode: of fewer, a single one that a busy machine interrupts leaves a doubt."""
DELAY_S = 0.08
"""Time by which rank 1 takes longer in the work of a mode."""
USUAL_S = {"input": 0.02, "sleep": 0.03, "compute": 0.02}
MODES = ("even", *USUAL_S)
OVERLAP = "overlap"
"""The mode in which rank 0 computes while its all_reduce waits for rank 1, which sleeps."""
