"""The parser of tracebacks: bounded memory, and the same result for any chunks."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator

from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpualert_common.classify import Scanner, load_rules
from gpualert_common.classify.line_prefixes import strip_prefixes
from gpualert_common.classify.lines import LINE_CAP, LinePosition
from gpualert_common.classify.log_reading import COUNT_LIMIT
from gpualert_common.classify.tracebacks.reader import TracebackParser
from gpualert_common.classify.tracebacks.streams import MAX_STREAMS

RULES = load_rules()
MAX_HELD_CHARS = 3 << 20
"""More than finished exceptions need; less than a whole line of each stream."""

LONG = "x" * (LINE_CAP - 100)
LINES = [
    "Traceback (most recent call last):",
    '  File "train.py", line 3, in main',
    "    loss = model(x)",
    '    raise ConfigError("x")',
    "    ^^^^^^^^",
    "ValueError: no",
    "  MemoryError",
    "Stop",
    "",
    "step 12 loss 0.3",
    " 12%|#  | 12/100 [00:01<00:09, 9.1it/s]",
    "2026-11-20 10:00:00 INFO bye",
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
    "Exception in thread Thread-1:",
    "Exception ignored in: <function f>",
    "-- Process 0 terminated with the following error:",
    "Process SpawnProcess-1:",
    "Original Traceback (most recent call last):",
    "terminate called after throwing an instance of 'std::out_of_range'",
    "  what():  vector::at",
    "net.cc:12] Check failed: a == b (1 vs. 2)",
    "RuntimeError: Error(s) in loading\\n",
    "BackendCompilerFailed: backend='inductor' raised:",
    "subprocess.CalledProcessError: Command 'x'",
    "Detected at node x defined at (most recent call last):",
    "  + Exception Group Traceback (most recent call last):",
    '  |   File "a.py", line 1, in f',
    "  | ExceptionGroup: g (2 sub-exceptions)",
    "╭─────── Traceback (most recent call last) ───────╮",
    "│ /a/b.py:12 in main                              │",
    "ValueError                                Traceback (most recent call last)",
    "File a.py:3, in f(x)",
    "E RuntimeError('x\\nTraceback (most recent call last):\\n  File \"a\", line 1\\nKeyError: 1')",
    json.dumps({"exc": 'Traceback (most recent call last):\n  File "a.py", line 2\nKeyError: b'}),
    f"    {LONG}",
    f"    raise {LONG}",
    f"ValueError: {LONG}",
    f"{LONG}Error: x",
    f'  File "{LONG}", line 1, in f',
]
PREFIXES = ["", "[rank0]: ", "[rank1]: ", "(Worker pid=71, ip=10.0.0.2) ", "2026-11-20 10:00:00 "]
SHORT_LINES = [line for line in LINES if len(line) < 1000]


def held_chars(thing: object, visited: set[int]) -> int:
    """Return the number of characters of all strings that *thing* keeps alive."""
    if id(thing) in visited:
        return 0
    visited.add(id(thing))
    if isinstance(thing, str | bytes):
        return len(thing)
    return sum(held_chars(part, visited) for part in parts_of(thing))


def parts_of(thing: object) -> Iterator[object]:
    """Yield the objects that *thing* refers to."""
    if isinstance(thing, dict):
        yield from (*thing.keys(), *thing.values())
    elif isinstance(thing, list | tuple | set | frozenset) or type(thing).__name__ == "deque":
        yield from thing  # type: ignore[misc]
    elif type(thing).__module__.startswith("gpualert_common"):
        names = [*getattr(thing, "__dict__", ()), *getattr(type(thing), "__slots__", ())]
        yield from (getattr(thing, name) for name in names)


@settings(deadline=None, max_examples=12)
@given(
    st.lists(st.sampled_from(LINES), min_size=1, max_size=12),
    st.integers(1, 2 * MAX_STREAMS),
    st.integers(1, 7),
)
@example([LINES[0], LINES[1], f"    {LONG}"], 2 * MAX_STREAMS, 3)
@example([LINES[0], LINES[1], f"ValueError: {LONG}"], 2 * MAX_STREAMS, 3)
def test_memory_is_bounded(cycle: list[str], ranks: int, stride: int) -> None:
    """For any number of ranks and repeated lines, the parser keeps little."""
    parser = TracebackParser("a.log", lambda text, traceback: (), COUNT_LIMIT)
    pieces = [line.encode() for line in cycle]
    for number in range(600):
        prefix = b"[rank%d]: " % (number // stride % ranks)
        line = strip_prefixes(prefix + pieces[number % len(pieces)])
        parser.feed(line, LinePosition(number + 1, number * 100))
    assert held_chars(parser, set()) < MAX_HELD_CHARS


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(PREFIXES), st.sampled_from(SHORT_LINES)), max_size=60))
def test_open_while_a_stream_is_unfinished(lines: list[tuple[str, str]]) -> None:
    """After each line the parser is open exactly when something of a stream is unfinished."""
    parser = TracebackParser("a.log", lambda text, traceback: (), COUNT_LIMIT)
    for number, (prefix, text) in enumerate(lines):
        parser.feed(
            strip_prefixes(f"{prefix}{text}".encode()), LinePosition(number + 1, number * 100)
        )
        streams = parser._streams._streams.values()
        assert parser.is_open == any(stream.is_unfinished for stream in streams)
        assert len(streams) <= MAX_STREAMS
    parser.close()
    assert not parser.is_open


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from(PREFIXES), st.sampled_from(SHORT_LINES)), max_size=60),
    st.lists(st.integers(0, 1 << 20), max_size=8),
)
def test_chunks_do_not_matter(lines: list[tuple[str, str]], cuts: list[int]) -> None:
    """A log full of exceptions gives the same reading in one piece and in any pieces."""
    log = "\n".join(prefix + text for prefix, text in lines).encode()
    ends = sorted({cut % (len(log) + 1) for cut in cuts} | {len(log)})
    whole, pieces = Scanner(RULES, "a.log"), Scanner(RULES, "a.log")
    whole.feed(log, 0)
    for begin, end in zip([0, *ends], ends, strict=False):
        pieces.feed(log[begin:end], begin)
    assert pieces.finish() == whole.finish()


def test_a_message_that_repeats_itself_is_not_kept() -> None:
    """A repeated line of a message, with a match in it, uses no memory."""
    scanner = Scanner(RULES, "a.log")
    scanner.feed(b"RuntimeError: worker failed\n", 0)
    offset = len(b"RuntimeError: worker failed\n")
    lines = b"CUDA error: an illegal memory access was encountered\n" * 1_000
    scanner.feed(lines, offset)
    tracemalloc.start()
    for number in range(1, 6):
        scanner.feed(lines, offset + number * len(lines))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20
