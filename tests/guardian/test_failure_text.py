"""Text of an error for a failed training."""

from __future__ import annotations

import pytest

from gpualert_common import api
from gpualert_common.guardian.failure_text import MOST_END, MOST_HEADLINE, describe_failure
from gpualert_common.redact import Redactor
from tests.supervised import Lab, python

BARS = r"""
import sys
for step in range(60):
    bar = f"{step}/60 [" + "#" * step + " " * (60 - step) + f"] loss={1 / (step + 1):.4f}"
    sys.stderr.write(f"\repochs {bar}\n\rsteps {bar}\x1b[A")
sys.exit(3)
"""


def text_of(code: str, streams: str = "merged") -> list[str]:
    """Return the lines of the error after a failed program of Python."""
    result = api.run(python(code), streams=streams)
    return describe_failure(result, Redactor(), "exit code 3").splitlines()


@pytest.mark.parametrize("streams", ["merged", "apart"])
def test_bars_are_drawn_once(lab: Lab, streams: str) -> None:
    """Of sixty drawings of two bars the text has the last state of each."""
    first, epochs, steps, log = text_of(BARS, streams)
    assert first.endswith("(exit code 3)")
    assert epochs.startswith("epochs 59/60 [")
    assert steps.startswith("steps 59/60 [")
    assert log.startswith("log: /")


def test_end_is_short(lab: Lab) -> None:
    """Long lines and a long headline leave room for each other; the last line is always there."""
    code = "for n in range(99): print(n, 'x' * 400)\nraise RuntimeError('y' * 900)"
    first, *end, last, _log = text_of(code)
    assert len(first) <= MOST_HEADLINE + 50
    assert sum(map(len, end)) <= MOST_END
    assert last.startswith("RuntimeError: yyy")
