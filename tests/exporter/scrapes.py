"""Pages of metrics for tests: read in this process, or from a real ``gpualert exporter``."""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families

from gpualert_common.exporter.exposition import format_reading
from gpualert_common.exporter.reading import RunLimits, RunReader
from tests.serving import start_serving
from tests.supervised import DEADLINE_S, Lab

LIMITS = RunLimits(ended_s=900.0, most=200)


class Scrape:
    """The samples of one page."""

    def __init__(self, page: bytes) -> None:
        self.text = page.decode()
        families = list(text_string_to_metric_families(self.text))
        self.samples = [sample for family in families for sample in family.samples]

    def list(self, name: str, **labels: str) -> list[tuple[Mapping[str, str], float]]:
        """Return the samples of a metric that have these labels."""
        found = [(one.labels, one.value) for one in self.samples if one.name == name]
        return [one for one in found if labels.items() <= one[0].items()]

    def value(self, name: str, **labels: str) -> float:
        """Return the value of the only sample with these labels."""
        ((_labels, value),) = self.list(name, **labels)
        return value

    def sum(self, name: str, **labels: str) -> float:
        """Return the sum of all samples with these labels."""
        return sum(value for _labels, value in self.list(name, **labels))


def open_reader(lab: Lab, limits: RunLimits = LIMITS) -> RunReader:
    """Return a reader of a test's runs."""
    return RunReader([str(lab.state)], limits)


def scrape(reader: RunReader) -> Scrape:
    """Return the metrics of a new reading."""
    return Scrape(format_reading(reader.read(), has_process=False))


def change(path: Path, file: str, **fields: object) -> None:
    """Change keys in a file of a record."""
    found = json.loads((path / file).read_bytes())
    (path / file).write_text(json.dumps({**found, **fields}))


def copy_record(path: Path, count: int) -> list[Path]:
    """Copy a record so often, each copy older than it; return the copies."""
    copies = [path.with_name(f"20200101-000000-{number:06d}-aaaa") for number in range(count)]
    for one in copies:
        shutil.copytree(path, one, ignore=shutil.ignore_patterns(".*"))
    return copies


def write_telemetry(path: str, *, holder: int | None = None) -> None:
    """Write telemetry of two GPUs and the processes into a record.

    A ``holder`` is a process on the first GPU; the second one then belongs to another run.
    """
    columns = ["utilization_percent", "memory_used_bytes", "memory_total_bytes"]
    rows = {"gpu:0": [90, 7e10, 8e10], "gpu:1": [50, 6e10, 8e10], "host:tree": [4e9]}
    held = {} if holder is None else {f"gpu:0/pid:{holder}": [7e10], "gpu:1/pid:1": [6e10]}
    memory = {of: ["memory_used_bytes"] for of in held}
    rows |= held
    lines = [
        {"columns": {"gpu:0": columns, "gpu:1": columns, "host:tree": ["rss_bytes"], **memory}},
        {"at": time.time(), "n": 1, "rows": rows},
    ]
    Path(path, "telemetry.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


class ExporterServer:
    """A real exporter in progress."""

    def __init__(self, process: subprocess.Popen[bytes], url: str) -> None:
        self.process = process
        self.url = url
        self.address = urlsplit(url).netloc
        self.port = int(urlsplit(url).port or 0)

    def request(self, path: str = "/metrics", host: str | None = None) -> tuple[int, bytes]:
        """Return status and body of the answer to a request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        try:
            connection.request(
                "GET", path, headers={"Host": self.address if host is None else host}
            )
            found = connection.getresponse()
            return found.status, found.read()
        finally:
            connection.close()

    def scrape(self) -> Scrape:
        """Return the metrics that it serves."""
        status, body = self.request()
        assert status == 200, body
        return Scrape(body)


@contextmanager
def start_exporter(*arguments: str, errors: Path | None = None) -> Iterator[ExporterServer]:
    """Start the program on a free port, and end it with the block."""
    command = ("exporter", "--listen", "127.0.0.1:0", *arguments)
    with start_serving(*command, errors=errors) as (process, url):
        yield ExporterServer(process, url)
