"""Tests of stores in a bucket with a server that throttles, hangs, loses answers or dies."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpualert_common.errors import StoreError
from gpualert_common.job_store import PrunableStore, fsspec_store, open_store
from tests.job_store.s3_server import (
    BUCKET,
    SECRET,
    FaultyProxy,
    client_environment,
    faulty_proxy,
    s3_server,
)

pytestmark = pytest.mark.e2e

PATH = "slurm-17/alerts/1-1.json"


@pytest.fixture
def proxy(
    s3: tuple[int, subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> Iterator[FaultyProxy]:
    """A proxy to a server of S3 that the client uses."""
    with faulty_proxy(s3[0]) as proxy:
        for name, value in client_environment(proxy.server_port).items():
            monkeypatch.setenv(name, value)
        yield proxy


@pytest.fixture
def store(proxy: FaultyProxy, tmp_path: Path) -> PrunableStore:
    """An empty store behind the proxy."""
    return open_store(f"s3://{BUCKET}/{tmp_path.name}", deadline_s=8.0)


@pytest.mark.parametrize("fault", ["throttle", "error", "lose"])
def test_transient_errors(proxy: FaultyProxy, store: PrunableStore, fault: str) -> None:
    """Each operation is repeated after transient errors, and each request is counted."""
    for use in (
        lambda: store.write(PATH, b"1"),
        lambda: store.read(PATH, 9),
        lambda: store.list_files("slurm-17/alerts"),
        lambda: store.remove_file(PATH),
    ):
        proxy.faults, proxy.seen = [fault, fault], []
        before = store.requests
        use()
        assert len(proxy.seen) == 3
        repeated_by_aiohttp = 2 if fault == "lose" else 0
        assert 3 - repeated_by_aiohttp <= store.requests - before <= 3


def test_lost_answer_of_a_create(proxy: FaultyProxy, store: PrunableStore) -> None:
    """A creator that lost the answer learns that the file is its own; others, that it is not."""
    proxy.faults = ["lose"]
    assert store.create(PATH, b"mine") is True
    assert store.create(PATH, b"mine again") is False
    proxy.faults = ["lose"]
    assert store.create(PATH, b"another") is False
    assert store.read(PATH, 99) == b"mine"


@pytest.mark.parametrize("fault", ["throttle", "conflict"])
def test_create_with_conflicts(proxy: FaultyProxy, store: PrunableStore, fault: str) -> None:
    """A create that the server refuses for a moment is repeated."""
    proxy.faults = [fault]
    assert store.create(PATH, b"mine") is True
    proxy.faults = [fault]
    assert store.create(PATH, b"another") is False


def test_server_without_conditions(proxy: FaultyProxy, store: PrunableStore) -> None:
    """A server that ignores If-None-Match is an error, not a second owner."""
    proxy.faults = ["replace"] * 2
    with pytest.raises(StoreError, match="ignores If-None-Match"):
        store.create(PATH, b"mine")


def test_server_that_hangs(
    proxy: FaultyProxy, store: PrunableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that does not answer ends in an error by the deadline and one more attempt."""
    store.write(PATH, b"1")
    monkeypatch.setattr(fsspec_store, "ATTEMPT_S", 0.5)
    patient = open_store(f"s3://{BUCKET}/x", deadline_s=1.5)
    proxy.faults = ["hang"] * 50
    began = time.monotonic()
    with pytest.raises(StoreError, match=r"no answer in time|[Tt]imeout"):
        patient.write(PATH, b"2")
    assert time.monotonic() - began < 1.5 + 0.5 + 2
    assert 2 <= len(proxy.seen) < 10


def test_denied(proxy: FaultyProxy, store: PrunableStore) -> None:
    """An error that stays is not repeated; the message has place, operation and answer alone."""
    proxy.faults, proxy.seen = ["deny"], []
    with pytest.raises(StoreError) as caught:
        store.write(PATH, b"1")
    assert len(proxy.seen) == 1
    for part in (f"s3://{BUCKET}/", f"cannot write {PATH}", "AccessDenied"):
        assert part in str(caught.value)
    assert SECRET not in str(caught.value)


def test_missing_bucket(proxy: FaultyProxy) -> None:
    """A bucket that does not exist is an error in each operation, not an empty store."""
    store = open_store("s3://no-such-bucket/jobs", deadline_s=2.0)
    for use in (
        lambda: store.write(PATH, b"1"),
        lambda: store.create(PATH, b"1"),
        lambda: store.read(PATH, 9),
        lambda: store.list_files("slurm-17/alerts"),
        lambda: store.list_folders(""),
    ):
        with pytest.raises(StoreError, match="NoSuchBucket"):
            use()


def test_server_of_something_else(proxy: FaultyProxy, store: PrunableStore) -> None:
    """A server that finds nothing, as one of web pages, is an error of each write."""
    for operation, use in (
        ("write", lambda: store.write(PATH, b"1")),
        ("create", lambda: store.create(PATH, b"1")),
    ):
        proxy.faults = ["absent"]
        with pytest.raises(StoreError, match=f"cannot {operation} .*Not Found"):
            use()


def test_long_list(proxy: FaultyProxy, store: PrunableStore) -> None:
    """A list of more objects than one answer has is complete, and its requests are counted."""
    import threading

    names = [f"{number:04}.json" for number in range(1001)]
    url = f"/{BUCKET}/{store._full('long').partition('/')[2]}"  # type: ignore[attr-defined]
    _put_all(proxy.server_of, [f"{url}/{name}" for name in names])
    before = store.requests
    assert sorted(file.name for file in store.list_files("long")) == names
    assert store.requests - before == 2
    assert threading.active_count() < 50


def _put_all(port: int, urls: list[str]) -> None:
    import http.client

    server = http.client.HTTPConnection("127.0.0.1", port)
    for url in urls:
        server.request("PUT", url, b"x")
        server.getresponse().read()
    server.close()


def test_server_that_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that dies ends in an error by the deadline; what comes back is used again."""
    with s3_server(tmp_path / "log") as (port, process):
        for name, value in client_environment(port).items():
            monkeypatch.setenv(name, value)
        store = open_store(f"s3://{BUCKET}/x", deadline_s=1.5)
        store.write(PATH, b"1")
        process.kill()
        process.wait()
        began = time.monotonic()
        with pytest.raises(StoreError, match="cannot write"):
            store.write(PATH, b"2")
        assert time.monotonic() - began < 4
