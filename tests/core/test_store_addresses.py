"""Tests of the addresses of job directories."""

from __future__ import annotations

import os

import pytest

from gpualert_common.store_addresses import find_missing_package, is_path, parse_address


def test_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path is absolute, from the working directory or the home directory."""
    monkeypatch.setenv("HOME", "/home/me")
    assert parse_address("/shared/jobs/") == "/shared/jobs"
    assert parse_address("file:///shared/jobs") == "/shared/jobs"
    assert parse_address("jobs") == f"{os.getcwd()}/jobs"
    assert parse_address("~/jobs") == "/home/me/jobs"
    assert is_path(parse_address("jobs"))


@pytest.mark.parametrize("url", ["s3://bucket/jobs", "gs://bucket", "abfss://box@host/jobs"])
def test_urls(url: str) -> None:
    """A URL stays as it is, without a slash at its end."""
    assert parse_address(f"{url}/") == url
    assert not is_path(url)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a\nb",
        "x" * 5000,
        "http://host/jobs",
        "memory://jobs",
        "file://host/jobs",
        "s3://",
        "s3://bucket/../other",
        "s3://key:secret@bucket/jobs",
        "s3://bucket/jobs?versionId=1",
    ],
)
def test_invalid(text: str) -> None:
    """Other text is an error, without the secret that it may hold."""
    with pytest.raises(ValueError, match=r".") as caught:
        parse_address(text)
    assert "secret@" not in str(caught.value)


def test_missing_package() -> None:
    """A package that a URL needs is named where it is not installed."""
    assert find_missing_package("/shared/jobs") is None
    assert find_missing_package("s3://bucket") is None
    assert find_missing_package("gs://bucket") == "gcsfs"
