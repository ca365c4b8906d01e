"""The example DAGs of the package."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from gpualert_provider import example_dags

from gpualert_common.record import VERDICT
from tests.airflow.conftest import Trials, needs_provider_examples
from tests.notify.alerting import mails
from tests.supervised import Lab

FOLDER = Path(example_dags.__path__[0])
EXAMPLES = sorted(path.stem for path in FOLDER.glob("gpualert_*.py"))

Check = Callable[[Lab], None]


def trained(lab: Lab) -> None:
    """Assert one training that learned its slope."""
    record = lab.record()
    assert (record.read_json(VERDICT) or {})["disposition"] == "completed"
    assert "epoch 5: slope" in Path(record.log_path(record.logs[-1])).read_text()
    assert mails(lab) == []


def failed(lab: Lab) -> None:
    """Assert one failed training with its cause and alert, since no retry would help."""
    assert (lab.record().read_json(VERDICT) or {})["cause"] == "missing_module"
    (mail,) = mails(lab)
    assert "missing_module" in mail["Subject"]


OUTCOMES: dict[str, tuple[str, Check]] = {
    "gpualert_failure": ("failed", failed),
    "gpualert_training": ("success", trained),
}


@pytest.fixture(autouse=True)
def _to_the_mailbox(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the tests' configuration of alerts."""
    monkeypatch.delenv("GPUALERT_NOTIFY")


def test_every_example_is_run() -> None:
    """Each example in the package has an expected outcome here."""
    assert list(OUTCOMES) == EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_in_one_process(lab: Lab, trials: Trials, name: str) -> None:
    """A copy of an example ends as expected at its first attempt under ``dag.test()``."""
    state, check = OUTCOMES[name]
    done = trials.test(trials.dag_of(name, (FOLDER / f"{name}.py").read_text()))
    assert (done.state, done.tries) == (state, 1)
    check(lab)


@needs_provider_examples
@pytest.mark.parametrize("name", EXAMPLES)
def test_at_a_shell(lab: Lab, database: None, name: str) -> None:
    """``airflow dags test`` finds the example if Airflow loads examples, and it ends the same."""
    state, check = OUTCOMES[name]
    done = subprocess.run(
        [str(Path(sys.executable).with_name("airflow")), "dags", "test", name],
        env={**os.environ, "AIRFLOW__CORE__LOAD_EXAMPLES": "True"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode == 0) == (state == "success"), done.stdout + done.stderr
    assert "Could not load provider module" not in done.stdout + done.stderr
    check(lab)
