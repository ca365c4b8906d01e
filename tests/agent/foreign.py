"""Real processes that gpualert did not start, and watches over them."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from gpualert_common.record import Record
from tests.supervised import PROGRAM, Lab, python, until

TRAINING = """
import os, sys, time
print("step 1 loss 0.5", flush=True)
while not os.path.exists("go"):
    time.sleep(0.02)
print("step 2 loss 0.4", flush=True)
"""
CRASH = TRAINING + 'raise RuntimeError("CUDA error: an illegal memory access was encountered")'


def start_training(
    lab: Lab, code: str = TRAINING, output: str | None = "train.log", **options: object
) -> subprocess.Popen[bytes]:
    """Start a training that waits for the file ``go``; return when it has begun."""
    if output is not None:
        with open(lab.home / output, "wb") as file:
            process = lab.start(python(code), stdout=file, stderr=subprocess.STDOUT, **options)
        until((lab.home / output).read_bytes, "the first output")
        return process
    return lab.start(python(code), **options)


def release(lab: Lab) -> None:
    """Let the training go on to its end."""
    (lab.home / "go").touch()


class Watch:
    """A live ``gpualert attach`` and its record."""

    def __init__(self, lab: Lab, pid: int, *options: str) -> None:
        before = set(lab.records())
        self.errors = Path(lab.home / f"attach-{len(before)}.err")
        with open(self.errors, "ab") as file:
            command = (*PROGRAM, "attach", *options, str(pid))
            self.process = lab.start(command, stdout=subprocess.DEVNULL, stderr=file)
        self.record = until(lambda: self._find(lab), "the watch to begin")

    def _find(self, lab: Lab) -> Record | None:
        for path in reversed(lab.records()):
            record = Record.open(str(path))
            attached = [one for one in record.events() if one.name == "attached"]
            if attached and attached[-1].fields["by_pid"] == self.process.pid:
                return record
            record.close()
        assert self.process.poll() is None, self.errors.read_text()
        return None

    def interrupt(self) -> int:
        """Send Ctrl-C to the watch, and return its exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.wait()

    def wait(self) -> int:
        """Return the exit status of the watch."""
        return self.process.wait(60)

    @property
    def log(self) -> bytes:
        """The copy of the output in the record."""
        return Path(self.record.log_path(self.record.logs[0])).read_bytes()
