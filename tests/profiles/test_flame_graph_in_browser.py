"""The flame graph in a real browser: on small and large screens, enlarged, and searched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpualert_common.pages.report import render_report
from gpualert_common.profiles.flame_graph import draw_flame_graph
from gpualert_common.profiles.profile_files import store_profile
from gpualert_common.redact import Redactor
from gpualert_common.stacks.dump import StackFrame
from tests.browser import WIDTHS, Browser, open_browser
from tests.profiles.composed_profiles import COMPUTING, LOADING, MAIN, WAITING, make_profile
from tests.scenarios.scene import Scene

pytestmark = pytest.mark.e2e

SHOTS = os.environ.get("FLAME_SHOTS")
"""Folder for screenshots, for people."""
HOSTILE = "<script>document.title='hacked'</script>"
_FRAME = (
    "[...document.querySelectorAll('.flame-frame')]"
    ".find(one => one.querySelector('title').textContent.startsWith('{}'))"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return a browser."""
    with open_browser() as opened:
        yield opened


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Browser:
    """Return the browser with the flame graph of four ranks of which one loads slowly."""
    fast = {LOADING: 40, COMPUTING: 360, WAITING: 600}
    slow = {LOADING: 620, COMPUTING: 360, (MAIN, StackFrame(HOSTILE, "/job/a.py", 1)): 20}
    path = tmp_path / "flame.svg"
    path.write_text(draw_flame_graph(make_profile(fast, fast, fast, slow), cwd="/job"))
    browser.prefer(prefers_color_scheme="light")
    browser.open(path.as_uri())
    return browser


def measure(page: Browser, name: str) -> float:
    """Return the width of the frame of that name in pixels."""
    return float(page.evaluate(f"return {_FRAME.format(name)}.getBoundingClientRect().width"))


def test_every_screen(page: Browser) -> None:
    """At each width, light and dark, it has no error, no request, no overflow."""
    for width in WIDTHS:
        page.resize(width)
        for scheme in ("light", "dark"):
            page.prefer(prefers_color_scheme=scheme)
            assert page.find_faults("") == []
            if SHOTS:
                page.take_screenshot(Path(SHOTS, f"flame-{width}-{scheme}.png"), whole=False)
    assert page.evaluate("return document.title") != "hacked"


def test_section_of_the_report(browser: Browser, tmp_path: Path) -> None:
    """In the report it fits each screen, and the policy of the page allows all of it."""
    record = Scene(code=1, seconds=30.0).record(tmp_path)
    fast, slow = {LOADING: 40, WAITING: 960}, {LOADING: 620, COMPUTING: 380}
    store_profile(record, make_profile(fast, slow))
    path = tmp_path / "report.html"
    path.write_text(render_report(record, None, masks=Redactor(), drawing_s=0.01))
    browser.prefer(prefers_color_scheme="light")
    browser.open(path.as_uri())
    for width in WIDTHS:
        browser.resize(width)
        assert browser.find_faults("") == []
    colour = "return getComputedStyle(document.querySelector('.flame-more rect')).fill"
    assert browser.evaluate(colour) == "rgb(255, 183, 124)"


def test_zoom(page: Browser) -> None:
    """A click makes a frame as wide as the window, and Escape shows all again."""
    before, window = measure(page, "load_batch"), page.evaluate("return innerWidth")
    assert before < 0.3 * window
    page.evaluate(f"{_FRAME.format('load_batch')}.dispatchEvent(new MouseEvent('click'))")
    assert measure(page, "load_batch") == pytest.approx(window, rel=0.02)
    assert measure(page, "forward") == 0
    page.evaluate("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
    assert measure(page, "load_batch") == pytest.approx(before)


def test_search(page: Browser) -> None:
    """A search marks the frames whose name has the text, and counts them."""
    page.evaluate("window.prompt = () => 'LOAD'")
    page.evaluate("document.dispatchEvent(new KeyboardEvent('keydown', {key: '/'}))")
    found = page.evaluate("return document.querySelectorAll('.flame-found').length")
    assert found == 1
    text = page.evaluate("return document.getElementById('flame-search').textContent")
    assert text == 'Search (1 frames contain "LOAD")'
