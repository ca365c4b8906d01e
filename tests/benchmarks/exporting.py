"""Cost of the metrics of many runs: the first reading, and those of later scrapes."""

from __future__ import annotations

import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client.parser import text_string_to_metric_families

from tests.benchmarks.bench import Bench
from tests.benchmarks.listing import make_runs
from tests.benchmarks.measure import Row
from tests.benchmarks.observing import cpu_ns

RUNS = 1000
SCRAPES = 20
MOST_SCRAPE_S = 0.25
"""Processor time of a later scrape; Prometheus scrapes every 15 s, so that it is 2 % of a core."""
_PAUSE_S = 2.1
"""Scrapes within two seconds share a page."""
_KEPT = "3650d"
"""All runs count as recent, so that as many as possible have time series."""


def measure(bench: Bench) -> Row:
    """Measure ``gpualert exporter`` for so many runs, of which 200 have time series."""
    count = bench.amount(RUNS, 20)
    row = Row(f"metrics of {count} runs")
    make_runs(bench, count)
    with _exporter(bench) as (pid, url):
        began = cpu_ns(pid)
        series = _scrape(url)
        row.add("first scrape, processor", [(cpu_ns(pid) - began) / 1e9], "s")
        later = []
        for _round in range(bench.amount(SCRAPES, 1)):
            time.sleep(_PAUSE_S)
            began = cpu_ns(pid)
            _scrape(url)
            later.append((cpu_ns(pid) - began) / 1e9)
    used = row.add("later scrapes, processor", later, "s")
    row.add("time series", [len(series)], "")
    row.add("memory", [series["process_resident_memory_bytes"] / 1e6], "MB")
    row.promise("later scrapes", used.median, MOST_SCRAPE_S, "s")
    return row


@contextmanager
def _exporter(bench: Bench) -> Iterator[tuple[int, str]]:
    """Serve metrics on a free port, and yield the process and the address."""
    command = ["exporter", "--listen", "127.0.0.1:0", "--keep-ended", _KEPT]
    process = subprocess.Popen(
        [bench.ours.program, *command],
        cwd=bench.scratch,
        env=bench.environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.pid, process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate()


def _scrape(url: str) -> dict[str, float]:
    """Return the last value of each metric, by its name and labels."""
    with urllib.request.urlopen(url, timeout=60) as answer:
        text = answer.read().decode()
    return {
        f"{sample.name}{sample.labels or ''}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
