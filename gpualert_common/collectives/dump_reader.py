"""Reading the file of a flight recorder dump: a pickle, or JSON.

A pickle may run any program.  This one may hold only numbers, texts, lists, tuples and
dictionaries, as PyTorch writes them; anything else is refused before it is made.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import stat
from collections.abc import Mapping
from typing import Any, NoReturn

MOST_BYTES = 64 << 20
"""Size of a dump that is read: one of 2,000 calls with their stacks has 2 MB."""


class UnreadableDumpError(Exception):
    """A dump that cannot be read; the message names the file and the reason."""


class _PlainUnpickler(pickle.Unpickler):
    """Unpickler that makes no object of any class, and calls nothing."""

    def find_class(self, module: str, name: str) -> NoReturn:
        """Refuse the class or function."""
        raise pickle.UnpicklingError(f"it holds {module}.{name}, not only plain data")

    def persistent_load(self, pid: Any) -> NoReturn:
        """Refuse the reference to another object."""
        raise pickle.UnpicklingError(f"it refers to another object: {pid!r}")


def read_dump(path: str, owner: int | None = None) -> Mapping[str, Any]:
    """Return the content of a dump.

    With *owner* the file must belong to that user.  A link is not followed, and a pipe not waited
    for.  Raises UnreadableDumpError.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError as error:
        raise UnreadableDumpError(f"{path} cannot be read: {error.strerror}") from None
    with open(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableDumpError(f"{path} is not a regular file")
        if owner is not None and status.st_uid != owner:
            raise UnreadableDumpError(f"{path} belongs to user {status.st_uid}, not to the run's")
        if status.st_size > MOST_BYTES:
            raise UnreadableDumpError(f"{path} has more than {MOST_BYTES >> 20} MiB")
        try:
            data = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise UnreadableDumpError(f"{path} cannot be read: {error.strerror}") from None
    return parse_dump(data, path)


def parse_dump(data: bytes, name: str) -> Mapping[str, Any]:
    """Return the content of a dump; *name* is for the message.  Raises UnreadableDumpError."""
    try:
        if data.lstrip()[:1] == b"{":
            found = json.loads(data)
        else:
            found = _PlainUnpickler(io.BytesIO(data)).load()
    except Exception as error:  # noqa: BLE001 - a damaged pickle raises any exception
        raise UnreadableDumpError(f"{name} is no flight recorder dump: {error}") from None
    if not isinstance(found, dict) or "entries" not in found:
        raise UnreadableDumpError(f"{name} is no flight recorder dump: it has no entries")
    return found
