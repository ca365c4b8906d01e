"""Names of the programs that run shell scripts."""

from __future__ import annotations

import os

SHELLS = frozenset(
    ("ash", "bash", "busybox", "csh", "dash", "fish", "ksh", "ksh93", "mksh", "sh", "tcsh", "zsh")
)


def names_shell(program: str) -> bool:
    """True when the path or name of a program is that of a shell."""
    return os.path.basename(program) in SHELLS
