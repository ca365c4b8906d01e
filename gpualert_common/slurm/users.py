"""Users in Slurm's records, by their numbers."""

from __future__ import annotations

import os
import pwd

from gpualert_common.quantities import is_number


def describe_user(uid: object) -> str:
    """Return a user in words: "alice", or "user 1000" where this machine does not know it."""
    if not is_number(uid):
        return ""
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError, OSError):
        return f"user {uid}"


def may_copy(file_uid: int, uid: int | None) -> bool:
    """Return True if this process may copy a file as an output of a user's job.

    A job may name any file as its output.  Whoever may read the files of others must not copy what
    the user of the job may not read: of the job of another user only that user's own files.
    """
    return uid is not None and uid in (os.geteuid(), file_uid)
