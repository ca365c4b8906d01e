"""Programs of ours, each in a Python process of its own that nothing of its caller's reaches."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable

from gpualert_common.processes import bootstrap
from gpualert_common.processes.marker import HELPER_OF, run_marker

_BOOTSTRAP = os.path.abspath(bootstrap.__file__)


class _LongLived(subprocess.Popen[bytes]):
    """A program that may live when this process exits."""

    def __del__(self) -> None:
        """Neither warn nor wait."""


def program_command(module: str, *arguments: str) -> list[str]:
    """Return the command that calls ``main(*arguments)`` of a module of this package."""
    return [sys.executable or "python3", "-I", _BOOTSTRAP, module, *arguments]


def start_program(
    module: str,
    *arguments: str,
    helper_of: str | None = None,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.DEVNULL,
    stderr: int = subprocess.DEVNULL,
    pass_fds: Iterable[int] = (),
    is_long_lived: bool = False,
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, so that no Ctrl-C of the caller's terminal ends it.

    Its working directory is the root, and it inherits no descriptor but those that are passed.
    ``helper_of`` is the identifier of the run that it helps: it is not a process of that run.
    ``is_long_lived`` says that it may live when this process exits.
    Raises OSError.
    """
    env = None if helper_of is None else {**os.environ, HELPER_OF: run_marker(helper_of)}
    kind = _LongLived if is_long_lived else subprocess.Popen
    return kind(
        program_command(module, *arguments),
        env=env,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd="/",
        start_new_session=True,
        pass_fds=tuple(pass_fds),
    )
