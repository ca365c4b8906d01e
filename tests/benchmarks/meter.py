"""Runs a program and reports the cost of it and of all processes that it left behind.

    meter.py REPORT PROGRAM [ARGUMENT...]

As a subreaper it also gets what the program did not wait for (our recorder), so the CPU is exact.
The peak is that of the largest single process; this one is small, so that the peak which a child
inherits at exec is too.  Started with ``python -I -S``.
"""

import ctypes
import os
import sys
import time

PR_SET_CHILD_SUBREAPER = 36


def main(report: str, *command: str) -> None:
    """Run ``command`` to the end of its last process, then write the report."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    began = time.monotonic_ns()
    program = os.posix_spawn(command[0], command, os.environ)
    cpu_s = 0.0
    peak = ended = 0
    while True:
        try:
            pid, _status, usage = os.wait4(-1, 0)
        except ChildProcessError:
            break
        if pid == program:
            ended = time.monotonic_ns()
        cpu_s += usage.ru_utime + usage.ru_stime
        peak = max(peak, usage.ru_maxrss * 1024)
    with open(report, "w", encoding="ascii") as out:
        out.write(
            f'{{"began_ns": {began}, "ended_ns": {ended}, "cpu_s": {cpu_s}, "peak_bytes": {peak}}}'
        )


main(*sys.argv[1:])
