"""Airflow for the tests of this folder: a separate home with SQLite, set before the import.

Airflow warns while it is imported and while it runs; none of that is ours to mend, so warnings are
shown here and fail nothing.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.supervised import Lab

if TYPE_CHECKING:
    from airflow.sdk import DAG

HOME = Path(tempfile.mkdtemp(prefix="gpualert-airflow-"))
DAGS = HOME / "dags"
DAGS.mkdir()
for name in [name for name in os.environ if name.startswith("AIRFLOW")]:
    del os.environ[name]
os.environ |= {
    "AIRFLOW_HOME": str(HOME),
    "AIRFLOW__CORE__DAGS_FOLDER": str(DAGS),
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
}

VERSION = tuple(int(part) for part in version("apache-airflow-core").split(".")[:2])
needs_policies = pytest.mark.skipif(VERSION < (3, 3), reason="retry policies came with 3.3")
needs_store = pytest.mark.skipif(VERSION < (3, 3), reason="the task state store came with 3.3")
needs_provider_examples = pytest.mark.skipif(
    VERSION < (3, 3), reason="before 3.3 Airflow loads no examples of providers"
)
needs_form = pytest.mark.skipif(
    VERSION < (3, 2), reason="the commands of 3.1 show a form only if wtforms is installed"
)
needs_marked_callback = pytest.mark.skipif(
    VERSION < (3, 2), reason="3.1 calls no callback of a task that was marked while it ran"
)

_SOURCE = """
import datetime
import pickle
from airflow import sdk
from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG
from airflow.providers.common.compat.sdk import AirflowFailException
from gpualert_provider.notifications.gpualert import GPUAlertNotifier
from gpualert_provider.operators.gpualert import GPUAlertOperator

def fail(*_):
    raise AirflowFailException("no retry helps")

def keep(context):
    with open({errors!r}, "wb") as file:
        pickle.dump(context["exception"], file)

with DAG({name!r}, schedule=None, default_args={{"on_failure_callback": keep}}) as dag:
    train = {operator}{how}(task_id="train", {arguments})
"""


def pytest_configure(config: pytest.Config) -> None:
    """Show warnings here instead of failing on them."""
    config.addinivalue_line("filterwarnings", "default")


def pytest_unconfigure() -> None:
    """Remove Airflow's home."""
    shutil.rmtree(HOME, ignore_errors=True)


@dataclass
class Done:
    """A finished task: its state, attempts, result, last error and XCom."""

    state: str
    tries: int
    returned: Any
    error: BaseException | None
    xcom: Callable[[str], Any]


class Trials:
    """DAGs of one task, by default a GPUAlertOperator, run by ``dag.test()`` in this process."""

    def __init__(self, place: Lab) -> None:
        self._errors = place.home / "error.pickle"
        self._made: list[Path] = []

    def dag(self, arguments: str, *, how: str = "", operator: str = "GPUAlertOperator") -> DAG:
        """Return a DAG, in a file of its own, whose task has these arguments."""
        dag_id = f"trial_{os.urandom(4).hex()}"
        given = {"arguments": arguments, "how": how, "operator": operator}
        return self.dag_of(dag_id, _SOURCE.format(errors=str(self._errors), name=dag_id, **given))

    def dag_of(self, name: str, source: str) -> DAG:
        """Return the DAG called ``dag`` of this source, in a file of that name."""
        path = DAGS / f"{name}.py"
        path.write_text(source)
        self._made.append(path)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        dag: DAG = module.dag
        return dag

    def train(
        self,
        arguments: str,
        *,
        how: str = "",
        operator: str = "GPUAlertOperator",
        **options: Any,
    ) -> Done:
        """Run a DAG whose task has these arguments, and return the finished task."""
        return self.test(self.dag(arguments, how=how, operator=operator), **options)

    def test(self, dag: DAG, **options: Any) -> Done:
        """Run a DAG and return its finished task."""
        self._errors.unlink(missing_ok=True)
        run = dag.test(**options)
        task = run.get_task_instance("train")
        assert task is not None
        error = None
        if self._errors.exists():
            error = pickle.loads(self._errors.read_bytes())
        returned = task.xcom_pull(task_ids="train")

        def xcom(key: str) -> Any:
            return task.xcom_pull(task_ids="train", key=key)

        return Done(str(task.state), task.try_number, returned, error, xcom)

    def end(self) -> None:
        """Remove the files, which every later run would read again."""
        for path in self._made:
            path.unlink()


@pytest.fixture(scope="session")
def database() -> None:
    """Create Airflow's tables."""
    from airflow.utils.db import initdb

    initdb()
    if VERSION < (3, 3):
        _give_callbacks_the_error()


def _give_callbacks_the_error() -> None:
    """Let ``dag.test()`` put the error into the context, as a worker does; 3.3 does it itself."""
    from airflow.sdk.execution_time import task_runner

    finalize = task_runner.finalize

    def finalize_with_error(ti: Any, state: Any, context: Any, log: Any, error: Any = None) -> None:
        context["exception"] = error
        finalize(ti, state, context, log, error)

    task_runner.finalize = finalize_with_error


@pytest.fixture
def trials(lab: Lab, database: None) -> Iterator[Trials]:
    """Return DAGs of one task; the signal handlers are restored after the test."""
    numbers = (signal.SIGTERM, signal.SIGALRM, signal.SIGINT)
    handlers: dict[int, Any] = {number: signal.getsignal(number) for number in numbers}
    made = Trials(lab)
    yield made
    made.end()
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def when() -> Iterator[Callable[[Callable[[], object], Callable[[], None]], None]]:
    """Return a function that acts in a thread once a condition holds, while a task runs."""
    import threading

    from tests.supervised import until

    threads: list[threading.Thread] = []
    errors: list[BaseException] = []

    def later(condition: Callable[[], object], act: Callable[[], None]) -> None:
        def wait() -> None:
            try:
                until(condition, "the moment to act")
                act()
            except BaseException as error:  # noqa: BLE001 - raised below, in the test
                errors.append(error)

        threads.append(threading.Thread(target=wait))
        threads[-1].start()

    yield later
    for thread in threads:
        thread.join()
    for error in errors:
        raise error
