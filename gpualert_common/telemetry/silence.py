"""Silence of a run: the time since the last output in its logs."""

from __future__ import annotations

import os
import time

from gpualert_common.telemetry.source import ObservedRun


def measure_silence_s(run: ObservedRun) -> float:
    """Return the seconds since a log of the run was last written, or since its start."""
    last = run.started_at
    for path in run.logs:
        try:
            last = max(last, os.stat(path).st_mtime)
        except OSError:
            continue
    return max(0.0, time.time() - last)
