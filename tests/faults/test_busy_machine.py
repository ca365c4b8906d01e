"""A machine on which many more want a core than there are: slower, and nothing is lost."""

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

EACH = 4
"""Want each core."""
SLOW = python("print('loss: nan\\n' * 4_000_000)\n1 / 0")
"""Its log takes about a second to read, where there is a core for that."""


@pytest.fixture(autouse=True)
def crowd() -> Iterator[None]:
    """Processes that never rest, as the data loaders of other jobs."""
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


def test_patience() -> None:
    """A second of a deadline lasts longer, and ends."""
    began = time.monotonic()
    patience = LoadScaledDeadline(1.0)
    while left_s := patience.left_s():
        time.sleep(left_s)
    assert 1.5 < time.monotonic() - began < 3 * MAX_LOAD


def test_at_a_shell(lab: Lab) -> None:
    """The verdict is there, and is shown."""
    done = lab.run(*SLOW, stdout=subprocess.DEVNULL)
    assert done.returncode == 1
    assert lab.json("show")["verdict"]["cause"] is not None
    assert b"no verdict" not in done.stderr


def test_in_the_api(lab: Lab) -> None:
    """``run()`` returns it."""
    code = (
        "import sys\n"
        "from gpualert_common import run\n"
        "result = run(sys.argv[1:])\n"
        "print(result.exit_code, result.verdict is not None)\n"
    )
    done = lab.call((*python(code), *SLOW))
    assert done.stdout == b"1 True\n", done.stderr.decode()


def test_with_a_guardian(lab: Lab) -> None:
    """Whoever waits for a guardian has it."""
    spec = RunSpec(SLOW, cwd=str(lab.home), state_dir=str(lab.state))
    with RunHandle.launch(spec, Attempt(("task",))) as handle:
        result = handle.wait(120.0)
    assert result.exit_code == 1
    assert result.verdict is not None
