"""Profile or trace of a run whose steps became slow: the program that takes it.

Its arguments are the path of the record, "profile" or "trace", and the reason for people
(:mod:`gpualert_common.processes.program`).  Where no trace can be had it takes a profile.  It
prints each problem, and exits with 1 if there is neither; the run is not affected.
"""

from __future__ import annotations

import os
import sys

from gpualert_common.errors import GPUAlertError
from gpualert_common.profile_request import take_profile
from gpualert_common.profiles.py_spy_sampler import SamplingOptions
from gpualert_common.record import Record

TRACE = "trace"
_NICENESS = 10
_PROFILE_S = 5.0


def capture(record: Record, reason: str) -> str:
    """Store a profile in the record; return why it is not stored, or "".  Raises GPUAlertError."""
    return take_profile(record, SamplingOptions(_PROFILE_S), reason=reason).problem


def main(record_path: str, kind: str, reason: str) -> None:
    """Take one capture; exits, never returns."""
    try:
        os.nice(_NICENESS)
        problem = capture(Record.open(record_path), reason)
    except (GPUAlertError, OSError) as error:
        problem = str(error)
    except Exception as error:  # noqa: BLE001 - the boundary: no process waits for more than its end
        problem = f"{type(error).__name__}: {error}"
    if problem:
        sys.stdout.write(problem)
        sys.stdout.flush()
    os._exit(1 if problem else 0)
