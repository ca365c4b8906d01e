"""The fixtures that the tests ask for; upstream's own conftest.py loads this plugin by its name."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, MutableMapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import psutil  # type: ignore[import-untyped]
import pytest
import structlog

from .test_utils.taskinstance import RenderableTaskInstance, run_task_instance

if TYPE_CHECKING:
    from types import TracebackType

    from airflow.models.dagrun import DagRun
    from airflow.sdk import DAG, BaseOperator
    from airflow.serialization.definitions.dag import SerializedDAG
    from sqlalchemy.orm import Session

BUNDLE = "upstream"
"""DAGs belong to a bundle; this one has no files."""


def pytest_configure(config: pytest.Config) -> None:
    """Register upstream's marks."""
    config.addinivalue_line("markers", "db_test: needs the database, which all have here")


@pytest.fixture(scope="session", autouse=True)
def database() -> None:
    """Create Airflow's tables, in its home."""
    from airflow.models.dagbundle import DagBundleModel
    from airflow.utils.db import initdb
    from airflow.utils.session import create_session

    initdb()
    with create_session() as session:
        session.add(DagBundleModel(name=BUNDLE))


@pytest.fixture
def session(database: None) -> Iterator[Session]:
    """Airflow's session of this thread."""
    from airflow import settings

    assert settings.Session is not None
    yield settings.Session()
    settings.Session.remove()


class DagMaker:
    """Makes DAGs whose tasks a ``with`` collects; at its end the DAG is in the database.

    :ivar dag: the DAG as it was written
    :ivar session: Airflow's session of this thread
    """

    dag: DAG

    def __init__(self, session: Session, module: Any) -> None:
        self.session = session
        self._module = module

    def __call__(
        self,
        dag_id: str = "test_dag",
        *,
        schedule: Any = timedelta(days=1),
        serialized: bool = False,
        session: Session | None = None,
        **options: Any,
    ) -> DagMaker:
        """Begin a DAG.  With or without ``serialized``, its runs are made from the serialized
        DAG."""
        from airflow.sdk import DAG

        given = {**options.get("default_args", {}), **options}
        start = datetime(2016, 1, 1, tzinfo=UTC)
        self._start = given.get("start_date", getattr(self._module, "DEFAULT_DATE", start))
        self.dag = DAG(dag_id, schedule=schedule, **{**options, "start_date": self._start})
        self.dag.fileloc = self._module.__file__
        self.dag.relative_fileloc = Path(self._module.__file__).name
        return self

    def __enter__(self) -> DAG:
        return self.dag.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.dag.__exit__(kind, error, traceback)  # type: ignore[no-untyped-call]
        if kind is None:
            self._write()

    def _write(self) -> None:
        """Write the DAG to the database, as the DAG processor does."""
        from airflow.dag_processing.collection import update_dag_parsing_results_in_db
        from airflow.serialization.serialized_objects import LazyDeserializedDAG

        errors: dict[tuple[str, str], str] = {}
        dags = [LazyDeserializedDAG.from_dag(self.dag)]
        update_dag_parsing_results_in_db(BUNDLE, None, dags, errors, None, set(), self.session)
        self.session.commit()
        self.session.expunge_all()  # the DAG may be in the session from an earlier write
        assert not errors, errors

    @property
    def serialized_dag(self) -> SerializedDAG:
        """The DAG as the scheduler reads it from the database."""
        from airflow.models.serialized_dag import SerializedDagModel

        found = SerializedDagModel.get(self.dag.dag_id, session=self.session)
        assert found is not None
        return found.dag

    def create_dagrun(
        self,
        *,
        run_id: str | None = None,
        logical_date: datetime | None = None,
        start_date: datetime | None = None,
        data_interval: tuple[datetime, datetime] | None = None,
        run_type: Any = None,
        state: Any = None,
        session: Session | None = None,
    ) -> DagRun:
        """Create a run of the DAG, by default a manual one, whose tasks wait."""
        from airflow.models.dagrun import DagRun
        from airflow.sdk import timezone
        from airflow.timetables.base import DataInterval
        from airflow.utils.state import DagRunState
        from airflow.utils.types import DagRunTriggeredByType, DagRunType

        dag = self.serialized_dag
        kind = run_type or DagRunType.MANUAL
        date = timezone.coerce_datetime(logical_date or self._start)
        if data_interval is None:
            interval = dag.timetable.infer_manual_data_interval(run_after=date)
        else:
            interval = DataInterval(*map(timezone.coerce_datetime, data_interval))
        name = DagRun.generate_run_id(run_type=kind, logical_date=date, run_after=interval.end)
        run = dag.create_dagrun(
            run_id=run_id or name,
            logical_date=date,
            data_interval=interval,
            run_after=interval.end,
            run_type=kind,
            triggered_by=DagRunTriggeredByType.TEST,
            state=state or DagRunState.RUNNING,
            start_date=start_date or self._start,
            session=self.session,
        )
        for ti in run.task_instances:
            ti.refresh_from_task(dag.get_task(ti.task_id))
        self.session.commit()
        return run

    def run_ti(self, task_id: str, dag_run: DagRun) -> None:
        """Run a task of the run.  Raises what the task has raised."""
        ti = dag_run.get_task_instance(task_id, session=self.session)
        assert ti is not None
        run_task_instance(ti, self.dag.get_task(task_id))


@pytest.fixture
def dag_maker(session: Session, request: pytest.FixtureRequest) -> Iterator[DagMaker]:
    """Makes DAGs and their runs; neither outlives the test."""
    from .test_utils.db import clear_db_dags, clear_db_runs

    yield DagMaker(session, request.module)
    session.rollback()
    clear_db_runs()
    clear_db_dags()


@pytest.fixture
def create_task_instance_of_operator(
    dag_maker: DagMaker,
) -> Callable[..., RenderableTaskInstance]:
    """Makes a task of this class in a DAG with a run, and returns its instance there."""

    def create(
        operator: Callable[..., BaseOperator],
        *,
        dag_id: str,
        template_searchpath: str | None = None,
        **arguments: Any,
    ) -> RenderableTaskInstance:
        with dag_maker(dag_id, template_searchpath=template_searchpath):
            task = operator(**arguments)
        (ti,) = dag_maker.create_dagrun().task_instances
        return RenderableTaskInstance(ti, task)

    return create


@pytest.fixture
def caplog(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Pytest's own fixture, which also captures Airflow's structlog records."""

    def forward(logger: Any, method: str, event: MutableMapping[str, Any]) -> NoReturn:
        level = logging.getLevelNamesMapping()[method.upper()]
        logging.getLogger("structlog").log(level, "%s", event["event"])
        raise structlog.DropEvent

    before = structlog.get_config()["processors"]
    formatter = structlog.stdlib.PositionalArgumentsFormatter()
    structlog.configure(processors=[formatter, forward])
    yield caplog
    structlog.configure(processors=before)


class _ReadProcess:
    """A process as it was when its command line was read."""

    def __init__(self, process: psutil.Process) -> None:
        self.pid = process.pid
        self._line: list[str] = process.cmdline()

    def cmdline(self) -> list[str]:
        return self._line


@pytest.fixture(autouse=True)
def only_readable_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip processes that cannot be read: zombies, and those that have exited meanwhile.

    A test of upstream's lists all processes of the machine, and other processes must not fail it.
    """
    every = psutil.process_iter

    def readable() -> Iterator[_ReadProcess]:
        for process in every():
            try:
                yield _ReadProcess(process)
            except psutil.Error:
                continue

    monkeypatch.setattr(psutil, "process_iter", readable)
