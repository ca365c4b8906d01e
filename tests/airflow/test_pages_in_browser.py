"""The tab and the page in a real Airflow and a real browser: all of its programs, and Chromium."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.airflow.dag_rights import USERS
from tests.airflow.pages_client import AUTH_MANAGER, make_task_path
from tests.browser import WIDTHS, Browser, open_browser
from tests.faults.airflow.standalone import Standalone
from tests.supervised import until

if TYPE_CHECKING:
    from selenium.webdriver.remote.webelement import WebElement

pytestmark = pytest.mark.e2e

_HERE = Path(__file__).parent
_SHOTS = os.environ.get("GPUALERT_SHOTS")
"""Prefix of screenshots, for people who look at the pages."""


class WithUsers(Standalone):
    """Airflow with users who log in; ``airflow standalone`` itself allows no other auth manager."""

    def __init__(self, home: Path) -> None:
        root = str(_HERE.parents[1])
        super().__init__(home, _HERE / "page_dags", {"PYTHONPATH": root})
        self.environment |= {
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "False",
            "AIRFLOW__CORE__AUTH_MANAGER": AUTH_MANAGER,
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": USERS,
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(home / "passwords.json"),
            "GPUALERT_NOTIFY": "none",
        }

    def start(self) -> None:
        """Start all programs and return when the API answers."""
        self._database.start()
        migrate = self.spawn("db", "migrate")
        assert migrate.wait(timeout=120) == 0, (self.home / "db.out").read_text()
        for program in ("api-server", "scheduler", "dag-processor"):
            self.spawn(program)
        until(self.answers, "the API server", 180, poll_s=0.1)

    @property
    def url(self) -> str:
        """Address of the API server."""
        return f"http://{self.host}"

    @property
    def host(self) -> str:
        """Host and port of the API server."""
        return f"127.0.0.1:{self.port}"

    def read_password(self, user: str) -> str:
        """Return the password that Airflow gave a user."""
        return str(json.loads((self.home / "passwords.json").read_text())[user])

    def get_token(self) -> str:
        """Return the token of the administrator."""
        body = {"username": "admin", "password": self.read_password("admin")}
        request = urllib.request.Request(
            f"{self.url}/auth/token",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return str(json.load(answer)["access_token"])


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WithUsers]:
    """Yield an Airflow whose DAGs were triggered."""
    server = WithUsers(tmp_path_factory.mktemp("airflow"))
    try:
        server.start()
        server.use_token(server.get_token())
        yield server
    finally:
        server.end()


class Person:
    """A browser whose user is logged in by the form."""

    def __init__(self, airflow: WithUsers, browser: Browser) -> None:
        self.airflow = airflow
        self.browser = browser

    def log_in(self, user: str) -> None:
        """Log in by the form, as another user than before."""
        driver = self.browser.driver
        driver.get("about:blank")  # Airflow's own page would ask with its cookie again
        driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
        self.browser.open(f"{self.airflow.url}/auth/login")
        self.find("input[name=username]").send_keys(user)
        self.find("input[name=password]").send_keys(self.airflow.read_password(user))
        self.find("button[type=submit]").click()
        until(lambda: "/auth/" not in driver.current_url, "the end of the login", 60)

    def find(self, selector: str) -> WebElement:
        """Return the first element, once there is one."""
        found: list[Any] = until(
            lambda: self.browser.driver.find_elements("css selector", selector), selector, 30
        )
        element: WebElement = found[0]
        return element

    def open(self, path: str, width: int = 1280) -> None:
        """Open a page of the API server."""
        self.browser.open(self.airflow.url + path, width)

    def read(self) -> str:
        """Return the text of the page or frame."""
        script = "return document.body ? document.body.innerText : ''"
        return str(self.browser.evaluate(script))

    def enter_frames(self, count: int) -> None:
        """Go into the frame of the page, and into the frame in it."""
        self.browser.driver.switch_to.default_content()
        for _ in range(count):
            self.browser.driver.switch_to.frame(self.find("iframe"))

    def shoot(self, name: str, *, whole: bool = True) -> None:
        """Take a screenshot, if somebody wants it."""
        if _SHOTS:
            self.browser.take_screenshot(Path(f"{_SHOTS}{name}.png"), whole=whole)


def test_tab_and_page(airflow: WithUsers) -> None:
    """The tab shows failed, live and finished runs to users with the right, and harms nobody."""
    run = airflow.trigger("trainings")
    opened = airflow.trigger("open_trainings")
    with open_browser() as browser:
        person = Person(airflow, browser)
        person.open(make_task_path("trainings", run, "fails"))
        assert "Not logged in" in person.read()
        browser.list_console_errors()  # of the answer 401
        person.log_in("admin")
        _check_live(person, run)
        until(lambda: airflow.is_over("trainings", run), "the end of the run", 180)
        until(lambda: airflow.is_over("open_trainings", opened), "the end of the other run", 60)
        _check_tab(person, run)
        _check_documents(person, run)
        _check_failures(person)
        person.log_in("shortsight")
        person.open(make_task_path("open_trainings", opened, "fails"))
        assert "No access" in person.read()
        person.log_in("openview")
        person.open(make_task_path("trainings", run, "fails"))
        assert "No access" in person.read()
        person.open(make_task_path("open_trainings", opened, "fails"))
        assert "Try 1" in person.read()
        person.open("/gpualert/failures")
        assert "open_trainings" in person.read()
        assert "cuda_oom" not in person.read()


def _check_live(person: Person, run: str) -> None:
    """The report of a live run says so, and changes without a click when the run has ended."""
    airflow = person.airflow
    until(lambda: airflow.task("trainings", run, "lives")["state"] == "running", "the run", 120)
    path = make_task_path("trainings", run, "lives")
    person.open(path)

    def read_report() -> str:
        person.enter_frames(1)
        return person.read()

    until(lambda: "step 40 of 200" in read_report(), "the progress of the live run", 60)
    person.browser.driver.switch_to.default_content()
    person.shoot("live-1280", whole=False)
    (airflow.outputs / "go-on").touch()
    until(lambda: "Still running" not in (read_report() or "Still running"), "its end", 90)
    person.browser.driver.switch_to.default_content()
    until(lambda: "success" in person.read(), "the state of the try", 60)


def _check_tab(person: Person, run: str) -> None:
    """Airflow's page of a task instance has the tab, with the report of each try."""
    person.open(f"/dags/trainings/runs/{run}/tasks/fails/plugin/gpualert-report")
    person.enter_frames(2)
    until(lambda: "20.00 GiB" in person.read(), "the report in the tab", 60)
    person.browser.driver.switch_to.default_content()
    assert "GPUAlert" in person.read()
    person.shoot("tab-1280", whole=False)
    person.browser.resize(1920)
    person.shoot("tab-1920", whole=False)
    person.enter_frames(1)
    person.find("a.try").click()
    person.enter_frames(1)
    assert person.find("a.try[aria-current]").text.startswith("Try 1")
    person.open(f"/dags/trainings/runs/{run}/tasks/hostile/mapped/0/plugin/gpualert-report")
    person.enter_frames(2)
    until(lambda: "RuntimeError" in person.read(), "the report of a mapped task", 60)


def _check_documents(person: Person, run: str) -> None:
    """Our pages have no faults at any width, light or dark, whatever a log contains."""
    browser, host = person.browser, person.airflow.host
    paths = {task: make_task_path("trainings", run, task) for task in ("fails", "ends")}
    hostile = make_task_path("trainings", run, "hostile", 0)
    pages = {
        "task": (paths["fails"], WIDTHS),
        "fails": (f"{paths['fails']}/report", WIDTHS),
        "hostile": (f"{hostile}/report", WIDTHS),
        "ends": (f"{paths['ends']}/report", WIDTHS[1:2]),
    }
    for name, (page, widths) in pages.items():
        for width in widths:
            browser.list_console_errors()
            browser.list_foreign_requests(host)
            person.open(page, width)
            assert browser.find_faults(host) == [], (page, width)
            assert browser.driver.title != "1"
            person.shoot(f"{name}-{width}")
    browser.prefer(prefers_color_scheme="dark")
    person.open(make_task_path("trainings", run, "fails"))
    assert browser.find_faults(host) == []
    person.shoot("fails-dark-1280")
    browser.prefer(prefers_color_scheme="light")


def _check_failures(person: Person) -> None:
    """The page in the navigation lists the failures by cause and leads to the task instances."""
    browser, host = person.browser, person.airflow.host
    person.open("/plugin/gpualert")
    person.enter_frames(1)
    until(lambda: "cuda_oom" in person.read(), "the page in the navigation", 60)
    person.browser.driver.switch_to.default_content()
    person.shoot("nav-1280", whole=False)
    browser.prefer()  # frames follow Airflow's own choice unless a preference is emulated
    browser.evaluate("localStorage.setItem('theme', 'dark')")
    person.open("/plugin/gpualert")
    person.enter_frames(1)
    until(lambda: "cuda_oom" in person.read(), "the page in a dark Airflow", 60)
    assert browser.evaluate("return matchMedia('(prefers-color-scheme: dark)').matches")
    browser.driver.switch_to.default_content()
    person.shoot("nav-dark-1280", whole=False)
    browser.evaluate("localStorage.removeItem('theme')")
    person.enter_frames(1)
    person.find("a[data-top]").click()
    browser.driver.switch_to.default_content()
    until(lambda: "/dags/" in browser.driver.current_url, "the task instance", 30)
    for scheme in ("light", "dark"):
        browser.prefer(prefers_color_scheme=scheme)
        for width in WIDTHS:
            browser.list_console_errors()
            browser.list_foreign_requests(host)
            person.open("/gpualert/failures", width)
            assert browser.find_faults(host) == [], width
            person.shoot(f"failures-{scheme}-{width}")
    browser.prefer(prefers_color_scheme="light")
    person.open("/gpualert/failures?cause=cuda_oom")
    assert "trainings.fails" in person.read()
    assert "open_trainings.fails" not in person.read()
