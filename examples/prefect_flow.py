#!/usr/bin/env python3
"""A Prefect flow of two trainings, one of which fails deep in its model, and of a task that fails.

Needs an environment with prefect-gpualert.  Without PREFECT_API_URL it uses an ephemeral server of
Prefect's.  Alerts go to the local mailbox: those of the training by itself, those of the other task
by a hook.  Prints the verdicts and the alerts, and exits with 1 if they are not as expected.
"""

from __future__ import annotations

import mailbox
import os
import shlex
import shutil
import sys
from pathlib import Path

from prefect import flow, get_run_logger, task
from prefect_gpualert import TrainingFailed, gpualert_hook, gpualert_run

STATE = Path(os.environ.get("GPUALERT_STATE_DIR", ".demo-state")).absolute()
TRAIN = [
    sys.executable,
    str(Path(__file__).with_name("train_numpy.py")),
    "--checkpoint",
    str(STATE / "prefect-spirals.npz"),
]

train = gpualert_run.with_options(name="train", timeout_seconds=600)


@task(on_failure=[gpualert_hook("mailbox", state_dir=STATE)])
def publish(checkpoint: Path) -> None:
    """Any other task, which fails: nobody has mounted the share."""
    shutil.copy(checkpoint, "/no-such-share/models/")


@flow(log_prints=True)
def good_and_bad() -> dict[str, str]:
    """Train twice; returns the state of each training, by the cause of its verdict."""
    found = {}
    last = train(shlex.join([*TRAIN, "--epochs", "5"]), state_dir=STATE, notify="mailbox")
    found["none"] = str(last)
    try:
        layers = ["--layers", "2x64", "48x64", "64x3"]
        train(shlex.join([*TRAIN, *layers]), state_dir=STATE, notify="mailbox")
    except TrainingFailed as failure:
        get_run_logger().info("As it should be: %s", str(failure).splitlines()[0])
        found[failure.cause] = str(failure.log_path)
    publish(Path(TRAIN[-1]), return_state=True)
    return found


def subjects() -> dict[str, str]:
    """Return the alerts in the local mailbox, by the names of their files."""
    return {key: mail["Subject"] for key, mail in mailbox.Maildir(STATE / "mailbox").items()}


def main() -> int:
    """Run the flow; return 1 if it does not go as expected."""
    STATE.mkdir(mode=0o700, parents=True, exist_ok=True)
    before = subjects()
    found = good_and_bad()
    alerts = [subject for key, subject in subjects().items() if key not in before]
    print("\n=== the states of the trainings")
    for cause, what in found.items():
        print(f"{cause:16}{what}")
    print("\n=== the alerts in the mailbox", *alerts, sep="\n")
    print(f"\nThe records are in {STATE / 'runs'}, the mailbox is {STATE / 'mailbox'}")
    notified = [any(f"] {name}-" in subject for subject in alerts) for name in ("train", "publish")]
    as_expected = list(found) == ["none", "shape_mismatch"] and len(alerts) == 2 and all(notified)
    return 0 if as_expected else 1


if __name__ == "__main__":
    sys.exit(main())
