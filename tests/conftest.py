"""Rules of the whole suite: skips, markers, signals, and the report of failures; the fixtures
`lab`, `slurm` and `terminal`.

A skipped test counts as a failure, because it has shown nothing.  What a machine may lack (root,
Debian packages, PyTorch) or what takes minutes is left out by a marker, which is visible.
Hypothesis takes the same examples in each run, so that none fails by chance; `make nightly` draws
others.
"""

from __future__ import annotations

import importlib.util
import signal
import sys
from collections.abc import Generator
from pathlib import Path
from typing import TypeVar

import pytest

from tests.slurm_cluster import slurm
from tests.supervised import lab
from tests.terminal import terminal

__all__ = ["lab", "slurm", "terminal"]

collect_ignore = [  # each is run in the environment that has the engine
    directory
    for engine in ("airflow", "prefect")
    if not Path(sys.executable).with_name(engine).exists()
    for directory in (engine, f"faults/{engine}")
]

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

# The engines' environments have no Hypothesis.
if importlib.util.find_spec("hypothesis") is not None:
    from hypothesis import settings

    settings.register_profile("random", derandomize=False)
    settings.register_profile("same", derandomize=True)
    settings.load_profile("same")

TARGET_MARKERS = ("e2e", "nightly")
"""Each names the one `make` target that runs the test; a test without one is run by `make test`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of this suite."""
    parser.addoption("--allow-skips", action="store_true", help="let a skipped test pass")
    parser.addoption(
        "--controls",
        action="store_true",
        help="in the fault tables, also run the engines' own operators, which nothing asserts",
    )
    parser.addoption(
        "--failures-to",
        type=Path,
        metavar="FILE",
        help="append a line with its reason for each test that fails",
    )


def _survive(_number: int, _frame: object) -> None:
    """Do nothing; unlike SIG_IGN, a handler is not inherited by the programs that tests start."""


def pytest_configure() -> None:
    """Restore signals that the parent process ignores (`nohup`, a job in the background).

    The programs under test inherit an ignored signal, and would then not react to it.  Pytest
    itself survives a hang-up.
    """
    for number, handler in (
        (signal.SIGHUP, _survive),
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGQUIT, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test with two target markers: two targets would run it."""
    for item in items:
        found = [name for name in TARGET_MARKERS if item.get_closest_marker(name)]
        if len(found) > 1:
            raise pytest.UsageError(f"{item.nodeid} has more than one of the markers {found}")


def _refuse_skip(report: Report, config: pytest.Config) -> Report:
    """Return the report, as failed if it was a skip without permission."""
    expected = hasattr(report, "wasxfail") or config.getoption("allow_skips")
    if report.outcome == "skipped" and not expected:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"unexpected skip of {report.nodeid}: {reason}"
    return report


def _append_failure(report: pytest.TestReport, config: pytest.Config) -> None:
    """Append a failed test and the last line of its reason to the file of `--failures-to`."""
    path: Path | None = config.getoption("failures_to")
    if path is None or report.outcome != "failed":
        return
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = str(crash.message if crash else report.longrepr).splitlines() or ["no reason"]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(f"{report.nodeid} ({report.when}): {lines[0]}\n")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that skips itself, and note each failure."""
    report = _refuse_skip((yield), item.config)
    _append_failure(report, item.config)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail a module that skips itself while it is collected."""
    return _refuse_skip((yield), collector.config)
