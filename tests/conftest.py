"""A skip is a failure: a test that did not run has shown nothing.

What a machine may lack (root, Debian packages, PyTorch) is asked for by the marker ``e2e`` and
left out by selection, which is visible, instead of by a skip, which is not.  Where the time of a
whole run is limited, ``--begin-until`` leaves out what could not be begun by then, and says what.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Generator
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what a machine that cannot run everything needs, or one that has no time for it."""
    parser.addoption("--allow-skips", action="store_true", help="let a skipped test pass")
    parser.addoption(
        "--begin-until", type=float, metavar="EPOCH", help="begin no test after this second"
    )


def pytest_configure() -> None:
    """Hear Ctrl-C: a shell's background has it ignored here, and in all that the tests start."""
    for number, usual in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGQUIT, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


NOT_BEGUN = pytest.StashKey[Counter[str]]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Pass over a test that comes too late to be begun, unless it is one that failed before."""
    limit = item.config.getoption("begin_until")
    if limit is None or time.time() <= limit or item.config.getoption("lf", default=False):
        return None
    file = item.nodeid.partition("::")[0]
    item.config.stash.setdefault(NOT_BEGUN, Counter())[file] += 1
    return True


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Tell which tests there was no time for."""
    for file, count in config.stash.get(NOT_BEGUN, Counter()).items():
        terminalreporter.write_line(f"NOT BEGUN, the time was up: {count} of {file}", yellow=True)


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
