"""Profile or trace of a run whose steps became slow: the program that takes it.

Its arguments are the path of the record, "profile" or "trace", and the reason for people
(:mod:`gpualert_common.processes.program`).  Where no trace can be had it takes a profile.  It
prints each problem, and exits with 1 if there is neither; the run is not affected.
"""

from __future__ import annotations

import os
import sys
import time

from gpualert_common.errors import GPUAlertError
from gpualert_common.kineto.requests import TraceRequest
from gpualert_common.kineto.trace_analyses import read_analysis
from gpualert_common.kineto.trace_completion import complete_trace
from gpualert_common.profile_request import take_profile
from gpualert_common.profiles.py_spy_sampler import SamplingOptions
from gpualert_common.record import Record
from gpualert_common.trace_request import take_trace

TRACE = "trace"
_NICENESS = 10
_PROFILE_S = 5.0


def capture(record: Record, kind: str, reason: str) -> str:
    """Store a trace or a profile in the record; return its problem or "".  Raises GPUAlertError."""
    problem = ""
    if kind == TRACE:
        try:
            problem = _trace(record, reason)
        except (GPUAlertError, OSError) as error:
            problem = str(error)
        if not problem:
            return ""
        problem += "; a profile was taken instead"
    return take_profile(record, SamplingOptions(_PROFILE_S), reason=reason).problem or problem


def _trace(record: Record, reason: str) -> str:
    """Store a trace of the run and its analysis; return why there is none, or "".

    Raises GPUAlertError, OSError.
    """
    trace = take_trace(record, TraceRequest(at=time.time(), reason=reason))
    problem = complete_trace(trace)
    if read_analysis(trace) is not None:
        return ""
    processes = () if trace.result is None else trace.result.processes
    problems = [problem, *(one.problem for one in processes)]
    return "; ".join(dict.fromkeys(filter(None, problems))) or "no process was traced"


def main(record_path: str, kind: str, reason: str) -> None:
    """Take one capture; exits, never returns."""
    try:
        os.nice(_NICENESS)
        problem = capture(Record.open(record_path), kind, reason)
    except (GPUAlertError, OSError) as error:
        problem = str(error)
    except Exception as error:  # noqa: BLE001 - the boundary: no process waits for more than its end
        problem = f"{type(error).__name__}: {error}"
    if problem:
        sys.stdout.write(problem)
        sys.stdout.flush()
    os._exit(1 if problem else 0)
