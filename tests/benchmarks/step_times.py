"""Duration of the steps of a training, alone and while a command of ours looks into it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from gpualert_common.median import median
from tests.benchmarks.bench import Bench

SETTLING_S = 3.0
"""Time in which PyTorch allocates its memory."""
NOTE = "a step is a training of two small layers on one core, without a GPU"
_ALONE_S = 12
_MOST_S = 120
_PROGRAM = str(Path(__file__).with_name("training_steps.py"))

Window = tuple[float, float]
"""Begin and end of what a command looked at, in seconds since the epoch."""


def has_torch() -> bool:
    """True where the training can run."""
    return importlib.util.find_spec("torch") is not None


def time_steps(
    bench: Bench, run_options: tuple[str, ...] = (), look: Callable[[], Window] | None = None
) -> Callable[[], float]:
    """Return a function that trains under ``gpualert run``, and returns a step in ms.

    It is the median of the means of each tenth of a second.

    ``look`` is called while it trains; the steps within its window count, without it all.
    """
    notes, stop = bench.notes / "steps", bench.notes / "stop"
    run_command = [bench.ours.program, "run", "--quiet", "--no-observe", *run_options, "--"]
    seconds = _ALONE_S if look is None else _MOST_S
    training = [sys.executable, _PROGRAM, str(seconds), str(stop), str(notes)]

    def run() -> float:
        stop.unlink(missing_ok=True)
        process = subprocess.Popen(
            [*run_command, *training], cwd=bench.scratch, env=bench.environment
        )
        window = None
        try:
            if look is not None:
                time.sleep(SETTLING_S)
                window = look()
        finally:
            if look is not None:
                stop.touch()
            status = process.wait()
        assert status == 0
        steps = [tuple(map(float, line.split())) for line in notes.read_text().splitlines()]
        if window is None:
            window = steps[0][0] + SETTLING_S, steps[-1][0]
        return 1000 * median([step for at, step in steps if window[0] <= at <= window[1]])

    return run
