"""The tests of an engine's own operator, and the environment in which another one replaces it.

A suite has a folder here: a pytest plugin ``swap``, whose option ``--operator`` names the class,
and modules that stand in for those which the tests import and nobody publishes.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.supervised import Lab
from tests.upstream import outcome
from tests.upstream.outcome import Outcome

HERE = Path(__file__).parent.resolve()


@dataclass(frozen=True)
class Suite:
    """A suite of tests.

    :ivar engine: its name, that of the folder here, and the prefix of its variables
    :ivar distribution: its sdist has the tests
    :ivar tests: how many each file has; one that goes missing is a failure
    :ivar settings: variables for the engine, whose home lies in this directory
    :ivar own: what the plugin calls the engine's own class
    :ivar arguments: of pytest, for how the tests are run
    """

    engine: str
    distribution: str
    tests: Mapping[str, int]
    settings: Callable[[Path], Mapping[str, str]]
    own: str
    arguments: tuple[str, ...] = ()

    def run(self, python: Path, source: Path, operator: str) -> dict[str, Outcome]:
        """Run the tests of this sdist with a class, in a temporary home."""
        with tempfile.TemporaryDirectory(prefix="gpualert-upstream-") as home:
            lab = Lab(Path(home))
            (lab.home / "tmp").mkdir()
            foreign = (self.engine.upper(), "GPUALERT_", "PYTEST_", "PYTHON")
            env = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
            env |= lab.environment()
            env |= self.settings(lab.home)
            env["PYTHONPATH"] = str(HERE / self.engine)
            arguments = ["-p", "swap", f"--operator={operator}", *self.arguments]
            if operator == "broken":  # the failures are expected, and not shown
                arguments += ["--tb=no", "--no-summary"]
            try:
                return outcome.run(python, source, self.tests, *arguments, env=env)
            finally:
                lab.end_everything()


def _airflow(home: Path) -> Mapping[str, str]:
    return {
        "AIRFLOW_HOME": str(home / "airflow"),
        # A DAG that a test adds to is written each time, not once in half a minute.
        "AIRFLOW__CORE__MIN_SERIALIZED_DAG_UPDATE_INTERVAL": "0",
    }


def _prefect(home: Path) -> Mapping[str, str]:
    return {
        "PREFECT_HOME": str(home / "prefect"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_TESTING_UNIT_TEST_MODE": "true",
        "DO_NOT_TRACK": "1",
    }


SUITES = (
    Suite(
        engine="airflow",
        distribution="apache_airflow_providers_standard",
        tests={
            "tests/unit/standard/operators/test_bash.py": 38,
            "tests/unit/standard/decorators/test_bash.py": 42,
        },
        settings=_airflow,
        own="bash",
    ),
    Suite(
        engine="prefect",
        distribution="prefect_shell",
        tests={"tests/test_commands.py": 27, "tests/test_async_dispatch.py": 12},
        settings=_prefect,
        own="prefect_shell",
        arguments=("-o", "anyio_mode=auto"),  # for pytest-asyncio, which upstream has
    ),
)
