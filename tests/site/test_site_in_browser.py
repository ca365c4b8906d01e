"""The built site in a real browser: from a folder and from a server, narrow and wide."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from docs.site.source import write_source
from tests.browser import WIDTHS, Browser, open_browser

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-site/bin/python"
PAGES = ("index.html", "guides/kubernetes.html", "python-api.html")
"""Pages with pictures, code, wide tables and long lists; each check of one takes a second."""
pytestmark = pytest.mark.e2e


def build_site(source: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of a source, as `make site` does."""
    command = [str(PYTHON), "-m", "mkdocs", "build", "--strict"]
    return subprocess.run(
        [*command, "--config-file", str(source / "mkdocs.yml"), "--site-dir", str(site)],
        env={"NO_MKDOCS_2_WARNING": "1", "PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the built site."""
    folder = tmp_path_factory.mktemp("site")
    write_source(folder / "source")
    done = build_site(folder / "source", folder / "site")
    assert done.returncode == 0, done.stdout
    return folder / "site"


@contextmanager
def serve_folder(folder: Path) -> Iterator[str]:
    """Yield host and port of a server on loopback that serves a folder."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def search(browser: Browser, words: str) -> str:
    """Return the address of the first result of a search, which the search box lists."""
    browser.driver.find_element(By.CSS_SELECTOR, ".md-search__input").send_keys(words)
    wait = WebDriverWait(browser.driver, 30)
    first = wait.until(
        lambda driver: driver.find_elements(By.CSS_SELECTOR, "a.md-search-result__link")
    )[0]
    return str(first.get_attribute("href"))


def test_defects_of_pages_fail_the_build(tmp_path: Path) -> None:
    """A dead link, a dead anchor and a page without a place each fail the build, by name."""
    write_source(tmp_path / "source")
    docs = tmp_path / "source" / "docs"
    with (docs / "faq.md").open("a") as page:
        page.write("\n[a](no-page.md), [b](record.md#no-heading), [c](../gpualert_common/cli.py)\n")
    (docs / "orphan.md").write_text("# Orphan\n")
    done = build_site(tmp_path / "source", tmp_path / "site")
    assert done.returncode != 0
    for defect in ("no-page.md", "#no-heading", "gpualert_common/cli.py", "orphan.md"):
        assert defect in done.stdout


def test_site_works_without_a_server(site: Path) -> None:
    """From a folder the search finds a cause, nothing fails, and nothing is requested elsewhere."""
    with open_browser() as browser:
        browser.open((site / "index.html").as_uri())
        assert "/causes/cuda_oom.html" in search(browser, "cuda_oom")
        assert browser.list_console_errors() == []
        assert browser.list_foreign_requests("") == []


def test_pages_have_no_faults(site: Path) -> None:
    """Pages from a server have no error, barrier, foreign request or overflow at any width."""
    with open_browser() as browser, serve_folder(site) as host:
        for scheme in ("light", "dark"):
            browser.prefer(prefers_color_scheme=scheme)
            for page in PAGES:
                for width in WIDTHS if scheme == "light" else WIDTHS[1:2]:
                    browser.open(f"http://{host}/{page}", width)
                    assert browser.find_faults(host) == [], (page, width, scheme)
        browser.open(f"http://{host}/record.html")
        assert "/causes/oom_killer.html" in search(browser, "oom_killer")
        assert browser.list_console_errors() == []
        assert browser.list_foreign_requests(host) == []
