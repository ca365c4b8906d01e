"""A store in a bucket, by a file system of fsspec: s3fs, gcsfs or adlfs.

No object is cached.  Each request has a deadline; transient errors (throttling, a lost connection,
errors of the server) are tried again here and not by the library, so that requests are counted.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import fsspec
from fsspec.asyn import AsyncFileSystem, sync
from fsspec.config import conf

from gpualert_common.errors import StoreError
from gpualert_common.job_store.directory_store import MOST_FILES
from gpualert_common.job_store.store import StoredFile
from gpualert_common.job_store.store_path import is_plain_name, split_named, split_path
from gpualert_common.job_store.transient_errors import repeat_transient
from gpualert_common.store_addresses import PACKAGES

CONNECT_S = 5.0
ATTEMPT_S = 10.0
"""Limit of one request with its answer, which has some kilobytes."""

_S3 = "s3fs"
_TIME_KEYS = ("LastModified", "last_modified", "mtime", "updated")
_TRANSIENT_CODES = frozenset(
    (
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "RequestLimitExceeded",
        "InternalError",
        "ServiceUnavailable",
        "RequestTimeout",
        "OperationAborted",
        "ConditionalRequestConflict",
        *map(str, (408, 429, 500, 502, 503, 504)),
    )
)
_LOST = frozenset(
    (
        "ConnectionClosedError",
        "ConnectTimeoutError",
        "EndpointConnectionError",
        "HTTPClientError",
        "IncompleteRead",
        "ReadTimeoutError",
        "ResponseParserError",
        "ResponseStreamingError",
        "ClientError",  # of aiohttp; that of botocore has a code
        "ServiceRequestError",
        "ServiceResponseError",
    )
)
"""Classes of the libraries for a request without an answer, by name: none of them is ours."""
_MOST_TEXT = 300


class FsspecStore:
    """A store at a URL such as ``s3://BUCKET/FOLDER``; to be used by the process that made it."""

    def __init__(self, url: str, *, deadline_s: float) -> None:
        scheme, _mark, self._root = url.partition("://")
        self._place = url
        self._package = PACKAGES[scheme]
        self._deadline_s = deadline_s
        self._requests = 0
        self._watched: object = None
        self._is_exclusive = False
        try:
            self._files = self._open(scheme)
        except Exception as error:  # noqa: BLE001 - the libraries raise errors of their own
            raise StoreError(f"{url}: cannot open it: {_describe(error)}") from None

    def _open(self, scheme: str) -> AsyncFileSystem:
        options: dict[str, object] = {"use_listings_cache": False, "skip_instance_cache": True}
        if self._package == _S3:
            given: Mapping[str, object] = conf.get(scheme, {}).get("config_kwargs", {})
            limits = {"connect_timeout": CONNECT_S, "read_timeout": ATTEMPT_S}
            options["config_kwargs"] = {**given, **limits, "retries": {"total_max_attempts": 1}}
        files = fsspec.filesystem(scheme, **options)
        if not isinstance(files, AsyncFileSystem):
            raise TypeError(f"{type(files).__name__} takes no deadline")
        if self._package == _S3:
            files.retries = 1
        return files

    @property
    def requests(self) -> int:
        """Number of requests so far, with those that were repeated.

        Those of HTTP in S3, except one that aiohttp repeats because the server closed its
        connection; of other stores the calls, each of which is one request or a few.
        """
        return self._requests

    # -- reading ---------------------------------------------------------------------------

    def list_files(self, folder: str) -> list[StoredFile]:
        """Return the objects in a folder; none where it has none."""
        return [
            StoredFile(name, int(info.get("size") or 0), _read_time(info))
            for name, info in self._list(folder)
            if info.get("type") == "file"
        ]

    def list_folders(self, folder: str) -> list[str]:
        """Return the names of the folders in a folder."""
        return [name for name, info in self._list(folder) if info.get("type") == "directory"]

    def find_file(self, path: str) -> StoredFile | None:
        """Return one object; None where it does not exist."""
        full = self._full(path)
        try:
            info = self._call("read", path, "info", full)
        except FileNotFoundError:
            return None
        if info.get("type") != "file":
            return None
        return StoredFile(full.rpartition("/")[2], int(info.get("size") or 0), _read_time(info))

    def read(self, path: str, most_bytes: int) -> bytes | None:
        """Return an object, cut; None where it does not exist."""
        full = self._full(path)
        try:
            data = self._call("read", path, "cat_file", full, start=0, end=most_bytes)
        except FileNotFoundError:
            return None
        except _EmptyError:
            return b""
        return bytes(data[:most_bytes])

    # -- writing ---------------------------------------------------------------------------

    def write(self, path: str, data: bytes) -> None:
        """Write or replace an object."""
        full = self._full(path)
        self._call("write", path, "pipe_file", full, data)

    def create(self, path: str, data: bytes) -> bool:
        """Write an object that does not exist yet; False where it does.

        The first object that is created is created again: a server that then has no objection
        ignores the condition, so that more than one node would send the alert.  Raises StoreError.
        """
        full = self._full(path)
        if not self._create_once(path, full, data):
            # aiohttp and others repeat a request whose answer was lost; the second one is refused.
            return self.read(path, len(data) + 1) == data
        if not self._is_exclusive and self._create_once(path, full, data):
            raise StoreError(
                f"{self._place}: the server replaces an object that must not exist (it ignores "
                "If-None-Match), so that nodes cannot agree on one alert; use another store"
            )
        self._is_exclusive = True
        return True

    def _create_once(self, path: str, full: str, data: bytes) -> bool:
        try:
            self._call("create", path, "pipe_file", full, data, mode="create")
        except FileExistsError:
            return False
        return True

    # -- removing --------------------------------------------------------------------------

    def remove_file(self, path: str) -> None:
        """Remove an object, if it exists."""
        full = self._full(path)
        with contextlib.suppress(FileNotFoundError):
            self._call("remove", path, "rm_file", full)

    def remove_folder(self, folder: str) -> None:
        """Remove all objects in a folder, also those in its folders."""
        split_named(self._place, folder)  # never the whole store
        for name, info in self._list(folder):
            is_folder = info.get("type") == "directory"
            remove = self.remove_folder if is_folder else self.remove_file
            remove(f"{folder}/{name}")

    # -- requests --------------------------------------------------------------------------

    def _full(self, path: str) -> str:
        return "/".join((self._root, *split_named(self._place, path)))

    def _list(self, folder: str) -> list[tuple[str, Mapping[str, Any]]]:
        """Return name and description of each object and folder with a plain name."""
        full = "/".join((self._root, *split_path(self._place, folder)))
        try:
            found = self._call("list", folder, "ls", full, detail=True)
        except FileNotFoundError:
            return []
        named = ((str(info.get("name", "")).rpartition("/")[2], info) for info in found)
        return [one for one in islice(named, MOST_FILES) if is_plain_name(one[0])]

    def _call(
        self, operation: str, path: str, method: str, *args: object, **options: object
    ) -> Any:
        """Return the result of a request, repeated after transient errors.

        ``method`` is one of fsspec's coroutines.  Raises StoreError; or FileNotFoundError,
        FileExistsError and _EmptyError.
        """
        coroutine = getattr(self._files, f"_{method}")

        def attempt() -> Any:
            self._watch_requests()
            return sync(self._files.loop, coroutine, *args, timeout=ATTEMPT_S, **options)

        try:
            return repeat_transient(attempt, _is_transient, self._deadline_s)
        except Exception as error:  # of botocore, aiohttp, Google or Azure
            code = _code(error)
            is_refusal = code in ("PreconditionFailed", "412") or isinstance(error, FileExistsError)
            if operation == "create" and is_refusal:
                raise FileExistsError(path) from None
            if code in ("InvalidRange", "416"):
                raise _EmptyError from None
            if _is_absence(error, operation, code):
                raise
            where = f"{self._place}: cannot {operation} {path or 'it'}"
            raise StoreError(f"{where}: {_describe(error)}") from None

    def _watch_requests(self) -> None:
        """Count the requests of S3's client, which s3fs makes anew when its session ends."""
        if self._package != _S3:
            self._requests += 1
            return
        client = sync(self._files.loop, self._files.set_session, timeout=ATTEMPT_S)
        if client is not self._watched:
            client.meta.events.register("before-send.s3", self._count_request)
            self._watched = client

    def _count_request(self, **_request: object) -> None:
        self._requests += 1


class _EmptyError(Exception):
    """The object is empty, so that it has no first byte."""


def _code(error: BaseException) -> str:
    """Return the code of a server's answer; "" without one."""
    for one in (error, error.__cause__):
        answer = getattr(one, "response", None)
        if isinstance(answer, Mapping):
            return str(answer.get("Error", {}).get("Code", ""))
        for name in ("code", "status_code", "status"):
            code = getattr(one, name, None)
            if isinstance(code, int) and not isinstance(code, bool):
                return str(code)
    return ""


def _is_absence(error: BaseException, operation: str, code: str) -> bool:
    """True for the answer that an object or a folder does not exist.

    A write has no such answer: a server that is none of the store's says "Not Found" to everything.
    """
    is_missing = isinstance(error, FileNotFoundError) and code != "NoSuchBucket"
    return is_missing and operation not in ("write", "create")


def _is_transient(error: BaseException) -> bool:
    code = _code(error)
    if code:
        return code in _TRANSIENT_CODES
    kinds = {kind.__name__ for kind in type(error).__mro__}
    is_lost = isinstance(error, ConnectionError | TimeoutError) or bool(kinds & _LOST)
    return is_lost or "FSTimeoutError" in kinds


def _read_time(info: Mapping[str, Any]) -> float:
    """Return the time of the last change by the clock of the store; 0 where it gives none."""
    found = next((info[key] for key in _TIME_KEYS if info.get(key)), None)
    try:
        if isinstance(found, str):
            found = datetime.fromisoformat(found)
        if isinstance(found, datetime):
            found = (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
        seconds = float(found or 0.0)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return seconds if math.isfinite(seconds) else 0.0


def _describe(error: BaseException) -> str:
    text = " ".join(str(error).split()) or "no answer in time"
    name = type(error).__name__
    code = _code(error)
    return f"{name}{f' ({code})' if code else ''}: {text}"[:_MOST_TEXT]
