"""Reports in a real browser: thirteen kinds of runs, on small and large screens, and on paper."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.browser import WIDTHS, Browser, open_browser
from tests.pages.kinds_of_runs import STATUS_OF, ReportedRuns

pytestmark = pytest.mark.e2e

SHOTS = os.environ.get("REPORT_SHOTS")
"""Folder for screenshots of all pages, for people."""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Return a report of each kind of run, made by the program."""
    runs = ReportedRuns(tmp_path_factory.mktemp("runs"))
    try:
        yield runs.make_all()
    finally:
        runs.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return a browser."""
    with open_browser() as opened:
        yield opened


@pytest.fixture
def page(browser: Browser, reports: dict[str, Path]) -> Browser:
    """Return the browser with the report of a failed training."""
    browser.prefer(prefers_color_scheme="light")
    browser.open(reports["traceback"].as_uri())
    return browser


@pytest.mark.parametrize("kind", STATUS_OF)
def test_page_without_faults(browser: Browser, reports: dict[str, Path], kind: str) -> None:
    """A report names its outcome; at each width it has no error, request, barrier or overflow."""
    browser.prefer(prefers_color_scheme="light")
    browser.open(reports[kind].as_uri(), WIDTHS[0])
    assert browser.driver.find_element(By.CSS_SELECTOR, ".badge").text == STATUS_OF[kind]
    _check(browser, kind, "light")
    for width in WIDTHS[1:]:
        browser.resize(width)
        _check(browser, kind, "light")
    browser.prefer(prefers_color_scheme="dark")
    _check(browser, kind, "dark")
    assert browser.evaluate("return document.scripts.length") == 0
    assert "hacked" not in browser.driver.title.split("=")[0]


def _check(browser: Browser, kind: str, scheme: str) -> None:
    assert browser.find_faults("") == []
    if SHOTS:
        width = browser.evaluate("return innerWidth")
        browser.take_screenshot(Path(SHOTS, f"report-{kind}-{width}-{scheme}.png"))


def test_unfolded_page(browser: Browser, reports: dict[str, Path]) -> None:
    """With all parts unfolded nothing overflows a telephone, also in a hostile report."""
    for kind in ("hostile", "cluster", "artifacts"):
        browser.open(reports[kind].as_uri(), WIDTHS[0])
        browser.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        assert browser.find_faults("") == []


def test_keyboard(page: Browser) -> None:
    """Tab reaches the link to the report first, and the lines of the log, which Enter unfolds."""
    body = page.driver.find_element(By.TAG_NAME, "body")
    body.send_keys(Keys.TAB)
    focused = page.driver.switch_to.active_element
    assert focused.text == "Skip to the report"
    assert page.evaluate("return document.activeElement.getBoundingClientRect().top") >= 0
    focused.send_keys(Keys.ENTER)
    assert page.evaluate("return document.activeElement.id") == "report"
    for _ in range(30):
        page.driver.switch_to.active_element.send_keys(Keys.TAB)
        if page.driver.switch_to.active_element.tag_name == "summary":
            break
    summary = page.driver.switch_to.active_element
    assert summary.text.startswith("Lines around it")
    outline = page.evaluate("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"
    cited = page.driver.find_element(By.CSS_SELECTOR, ".line.cited")
    assert not cited.is_displayed()
    summary.send_keys(Keys.ENTER)
    assert cited.is_displayed()


def test_without_scripts(page: Browser) -> None:
    """The report is the same in a browser that runs no scripts."""
    text = page.driver.find_element(By.TAG_NAME, "main").text
    page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.driver.refresh()
        main = page.driver.find_element(By.TAG_NAME, "main")
        assert main.text == text
        page.driver.find_element(By.CSS_SELECTOR, ".citation summary").click()
        assert page.driver.find_element(By.CSS_SELECTOR, ".line.cited").is_displayed()
    finally:
        page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_on_paper(page: Browser) -> None:
    """A print has all folded parts, as if they had been opened, and is black on white."""
    folded = _print(page)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    opened = _print(page)
    assert folded.count(b"/Type /Page\n") == opened.count(b"/Type /Page\n") > 1
    assert abs(len(folded) - len(opened)) < 0.02 * len(opened)
    page.driver.refresh()
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        cited = page.driver.find_element(By.CSS_SELECTOR, ".line.cited")
        assert cited.rect["height"] > 0
        assert page.evaluate("return arguments[0].checkVisibility()", cited)
        colour = page.evaluate("return getComputedStyle(document.body).backgroundColor")
        assert colour == "rgb(255, 255, 255)"
    finally:
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def _print(page: Browser) -> bytes:
    found = page.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": False})
    return base64.b64decode(found["data"])
