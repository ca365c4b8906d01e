"""A real browser: Debian's Chromium, driven by Selenium, and checks that hold for our pages."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

WIDTHS = (375, 1280, 1920)
"""Widths of windows, in CSS pixels: a telephone, a notebook, a monitor."""
_HEIGHT = 900
_ARGUMENTS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb"),
)
_LOCAL = ("data", "about", "blob", "file", "chrome", "chrome-extension", "devtools")
_SERIOUS = ("serious", "critical")


class Browser:
    """A browser window.  ``driver`` is Selenium's; ``close`` is done by :func:`open_browser`."""

    def __init__(self, driver: Chrome) -> None:
        self.driver = driver

    def open(self, url: str, width: int = 1280) -> None:
        """Load a page in a window of this width."""
        self.resize(width)
        self.driver.get(url)

    def resize(self, width: int) -> None:
        """Give the window this width.  A narrow one is emulated: Chromium has a least width."""
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": _HEIGHT, "deviceScaleFactor": 1, "mobile": False},
        )

    def prefer(self, **features: str) -> None:
        """Emulate media features, such as ``prefers_color_scheme="dark"``."""
        named = [{"name": key.replace("_", "-"), "value": text} for key, text in features.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": named})

    def evaluate(self, script: str, *arguments: Any) -> Any:
        """Return the value of ``script``, which returns one."""
        return self.driver.execute_script(script, *arguments)

    def take_screenshot(self, path: Path, *, whole: bool = True) -> None:
        """Write a PNG of the page: the whole of it, or the part in the window."""
        if not whole:
            self.driver.save_screenshot(str(path))
            return
        size = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        found = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip}
        )
        import base64

        path.write_bytes(base64.b64decode(found["data"]))

    def list_console_errors(self) -> list[str]:
        """Return errors of the console since the last call: scripts, CSP, missing files."""
        log: Sequence[dict[str, Any]] = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [one["message"] for one in log if one["level"] == "SEVERE"]

    def list_foreign_requests(self, host: str) -> list[str]:
        """Return the addresses requested since the last call that are not on ``host``."""
        log: Sequence[dict[str, Any]] = self.driver.get_log("performance")  # type: ignore[no-untyped-call]
        messages = [json.loads(one["message"])["message"] for one in log]
        urls = [
            one["params"]["request"]["url"]
            for one in messages
            if one["method"] == "Network.requestWillBeSent"
        ]
        parts = [(url, urlsplit(url)) for url in urls]
        return [url for url, part in parts if part.scheme not in _LOCAL and part.netloc != host]

    def list_barriers(self) -> list[str]:
        """Return the serious findings of axe-core, each with the first elements that have it."""
        if not self.evaluate("return typeof axe !== 'undefined'"):
            script = files("axe_playwright_python").joinpath("axe.min.js").read_text()
            # By the debugger, which no Content-Security-Policy of a page stops.
            self.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": script})
        found = self.driver.execute_cdp_cmd(
            "Runtime.evaluate",
            {
                "expression": "axe.run(document).then(one => JSON.stringify(one.violations))",
                "awaitPromise": True,
                "returnByValue": True,
            },
        )
        return [
            f"{one['id']}: {one['help']}: {[node['target'] for node in one['nodes'][:5]]}"
            for one in json.loads(found["result"]["value"])
            if one["impact"] in _SERIOUS
        ]

    def count_overflow(self) -> int:
        """Return by how many pixels the page is wider than its window."""
        return int(
            self.evaluate(
                "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
        )

    def find_faults(self, host: str) -> list[str]:
        """Return everything that is wrong with the page as it is now."""
        faults = [f"console: {text}" for text in self.list_console_errors()]
        faults += [f"request to elsewhere: {url}" for url in self.list_foreign_requests(host)]
        faults += [f"barrier: {text}" for text in self.list_barriers()]
        overflow = self.count_overflow()
        return faults + ([f"wider than its window by {overflow} px"] if overflow > 0 else [])


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Yield a browser with an empty profile of its own."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in (*_ARGUMENTS, f"--user-data-dir={profile}"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        try:
            yield Browser(driver)
        finally:
            driver.quit()
