"""A training that fails, with an alert: ``airflow dags test gpualert_failure``.

The task's error begins with the cause, ``missing_module``.  No retry is made, although two are
allowed, since the module would be missing again.  The alert is in ``mailbox/`` of the state
directory, a Maildir for any mail program.
"""

from __future__ import annotations

import sys
from datetime import timedelta

from airflow.sdk import DAG

from gpualert_provider.operators.gpualert import GPUAlertOperator

# As in gpualert_training.py, replace it by your training: bash_command="python train.py".
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
        # For mail or a chat use the id of a connection, such as "airflow:my_alerts".
        notify="mailbox",
    )
