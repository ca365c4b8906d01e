"""A machine with many more busy processes than cores: slower, without losses."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator

import pytest

from gpualert_common.guardian import Attempt, RunHandle
from gpualert_common.processes.load_scaled_deadline import MAX_LOAD, LoadScaledDeadline
from gpualert_common.spec import RunSpec
from tests.supervised import Lab, python

pytestmark = pytest.mark.e2e

EACH = 2
"""Busy processes for each core: half of what deadlines allow for, since other tests run, too."""
SLOW = python("print('loss: nan\\n' * 4_000_000)\n1 / 0")
"""Lines of a log that takes about a second to read on an idle core."""


@pytest.fixture(autouse=True)
def crowd() -> Iterator[None]:
    """Processes that are always busy, as the data loaders of other jobs."""
    others: list[subprocess.Popen[bytes]] = []
    try:
        others.extend(
            subprocess.Popen(python("while True: pass"))
            for _ in range(EACH * (os.cpu_count() or 1))
        )
        yield
    finally:
        for one in others:
            one.kill()
            one.wait()


def test_scaled_deadline() -> None:
    """A scaled deadline of a second lasts longer, and ends."""
    began = time.monotonic()
    deadline = LoadScaledDeadline(1.0)
    while left_s := deadline.left_s():
        time.sleep(left_s)
    assert 1.5 < time.monotonic() - began < 3 * MAX_LOAD


def test_at_a_shell(lab: Lab) -> None:
    """At a shell the verdict is made, and shown."""
    done = lab.run(*SLOW, stdout=subprocess.DEVNULL)
    assert done.returncode == 1
    assert lab.json("show")["verdict"]["cause"] is not None
    assert b"no verdict" not in done.stderr


def test_in_the_api(lab: Lab) -> None:
    """``run()`` returns the verdict."""
    code = (
        "import sys\n"
        "from gpualert_common import run\n"
        "result = run(sys.argv[1:])\n"
        "print(result.exit_code, result.verdict is not None)\n"
    )
    done = lab.call((*python(code), *SLOW))
    assert done.stdout == b"1 True\n", done.stderr.decode()


def test_with_a_guardian(lab: Lab) -> None:
    """The wait for a guardian returns the verdict."""
    spec = RunSpec(SLOW, cwd=str(lab.home), state_dir=str(lab.state))
    with RunHandle.launch(spec, Attempt(("task",))) as handle:
        result = handle.wait(120.0)
    assert result.exit_code == 1
    assert result.verdict is not None
