"""Cost of GPUAlertOperator when a DAG is parsed, compared with BashOperator.

Imports are timed in fresh interpreters.  A DAG file is parsed as the DAG processor does it: in a
fork of a process that has imported Airflow, and of the file's own imports those of ``airflow``, but
no others.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

from tests.benchmarks.engine import report
from tests.benchmarks.measure import Row, interleave

T = TypeVar("T")

THEIRS = (
    "from airflow.sdk import DAG\n"
    "from airflow.providers.standard.operators.bash import BashOperator\n"
)
OURS = "from gpualert_provider.operators.gpualert import GPUAlertOperator\n"
INFO = "from gpualert_provider import get_provider_info; get_provider_info()"

WAYS = {
    "airflow.sdk and BashOperator": [THEIRS],
    "the same, then GPUAlertOperator": [THEIRS, OURS],
    "GPUAlertOperator alone": [OURS],
    "the provider's entry point": [INFO],
}
ADDED = "what GPUAlertOperator adds"
"""The second step of the only way with two steps."""

_TIMED = """
import sys
import time
for step in sys.argv[1:]:
    began = time.perf_counter()
    exec(step)
    print(1000 * (time.perf_counter() - began))
"""

_DAG = """
{imports}
with DAG("trained", schedule=None) as dag:
    {task}
"""
TASKS = {
    "BashOperator": "BashOperator(task_id='train', bash_command='true')",
    "GPUAlertOperator": "GPUAlertOperator(task_id='train', bash_command='true')",
    "GPUAlertOperator, retry_by_cause={...}": (
        "GPUAlertOperator(task_id='train', bash_command='true', retry_by_cause={'network': 'stop'})"
    ),
}


def measure(home: Path, rounds: int) -> Row:
    """Measure imports, and a DAG file of one task."""
    os.environ |= {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
    }
    row = Row("Airflow: imports in a fresh interpreter, and a DAG file parsed by the DAG processor")
    add_imports(row, rounds)
    add_files(row, home, rounds)
    return row


def add_imports(row: Row, rounds: int) -> None:
    """Measure each way in separate interpreters."""
    found = _rounds({name: partial(_imported, steps) for name, steps in WAYS.items()}, rounds)
    for name, times in found.items():
        row.add(name, [sum(steps) for steps in times], "ms")
        if len(times[0]) > 1:
            row.add(ADDED, [steps[-1] for steps in times], "ms")


def add_files(row: Row, home: Path, rounds: int) -> None:
    """Parse and serialise a file with one task of either operator."""
    from airflow.dag_processing import processor
    from structlog import get_logger

    ways = {}
    (home / "dags").mkdir()
    for number, (name, task) in enumerate(TASKS.items()):
        path = home / "dags" / f"dag_{number}.py"
        path.write_text(_DAG.format(imports=THEIRS if not number else THEIRS + OURS, task=task))
        processor._pre_import_airflow_modules(str(path), get_logger())
        ways[name] = partial(_parsed, path)
    gc.freeze()  # so does the DAG processor, once it has imported what it keeps
    for name, times in _rounds(ways, rounds).items():
        row.add(f"file with {name}", times, "ms")


def _rounds(ways: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    interleave(ways, 1)  # writes the bytecode
    return interleave(ways, rounds)


def _imported(steps: list[str]) -> list[float]:
    command = [sys.executable, "-c", _TIMED, *steps]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [float(line) for line in done.stdout.splitlines()]


def _parsed(path: Path) -> float:
    answer, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writer, str(_parse(path)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with open(answer) as file:
        return float(file.read())


def _parse(path: Path) -> float:
    from airflow.dag_processing import processor
    from structlog import get_logger

    request = processor.DagFileParseRequest(
        file=str(path), bundle_path=path.parent, bundle_name="benchmark"
    )
    began = time.perf_counter()
    result = processor._parse_file(request, get_logger())
    took_s = time.perf_counter() - began
    assert result is not None
    assert len(result.serialized_dags) == 1, result.import_errors
    return 1000 * took_s


if __name__ == "__main__":
    report(measure)
