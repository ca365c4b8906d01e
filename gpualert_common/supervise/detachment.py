"""Detachment of a process that completes a verdict nobody waits for."""

from __future__ import annotations

import os
import signal

LIMIT_S = 600.0
"""Enough for two hundred runs that end at once on two cores."""
CPU_LIMIT_S = 60.0
"""Some fifty times the need of a verdict: more is an endless loop."""
_STANDARD = (0, 1, 2)


def detach() -> None:
    """Release the descriptors of this process's caller, and let the kernel end it at its limits.

    A caller that reads our output to its end does not wait for this process.  Only for the main
    thread of a process of ours.
    """
    limit_process()
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for fd in map(int, os.listdir("/proc/self/fd")):
        try:
            if not os.get_inheritable(fd):
                continue  # ours: what a program inherits lacks the flag that we set
            if fd in _STANDARD:
                os.dup2(nothing, fd)
            else:
                os.close(fd)
        except OSError:
            continue  # that of the listing itself
    os.close(nothing)


def limit_process() -> None:
    """Let the kernel end this process at the limits of its time, whatever it does then."""
    for number, timer, limit_s in (
        (signal.SIGALRM, signal.ITIMER_REAL, LIMIT_S),
        (signal.SIGPROF, signal.ITIMER_PROF, CPU_LIMIT_S),
    ):
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])  # a caller's thread may block it
        signal.setitimer(timer, limit_s)
