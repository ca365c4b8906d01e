"""Reading of a job from its directory in a process of its own, with a deadline.

A shared place may block its reader for ever; the caller gets its reason instead.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress

import msgspec

from gpualert_common.jobs.digests.digest_codec import decode_file
from gpualert_common.jobs.job_report import JobReport
from gpualert_common.processes.program import start_program
from gpualert_common.structs import Struct
from gpualert_common.whole_words import cut_words

READING_S = 15.0
"""Limit for one reading: the digests of 750 nodes take a second from a shared disk."""
_KILLING_S = 1.0
_MOST_REASON = 300
READING_PROGRAM = "gpualert_common.jobs.reading.reading_program"


class JobReading(Struct, frozen=True, kw_only=True):
    """The report of a job as of ``read_at``; without one, ``problem`` is the reason.

    A report with a ``problem`` is an older one, or one of a part of the digests.
    """

    report: JobReport | None = None
    problem: str = ""
    read_at: float = 0.0


class ReadingRequest(Struct, frozen=True):
    """Request of the reading program: a job directory, and the key of the job in it."""

    directory: str
    key: str
    deadline_s: float = READING_S


def read_job(directory: str, key: str, *, deadline_s: float = READING_S) -> JobReading:
    """Return the job of a key in a job directory.  Never raises, and returns within the deadline.

    To be called by any thread.
    """
    now = time.time()
    try:
        request = msgspec.json.encode(ReadingRequest(directory, key, deadline_s))
    except UnicodeEncodeError:
        return JobReading(problem="the address of the job directory is no UTF-8", read_at=now)
    try:
        program = start_program(
            READING_PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    except OSError as error:
        return JobReading(problem=f"the reading program does not start: {error}", read_at=now)
    try:
        answer, errors = program.communicate(request, timeout=deadline_s)
    except subprocess.TimeoutExpired:
        problem = f"the job directory did not answer within {deadline_s:g} s"
        return JobReading(problem=problem, read_at=now)
    finally:
        _end(program)
    reading = decode_file(JobReading, answer)
    if reading is None:
        return JobReading(problem=_explain(program.returncode, errors), read_at=now)
    return reading


def _end(program: subprocess.Popen[bytes]) -> None:
    """Kill the program unless it has ended; one that a disk holds is left behind."""
    if program.returncode is None:
        with suppress(OSError):
            os.killpg(program.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            program.wait(_KILLING_S)
    for pipe in (program.stdin, program.stdout, program.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def _explain(code: int | None, errors: bytes) -> str:
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    last = f": {lines[-1]}" if lines else ""
    return cut_words(f"the reading program ended with status {code}{last}", _MOST_REASON)
