"""A log that is full of evidence costs little more than its length, and its ends decide."""

from __future__ import annotations

import sys
from itertools import pairwise
from types import FrameType

import pytest

from gpualert_common.classifier import RunClassifier
from gpualert_common.classify import CHUNK_BYTES, LogReading, Scanner, load_rules
from gpualert_common.model import Role, Verdict
from gpualert_common.spec import EndFacts, Ending

RULES = load_rules(samples=True)
TRACEBACK = (
    b"Traceback (most recent call last):\n"
    b'  File "train.py", line 3, in main\n    loss = model(x)\n'
    b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
)
RANKS = b"".join(
    b"[rank%d]: " % rank + line
    for rank in range(80)
    for line in TRACEBACK.splitlines(keepends=True)
)


def samples_of(*roles: Role) -> bytes:
    """Return the lines that patterns of these roles must match."""
    entries = [
        rule.samples[pattern.id]
        for rule in RULES
        for pattern in rule.patterns
        if pattern.role in roles and pattern.id in rule.samples
    ]
    return "\n".join(line for entry in entries for line in entry.hits).encode() + b"\n"


DENSE = {
    "cuda_oom": b"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n",
    "killed": b"Killed\n",
    "nccl": b"node1:123:456 [0] NCCL WARN Call to connect returned Connection refused\n",
    "tracebacks": TRACEBACK,
    "chains": TRACEBACK
    + b"\nDuring handling of the above exception, another exception occurred:\n\n",
    "headers": b"Traceback (most recent call last):\n",
    "frames": b'  File "train.py", line 3, in main\n',
    "unfinished": b"".join(TRACEBACK.splitlines(keepends=True)[:-1]),
    "ranks": RANKS,
    "quoted": repr(TRACEBACK.decode()).encode() + b"\n",
    "near_misses": "Killed by the user: ü\n".encode(),
    "nan": b"train_loss: nan\n",
    "escapes": b"\x1b[31mKilled\x1b[0m\n",
    "benign": b"NCCL WARN Missing libnccl-net.so\n",
}


def repeat(block: bytes, size: int) -> bytes:
    """Return whole repetitions of *block* of about that size."""
    return block * (size // len(block) + 1)


def scan(log: bytes, step: int = CHUNK_BYTES) -> LogReading:
    """Return the reading of *log* in pieces of *step* bytes."""
    scanner = Scanner(RULES, "a.log")
    for begin, end in pairwise([*range(0, len(log), step), len(log)]):
        scanner.feed(log[begin:end], begin)
    return scanner.finish()


def classify(log: bytes) -> Verdict:
    """Return the verdict on *log* of a run that exited with 1."""
    classifier = RunClassifier()
    for offset in range(0, len(log), CHUNK_BYTES):
        classifier.feed("a.log", log[offset : offset + CHUNK_BYTES], offset)
    ending = Ending(0.0)
    ending.code = 1
    return classifier.conclude(ending, EndFacts())


@pytest.mark.parametrize("block", DENSE.values(), ids=DENSE)
def test_work_does_not_grow_with_the_log(block: bytes) -> None:
    """Behind its first megabytes a log of evidence needs next to no calls for a line."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    begin, more = repeat(block, 2 << 20), repeat(block, 1 << 20)
    scanner = Scanner(RULES, "a.log")
    for offset in range(0, len(begin), CHUNK_BYTES):
        scanner.feed(begin[offset : offset + CHUNK_BYTES], offset)
    sys.setprofile(count)
    try:
        scanner.feed(more, len(begin))
    finally:
        sys.setprofile(None)
    assert calls < more.count(b"\n") / 4 + 3000


@pytest.mark.parametrize("name", ["killed", "ranks", "near_misses", "benign"])
def test_cuts_of_a_dense_log_do_not_matter(name: str) -> None:
    """Also when there is too much to read, pieces of any size give the same reading."""
    log = b"step 1\n" + repeat(DENSE[name], 1 << 19) + b"ZeroDivisionError: division by zero\n"
    assert scan(log, 1 << 24) == scan(log, 9973)


def test_a_sampled_log_is_named() -> None:
    """The verdict says that not every line was read, and counts no more than it has read."""
    verdict = classify(repeat(DENSE["killed"], 1 << 20))
    assert [warning.kind for warning in verdict.warnings] == ["sampled"]
    assert any("at least 1000 times" in claim.claim for claim in verdict.shows)
    assert verdict.shows[-1].where is not None
    assert verdict.shows[-1].where.line == (1 << 20) // len(b"Killed\n") + 1


@pytest.mark.parametrize("block", DENSE.values(), ids=DENSE)
@pytest.mark.parametrize("noise", [1 << 18, 1 << 20])
def test_the_end_decides_behind_any_noise(block: bytes, noise: int) -> None:
    """The failure that ended the run is found behind any amount of other evidence."""
    failure = TRACEBACK.replace(
        b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        b"ModuleNotFoundError: No module named 'flash_attn'",
    )
    reading = scan(repeat(block, noise) + b"\n" * 600 + failure)
    assert reading.tracebacks[-1].name == "ModuleNotFoundError"


def test_the_first_failure_is_kept_before_any_noise() -> None:
    """Later evidence does not displace the first failure."""
    first = b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    reading = scan(first + repeat(samples_of(Role.CASCADE), 1 << 19))
    assert reading.tracebacks[0].name == "OutOfMemoryError"


def test_evidence_of_all_kinds_has_a_verdict() -> None:
    """A pattern that only the last lines of a full log match is no surprise."""
    assert classify(repeat(samples_of(*Role), 2 << 20)).cause != "none"


def test_a_pattern_of_the_end_alone_has_no_count() -> None:
    """An exception that only the end of a full log shows is one report of a lasting state."""
    last = TRACEBACK.splitlines(keepends=True)[:-1]
    failure = b"".join(last) + b"FloatingPointError: invalid value (nan) encountered in jit(step)\n"
    log = DENSE["nan"] + repeat(TRACEBACK, 1 << 19) + b"\n" * 600 + failure
    assert classify(log).cause == "nan_loss"
