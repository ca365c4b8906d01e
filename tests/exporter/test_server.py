"""``gpualert exporter``: its address, its requests, its limits, and a disk that does not answer."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpualert_common.exporter.page import MetricsPage
from gpualert_common.exporter.reading import Reading
from gpualert_common.exporter.server import DEFAULT_PORT, ListenAddress, open_server, parse_address
from tests.exporter.scrapes import Scrape, copy_record, open_reader, scrape, start_exporter
from tests.supervised import PROGRAM, PYTHON, Lab, until


def test_scrape(lab: Lab) -> None:
    """The server answers with the metrics, those of its own process, and nothing at other paths."""
    lab.gpualert("run", "--name", "one", "--", "true")
    with start_exporter() as server:
        page = server.scrape()
        assert page.value("gpualert_runs", condition="completed") == 1
        assert page.value("process_resident_memory_bytes") > 1e6
        assert page.value("gpualert_exporter_has_durable_totals") == 1
        assert server.request("/")[0] == 200
        assert server.request("/metrics?name=x")[0] == 200
        assert server.request("/etc/passwd")[0] == 404
        assert server.request(host="localhost:1")[0] == 200
        assert server.request(host="127.0.0.2:1")[0] == 200
        for name in ("evil.example.org", "", "127.0.0.1.evil.org", "[::1"):
            assert server.request(host=name)[0] == 421, name
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(10) in (130, -signal.SIGINT)


def test_connections_without_a_request(lab: Lab) -> None:
    """Connections that send nothing, or nonsense, do not keep others from their answer."""
    with start_exporter() as server:
        idle = [socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(20)]
        idle[0].sendall(b"\xff\x00 nonsense\r\n\r\n")
        idle[1].sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 100_000)
        server.scrape()
        for one in idle:
            one.close()
        server.scrape()
    assert lab.records() == []


def test_too_many_connections(lab: Lab) -> None:
    """Of too many connections the later ones are closed at once; then there are free ones again."""
    with start_exporter() as server:
        first = [
            socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(32)
        ]
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as late:
            assert late.recv(1) == b""
        for one in first:
            one.close()

        def is_answered() -> bool:
            try:
                return server.request()[0] == 200
            except OSError:
                return False

        until(is_answered, "a free connection")
    assert lab.records() == []


def test_request_that_never_ends(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that sends its request byte by byte is cut off, whatever it still sends."""
    monkeypatch.setattr("gpualert_common.exporter.server.MOST_REQUEST_S", 0.3)
    page = MetricsPage(open_reader(lab), print)
    with open_server(ListenAddress(port=0), page) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        try:
            with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as client:
                until(lambda: is_cut_off(client), "the end of the connection")
        finally:
            server.shutdown()
            serving.join()


def test_thread_that_cannot_start(lab: Lab) -> None:
    """While no thread can start connections are closed; later all of them are free again."""
    page = MetricsPage(open_reader(lab), print)
    with open_server(ListenAddress(port=0), page) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        try:
            with no_threads():
                assert page.get() is None
                for _number in range(40):
                    with socket.create_connection(
                        ("127.0.0.1", server.server_port), timeout=10
                    ) as client:
                        assert client.recv(1) == b""
            assert page.get() is not None
            with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as client:
                client.sendall(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
                assert client.recv(100).startswith(b"HTTP/1.0 200")
        finally:
            server.shutdown()
            serving.join()


@contextmanager
def no_threads() -> Iterator[None]:
    """Let no new thread start: none gets a stack of this size."""
    before = threading.stack_size(1 << 48)
    try:
        yield
    finally:
        threading.stack_size(before)


def is_cut_off(client: socket.socket) -> bool:
    """Send one more byte of a request; True if the server has closed the connection."""
    try:
        client.sendall(b"x")
    except OSError:
        return True
    return False


def test_port_in_use(lab: Lab) -> None:
    """A port that is used is an error that names it."""
    with start_exporter() as server:
        done = lab.gpualert("exporter", "--listen", f"127.0.0.1:{server.port}")
    assert done.returncode == 2
    assert f"cannot listen on 127.0.0.1, port {server.port}".encode() in done.stderr


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:80", ListenAddress("127.0.0.1", 80)),
        (":0", ListenAddress("127.0.0.1", 0)),
        ("[::1]:9", ListenAddress("::1", 9)),
        ("127.0.0.2:80", ListenAddress("127.0.0.2", 80)),
        ("gpu-host", ListenAddress("gpu-host", DEFAULT_PORT)),
    ],
)
def test_addresses(text: str, address: ListenAddress) -> None:
    """An address has a host, a port, or both."""
    assert parse_address(text) == address
    assert address.is_local == (address.host != "gpu-host")


@pytest.mark.parametrize("text", ["a:b", "1:99999", "http://x:1", "u@h:1", "h/x", "[::1", "-1:-1"])
def test_addresses_that_are_none(lab: Lab, text: str) -> None:
    """Another text is an error."""
    with pytest.raises(ValueError, match=r"."):
        parse_address(text)
    assert lab.records() == []


def test_options(lab: Lab) -> None:
    """Options that do not fit together are errors that say why."""
    for arguments, words in (
        (("--once",), b"--once needs --textfile"),
        (("--textfile", "metrics.txt"), b"*.prom"),
        (("--textfile", "a.prom", "--listen", "x"), b"not allowed with"),
        (("--listen", "127.0.0.1:http"), b"--listen"),
        (("--listen", "a..b:80"), b"a..b, port 80: it is no name of a host"),
    ):
        done = lab.gpualert("exporter", *arguments)
        assert done.returncode == 2, done.stderr
        assert words in done.stderr


def test_without_the_extra(lab: Lab) -> None:
    """Without prometheus_client the command says which extra to install."""
    code = (
        "import sys; sys.modules['prometheus_client'] = None\n"
        "from gpualert_common.cli.main import main; sys.exit(main())"
    )
    done = lab.call((PYTHON, "-c", code, "exporter"))
    assert done.returncode == 2
    assert b"pip install 'gpualert-common[exporter]'" in done.stderr


def test_file_for_node_exporter(lab: Lab) -> None:
    """The file is written whole, can be read by other users, and has no metrics of the process."""
    lab.run("false")
    path = lab.home / "gpualert.prom"
    old = os.umask(0o077)
    try:
        done = lab.gpualert("exporter", "--textfile", str(path), "--once")
    finally:
        os.umask(old)
    assert done.returncode == 0, done.stderr
    page = Scrape(path.read_bytes())
    assert page.value("gpualert_runs", condition="failed") == 1
    assert page.list("process_cpu_seconds_total") == []
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert [one.name for one in lab.home.glob("*gpualert*")] == ["gpualert.prom"]


def test_file_is_written_again(lab: Lab) -> None:
    """The file follows the runs; while its folder is missing that is said, and tried again."""
    folder = lab.home / "text"
    folder.mkdir()
    path = folder / "gpualert.prom"
    lab.run("false")
    command = (*PROGRAM, "exporter", "--textfile", str(path), "--interval", "1s")
    writer = lab.start(command, stderr=subprocess.PIPE)
    until(path.exists, "the first file")
    folder.rename(lab.home / "away")
    assert writer.stderr is not None
    line = writer.stderr.readline()
    assert b"gpualert.prom" in line, line
    copy_record(lab.records()[0], 1)
    folder.mkdir()
    until(path.exists, "the file in the new folder")
    page = Scrape(path.read_bytes())
    assert page.sum("gpualert_ended_runs_total") == 2
    assert page.value("gpualert_exporter_failed_readings_total") >= 1


def test_file_of_a_link(lab: Lab) -> None:
    """A link is not followed, and what it names is not changed."""
    target = lab.home / "precious"
    target.write_text("x")
    (lab.home / "a.prom").symlink_to(target)
    done = lab.gpualert("exporter", "--textfile", str(lab.home / "a.prom"), "--once")
    assert (done.returncode, target.read_text()) == (2, "x")
    assert b"it is a link; give another file with --textfile" in done.stderr


class StuckReader:
    """A reader whose disk does not answer until it is told to."""

    def __init__(self, lab: Lab) -> None:
        self.reader = open_reader(lab)
        self.has_disk = threading.Event()
        self.has_disk.set()
        self.is_broken = False
        self.readings = 0

    def read(self) -> Reading:
        """Return the runs once the disk answers."""
        self.readings += 1
        self.has_disk.wait()
        if self.is_broken:
            raise OSError(5, "Input/output error")
        return self.reader.read()


def test_disk_that_does_not_answer(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a disk does not answer there is no page, later the last one; one reading waits."""
    monkeypatch.setattr("gpualert_common.exporter.page.FRESH_S", 0.0)
    reader, problems = StuckReader(lab), list[str]()
    page = MetricsPage(reader, problems.append)  # type: ignore[arg-type]
    reader.has_disk.clear()
    assert page.get(0.05) is None
    assert page.get(0.05) is None
    assert reader.readings == 1
    reader.has_disk.set()
    first = until(lambda: page.get(1.0), "the first page")
    reader.has_disk.clear()
    began = time.monotonic()
    assert page.get(0.05) == page.get(0.05) != b""
    assert time.monotonic() - began < 5.0
    assert Scrape(first).value("gpualert_exporter_last_read_timestamp_seconds") <= time.time()
    reader.is_broken = True
    reader.has_disk.set()

    def count_failures() -> float:
        found = page.get(1.0)
        assert found is not None
        return Scrape(found).value("gpualert_exporter_failed_readings_total")

    until(lambda: count_failures() >= 2, "two readings that fail")
    assert problems == ["the runs cannot be read: OSError: [Errno 5] Input/output error"]
    reader.is_broken = False
    failures = count_failures()
    assert count_failures() <= failures + 1


def test_pages_are_shared(lab: Lab) -> None:
    """Scrapes that follow one another closely share a page."""
    reader = StuckReader(lab)
    page = MetricsPage(reader, print)  # type: ignore[arg-type]
    assert len({page.get() for _number in range(20)}) == 1
    assert reader.readings == 1


def test_state_directory_is_removed(lab: Lab) -> None:
    """An exporter goes on when its state directory is removed, and its totals do not fall."""
    lab.run("false")
    reader = open_reader(lab)
    assert scrape(reader).sum("gpualert_ended_runs_total") == 1
    shutil.rmtree(lab.state)
    page = scrape(reader)
    assert page.sum("gpualert_runs") == 0
    assert page.sum("gpualert_ended_runs_total") == 1
    assert page.value("gpualert_exporter_has_durable_totals") == 0
    assert not Path(lab.state).exists()
