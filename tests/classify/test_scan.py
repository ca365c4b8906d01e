"""The scanner gives the same result for any pieces of a log, in bounded memory."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from gpualert_common.classify import Scanner, load_rules, probes, scan_file
from gpualert_common.classify.compiled_rules import (
    CompiledRules,
    compile_rules,
)
from gpualert_common.classify.line_prefixes import strip_prefixes
from gpualert_common.classify.line_quota import FEW_LINES
from gpualert_common.classify.lines import LINE_CAP, canonicalize
from gpualert_common.classify.log_reading import COUNT_LIMIT, LogReading
from gpualert_common.classify.observations import EXCERPT_CHARS
from gpualert_common.classify.probes import Probe, ProbeFilter
from gpualert_common.classify.rules import Scope
from gpualert_common.classify.scanner import TAIL_BYTES
from gpualert_common.regex import compile_text

RULES = load_rules(samples=True)
COMPILED = [(one, compile_text(one.re)) for one in RULES.patterns]
SAMPLES = [
    sample
    for rule in RULES
    for entry in rule.samples.values()
    for sample in (*entry.hits, *entry.near_misses)
]
FRAGMENTS = [
    *SAMPLES,
    "Traceback (most recent call last):",
    '  File "train.py", line 3, in main',
    "    loss = model(x)",
    "During handling of the above exception, another exception occurred:",
    "ValueError: no",
    "terminate called after throwing an instance of 'std::out_of_range'",
    "  what():  vector::at",
    "step 12 loss 0.3",
    " 12%|#  | 12/100 [00:01<00:09, 9.1it/s]",
    "\x1b[31mERROR\x1b[0m",
    "",
    "x" * (LINE_CAP + 17),
]
ENDS = st.sampled_from(["\n", "\r", "\r\n", "\n\n"])
PREFIXES = st.sampled_from(["", "", "[rank0]: ", "[rank1]: ", "\x1b[33m"])


def logs_of(fragments: Iterable[str]) -> st.SearchStrategy[bytes]:
    """Return logs of lines with these fragments."""
    lines = st.tuples(PREFIXES, st.sampled_from(list(fragments)), ENDS)
    return st.lists(lines, max_size=40).map(lambda made: "".join(map("".join, made)).encode())


LOGS = logs_of(FRAGMENTS)


def read(data: bytes, cuts: list[int]) -> LogReading:
    """Return the scan of *data* fed in pieces that end at *cuts*."""
    scanner = Scanner(RULES, "a.log")
    borders = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for begin, end in pairwise(borders):
        scanner.feed(data[begin:end], begin)
    return scanner.finish()


@settings(deadline=None)
@given(LOGS, st.lists(st.integers(0, 1 << 20), max_size=8))
def test_cuts_do_not_matter(log: bytes, cuts: list[int]) -> None:
    """A log gives the same reading in one piece and in any pieces."""
    assert read(log, cuts) == read(log, [])


@settings(deadline=None, max_examples=20)
@given(LOGS)
def test_byte_by_byte(log: bytes) -> None:
    """A log that arrives byte by byte gives the same reading."""
    log = log[:3000]
    assert read(log, list(range(len(log)))) == read(log, [])


@settings(deadline=None)
@given(st.binary(max_size=2000), st.lists(st.integers(0, 2000), max_size=4))
@example(b"\xff\x00Traceback (most recent call last):\n\xfeKilled\n", [3])
def test_any_bytes_can_be_scanned(log: bytes, cuts: list[int]) -> None:
    """Any output of a program is read, to its last byte."""
    assert read(log, cuts).size == len(log)


LOGS_WITHOUT_TRACEBACKS = logs_of(
    text for text in FRAGMENTS if "Traceback" not in text and not read(text.encode(), []).tracebacks
)
"""Lines of a traceback are read as a whole, not each by itself."""


@settings(deadline=None)
@given(LOGS_WITHOUT_TRACEBACKS)
def test_automaton_agrees_with_each_pattern(log: bytes) -> None:
    """The automaton selects exactly the lines that each pattern matches."""
    expected: dict[str, int] = {}
    reading = read(log, [])
    assume(not reading.tracebacks)
    for piece in re.split(rb"[\r\n]", log):
        for at in range(0, max(len(piece), 1), LINE_CAP):
            text = strip_prefixes(canonicalize(piece[at : at + LINE_CAP])).text
            hits = [
                one for one, regex in COMPILED if one.where is Scope.ANYWHERE and regex.search(text)
            ]
            benign = [one for one in hits if one.role == "benign"]
            for one in benign or hits:
                expected[one.id] = expected.get(one.id, 0) + 1
    assert reading.counts == expected


def test_an_automaton_out_of_memory_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the automaton gives no answer the patterns are searched one by one."""
    program = CompiledRules(RULES)

    class Exhausted:
        def Match(self, text: bytes, potential: bool) -> None:  # noqa: N802 - RE2's
            return None

    for sieve in (program.line_probes, program.exception_probes):
        for part in sieve.compile():
            monkeypatch.setattr(part._filter, "_filter", Exhausted())
    text = b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"

    def select_patterns(by: CompiledRules) -> set[str]:
        probes = [*by.line_probes.select(text), *by.exception_probes.select(text)]
        patterns = [entry for probe in probes for entry in probe.patterns]
        return {one.id for one in patterns if compile_text(one.re).search(text.decode())}

    assert "cuda_oom/torch" in select_patterns(program)
    assert select_patterns(program) == select_patterns(compile_rules(RULES))


def test_short_texts_are_searched_without_a_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first short texts need no filter; the probes that occur in their lines are selected."""
    usual = compile_rules(RULES).line_probes
    usual.compile()

    def make(_probes: list[Probe]) -> NoReturn:
        raise AssertionError("a filter is made")

    monkeypatch.setattr(probes, "_split_into_parts", make)
    for start in range(0, len(SAMPLES), 100):
        sieve = CompiledRules(RULES).line_probes
        for sample in SAMPLES[start : start + 100 : 15]:
            line = f"{sample}\n".encode()
            occurring = [one for one in usual.select(line) if one.occurs_in(line)]
            assert [one.expression for one in sieve.select_in_lines(line)] == [
                one.expression for one in occurring
            ]
    with pytest.raises(AssertionError, match="a filter is made"):
        CompiledRules(RULES).line_probes.select_in_lines(b"step 1\n" * 10_000)
    with pytest.raises(AssertionError, match="a filter is made"):
        [sieve.select_in_lines(b"step 1\n") for _ in range(10)]


@pytest.mark.parametrize("lines", [1, 5000], ids=["without a filter", "with a filter"])
@pytest.mark.parametrize("literal", ["", 'literal = "frobnicated"\n'])
def test_wrong_pattern_matches_nothing(tmp_path: Path, literal: str, lines: int) -> None:
    """A pattern that does not compile costs no other one, also with a literal that occurs."""
    wrong = f"[[patterns]]\nname = 'wrong'\nrole = 'root'\nre = 'frobnicated (('\n{literal}"
    right = f"[[patterns]]\nname = 'right'\nrole = 'root'\nre = 'frobnicated \\('\n{literal}"
    (tmp_path / "mine.toml").write_text(f"id = 'data'\n{wrong}{right}")
    scanner = Scanner(load_rules(own=tmp_path), "output.log")
    scanner.feed(b"frobnicated ((\n" * lines, 0)
    assert scanner.finish().counts.keys() == {"data/right"}


def test_more_patterns_than_one_filter_takes() -> None:
    """Each of very many probes is found, and only those that may occur are named."""
    texts = [f"{'abcdefghij'[number % 10] * 12} {number:05}".encode() for number in range(9000)]
    sieve = ProbeFilter([Probe(text, text) for text in texts])
    for text in (texts[0], texts[4500], texts[-1]):
        assert [probe.literal for probe in sieve.select(b"step 1\n" + text)] == [text]
    assert sieve.select(b"step 1\n") == []


def test_places(tmp_path: Path) -> None:
    """An observation's offset and line are where an editor finds it."""
    log = tmp_path / "a.log"
    log.write_bytes(
        b"bar 1\rbar 2\r\n\x1b[31mone\x1b[0m\nModuleNotFoundError: No module named 'x'\n"
    )
    reading = scan_file(log, RULES)
    (found,) = reading.observations
    assert found.place.line == 3
    assert log.read_bytes()[found.place.offset :].startswith(b"ModuleNotFound")


def test_a_gap_is_counted() -> None:
    """Missing bytes are counted, and the text around them is read."""
    scanner = Scanner(RULES, "a.log")
    scanner.feed(b"ZeroDivisionError: division by zero\nhalf a li", 0)
    scanner.feed(b"ne\nOSError: [Errno 28] No space left on device: '/s/x'\n", 1000)
    reading = scanner.finish()
    assert reading.unscanned == ((45, 1000),)
    assert [one.cause for one in reading.observations] == ["div_zero", "disk_full"]


def test_bytes_fed_twice_count_once() -> None:
    """Repeated bytes change nothing."""
    line = b"ZeroDivisionError: division by zero\n"
    scanner = Scanner(RULES, "a.log")
    scanner.feed(line, 0)
    scanner.feed(line, 0)
    assert scanner.finish().counts == {"div_zero/python": 1}


def test_first_and_last_of_many() -> None:
    """Of many matches of a pattern the first, the last and the number are kept."""
    lines = [b"train_loss: nan, number %d\n" % number for number in range(COUNT_LIMIT * 3)]
    log = b"".join(lines)
    reading = read(log, [5000, 70000])
    assert reading.counts == {"nan_loss/logged_loss": COUNT_LIMIT}
    numbers = [one.place.line for one in reading.observations]
    assert numbers == [1, 2, 3, 4, *range(COUNT_LIMIT * 3 - 3, COUNT_LIMIT * 3 + 1)]
    assert reading == read(log, [])


def test_tracebacks_beyond_counting() -> None:
    """The last traceback is found after any number of others."""
    one = b'Traceback (most recent call last):\n  File "a.py", line 1, in f\nKeyError: %d\n'
    reading = read(b"".join(one % number for number in range(COUNT_LIMIT + 500)), [777, 99999])
    assert reading.traceback_count < COUNT_LIMIT
    assert reading.tracebacks[-1].message == str(COUNT_LIMIT + 499)


def test_memory_stays_flat_without_line_ends() -> None:
    """64 MiB without a newline, with matches, need little more memory than a piece of it."""
    piece = (b"y" * 1000 + b"Fatal Python error: Aborted " + b"z" * 1000) * 512
    scanner = Scanner(RULES, "a.log")
    scanner.feed(piece, 0)
    tracemalloc.start()
    for number in range(1, 64):
        scanner.feed(piece, number * len(piece))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12 << 20
    reading = scanner.finish()
    assert reading.counts["segfault/faulthandler"] >= FEW_LINES
    assert reading.is_sampled


def test_excerpts_are_bounded() -> None:
    """The excerpt of a very long line shows the match and is short."""
    reading = read(b"a" * 5000 + b" Fatal Python error: Aborted " + b"b" * 5000 + b"\n", [])
    (found,) = reading.observations
    assert len(found.excerpt) <= EXCERPT_CHARS
    assert "Fatal Python error: Aborted" in found.excerpt


def test_the_last_line_needs_no_end() -> None:
    """A failure in an unfinished last line is found."""
    assert read(b"ok\nFatal Python error: Aborted", []).lines == 2
    assert read(b"ok\nFatal Python error: Aborted", []).counts == {"segfault/faulthandler": 1}


def test_the_tail_is_the_end_of_the_log() -> None:
    """The end of the log is kept for the classification, for any pieces."""
    log = bytes(range(65, 91)) * 10_000
    reading = read(log, [100, 200_000, 259_990])
    assert reading.tail == log[-TAIL_BYTES:]
    assert reading.tail_offset == len(log) - TAIL_BYTES
