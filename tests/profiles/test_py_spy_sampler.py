"""A py-spy that fails: its output is bounded, its reason is named, and it is killed in the end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpualert_common.profiles.py_spy_sampler import (
    MOST_OUTPUT_BYTES,
    PySpySampler,
    SamplingOptions,
)
from tests.supervised import until

OPTIONS = SamplingOptions(duration_s=1.0)
_OUTPUT = 'while [ "$1" != --output ]; do shift; done; output=$2\n'


def start(folder: Path, code: str) -> PySpySampler:
    """Start a program that stands in for py-spy."""
    program = folder / "py-spy"
    program.write_text(f"#!/bin/sh\n{_OUTPUT}{code}\n")
    program.chmod(0o755)
    return PySpySampler(str(program), os.getpid(), OPTIONS)


def await_end(sampler: PySpySampler) -> None:
    """Return once the program has ended."""
    until(lambda: sampler.poll() and sampler.ended_at is not None, "the program to end")


def test_output(tmp_path: Path) -> None:
    """Its output, its begin and its errors are known."""
    sampler = start(
        tmp_path,
        "echo 'py-spy> Sampling process 100 times a second'\n"
        "echo '{}' > $output\n"
        "echo 'py-spy> Wrote. Samples: 100 Errors: 12'",
    )
    await_end(sampler)
    assert sampler.began_at is not None
    assert sampler.read_output() == (b"{}\n", "")
    assert sampler.count_errors() == 12
    sampler.close()


def test_endless_output(tmp_path: Path) -> None:
    """Output beyond the limit ends it, and costs no more memory than that."""
    sampler = start(tmp_path, "exec cat /dev/zero > $output")
    await_end(sampler)
    data, problem = sampler.read_output()
    assert data == b""
    assert problem.startswith(f"its stacks have more than {MOST_OUTPUT_BYTES >> 20} MiB")
    sampler.close()


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("echo 'Permission Denied: Try running again with elevated' >&2; exit 1", "not permitted"),
        ("echo 'Error: Failed to find python version' >&2; exit 1", "Failed to find python"),
        ("exit 1", "no output"),
        ("kill -SEGV $$", "did not answer"),
        ("head -c 100000 /dev/urandom >&2; exit 1", "py-spy: "),
    ],
    ids=["permission", "version", "silent", "crash", "noise"],
)
def test_failures(tmp_path: Path, code: str, problem: str) -> None:
    """A failure has its reason, and no errors are counted."""
    sampler = start(tmp_path, code)
    await_end(sampler)
    data, found = sampler.read_output()
    assert data == b""
    assert problem in found
    assert sampler.count_errors() == 0
    sampler.close()


def test_no_answer(tmp_path: Path) -> None:
    """One that does not stop is killed, and its files are closed."""
    before = set(os.listdir("/proc/self/fd"))
    sampler = start(
        tmp_path, "trap '' INT; echo 'py-spy> Sampling process'; while :; do sleep 0.1; done"
    )
    until(sampler.poll, "the program to begin")
    sampler.stop()
    assert sampler.ended_at is None
    assert sampler.read_output() == (b"", "py-spy did not answer")
    sampler.close()
    assert set(os.listdir("/proc/self/fd")) == before


def test_missing_program(tmp_path: Path) -> None:
    """A program that cannot be started is an error, and no file is left open."""
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(FileNotFoundError):
        PySpySampler(str(tmp_path / "py-spy"), os.getpid(), OPTIONS)
    assert set(os.listdir("/proc/self/fd")) == before
