"""Names of signals."""

from __future__ import annotations


def signal_name(number: int) -> str:
    """Return "SIGKILL" for 9, and "signal 99" for a number without a name."""
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
