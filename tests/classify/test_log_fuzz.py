"""Logs made at random: never an exception, one verdict for any pieces, and a bounded one.

The pass of ``make nightly`` takes NIGHTLY_S in all; GPUALERT_FUZZ_S in the environment shortens it.
"""

from __future__ import annotations

import json
import os
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from gpualert_common.classifier import RunClassifier
from gpualert_common.classify import Scanner, load_rules
from gpualert_common.codec import encode
from gpualert_common.log_files.text_log import TextLog
from gpualert_common.spec import EndFacts, Ending

NIGHTLY_S = 3600.0
ROOT = Path(__file__).parents[2]
MOST_VERDICT_BYTES = 128 << 10
"""Of a verdict on one log: its texts are cut, and the causes beside the first are few."""

RULES = load_rules()
CORPUS = sorted((ROOT / "corpus" / "logs").rglob("*.log"))
LINES = sorted({line for path in CORPUS[::9] for line in path.read_bytes().split(b"\n")[-60:]})
TRACEBACKS = [
    b'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nKeyError: 1\n',
    b"\nDuring handling of the above exception, another exception occurred:\n\n",
    b"terminate called after throwing an instance of 'std::out_of_range'\n  what():  vector::at\n",
]
CONTROLS = [
    b"\x1b[",
    b"\x1b]0;t",
    b"\x1b",
    b"\r",
    b"\b",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\x85",
]
PREFIXES = [b"", b"[rank0]: ", b"[rank1]: ", b"1: ", b"(pid=7) ", b"2026-11-20 10:11:12 - "]

lines = st.tuples(
    st.sampled_from(PREFIXES), st.sampled_from(LINES), st.sampled_from([b"\n", b"\r"])
)
fragments = st.one_of(
    lines.map(b"".join),
    st.sampled_from(TRACEBACKS + CONTROLS),
    st.sampled_from(LINES).map(lambda line: line[: len(line) // 2]),
    st.binary(max_size=60),
    st.tuples(st.sampled_from(LINES), st.integers(1, 400)).map(lambda made: made[0] * made[1]),
)
parts = st.lists(fragments, max_size=40).map(b"".join)
encoded = st.tuples(parts, st.sampled_from(["utf-16", "utf-16-le", "utf-32", "cp1252"])).map(
    lambda made: made[0].decode("utf-8", "replace").encode(made[1], "replace")
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Return a log of the corpus, cut and with bytes replaced."""
    log = bytearray(draw(st.sampled_from(CORPUS)).read_bytes()[-60_000:])
    for _ in range(draw(st.integers(0, 8))):
        at = draw(st.integers(0, len(log)))
        length = draw(st.sampled_from([0, 1, 7, 300]))
        log[at : at + length] = draw(st.one_of(st.binary(max_size=9), fragments))
    return bytes(log[draw(st.integers(0, len(log))) :])


@st.composite
def interleaved(draw: st.DrawFn) -> bytes:
    """Return the lines of two logs of the corpus, mixed."""
    first, second = (
        draw(st.sampled_from(CORPUS)).read_bytes().split(b"\n")[-200:] for _ in range(2)
    )
    order = draw(st.randoms(use_true_random=False))
    mixed = [b"[rank0]: " + line for line in first]
    for line in second:
        mixed.insert(order.randint(0, len(mixed)), b"[rank1]: " + line)
    return b"\n".join(mixed)


LOGS = st.one_of(parts, mutated(), interleaved(), encoded, st.binary(max_size=4000))
CUTS = st.lists(st.integers(0, 1 << 20), max_size=6)


def classify(log: bytes, cuts: list[int], code: int | None) -> str:
    """Return the JSON of the verdict on a log that arrives in pieces."""
    borders = [0, *sorted(cut % (len(log) + 1) for cut in cuts), len(log)]
    classifier = RunClassifier()
    for begin, end in pairwise(borders):
        classifier.feed("a.log", log[begin:end], begin)
    ending = Ending(0.0)
    ending.code = code
    return json.dumps(encode(classifier.conclude(ending, EndFacts())), allow_nan=False)


def check(log: bytes, cuts: list[int], code: int | None) -> None:
    """Check the verdict on one log."""
    scanner = Scanner(RULES, "a.log")
    for begin, end in pairwise([0, *sorted(cut % (len(log) + 1) for cut in cuts), len(log)]):
        scanner.feed(log[begin:end], begin)
    whole = Scanner(RULES, "a.log")
    whole.feed(log, 0)
    assert scanner.finish() == whole.finish()
    verdict = classify(log, [], code)
    assert len(verdict) <= MOST_VERDICT_BYTES
    assert json.loads(verdict)["warnings"] is not None


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(LOGS, CUTS, st.sampled_from([None, 0, 1, -9, -15]))
def test_any_log_has_a_verdict(log: bytes, cuts: list[int], code: int | None) -> None:
    """Any log gives one verdict, whatever its pieces are, and one of bounded size."""
    check(log, cuts, code)


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(
    st.one_of(
        LOGS,
        st.sampled_from([b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\0"]).flatmap(
            lambda magic: st.binary(max_size=500).map(lambda rest: magic + rest)
        ),
    )
)
def test_any_file_is_decoded_or_named(data: bytes) -> None:
    """Any bytes of a file are text, or a problem is named."""
    import io

    log = TextLog(io.BytesIO(data))
    text = b"".join(log)
    assert text == data or log.problems


@pytest.mark.nightly
def test_any_log_has_a_verdict_at_length() -> None:
    """The same for as long as the night allows, each round from another seed."""
    end = time.monotonic() + float(os.environ.get("GPUALERT_FUZZ_S", NIGHTLY_S))
    number = 0
    while time.monotonic() < end:
        number += 1
        given_logs = given(LOGS, CUTS, st.sampled_from([None, 0, 1, -9, -15]))(check)
        once = settings(
            deadline=None, max_examples=200, database=None, suppress_health_check=list(HealthCheck)
        )
        seed(number)(once(given_logs))()
    assert number
