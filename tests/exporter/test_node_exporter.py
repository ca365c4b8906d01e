"""A real node_exporter serves the files of two users."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpualert_common.exporter.exposition import format_reading
from gpualert_common.exporter.reading import RunReader
from tests.exporter.scrapes import LIMITS, Scrape, open_reader, scrape
from tests.supervised import DEADLINE_S, Lab, free_port, until

NOBODY = 65534


def read_as_nobody() -> bytes:
    """Return the page of another user, who has no runs."""
    place = tempfile.mkdtemp(prefix="gpualert-test-")
    source, target = os.pipe()
    try:
        os.chown(place, NOBODY, NOBODY)
        pid = os.fork()
        if pid == 0:
            try:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
                page = format_reading(RunReader([place], LIMITS).read(), has_process=False)
                os.write(target, page)
            finally:
                os._exit(0)
        os.close(target)
        with open(source, "rb") as pipe:
            page = pipe.read()
        os.waitpid(pid, 0)
        return page
    finally:
        shutil.rmtree(place)


@contextmanager
def start_node_exporter(folder: Path) -> Iterator[str]:
    """Start node_exporter with nothing but its textfile collector; yield its URL."""
    port = free_port()
    process = subprocess.Popen(
        (
            "prometheus-node-exporter",
            "--collector.disable-defaults",
            "--collector.textfile",
            f"--collector.textfile.directory={folder}",
            f"--web.listen-address=127.0.0.1:{port}",
        ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"http://127.0.0.1:{port}/metrics"
    finally:
        process.kill()
        process.wait(DEADLINE_S)


@pytest.mark.e2e
def test_files_of_two_users(lab: Lab) -> None:
    """The files of two users have no series in common, and node_exporter takes both."""
    lab.run("false")
    folder = lab.home / "text"
    folder.mkdir()
    done = lab.gpualert("exporter", "--textfile", str(folder / "root.prom"), "--once")
    assert done.returncode == 0, done.stderr
    scrape(open_reader(lab))  # what the other user may not be able to read is loaded then
    (folder / "nobody.prom").write_bytes(read_as_nobody())
    with start_node_exporter(folder) as url:

        def read() -> Scrape | None:
            try:
                with urllib.request.urlopen(url, timeout=DEADLINE_S) as answer:
                    return Scrape(answer.read())
            except OSError:
                return None

        page = until(read, "node_exporter")
    assert page.value("node_textfile_scrape_error") == 0
    failed = {
        labels["user"]: value for labels, value in page.list("gpualert_runs", condition="failed")
    }
    assert failed == {"root": 1, "nobody": 0}
    assert page.value("gpualert_run_condition", condition="failed") == 1
