"""Pages of the web server in a real browser: live, with and without scripts, at three widths."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By

from gpualert_common.job_store.opening import open_store
from gpualert_common.jobs.job_directory import JobDirectory
from gpualert_common.record import Record
from gpualert_common.telemetry.source import Sample
from gpualert_common.telemetry.storage import TelemetryWriter
from tests.browser import WIDTHS, Browser, open_browser
from tests.jobs.composed_job import KEY, compose, end
from tests.pages.kinds_of_jobs import write_digests, write_run
from tests.supervised import Lab, python, until
from tests.web.test_pages import HOSTILE, OOM, TRAINING, run_named
from tests.web.web_server import WebServer, start_server

pytestmark = pytest.mark.e2e
_GIB = 1 << 30


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for all tests of this module."""
    with open_browser() as one:
        yield one


@pytest.fixture
def server(lab: Lab, browser: Browser) -> Iterator[WebServer]:
    """A server that lets its pages act, with the browser signed in."""
    with start_server("--allow-actions") as one:
        browser.open(one.url)
        assert browser.driver.current_url == f"http://{one.host}/"
        browser.find_faults(one.host)
        yield one


def _read_text(browser: Browser, selector: str) -> str:
    """Return the text of the first element; "" while it is being replaced."""
    try:
        found = browser.driver.find_elements(By.CSS_SELECTOR, selector)
        return found[0].text if found else ""
    except StaleElementReferenceException:
        return ""


def _check_all_looks(browser: Browser, server: WebServer, url: str) -> None:
    """Fail if a page has a fault at one of the widths, light or dark."""
    browser.open(url)
    for width in WIDTHS:
        browser.resize(width)
        assert browser.find_faults(server.host) == [], (url, width)
    browser.prefer(prefers_color_scheme="dark")
    browser.resize(1280)
    assert browser.find_faults(server.host) == [], (url, "dark")
    browser.prefer(prefers_color_scheme="light")


def test_live_list(lab: Lab, browser: Browser, server: WebServer) -> None:
    """The list shows progress and new states by itself, keeps a choice, and filters by its form."""
    run_named(lab, "first", "false")
    run = lab.launch(*python(TRAINING), options=("--name", "live"))
    browser.driver.refresh()
    until(lambda: "step" in _read_text(browser, "tr.is-live .note"), "the progress")
    before = _read_text(browser, "tr.is-live .note")
    browser.driver.find_elements(By.NAME, "run")[1].click()
    until(lambda: _read_text(browser, "tr.is-live .note") not in ("", before), "more progress")
    assert browser.driver.find_elements(By.NAME, "run")[1].is_selected()
    assert "choose one more" in _read_text(browser, "#compare")
    _check_all_looks(browser, server, f"http://{server.host}/")
    browser.driver.find_element(By.ID, "name").send_keys("first")
    browser.driver.find_element(By.CSS_SELECTOR, "button.main").click()
    until(lambda: "name=first" in browser.driver.current_url, "the filtered list")
    assert [one.text for one in browser.driver.find_elements(By.CSS_SELECTOR, "th.run a")] == [
        "first"
    ]
    browser.open(f"http://{server.host}/")
    lab.gpualert("stop", run.record.run_id)
    until(lambda: "stopped" in _read_text(browser, "#rows"), "the end of the run on the page")


def test_live_run(lab: Lab, browser: Browser, server: WebServer) -> None:
    """A run's page moves with it: progress, log, stacks by a click, and a stop that asks first."""
    run = lab.launch(*python(TRAINING), options=("--name", "live"))
    _add_telemetry(run.record)
    url = f"http://{server.host}/runs/{run.record.run_id}"
    browser.open(url)
    until(lambda: _read_text(browser, ".big b"), "the progress")
    step, last = _read_text(browser, ".big b"), _read_text(browser, "#tail").split("\n")[-1]
    until(lambda: _read_text(browser, ".big b") not in ("", step), "more progress")
    until(lambda: _read_text(browser, "#tail").split("\n")[-1] not in ("", last), "more log")
    follows = "return document.querySelector('.tail').scrollTop"
    until(lambda: "step" in _read_text(browser, "#tail"), "the log")
    assert abs(browser.evaluate(follows)) < 1, "it follows the end of the log"
    assert "GPU 7" in _read_text(browser, "#now")
    assert "97 %" in _read_text(browser, "#now")
    _check_all_looks(browser, server, url)

    browser.open(url)
    browser.driver.find_element(By.XPATH, "//button[text()='Take stacks']").click()
    until(lambda: "on request" in _read_text(browser, "#stacks"), "the stacks")
    assert browser.find_faults(server.host) == []

    assert not browser.driver.find_element(
        By.XPATH, "//button[text()='Stop it now']"
    ).is_displayed()
    browser.driver.find_element(By.CSS_SELECTOR, "summary.danger").click()
    step = _read_text(browser, ".big b")
    until(lambda: _read_text(browser, ".big b") not in ("", step), "a refresh")
    assert run.record.event("stopping") is None
    browser.driver.find_element(By.XPATH, "//button[text()='Stop it now']").click()
    run.wait()
    until(lambda: "stopped" in _read_text(browser, "#top"), "the end of the run on the page")
    until(lambda: not _read_text(browser, "#actions"), "the actions to go")
    assert browser.find_faults(server.host) == []


def test_lost_connection(lab: Lab, browser: Browser, server: WebServer) -> None:
    """A page whose server has ended says that it is not up to date."""
    run = lab.launch(*python(TRAINING))
    browser.open(f"http://{server.host}/runs/{run.record.run_id}")
    server.process.kill()
    server.process.wait()
    until(lambda: "not up to date" in _read_text(browser, "#link-state"), "the notice")
    browser.list_console_errors()
    browser.list_foreign_requests(server.host)


def test_ended_pages(lab: Lab, browser: Browser, server: WebServer) -> None:
    """The pages of ended runs, of a comparison, of a report and of an error have no faults."""
    code = (
        "import sys\nfor n in range(1, 400): print(f'step {n}/400 loss {float(sys.argv[1]) / n}')"
    )
    run_named(lab, "first", *python(code), "2.0")
    run_named(lab, "second", *python(code), "9.0")
    lab.gpualert("run", "--name", HOSTILE * 5, "--", *python(f"print({HOSTILE!r} * 9); {OOM[2]}"))
    one, other, hostile = (path.name for path in lab.records())
    for path in ("/", f"/runs/{one}", f"/runs/{hostile}", f"/compare?run={one}&run={hostile}"):
        _check_all_looks(browser, server, f"http://{server.host}{path}")
    browser.open(f"http://{server.host}/")
    for box in browser.driver.find_elements(By.NAME, "run")[1:]:
        box.click()
    browser.driver.find_element(By.ID, "compare").click()
    until(lambda: "/compare" in browser.driver.current_url, "the comparison")
    of_second = (By.CSS_SELECTOR, ".chart path.stroke-series-2")
    until(lambda: browser.driver.find_elements(*of_second), "the chart with both runs")
    browser.open(f"http://{server.host}/runs/{hostile}/report")
    assert browser.find_faults(server.host) == []
    browser.open(f"http://{server.host}/runs/{other[:-1]}")
    assert [one for one in browser.find_faults(server.host) if "404" not in one] == []


def test_job_pages(lab: Lab, browser: Browser, server: WebServer) -> None:
    """The pages of jobs have no faults, with 750 nodes and with hostile texts, folded or not."""
    write_digests(lab.home / "jobs", 750)
    hostile = JobDirectory(open_store(str(lab.home / "jobs")), "job-bad")
    for node in range(20):
        digest = compose(node, 20, job="job-bad", host=HOSTILE * 9 + str(node), name=HOSTILE)
        hostile.write_digest(end(digest, "cuda_oom", headline=HOSTILE * 9))
    for key, name in ((KEY, "17"), ("job-bad", HOSTILE * 9)):
        job = {"key": key, "name": name, "directory": str(lab.home / "jobs")}
        write_run(lab.state, job).close()
    for path in ("/jobs", f"/jobs/{KEY}?page=2", "/jobs/job-bad?page=1"):
        browser.open(f"http://{server.host}{path}")
        if "/jobs/" in path:
            until(lambda: _read_text(browser, "#folded"), "the table of nodes")
        _check_all_looks(browser, server, f"http://{server.host}{path}")
    browser.open(f"http://{server.host}/jobs/{KEY}")
    browser.driver.find_element(By.CSS_SELECTOR, "#all-nodes summary").click()
    assert "gpu3" in _read_text(browser, "#all")
    browser.driver.find_element(By.LINK_TEXT, "Next").click()
    until(lambda: "101 to 200 of 750" in _read_text(browser, "#all-nodes"), "the next nodes")


def test_without_scripts(lab: Lab, browser: Browser, server: WebServer) -> None:
    """Without scripts the pages reload themselves, and stop and stacks work by their forms."""
    run = lab.launch(*python(TRAINING))
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.open(f"http://{server.host}/runs/{run.record.run_id}")
        assert re.search(r"step \d+/1000", _read_text(browser, "#tail"))
        browser.driver.find_element(By.XPATH, "//button[text()='Take stacks']").click()
        until(lambda: "on request" in _read_text(browser, "#stacks"), "the stacks")
        step = _read_text(browser, ".big b")
        until(lambda: _read_text(browser, ".big b") not in ("", step), "the page to reload itself")
        browser.driver.find_element(By.CSS_SELECTOR, "summary.danger").click()
        browser.driver.find_element(By.XPATH, "//button[text()='Stop it now']").click()
        run.wait()
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_sign_in_by_the_form(lab: Lab, browser: Browser, server: WebServer) -> None:
    """A browser without a cookie gets a form for the token, and then the list."""
    browser.driver.delete_all_cookies()
    browser.open(f"http://{server.host}/")
    assert [one for one in browser.find_faults(server.host) if "401" not in one] == []
    browser.driver.find_element(By.ID, "token").send_keys(server.token)
    browser.driver.find_element(By.CSS_SELECTOR, "form button").click()
    until(lambda: _read_text(browser, "h1") == "Runs", "the list")
    assert server.token not in browser.driver.current_url


def _add_telemetry(record: Record) -> None:
    """Write the samples of eight GPUs into the record of a run."""
    writer = TelemetryWriter(record)
    for number in range(60):
        samples = [
            Sample(
                f"gpu:{gpu}",
                {
                    "utilization_percent": 97 - (number * 7 + gpu) % 40 * (number < 59),
                    "memory_used_bytes": (60 + gpu) * _GIB,
                    "memory_total_bytes": 80 * _GIB,
                    "temperature_celsius": 60 + (number + gpu) % 9,
                    "power_watts": 400 + 10 * ((number + gpu) % 7),
                },
            )
            for gpu in range(8)
        ]
        writer.add(time.time() - 5 * (60 - number), [("nvml", one) for one in samples])
