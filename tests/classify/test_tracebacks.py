"""Python tracebacks as real interpreters write them."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import pytest

from gpualert_common.classify import Scanner, Traceback, load_rules
from gpualert_common.classify.tracebacks.traceback import ChainLink, Context

RULES = load_rules()


def tracebacks_of(text: str) -> tuple[Traceback, ...]:
    """Return the exceptions in *text*."""
    scanner = Scanner(RULES, "a.log")
    scanner.feed(text.encode(), 0)
    return scanner.finish().tracebacks


def stderr_of(program: str) -> str:
    """Return the output of this interpreter when *program* fails."""
    command = [sys.executable, "-c", textwrap.dedent(program)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60).stderr


def test_plain() -> None:
    """Type, message, and the innermost frame."""
    (found,) = tracebacks_of(stderr_of("def f():\n    return {}['key']\nf()"))
    assert (found.type, found.message) == ("KeyError", "'key'")
    assert found.frames[-1].function == "f"
    assert [frame.line for frame in found.frames] == [3, 2]


def test_places() -> None:
    """A traceback starts at its header and ends at the line that names the exception."""
    text = "hello\n" + stderr_of("1/0") + "bye\n"
    (found,) = tracebacks_of(text)
    assert found.start.line == 2
    assert text[found.end.offset :].startswith("ZeroDivisionError: division by zero\n")


def test_handled_on_the_way() -> None:
    """An exception raised while another was handled links to it."""
    program = "try:\n    {}['a']\nexcept KeyError:\n    raise ValueError('no')"
    (found,) = tracebacks_of(stderr_of(program))
    assert found.link is ChainLink.CONTEXT
    assert [one.name for one in found.chain()] == ["KeyError", "ValueError"]


def test_direct_cause() -> None:
    """An exception raised from another links to it as its cause."""
    program = (
        "try:\n    open('/nowhere')\nexcept OSError as e:\n    raise RuntimeError('no') from e"
    )
    (found,) = tracebacks_of(stderr_of(program))
    assert found.link is ChainLink.CAUSE
    assert [one.name for one in found.chain()] == ["FileNotFoundError", "RuntimeError"]


def test_syntax_error() -> None:
    """A syntax error, whose last frame has no function, is read."""
    (found,) = tracebacks_of(stderr_of("exec('a b')"))
    assert found.type == "SyntaxError"


def test_recursion() -> None:
    """A recursion that the interpreter abbreviates is one traceback."""
    (found,) = tracebacks_of(stderr_of("def f():\n    f()\nf()"))
    assert found.type == "RecursionError"


def test_custom_exception_without_message() -> None:
    """An unknown type without a message still ends its traceback."""
    (found,) = tracebacks_of(stderr_of("class Stop(Exception): pass\nraise Stop"))
    assert (found.name, found.message) == ("Stop", "")


def test_group() -> None:
    """An exception group gives the group or its members, and disturbs nothing after it."""
    program = "raise ExceptionGroup('g', [ValueError('a'), KeyError('b')])"
    found = tracebacks_of(stderr_of(program) + stderr_of("1/0"))
    assert {"ExceptionGroup"} <= {one.name for one in found}
    assert found[-1].name == "ZeroDivisionError"


def test_thread() -> None:
    """An exception of a thread is marked as such."""
    program = "import threading\nt = threading.Thread(target=lambda: 1/0)\nt.start()\nt.join()"
    (found,) = tracebacks_of(stderr_of(program))
    assert found.context is Context.THREAD


def test_process() -> None:
    """An exception of a worker process is marked as such."""
    program = """
        import multiprocessing
        process = multiprocessing.get_context("fork").Process(target=lambda: 1 / 0)
        process.start()
        process.join()
    """
    (found,) = tracebacks_of(stderr_of(program))
    assert found.context is Context.PROCESS


def test_ignored() -> None:
    """An exception that the interpreter ignored is marked as such."""
    program = "class A:\n    def __del__(self):\n        1/0\na = A()\ndel a"
    (found,) = tracebacks_of(stderr_of(program))
    assert found.context is Context.IGNORED


def test_pool() -> None:
    """An exception sent back from a pool is a chain from the worker's traceback."""
    program = """
        import concurrent.futures, multiprocessing
        context = multiprocessing.get_context("fork")
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
            pool.submit(divmod, 1, 0).result()
    """
    (found,) = tracebacks_of(stderr_of(program))
    assert found.name == "ZeroDivisionError"
    assert len(found.chain()) == 2


def test_worker_of_a_loader() -> None:
    """The worker's own traceback replaces the one that the parent raised again."""
    (found,) = tracebacks_of(
        'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n'
        "    for x in loader:\n"
        "IndexError: Caught IndexError in DataLoader worker process 0.\n"
        'Original Traceback (most recent call last):\n  File "data.py", line 4, in __getitem__\n'
        "    return self.rows[i]\nIndexError: list index out of range\n"
    )
    assert found.message == "list index out of range"
    assert found.context is Context.WORKER


def test_interleaved_ranks() -> None:
    """Output of ranks that write at the same time is separated."""
    first, second = stderr_of("1/0").splitlines(), stderr_of("{}['a']").splitlines()
    mixed = []
    for one, two in zip(first, second, strict=True):
        mixed += [f"[rank0]: {one}", f"[rank1]: {two}"]
    found = tracebacks_of("\n".join(mixed))
    assert [(one.rank, one.name) for one in found] == [(0, "ZeroDivisionError"), (1, "KeyError")]


def test_foreign_lines_in_between() -> None:
    """Lines of other processes inside a traceback do not end it."""
    lines = stderr_of("1/0").splitlines()
    lines[1:1] = ["Epoch: 3", "INFO: saving", "loss: 0.4", ""]
    (found,) = tracebacks_of("\n".join(lines))
    assert found.name == "ZeroDivisionError"


@pytest.mark.parametrize("broken", ["Traceback (most recent call last):\n", "", "\n" * 5])
def test_unfinished(broken: str) -> None:
    """An unfinished traceback is none, and the next one is found."""
    text = broken + "plain text follows here\n" * 80 + stderr_of("1/0")
    assert [one.name for one in tracebacks_of(text)] == ["ZeroDivisionError"]


def test_one_string() -> None:
    """A traceback in one line, with quoted line ends, is parsed."""
    (found,) = tracebacks_of(
        "Run x errored: RuntimeError('Caught RuntimeError in DataLoader worker process 0."
        "\\nOriginal Traceback (most recent call last):"
        '\\n  File "/app/loader.py", line 308, in collate   \\n    torch.stack(batch)'
        "\\nRuntimeError: stack expects each tensor to be equal size\\n')\nnext line\n"
    )
    assert (found.type, found.message) == (
        "RuntimeError",
        "stack expects each tensor to be equal size",
    )
    assert found.places == ["/app/loader.py:collate"]


@pytest.mark.parametrize(
    ("raised", "message"), [("AssertionError", ""), ("AssertionError: bad 'x'", "bad 'x'")]
)
def test_one_string_of_a_record(raised: str, message: str) -> None:
    """Text after the string in its record is not part of its message."""
    frame = 'Traceback (most recent call last):\n  File "a.py", line 2, in f\n'
    record = json.dumps({"exc": frame + raised, "lineno": 3, "ts": "2026"})
    (found,) = tracebacks_of(f"{record}\nnext\n")
    assert (found.type, found.message) == ("AssertionError", message)


def test_source_that_quotes() -> None:
    """A line of source with such a string loses no traceback."""
    (found,) = tracebacks_of(
        'Traceback (most recent call last):\n  File "a.py", line 2, in f\n'
        '    raise RuntimeError("died: Traceback (most recent call last):\\n" + text)\n'
        "RuntimeError: died\n"
    )
    assert (found.type, found.message, found.places) == ("RuntimeError", "died", ["a.py:f"])


def test_quoted_source_is_no_evidence() -> None:
    """A line of source in a traceback is not evidence of the error that it mentions."""
    scanner = Scanner(RULES, "a.log")
    scanner.feed(
        b'Traceback (most recent call last):\n  File "a.py", line 1, in f\n'
        b'    raise ValueError("[Errno 13] Permission denied")\nValueError: bad\n',
        0,
    )
    assert scanner.finish().observations == ()
