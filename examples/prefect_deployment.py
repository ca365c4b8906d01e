#!/usr/bin/env python3
"""A training as a Prefect deployment: a worker on the GPU machine runs it.

Needs an environment with prefect-gpualert wherever something of this runs, and PREFECT_API_URL:

    prefect server start                                # once, anywhere
    prefect work-pool create trainings --type process   # once
    python prefect_deployment.py                        # once, and after each change of its flow
    prefect worker start --pool trainings               # on the GPU machine
    prefect deployment run nightly/numpy --param epochs=5 --watch

The flow's hooks also send an alert when its process was killed; the worker calls them.  The
training itself then continues for ten minutes, and `prefect flow-run retry` takes it over.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from prefect import flow
from prefect_gpualert import gpualert_hook, gpualert_run, retry_by_cause

HERE = Path(__file__).resolve().parent
STATE = Path(os.environ.get("GPUALERT_STATE_DIR", HERE.parent / ".demo-state"))
POOL = os.environ.get("WORK_POOL", "trainings")
ALERT = [gpualert_hook("mailbox", state_dir=STATE)]

train = gpualert_run.with_options(
    name="train",
    timeout_seconds=8 * 3600,
    retries=2,
    retry_delay_seconds=[60, 600],
    retry_condition_fn=retry_by_cause,
)


@flow(on_failure=ALERT, on_crashed=ALERT, on_cancellation=ALERT)
def nightly(epochs: int = 20) -> str:
    """Train; returns the last line of the output."""
    STATE.mkdir(mode=0o700, parents=True, exist_ok=True)
    options = ["--epochs", str(epochs), "--checkpoint", str(STATE / "nightly.npz")]
    command = shlex.join([sys.executable, str(HERE / "train_numpy.py"), *options])
    return str(train(command, state_dir=STATE, notify="mailbox", grace="20s", adopt_within=600))


if __name__ == "__main__":
    source = nightly.from_source(str(HERE), f"{Path(__file__).name}:nightly")
    source.deploy("numpy", work_pool_name=POOL, ignore_warnings=True)  # type: ignore[union-attr]
