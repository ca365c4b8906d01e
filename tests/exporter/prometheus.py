"""A real Prometheus for tests, which scrapes one exporter every second."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict

from tests.supervised import DEADLINE_S, free_port, until

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "prometheus"
RULES = "gpualert.rules.yml"


class Series(TypedDict, total=False):
    """One element of an answer: an instant value, or an alert."""

    metric: Mapping[str, str]
    value: tuple[float, str]
    labels: Mapping[str, str]
    state: str


class Prometheus:
    """A server in progress."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"

    def is_ready(self) -> bool:
        """True once it answers queries."""
        try:
            with urllib.request.urlopen(f"{self._url}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def query(self, expression: str) -> list[Series]:
        """Return the result of an expression now."""
        query = urllib.parse.urlencode({"query": expression})
        try:
            return list(self._get(f"query?{query}")["result"])
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{expression}: {error.read().decode()}") from None

    def alerts(self) -> dict[str, str]:
        """Return the state of each alert: pending or firing."""
        return {one["labels"]["alertname"]: one["state"] for one in self._get("alerts")["alerts"]}

    def _get(self, path: str) -> Mapping[str, list[Series]]:
        with urllib.request.urlopen(f"{self._url}/api/v1/{path}", timeout=DEADLINE_S) as answer:
            found = json.load(answer)
        assert found["status"] == "success", found
        data: Mapping[str, list[Series]] = found["data"]
        return data


@contextmanager
def start_prometheus(folder: Path, target: str) -> Iterator[Prometheus]:
    """Start Prometheus with the example's configuration, and end it with the block."""
    shutil.copy(EXAMPLES / RULES, folder)
    text = (EXAMPLES / "prometheus.yml").read_text()
    assert "127.0.0.1:10789" in text
    text = text.replace("127.0.0.1:10789", target).replace("15s", "1s")
    (folder / "prometheus.yml").write_text(text)
    port = free_port()
    with open(folder / "prometheus.log", "wb") as log:
        process = subprocess.Popen(
            (
                "prometheus",
                f"--config.file={folder}/prometheus.yml",
                f"--storage.tsdb.path={folder}/data",
                f"--web.listen-address=127.0.0.1:{port}",
            ),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        server = Prometheus(port)

        def is_ready() -> bool:
            assert process.poll() is None, (folder / "prometheus.log").read_text()
            return server.is_ready()

        try:
            until(is_ready, "Prometheus")
            yield server
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait(DEADLINE_S)
