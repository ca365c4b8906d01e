"""Places of stores for tests: a directory, and a bucket of a real server."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.job_store.s3_server import BUCKET, client_environment, s3_server

Server = tuple[int, subprocess.Popen[str]]


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Port and process of a server of S3."""
    with s3_server(tmp_path_factory.mktemp("s3") / "log") as server:
        yield server


@pytest.fixture(params=["directory", pytest.param("s3", marks=pytest.mark.e2e)])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Address of an empty store."""
    if request.param == "directory":
        return str(tmp_path / "jobs")
    port, _process = request.getfixturevalue("s3")
    for name, value in client_environment(port).items():
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}/{tmp_path.name}"
