"""Stacks from py-spy's output, which another process may have damaged or made up."""

from __future__ import annotations

import pytest

from gpualert_common.profiles.sampled_stacks import DEEPER, MOST_DEPTH, parse_samples
from tests.profiles.composed_profiles import write_output

FRAMES = [("<module>", "/job/train.py", 1), ("load", "/job/data.py", 4), ("0x7f12", "", 0)]


def test_counts() -> None:
    """Each thread has its number, its name, and the samples of each stack."""
    threads = {'Thread 41 "MainThread"': [[0, 1], [0], [0, 1]], 'Thread 42 "a "b" c"': [[0]]}
    main, other = parse_samples(write_output(FRAMES, threads))
    assert (main.tid, main.name, other.tid, other.name) == (41, "MainThread", 42, 'a "b" c')
    assert {
        tuple(one.function for one in stack): count for stack, count in main.stacks.items()
    } == {
        ("<module>", "load"): 2,
        ("<module>",): 1,
    }
    (frame,) = next(iter(other.stacks))
    assert (frame.file, frame.line, frame.is_own) == ("/job/train.py", 1, True)


def test_native_frames_without_a_symbol() -> None:
    """An address is no name: it differs between processes."""
    (thread,) = parse_samples(write_output(FRAMES, {"Thread 1": [[0, 2, 1]]}))
    assert [one.function for one in next(iter(thread.stacks))] == ["<module>", "load"]


def test_deep_stack() -> None:
    """Of a deep stack the outermost frames are kept."""
    (thread,) = parse_samples(write_output(FRAMES, {"Thread 1": [[0] * 4000]}))
    (stack,) = thread.stacks
    assert len(stack) == MOST_DEPTH
    assert stack[-1] == DEEPER


def test_hostile_names() -> None:
    """Control characters, lone surrogates and huge texts become texts that can be shown."""
    name = "\x1b[31m\0\ud800\uffff\u202e" + "x" * 10_000
    frames = [(name, "/job/\n" + "y" * 100_000, 1 << 60)]
    (thread,) = parse_samples(write_output(frames, {f'Thread 1 "{name}"': [[0]]}))
    (frame,) = next(iter(thread.stacks))
    for text in (frame.function, frame.file, thread.name):
        assert text.isprintable()
        assert len(text) <= 1000
    assert frame.line == 0


@pytest.mark.parametrize(
    "output",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b"[" * 100_000,
        write_output(FRAMES, {"Thread 1": [[0, 3]]}),
        write_output(FRAMES, {"Thread 1": [[-1]]}),
        write_output(FRAMES, {"Thread 1": [[0]]})[:-20],
        write_output([("a", "b", "c")], {"Thread 1": [[0]]}),  # type: ignore[list-item]
        write_output(FRAMES, {"Thread 1": [["0"]]}),  # type: ignore[list-item]
    ],
    ids=["empty", "bytes", "list", "object", "deep", "index", "negative", "cut", "line", "text"],
)
def test_damaged_output(output: bytes) -> None:
    """Output of another form is an error that is named, and nothing else."""
    with pytest.raises(ValueError, match=r"."):
        parse_samples(output)
