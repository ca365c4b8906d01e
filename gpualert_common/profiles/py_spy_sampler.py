"""One py-spy that samples the stacks of a process until it is stopped.

Its output goes to files in memory: a full disk costs nothing, and no pipe can block it.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from contextlib import suppress

from gpualert_common.processes.procfs import read_stat
from gpualert_common.stacks.py_spy import describe_error
from gpualert_common.structs import Struct

MOST_OUTPUT_BYTES = 16 << 20
_MOST_MESSAGES = 1 << 20
_BEGUN = b"Sampling process"
_RATE_OF_ERRORS = b"Errors: "
_SPARE_S = 30
"""If it is not stopped, since its caller was killed, it stops by itself so long after its time."""


RATE, NATIVE_RATE = 100, 20
"""Samples per second by default.  For native frames a process with PyTorch was paused for 6 ms each
time, on a busy machine."""


class SamplingOptions(Struct, frozen=True):
    """Options of sampling: ``rate`` is in samples per second.

    Without ``is_pausing`` a stack may be inconsistent; native frames can only be read of a process
    that is paused.
    """

    duration_s: float = 10.0
    rate: int = RATE
    with_native: bool = False
    with_idle: bool = False

    @property
    def is_pausing(self) -> bool:
        """True if each process is paused for each sample."""
        return self.with_native


class PySpySampler:
    """A py-spy that samples one process.  :meth:`close` ends it and releases its files."""

    def __init__(self, program: str, pid: int, options: SamplingOptions) -> None:
        """Start it.  Raises OSError."""
        self.pid = pid
        self.began_at: float | None = None
        self.ended_at: float | None = None
        self._is_pausing = options.is_pausing
        self._output = os.memfd_create("gpualert-profile")
        self._messages = os.memfd_create("gpualert-profile-messages")
        command = [program, "record", "--pid", str(pid), "--format", "speedscope"]
        command += ["--output", f"/proc/self/fd/{self._output}", "--full-filenames", "--function"]
        command += ["--idle", "--rate", str(options.rate)]
        command += ["--duration", str(int(options.duration_s) + _SPARE_S)]
        command += ["--native"] if options.with_native else ["--nonblocking"]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._messages,
                stderr=self._messages,
                pass_fds=(self._output,),
                process_group=0,  # Ctrl-C reaches us, who stop it
            )
        except OSError:
            self._close_files()
            raise
        with suppress(OSError):
            limits = (MOST_OUTPUT_BYTES, MOST_OUTPUT_BYTES)
            resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, limits)

    def poll(self) -> bool:
        """Note whether it has begun and ended; True once it has begun or ended."""
        if self.ended_at is None and self._process.poll() is not None:
            self.ended_at = time.monotonic()
        if self.began_at is None and _BEGUN in self._read_messages():
            self.began_at = time.monotonic()
        return self.began_at is not None or self.ended_at is not None

    def stop(self) -> None:
        """Ask it to stop and to write what it has."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def read_output(self) -> tuple[bytes, str]:
        """Return its output, or b"" and the problem; only after it has ended."""
        status = self._process.returncode
        size = os.fstat(self._output).st_size
        if status == -signal.SIGXFSZ:
            return b"", (
                f"its stacks have more than {MOST_OUTPUT_BYTES >> 20} MiB; take fewer samples, by "
                "--duration or --rate"
            )
        if status is None or status < 0:
            return b"", "py-spy did not answer"
        if status:
            return b"", describe_error(self._read_messages())
        return os.pread(self._output, size, 0), ""

    def count_errors(self) -> int:
        """Return the number of stacks that it could not read."""
        digits = self._read_messages().rpartition(_RATE_OF_ERRORS)[2].split(b"\n")[0].strip()
        return int(digits) if digits.isdigit() and len(digits) < 10 else 0

    def close(self) -> None:
        """Kill it if it still runs, and release its files."""
        was_stopped = self._is_stopped()
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
            if self._is_pausing and not was_stopped and self._is_stopped():
                with suppress(OSError):  # killed while it paused the process
                    os.kill(self.pid, signal.SIGCONT)
        self._close_files()

    def _is_stopped(self) -> bool:
        stat = read_stat(self.pid)
        return stat is not None and stat.state == "T"

    def _read_messages(self) -> bytes:
        return os.pread(self._messages, _MOST_MESSAGES, 0)

    def _close_files(self) -> None:
        os.close(self._output)
        os.close(self._messages)
