"""Exceptions in the forms of libraries, launchers and cut-off logs."""

from __future__ import annotations

import pytest

from gpualert_common.classify import Scanner, Traceback, load_rules
from gpualert_common.classify.tracebacks.traceback import ChainLink, Context

RULES = load_rules()

HEAD = 'Traceback (most recent call last):\n  File "train.py", line 9, in step\n    loss = f(x)\n'

RICH = """\
╭──────── Traceback (most recent call last) ────────╮
│ /home/u/train.py:12 in main                        │
│   ❱ 12     raise ValueError('bad')                 │
╰────────────────────────────────────────────────────╯
ValueError: bad
"""
NOTEBOOK = """\
ValueError                                Traceback (most recent call last)
~/train.py in main(args)
     10 def main(args):
---> 11     go()

ValueError: bad
"""
THROWN = "terminate called after throwing an instance of 'std::out_of_range'\n"

_FORMS = {
    "without a traceback": ("ValueError: bad\n", "ValueError", "bad", Context.BARE),
    "behind a rank": ("[rank3]: ValueError: bad\n", "ValueError", "bad", Context.BARE),
    "as pytest shows it": ("E       ValueError: bad\n", "ValueError", "bad", Context.BARE),
    "a module's own type": (
        "pyarrow.lib.ArrowInvalid: JSON parse error: x\n",
        "pyarrow.lib.ArrowInvalid",
        "JSON parse error: x",
        Context.BARE,
    ),
    "its repr, logged": (
        "12:00:00 ERROR run failed: FileNotFoundError(2, 'No such file or directory')\n",
        "FileNotFoundError",
        "2, 'No such file or directory'",
        Context.BARE,
    ),
    "without a header": (
        '  File "train.py", line 3\n    x = = 1\n        ^\nSyntaxError: invalid syntax\n',
        "SyntaxError",
        "invalid syntax",
        Context.MAIN,
    ),
    "with everything indented": (
        "    " + HEAD.replace("\n", "\n    ") + "KeyError: 'x'\n",
        "KeyError",
        "'x'",
        Context.MAIN,
    ),
    "named on an indented line": (HEAD + "  MemoryError\n", "MemoryError", "", Context.MAIN),
    "in a box of rich's": (
        RICH,
        "ValueError",
        "bad",
        Context.MAIN,
    ),
    "as a notebook shows it": (
        NOTEBOOK,
        "ValueError",
        "bad",
        Context.MAIN,
    ),
    "thrown by C++": (
        THROWN + "  what():  vector::at\n",
        "std::out_of_range",
        "vector::at",
        Context.NATIVE,
    ),
    "glog's CHECK": (
        "F1120 10:00:00.123456 81 net.cc:12] Check failed: a == b (1 vs. 2)\n",
        "Check failed",
        "a == b (1 vs. 2)",
        Context.NATIVE,
    ),
    "in a process that was spawned": (
        HEAD.replace("train.py", "/usr/lib/python3.11/multiprocessing/spawn.py") + "KeyError: 1\n",
        "KeyError",
        "1",
        Context.PROCESS,
    ),
    "of a logger that could not write": (
        "--- Logging error ---\n" + HEAD + "OSError: [Errno 28] No space left on device\n",
        "OSError",
        "[Errno 28] No space left on device",
        Context.IGNORED,
    ),
    "cut off by the log's end": (
        HEAD.replace("loss = f(x)", 'raise ConfigError("x")'),
        "ConfigError",
        "",
        Context.CUT_OFF,
    ),
}


def read(text: str) -> tuple[Traceback, ...]:
    """Return the observations of the scanner in *text*."""
    scanner = Scanner(RULES, "a.log")
    scanner.feed(text.encode(), 0)
    return scanner.finish().tracebacks


@pytest.mark.parametrize("form", _FORMS)
def test_form(form: str) -> None:
    """The exception is found in any form."""
    text, name, message, context = _FORMS[form]
    found = read("step 1 loss 0.3\n" + text)[-1]
    assert (found.type, found.message, found.context) == (name, message, context)


@pytest.mark.parametrize(
    "line",
    [
        "train.py:12: UserWarning: x",
        "FutureWarning: x is deprecated",
        "Error: the option is missing",
        "error: unrecognized arguments",
        "RMSError 0.3",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:",
    ],
)
def test_no_exception(line: str) -> None:
    """Warnings, prose and reports of launchers are no exceptions."""
    assert read(line + "\n") == ()


def test_message_over_several_lines() -> None:
    """The lines of a message are one text, without lines of another logger."""
    text = (
        "RuntimeError: Error(s) in loading\n\tsize mismatch for w\n2026-11-20 10:00:00 INFO bye\n"
    )
    (found,) = read(text)
    assert found.text == "RuntimeError: Error(s) in loading size mismatch for w"


def test_tools_of_a_script_end_a_message() -> None:
    """A tool that misses the result of a program is no part of its exception."""
    (found,) = read(
        "RuntimeError: no grad\ncp: cannot stat 'a/model.pt': No such file or directory\n"
    )
    assert found.text == "RuntimeError: no grad"


def test_wrapped_exception() -> None:
    """An exception that a wrapper names in its message follows it in the chain."""
    (found,) = read(
        HEAD + "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n"
        "ImportError: cannot import name 'x'\n"
    )
    assert (found.name, found.link) == ("ImportError", ChainLink.INNER)
    assert [one.name for one in found.chain()] == ["BackendCompilerFailed", "ImportError"]


def test_place_of_a_graph_definition() -> None:
    """TensorFlow's message continues after the frames that it quotes."""
    (found,) = read(
        HEAD + "tensorflow.errors.NotFoundError: Graph execution error:\n\n"
        "Detected at node x defined at (most recent call last):\n"
        '  File "train.py", line 36, in <module>\n\n'
        "/data/a.tfrecord; No such file or directory\n"
    )
    assert found.text.endswith("/data/a.tfrecord; No such file or directory")


def test_source_and_frames() -> None:
    """The last quoted line of source and the frames are available to patterns."""
    (found,) = read(HEAD.replace("train.py", r"C:\job\train.py") + "KeyError: 'model'\n")
    assert found.source == "loss = f(x)"
    assert found.places == ["C:/job/train.py:step"]


def test_a_logger_ends_a_traceback_that_was_cut() -> None:
    """A logger's record is no line of source, with any indentation."""
    assert read(HEAD + "2026-11-20 10:00:00   INFO step 20\n") == ()
