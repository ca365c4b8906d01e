#!/usr/bin/env python3
"""A Prefect flow of two trainings: one that ends well, and one that dies deep in its model.

Needs an environment with prefect-gpualert.  Without PREFECT_API_URL it uses an ephemeral server of
Prefect's.  Ends with the verdicts, and with 1 when any is not the one that its story should have.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from prefect import flow, get_run_logger
from prefect_gpualert import TrainingFailed, gpualert_run

STATE = Path(os.environ.get("GPUALERT_STATE_DIR", ".demo-state")).absolute()
TRAIN = [
    sys.executable,
    str(Path(__file__).with_name("train_numpy.py")),
    "--checkpoint",
    str(STATE / "prefect-spirals.npz"),
]

train = gpualert_run.with_options(name="train", timeout_seconds=600)


@flow(log_prints=True)
def good_and_bad() -> dict[str, str]:
    """Train twice; returns what came of each, by the cause of its verdict."""
    found = {}
    last = train(shlex.join([*TRAIN, "--epochs", "5"]), state_dir=STATE)
    found["none"] = str(last)
    try:
        train(shlex.join([*TRAIN, "--layers", "2x64", "48x64", "64x3"]), state_dir=STATE)
    except TrainingFailed as failure:
        get_run_logger().info("As it should be: %s", str(failure).splitlines()[0])
        found[failure.cause] = str(failure.log_path)
    return found


def main() -> int:
    """Run the flow and say whether it went as it should."""
    STATE.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = good_and_bad()
    print("\n=== what came of the trainings")
    for cause, what in found.items():
        print(f"{cause:16}{what}")
    print(f"\nThe records are in {STATE / 'runs'}")
    return 0 if list(found) == ["none", "shape_mismatch"] else 1


if __name__ == "__main__":
    sys.exit(main())
