"""A training that fails, and is told why: ``airflow dags test gpualert_failure``.

The task's error begins with the cause, ``missing_module``.  No retry is made, although two are
allowed: the module would be missing again.  The alert lies in ``mailbox/`` of the state directory,
where any mail program for Maildirs reads it.
"""

from __future__ import annotations

import sys
from datetime import timedelta

from airflow.sdk import DAG

from gpualert_provider.operators.gpualert import GPUAlertOperator

# As in gpualert_training.py, here stands a training of yours: bash_command="python train.py".
TRAIN = """
print("epoch 1: loading the tokenizer", flush=True)
import a_tokenizer_that_nobody_has_installed
"""

with DAG("gpualert_failure", schedule=None, tags=["example", "gpualert"]) as dag:
    train = GPUAlertOperator(
        task_id="train",
        command=[sys.executable, "-c", TRAIN],
        retries=2,
        retry_delay=timedelta(seconds=1),
        # For mail or a chat the id of a connection, such as "airflow:my_alerts".
        notify="mailbox",
    )
