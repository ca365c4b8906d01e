"""Changes of a log that keep the cause of the failure."""

from __future__ import annotations

import re

import pytest

from corpus.entries import CorpusEntry
from corpus.evaluation import noise
from corpus.evaluation.perturbations import BENIGN_LINES, CASCADE_LINES, CHANGES, RANKS, change_log
from tests.corpus.conftest import small_entry

LOG = """\
loading /home/user/project/data.bin
step 1 loss 2.31
step 2 loss 2.11
step 3 loss 1.97
step 4 loss 1.91
step 5 loss 1.85
Traceback (most recent call last):
  File "/home/user/project/train.py", line 40, in <module>
    train(model, loader)
  File "/home/user/project/train.py", line 28, in train
    loss = model(batch).mean()
  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 125, in forward
    return F.linear(input, self.weight, self.bias)
RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x48 and 64x10)
"""
ENTRY = small_entry("somewhere", "shapes", "shape_mismatch")
CUTS = {"first third cut off", "cut inside the last traceback"}
PLAIN = re.compile(r"\x1b\[[\d;]*m")


def after(name: str, log: str = LOG, entry: CorpusEntry = ENTRY) -> str:
    """The text of *log* after the change *name*, without colours."""
    return PLAIN.sub("", change_log(name, log.encode(), entry).decode())


@pytest.mark.parametrize("name", sorted(CHANGES.keys() - CUTS - {"other users' paths"}))
def test_every_line_is_kept(name: str) -> None:
    """Each line of the log is in the changed one, whole and in order."""
    text = after(name)
    at = 0
    for line in LOG.splitlines():
        at = text.index(line, at)


@pytest.mark.parametrize("name", CHANGES)
def test_the_exception_is_kept(name: str) -> None:
    """The line of the exception survives every change, also the cuts."""
    assert "RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x48 and 64x10)" in after(
        name
    )


@pytest.mark.parametrize("name", CHANGES)
def test_the_same_each_time(name: str) -> None:
    """A change depends only on the id of the log, and has an effect."""
    assert change_log(name, LOG.encode(), ENTRY) == change_log(name, LOG.encode(), ENTRY)
    assert change_log(name, LOG.encode(), ENTRY) != LOG.encode()


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("log", [b"", b"Killed", b"\xff\xfe\x00\n\r\r\n", "é\u2028x".encode()])
def test_any_bytes_will_do(name: str, log: bytes) -> None:
    """Empty, unterminated and non-UTF-8 logs and unusual line ends can be changed."""
    assert isinstance(change_log(name, log, ENTRY), bytes)


def test_eight_ranks_write_everything() -> None:
    """Interleaved or in lockstep, each line occurs once per rank."""
    for name in ("eight ranks interleaved", "eight ranks in lockstep"):
        assert after(name).count("mat1 and mat2") == RANKS


def test_no_bar_inside_a_traceback() -> None:
    """A bar may be before a traceback, never inside."""
    text = after("progress bars")
    assert LOG[LOG.index("Traceback") :] in text


def test_the_bar_does_not_move_after_a_failure() -> None:
    """After a failure no bar shows a later step than before it."""
    for number in range(20):
        entry = small_entry("somewhere", f"log{number}", "shape_mismatch")
        text = after("progress bars", LOG + "late line\n" * 20, entry)
        before, _, behind = text.partition("Traceback")
        reached = re.findall(r"(\d+)/5000", before) or re.findall(r"(\d+)/5000", behind)[:1]
        assert set(re.findall(r"(\d+)/5000", behind)) <= {reached[-1]}


def test_no_failure_is_cut_off() -> None:
    """The cut of the first third ends before the first word about a failure."""
    early = "Killed by signal 9\n" + "step 1 loss 2.3\n" * 30
    assert after("first third cut off", early) == early
    late = "step 1 loss 2.3\n" * 30 + "Killed by signal 9\n"
    assert len(after("first third cut off", late)) == len(late) - len(late) // 3


def test_a_log_with_more_than_one_failure_keeps_its_head() -> None:
    """The last traceback is cut only if nothing before it is about a failure."""
    text = "OSError: [Errno 28] No space left on device\n" + LOG
    assert after("cut inside the last traceback", text) == text
    assert "Traceback" not in after("cut inside the last traceback")


def test_a_successful_run_has_no_cascade() -> None:
    """No launcher reports a failure after exit code 0, or a hang without collectives."""
    assert after("200 lines of cascade after", LOG, small_entry("x", "y", "none", 0)) == LOG
    assert after("200 lines of cascade after", LOG, small_entry("x", "y", "idle_hang", -15)) == LOG


@pytest.mark.parametrize(("code", "reported"), [(1, "1"), (137, "-9"), (-11, "-11")])
def test_the_cascade_has_the_exit_code(code: int, reported: str) -> None:
    """torchrun's summary has the status of the failed worker, a signal as -n."""
    text = after("200 lines of cascade after", LOG, small_entry("x", "y", "segfault", code))
    assert text.count("\n") == LOG.count("\n") + CASCADE_LINES
    assert f"  exitcode  : {reported} (pid: " in text


@pytest.mark.parametrize("style", range(noise.PROGRESS_STYLES))
def test_each_style_of_progress_has_all_lines(style: int) -> None:
    """Each style of progress writes twenty thousand lines."""
    assert noise.write_progress(BENIGN_LINES, style).count(b"\n") == BENIGN_LINES
