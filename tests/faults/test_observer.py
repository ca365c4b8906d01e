"""The observer of the fault tables: it finds whatever a training leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.control_groups import remove_group
from tests.observer import MARK, environ_of, left_of
from tests.supervised import until

pytestmark = pytest.mark.e2e

_TRAINING = """
import os, sys
from tests.control_groups import enter_group
enter_group(os.environ["MATRIX_TASK"])
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve("/bin/sleep", ["sleep", "600"], {})
    os._exit(0)
os.wait()
"""


def test_escaped_process() -> None:
    """A process is found that left by a double fork, a new session and an empty environment."""
    task = f"escape-{os.getpid()}"
    subprocess.run([sys.executable, "-c", _TRAINING], env={**os.environ, MARK: task}, check=True)
    (pid,) = until(lambda: left_of(task), "the escaped process")
    try:
        until(lambda: not environ_of(pid), "its exec")
    finally:
        os.kill(pid, signal.SIGKILL)
    until(lambda: not left_of(task), "its end")
    remove_group(task)
