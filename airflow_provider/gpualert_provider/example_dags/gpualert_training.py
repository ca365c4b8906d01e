"""A training that succeeds: ``airflow dags test gpualert_training``.

The task's log names the record, which contains the complete log and the verdict; ``gpualert show
last`` prints it.
"""

from __future__ import annotations

import sys
from datetime import timedelta

from airflow.sdk import DAG

from gpualert_provider.operators.gpualert import GPUAlertOperator

# A small training in Python.  For your own use bash_command="python train.py --epochs 90" or
# command=["torchrun", "train.py"] below.
TRAIN = """
import random
slope = 0.0
for epoch in range(1, 6):
    for _ in range(200):
        x = random.random()
        slope += 0.02 * x * (3 * x - slope * x)
    print(f"epoch {epoch}: slope {slope:.3f}, loss {(3 - slope) ** 2:.6f}", flush=True)
print(f"slope {slope:.3f}")
"""

with DAG("gpualert_training", schedule=None, tags=["example", "gpualert"]) as dag:
    train = GPUAlertOperator(
        task_id="train",
        command=[sys.executable, "-c", TRAIN],
        # If the worker dies, the training continues, and the next attempt adopts it.
        retries=2,
        retry_delay=timedelta(minutes=1),
        # After it the training is asked to end, and has the grace to save a checkpoint.
        execution_timeout=timedelta(hours=12),
        grace="2m",
    )
