"""Files of /proc whose content a process chooses itself."""

from __future__ import annotations

import subprocess
import sys

from gpualert_common.processes.procfs import (
    MOST_CHOSEN_BYTES,
    read_command,
    read_environment,
    read_stat,
)
from gpualert_common.processes.ranks import read_identity

PART = "x" * 100_000


def test_long_environment_and_command() -> None:
    """Of an environment and a command of any length the first megabyte is read, and no more."""
    variables = {"RANK": "3"} | {f"NAME{number}": PART for number in range(12)}
    words = [PART] * 12
    code = "import sys; print(flush=True); sys.stdin.read()"
    command = (sys.executable, "-c", code, *words)
    pipe = subprocess.PIPE
    # The kernel takes two megabytes of both together, so each has a process of its own.
    with (
        subprocess.Popen(command, env={}, stdin=pipe, stdout=pipe) as one,
        subprocess.Popen(command[:3], env=variables, stdin=pipe, stdout=pipe) as two,
    ):
        for process in (one, two):
            assert process.stdout is not None
            process.stdout.readline()
        assert len("\0".join(read_command(one.pid))) == MOST_CHOSEN_BYTES
        assert read_command(one.pid)[:3] == list(command[:3])
        assert len(read_environment(two.pid) or b"") == MOST_CHOSEN_BYTES
        stat = read_stat(two.pid)
        assert stat is not None
        assert read_identity(stat)["rank"] == 3
        for process in (one, two):
            assert process.stdin is not None
            process.stdin.close()
