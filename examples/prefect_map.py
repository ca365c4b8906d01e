#!/usr/bin/env python3
"""A sweep in Prefect: a training for each learning rate, two at a time, since there are two GPUs.

Needs an environment with prefect-gpualert, a server, and a limit for the tag of the trainings:

    prefect server start --background
    prefect config set PREFECT_API_URL=http://127.0.0.1:4200/api
    prefect concurrency-limit create gpu 2
    python prefect_map.py

With one of the rates the loss becomes nan: that training is not tried again, and is reported in
the local mailbox.  Prints the result of each, and exits with 1 if one is not as expected.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from prefect import flow, unmapped
from prefect_gpualert import TrainingFailed, gpualert_run, retry_by_cause

STATE = Path(os.environ.get("GPUALERT_STATE_DIR", ".demo-state")).absolute()
TRAIN = [sys.executable, str(Path(__file__).with_name("train_numpy.py")), "--epochs", "5"]
RATES = [0.02, 0.05, 0.1, 10.0]

train = gpualert_run.with_options(
    name="train",
    tags=["gpu"],  # a slot is held from here to the last retry
    retries=2,
    retry_delay_seconds=[10, 60],
    retry_condition_fn=retry_by_cause(nan_loss="stop"),
)


@flow
def sweep(rates: list[float]) -> dict[float, str]:
    """Train with each rate; returns the last line of each training, or the reason why it failed."""
    commands = [
        shlex.join([*TRAIN, "--lr", str(rate), "--checkpoint", str(STATE / f"sweep-{rate}.npz")])
        for rate in rates
    ]
    # Arguments that are the same for all runs, and are not plain values, must be unmapped.
    runs = train.map(commands, state_dir=STATE, notify=unmapped(["mailbox"]))
    results = [run.result(raise_on_failure=False) for run in runs]
    return {
        rate: result.cause if isinstance(result, TrainingFailed) else str(result)
        for rate, result in zip(rates, results, strict=True)
    }


def main() -> int:
    """Run the sweep; return 1 if it does not go as expected."""
    STATE.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = sweep(RATES)
    print("\n=== the results of the trainings")
    for rate, what in found.items():
        print(f"{rate:<8}{what}")
    return 0 if [rate for rate, what in found.items() if what == "nan_loss"] == [10.0] else 1


if __name__ == "__main__":
    sys.exit(main())
