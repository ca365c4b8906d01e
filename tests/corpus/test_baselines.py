"""The baselines of the paper."""

from __future__ import annotations

import pytest

from corpus.evaluation.baselines import (
    KEYWORDS,
    classify_by_exit_code,
    classify_by_keywords,
    classify_by_last_exception,
)
from gpualert_common.diagnose.paper_classes import CLASSES


def test_each_class_has_keywords() -> None:
    """The lists cover exactly the classes of the paper, in lower case."""
    assert set(KEYWORDS) == CLASSES
    assert all(word == word.lower() for words in KEYWORDS.values() for word in words)


def test_keywords_count_without_order() -> None:
    """Two keywords of one class beat one of another at any place; without one the result is
    None."""
    assert (
        classify_by_keywords(b"x ZeroDivisionError\nIn segfault: division by zero", 1) == "div_zero"
    )
    assert classify_by_keywords(b"all is well", 1) is None


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("ValueError: x\nFileNotFoundError: [Errno 2] y\ngoodbye\n", "file_not_found"),
        ("RuntimeError: CUDA error: device-side assert triggered\n", "cuda_runtime"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to\n", "cuda_oom"),
        ("[rank3]: torch.distributed.DistBackendError: NCCL error\n", "nccl"),
        ("mypackage.BrokenError: NCCL\nKeyError: 'x'\n", "traceback"),
        ("Killed\n", None),
    ],
)
def test_last_exception(log: str, expected: str | None) -> None:
    """The last line that looks like an exception decides, its message before its type."""
    assert classify_by_last_exception(log.encode(), 1) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [(0, None), (None, None), (1, "traceback"), (-9, "oom_killer"), (137, "oom_killer"),
     (-11, "segfault"), (126, "permission"), (7, None)],
)  # fmt: skip
def test_exit_code(code: int | None, expected: str | None) -> None:
    """An exit code means a class by the conventions of shells and of Python."""
    assert classify_by_exit_code(b"", code) == expected
