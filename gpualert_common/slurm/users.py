"""Users in Slurm's records, by their numbers."""

from __future__ import annotations

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
