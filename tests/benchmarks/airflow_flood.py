"""A task that prints 200,000 lines under a real LocalExecutor, compared with BashOperator.

It needs root and ``make debian``.  Rounds are interleaved.  The wall time is the task's, as Airflow
has it in its books; the CPU is that of the process that runs the task.  Each thousandth line is a
warning, and a round counts only when the task log shows all of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.benchmarks.engine import report
from tests.benchmarks.measure import Row

OPERATORS = ("GPUAlertOperator", "BashOperator")
LINES = 200_000
EVERY = 1000
FASTER = 10.0

_CHILD = """
for n in range({lines}):
    if n % {every} == 7:
        print(f"WARNING: gradient overflow at step {{n}}")
    else:
        print(f"step {{n:06d}} loss {{1 / (n + 1):.6f}} lr 0.0003 tokens/s 12345.6 memory 71.2 GiB")
"""

_DAGS = """
import resource
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG
from gpualert_provider.operators.gpualert import GPUAlertOperator

def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime

def begin(context):
    global began
    began = used()

def note(context, result=None):
    context["ti"].xcom_push(key="cpu_s", value=used() - began)

for operator in (GPUAlertOperator, BashOperator):
    with DAG(operator.__name__, schedule=None) as dag:
        operator(
            task_id="train",
            bash_command="python3 {child}",
            pre_execute=begin,
            post_execute=note,
        )
    globals()[operator.__name__] = dag
"""


def measure(home: Path, rounds: int) -> Row:
    """Measure wall time and CPU of the task, and the ratios."""
    from tests.faults.airflow.standalone import Standalone

    child = home / "flood.py"
    child.write_text(_CHILD.format(lines=LINES, every=EVERY))
    dags = home / "dags"
    dags.mkdir()
    (dags / "flood.py").write_text(_DAGS.replace("{child}", str(child)))
    airflow = Standalone(home, dags, {"GPUALERT_NOTIFY": "none"})
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in OPERATORS}
    try:
        airflow.start()
        for number in range(rounds + 1):
            for name in OPERATORS:
                sample = _run(airflow, home, name)
                if number:  # the first one warms the caches
                    found[name].append(sample)
    finally:
        airflow.end()
    row = Row(f"Airflow, LocalExecutor: a task that prints {LINES:,} lines")
    for name, samples in found.items():
        row.add(f"{name}, wall", [wall for wall, _ in samples], "s")
        row.add(f"{name}, CPU of its process", [cpu for _, cpu in samples], "s")
    for what in ("wall", "CPU of its process"):
        ours, theirs = (row.entries[f"{name}, {what}"].median for name in OPERATORS)
        row.promise(f"{what}, times less", theirs / ours, FASTER, "x", at_least=True, base=1)
    return row


def _run(airflow: Any, home: Path, name: str) -> tuple[float, float]:
    from tests.supervised import until

    run = airflow.trigger(name)
    until(lambda: airflow.is_over(name, run), f"the end of {name}", 300)
    task = airflow.task(name, run)
    assert task["state"] == "success", task
    (log,) = (home / "logs").glob(f"dag_id={name}/run_id={run}/task_id=train/attempt=1.log")
    count = log.read_bytes().count(b"WARNING: gradient overflow")
    assert count == LINES // EVERY, f"{name}: {count} of {LINES // EVERY} warnings in its log"
    path = f"dags/{name}/dagRuns/{run}/taskInstances/train/xcomEntries/cpu_s"
    return task["duration"], float(airflow.call("GET", path)["value"])


if __name__ == "__main__":
    report(measure)
