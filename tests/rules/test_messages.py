"""Messages of libraries and programs, each with the place that raises it and the cause it means.

``messages.tsv`` has them: cause, "path:function" ("-" for a line without a traceback), message.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gpualert_common.classify import LogReading, Resolution, Scanner, load_rules, resolve
from gpualert_common.diagnose.paper_classes import paper_class
from gpualert_common.model import ExitFacts

RULES = load_rules()
TABLE = Path(__file__).with_name("messages.tsv")
MESSAGES = [tuple(line.split("\t")) for line in TABLE.read_text().splitlines()]
_PACKAGES = "/opt/venv/lib/python3.11/site-packages/"
KEYS = (
    "RuntimeError: Error(s) in loading state_dict for Net:\n"
    '\tMissing key(s) in state_dict: "fc.weight", "fc.bias". \n'
    '\tUnexpected key(s) in state_dict: "{0}fc.weight", "{0}fc.bias". \n'
)


def scan(log: str) -> LogReading:
    """Return the scan of *log*."""
    scanner = Scanner(RULES, "output.log")
    scanner.feed(log.encode(), 0)
    return scanner.finish()


def raise_in(place: str, message: str) -> str:
    """Return the log of a program that ends with *message*, raised in *place*."""
    text = message.replace("\\n", "\n")
    if place == "-":
        return f"INFO loading\n{text}\n"
    path, function = place.rsplit(":", 1)
    file = path if path.startswith("/") else _PACKAGES + path
    name = text.split(":")[0].rpartition(".")[2]
    return (
        "INFO starting\nTraceback (most recent call last):\n"
        '  File "/home/user/train.py", line 88, in <module>\n    main()\n'
        f'  File "{file}", line 312, in {function}\n    raise {name}(\n{text}\n'
    )


def resolve_message(place: str, message: str) -> Resolution:
    """Return the resolution of a program that ends with *message* and status 1."""
    return resolve([scan(raise_in(place, message))], ExitFacts(1), RULES)


@pytest.mark.parametrize(
    ("cause", "place", "message"), MESSAGES, ids=[message[:60] for _, _, message in MESSAGES]
)
def test_message_means_its_cause(cause: str, place: str, message: str) -> None:
    """Each message of the table is classified as its cause."""
    assert resolve_message(place, message).cause == cause


@pytest.mark.parametrize(
    ("message", "label"),
    [
        ("RuntimeError: CUDA error: uncorrectable ECC error encountered", "cuda_runtime"),
        ("RuntimeError: CUDA error: no kernel image is available for execution", "cuda_runtime"),
        ("RuntimeError: The NVIDIA driver on your system is too old", "runtime_error"),
        ("ImportError: libcudart.so.11.0: cannot open shared object file", "missing_module"),
    ],
)
def test_paper_class_of_a_cuda_text(message: str, label: str) -> None:
    """The text of a CUDA error decides the class of the paper, whatever the cause is."""
    assert paper_class(resolve_message("/home/user/train.py:main", message)) == label


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod."])
def test_keys_of_a_state_dict(prefix: str) -> None:
    """Missing and unexpected keys are details, and so is the prefix that they differ by."""
    details = resolve_message("/home/user/train.py:main", KEYS.format(prefix)).details
    assert details["missing_keys"] == '"fc.weight", "fc.bias"'
    assert details["unexpected_keys"] == f'"{prefix}fc.weight", "{prefix}fc.bias"'
    assert details["saved_prefix"] == prefix


@pytest.mark.parametrize("name", ["torchao.prototype", "flash_attn", "a.b.c"])
def test_name_of_a_missing_module(name: str) -> None:
    """The missing module is named, also if it is a part of a package."""
    message = f"ModuleNotFoundError: No module named '{name}'"
    assert resolve_message("/home/user/train.py:main", message).details["module"] == name


def test_dropped_log_is_no_full_disk_of_the_job() -> None:
    """A log that was dropped for want of space says nothing about the disk of the job."""
    facts = ExitFacts(1, log_disk_full=True, is_log_dropped=True)
    assert resolve([scan("")], facts, RULES).cause == "runtime_error"
    assert resolve([scan("")], ExitFacts(1, log_disk_full=True), RULES).cause == "disk_full"
