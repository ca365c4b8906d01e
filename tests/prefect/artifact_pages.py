"""Prefect's own pages of flow runs and artifacts, in a browser."""

from __future__ import annotations

from urllib.parse import urlsplit
from uuid import UUID

from prefect.client.schemas.objects import Artifact

from tests.browser import Browser
from tests.supervised import until

_OWN_FAULTS = ("/favicon.ico - ", "/ico/undefined.svg - ")
"""Icons that are missing on the pages of any flow run with artifacts."""
_LOADED_S = 60.0


class PrefectPages:
    """The pages of one server; ``address`` is that of its API."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.browser = browser
        self._base = address.removesuffix("/api")

    def open(self, path: str, expected: str, width: int = 1280) -> str:
        """Load a page; return its text once that contains ``expected``."""
        self.browser.open(f"{self._base}/{path}", width)
        return self.await_text(expected)

    def open_artifact(self, artifact: Artifact, expected: str) -> str:
        """Load the page of an artifact; return its text once that contains ``expected``."""
        return self.open(f"artifacts/artifact/{artifact.id}", expected)

    def open_history(self, key: str, expected: str) -> str:
        """Load the history of a key; return its text once that contains ``expected``."""
        return self.open(f"artifacts/key/{key}", expected)

    def open_flow_run(self, id_: UUID, expected: str) -> str:
        """Load the page of a flow run with its artifacts; return its text once they are there."""
        self.open(f"runs/flow-run/{id_}", "Task Runs")
        until(
            lambda: self.browser.evaluate(
                "const tabs = [...document.querySelectorAll('[role=tab], .p-tab')]"
                ".filter(one => one.textContent.trim() === 'Artifacts');"
                "tabs.forEach(one => one.click()); return tabs.length"
            ),
            "the tab of the artifacts",
            _LOADED_S,
        )
        return self.await_text(expected)

    def await_text(self, expected: str) -> str:
        """Return the text of the page once it contains ``expected``."""
        until(lambda: expected in self._read_text(), f"{expected!r} on the page", _LOADED_S, 0.1)
        return self._read_text()

    def scroll_to(self, text: str) -> None:
        """Scroll to the first element that has just this text."""
        self.await_layout()
        self.browser.evaluate(
            "[...document.querySelectorAll('body *')]"
            ".find(one => one.textContent.trim() === arguments[0] && one.offsetParent)"
            ".scrollIntoView({block: 'center', behavior: 'instant'})",
            text,
        )

    def _read_text(self) -> str:
        return str(self.browser.evaluate("return document.body.innerText"))

    def list_pictures(self) -> list[tuple[str, int]]:
        """Return kind and width of the pictures that are not the server's own, once loaded."""
        until(
            lambda: self.browser.evaluate("return [...document.images].every(one => one.complete)"),
            "the pictures",
        )
        found = self.browser.evaluate(
            "return [...document.images].map(one => [one.src.slice(0, 22), one.naturalWidth])"
        )
        return [(str(source), int(width)) for source, width in found]

    def find_faults(self) -> list[str]:
        """Return errors of the console and requests to elsewhere."""
        errors = self.browser.list_console_errors()
        faults = [one for one in errors if not any(own in one for own in _OWN_FAULTS)]
        return faults + self.browser.list_foreign_requests(urlsplit(self._base).netloc)

    def measure_picture(self) -> int:
        """Return the width of the picture on the page as it is shown, once the layout is still."""
        self.await_layout()
        return int(self.browser.evaluate("return document.images[0].clientWidth"))

    def await_layout(self) -> None:
        """Wait until the size of the page does not change any more."""
        sizes: list[object] = []

        def is_still() -> bool:
            script = "const all = document.documentElement; return [all.scrollHeight, innerWidth]"
            sizes.append(self.browser.evaluate(script))
            return len(sizes) > 2 and sizes[-1] == sizes[-2] == sizes[-3]

        until(is_still, "the layout", poll_s=0.1)


def read_percent(text: str) -> int:
    """Return the number on the page of a progress."""
    _before, _, after = text.partition("Progress: ")
    return int(after.partition("%")[0])
