"""Files that a command writes for the user: complete or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable

from gpualert_common.errors import UsageError

PRIVATE = 0o600
"""A report has parts of the log; its owner decides who else may read it."""


def replace_file(
    path: str,
    chunks: Iterable[bytes],
    *,
    permissions: int = PRIVATE,
    option: str = "--output",
) -> None:
    """Write a file in one step, in place of an earlier one.

    ``option`` is the option that names the file.  Raises UsageError where the path cannot be
    written, is no regular file, or is a file or link of another user.
    """
    require_replaceable(path, option)
    temporary = os.path.join(os.path.dirname(path), f".gpualert-{secrets.token_hex(8)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        fd = os.open(temporary, flags, PRIVATE)
        try:
            with open(fd, "wb") as file:
                os.fchmod(fd, permissions)
                file.writelines(chunks)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise UsageError(
            f"{path}: not written: {error.strerror}; give another file with {option}"
        ) from None


def require_replaceable(path: str, option: str) -> None:
    """Raise UsageError where a path is no regular file, or a file or link of another user."""
    problem = _find_problem(path)
    if problem:
        raise UsageError(f"{path}: not written: {problem}; give another file with {option}")


def _find_problem(path: str) -> str:
    """Return the reason not to replace what is at a path; "" for nothing or a file of the user."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return error.strerror or str(error)
    if stat.S_ISLNK(status.st_mode):
        return "it is a link"
    if not stat.S_ISREG(status.st_mode):
        return "it is no regular file"
    return "" if status.st_uid == os.geteuid() else f"it belongs to user {status.st_uid}"
