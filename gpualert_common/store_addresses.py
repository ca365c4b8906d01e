"""Addresses of places that nodes share: a path, or the URL of an object store.

Plain functions, because the child waits for this import.
"""

from __future__ import annotations

import os

PACKAGES = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "az": "adlfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
}
"""Package of fsspec for each scheme.

Only stores in which one of many processes can create a file: others cannot agree on one alert.
"""
_MOST_CHARS = 1024


def parse_address(text: str) -> str:
    """Return an absolute path, or a URL without a slash at its end.

    ``~`` is the home directory.  Raises ValueError for any other scheme, and for a URL that holds a
    password.
    """
    scheme, mark, rest = text.partition("://")
    if not text or len(text) > _MOST_CHARS or not text.isprintable():
        raise ValueError(f"{text[:_MOST_CHARS]!r} is neither a path nor a URL")
    if not mark or scheme == "file":
        if scheme == "file" and mark and not rest.startswith("/"):
            raise ValueError(f"{text!r} names another host; use a path")
        return os.path.abspath(rest if mark else os.path.expanduser(text))
    host, _slash, path = rest.partition("/")
    if ":" in host.rpartition("@")[0] or "?" in rest or "#" in rest:
        raise ValueError(f"the {scheme}:// address holds a secret or an option; name a place alone")
    if scheme not in PACKAGES:
        raise ValueError(
            f"{text!r}: {scheme}:// is not supported; use a path, s3://, gs:// or az://"
        )
    if not host or ".." in path.split("/"):
        raise ValueError(f"{text!r} names no bucket, or a folder outside of it")
    return text.rstrip("/")


def is_path(address: str) -> bool:
    """True for a path, False for a URL."""
    return "://" not in address


def find_missing_package(address: str) -> str | None:
    """Return the package to install for a URL, which brings fsspec with it; None if all is here."""
    if is_path(address):
        return None
    from importlib.util import find_spec

    package = PACKAGES[address.partition("://")[0]]
    return None if find_spec("fsspec") and find_spec(package) else package
