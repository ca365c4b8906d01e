"""Runs of the stand-in for PyTorch, and requests to trace them."""

from __future__ import annotations

import json
import shlex
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.errors import UsageError
from gpualert_common.kineto.requests import TraceRequest
from gpualert_common.record import Record
from gpualert_common.trace_request import take_trace
from tests.supervised import PROGRAM, PYTHON, Lab, Supervised, until

TRACE_S = 150.0
"""More than the 70 s after which a process that writes nothing is given up."""
ASKING = (PYTHON, str(Path(__file__).with_name("asking_program.py")))
TRACING = ("--tracing", "--streams", "merged", "--grace", "1s")


def launch_asking(lab: Lab, *modes: str, options: tuple[str, ...] = ()) -> Supervised:
    """Start a run with one rank for each mode, and return once all have asked."""
    program = " ".join(ASKING)
    ranks = [f"RANK={rank} {program} {mode} &" for rank, mode in enumerate(modes)]
    run = lab.launch("sh", "-c", " ".join((*ranks, "wait")), options=(*TRACING, *options))
    until(lambda: run.log().count(b"asked") >= len(modes), "all ranks to have asked")
    return run


def trace(lab: Lab, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run ``gpualert trace`` to its end."""
    return lab.gpualert("trace", *arguments, timeout=TRACE_S)


def trace_json(lab: Lab, *arguments: str) -> dict[str, Any]:
    """Return the only trace that ``gpualert trace --json`` prints."""
    done = trace(lab, "--json", *arguments)
    assert done.stdout, done.stderr
    (found,) = json.loads(done.stdout)["traces"]
    assert isinstance(found, dict)
    return found


def refusal(record: Record, **fields: Any) -> str:
    """Return the reason for which a request is refused."""
    with pytest.raises(UsageError) as refused:
        take_trace(record, TraceRequest(at=time.time(), duration_s=0.1, **fields))
    return str(refused.value)


def read_directory(record: Record) -> Path:
    """Return the directory of the sockets of a run."""
    fields = record.read_json("tracing.json")
    assert fields is not None
    return Path(fields["directory"])


def find_daemon(lab: Lab) -> int:
    """Return the process number of the only daemon; 0 while there is none."""
    found = [pid for pid, command in lab.living().items() if "kineto.daemon" in command]
    return found[0] if len(found) == 1 else 0


def traced_command(training: Sequence[str]) -> str:
    """Return a shell command that trains, traces itself, and prints the trace as its last line."""
    request = shlex.join((*PROGRAM, "trace", "--json", "--force", "--duration", "100ms"))
    trained = f"RANK=0 {shlex.join(training)} > $log & until [ -s $log ]; do sleep 0.05; done"
    return f'log=$(mktemp); {trained}; {request} "$GPUALERT_RUN_ID"; kill $!; rm $log'


def check_traced(line: str) -> None:
    """Check the trace of the only rank, as :func:`traced_command` printed it."""
    (found,) = json.loads(line)["traces"]
    (process,) = found["result"]["processes"]
    assert (process["rank"], process["problem"]) == ("rank:0", "")
    assert Path(found["path"], process["file"]).stat().st_size > 0
