"""A skip is a failure: a test that did not run has shown nothing.

What a machine may lack (root, Debian packages, PyTorch) is asked for by the marker ``e2e`` and
left out by selection, which is visible, instead of by a skip, which is not.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--allow-skips``, for work on a machine that cannot run everything."""
    parser.addoption("--allow-skips", action="store_true", help="let a skipped test pass")


def _refuse_skip(report: Report, config: pytest.Config) -> Report:
    """Return the report, failed if it was a skip that nobody allowed."""
    expected = hasattr(report, "wasxfail") or config.getoption("allow_skips")
    if report.outcome == "skipped" and not expected:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"unexpected skip of {report.nodeid}: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that skips itself."""
    return _refuse_skip((yield), item.config)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail a module that skips itself while it is collected."""
    return _refuse_skip((yield), collector.config)
