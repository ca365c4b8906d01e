#!/usr/bin/env python3
"""An Airflow DAG of two trainings, one that succeeds and one that fails deep in its model; and a
task of another operator that fails and has GPUAlert's callback.

As a script it runs the DAG by ``dag.test()``, without scheduler or server, in an AIRFLOW_HOME of
its own with SQLite; it needs an environment with airflow-provider-gpualert.  Prints the states of
the tasks and the alerts that were sent, and exits with 1 if they are not as expected.
"""

from __future__ import annotations

import mailbox
import os
import shlex
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
STATE = Path(os.environ.setdefault("GPUALERT_STATE_DIR", str(Path(".demo-state").absolute())))
if __name__ == "__main__":
    os.environ.setdefault("AIRFLOW_HOME", str(STATE / "airflow"))
    os.environ |= {
        "AIRFLOW__CORE__DAGS_FOLDER": str(HERE),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    }

from airflow.providers.standard.operators.bash import BashOperator  # noqa: E402 - a script sets
from airflow.sdk import DAG  # noqa: E402 - Airflow's home first
from gpualert_provider.notifications.gpualert import GPUAlertNotifier  # noqa: E402
from gpualert_provider.operators.gpualert import GPUAlertOperator  # noqa: E402

TRAIN = [
    sys.executable,
    str(HERE / "train_numpy.py"),
    "--checkpoint",
    str(STATE / "airflow-spirals.npz"),
]

with DAG("gpualert_good_and_bad", schedule=None, tags=["gpualert"]) as dag:
    good = GPUAlertOperator(task_id="good", bash_command=shlex.join([*TRAIN, "--epochs", "5"]))
    bad = GPUAlertOperator(
        task_id="bad",
        bash_command=shlex.join([*TRAIN, "--layers", "2x64", "48x64", "64x3"]),
        trigger_rule="all_done",
    )
    ordinary = BashOperator(
        task_id="ordinary",
        bash_command="echo FileNotFoundError: no such file: labels.csv; exit 2",
        on_failure_callback=GPUAlertNotifier("mailbox"),
        trigger_rule="all_done",
    )
    good >> bad >> ordinary

FAILING = ("bad", "ordinary")


def main() -> int:
    """Run the DAG; return 1 if it does not go as expected."""
    from airflow.utils.db import initdb

    STATE.mkdir(mode=0o700, parents=True, exist_ok=True)
    initdb()
    before = set(subjects())
    run = dag.test()
    states = {name: str(run.get_task_instance(name).state) for name in ("good", *FAILING)}
    print("\n=== the states of the tasks")
    for name, state in states.items():
        print(f"{name:10}{state}")
    sent = [subjects()[mail] for mail in subjects().keys() - before]
    print("\n=== the alerts in the mailbox", *sent, sep="\n")
    print(f"\nThe records are in {STATE / 'runs'}")
    notified = all(any(f".{name}" in subject for subject in sent) for name in FAILING)
    as_it_should = states == {"good": "success", "bad": "failed", "ordinary": "failed"}
    return 0 if as_it_should and notified and len(sent) == len(FAILING) else 1


def subjects() -> dict[str, str]:
    """Return the subject of each mail in the mailbox, by its file name."""
    box = mailbox.Maildir(STATE / "mailbox")
    return {name: " ".join(mail["Subject"].split()) for name, mail in box.iteritems()}


if __name__ == "__main__":
    sys.exit(main())
