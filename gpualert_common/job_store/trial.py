"""Trial of a store: each operation that the nodes of a job need, once."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from gpualert_common.errors import StoreError
from gpualert_common.job_store.clock import StoreClock, compare_clocks
from gpualert_common.job_store.opening import open_store
from gpualert_common.job_store.store import StoredFile
from gpualert_common.structs import Struct, field

_DATA, _OTHER = b'{"trial": true}', b"{}"
Result = TypeVar("Result")


class StoreTrial(Struct):
    """Result of a trial: the seconds of each operation, and the first problem, "" without one.

    ``clock`` compares the clock of this machine with that of the store.
    """

    address: str
    seconds: dict[str, float] = field(default_factory=dict)
    clock: StoreClock | None = None
    requests: int = 0
    problem: str = ""


def try_store(address: str, deadline_s: float) -> StoreTrial:
    """Return the result of a trial in a folder of its own, which is removed again."""
    trial = StoreTrial(address)
    try:
        _try(trial, deadline_s)
    except StoreError as error:
        trial.problem = str(error)
    return trial


def _try(trial: StoreTrial, deadline_s: float) -> None:
    store = _time(trial, "open", lambda: open_store(trial.address, deadline_s=deadline_s))
    host = "".join(one if one.isalnum() else "-" for one in socket.gethostname())[:60]
    folder = f"trial-{host}-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        first, second = f"{folder}/first.json", f"{folder}/second.json"
        _time(trial, "write", lambda: store.write(first, _OTHER))  # with the first connection
        began = time.time()
        _time(trial, "renew", lambda: store.write(first, _DATA))
        written = began + trial.seconds["renew"]
        is_first = _time(trial, "create", lambda: store.create(second, _DATA))
        is_second = _time(trial, "create again", lambda: store.create(second, _OTHER))
        _require(is_first and not is_second, f"{trial.address}: a file can be created twice")
        files = _time(trial, "list", lambda: store.list_files(folder))
        names = sorted(file.name for file in files)
        _require(
            names == ["first.json", "second.json"],
            f"{trial.address}: it does not list what was just written, but {', '.join(names)}",
        )
        data = _time(trial, "read", lambda: store.read(first, len(_DATA) + 1))
        _require(data == _DATA, f"{trial.address}: a file does not have what was written")
        trial.clock = compare_clocks(began, written, _time_of("first.json", files))
        _time(trial, "remove", lambda: store.remove_folder(folder))
    except StoreError:
        with suppress(StoreError):  # the first error says more
            store.remove_folder(folder)
        raise
    finally:
        trial.requests = store.requests


def _time(trial: StoreTrial, name: str, call: Callable[[], Result]) -> Result:
    began = time.perf_counter()
    try:
        return call()
    finally:
        trial.seconds[name] = time.perf_counter() - began


def _time_of(name: str, files: list[StoredFile]) -> float:
    return next(file.modified_at for file in files if file.name == name)


def _require(is_right: bool, problem: str) -> None:
    if not is_right:
        raise StoreError(problem)
