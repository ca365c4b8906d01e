"""Real processes that gpualert did not start, and watches over them."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpualert_common.model import Verdict
from gpualert_common.record import Record
from tests.supervised import PROGRAM, Lab, python, until
from tests.telemetry.standin import Gpu, Process, Scenario, Value, environment, gpu

TRAINING = """
import os, sys, time
print("step 1 loss 0.5", flush=True)
while not os.path.exists("go"):
    time.sleep(0.02)
print("step 2 loss 0.4", flush=True)
"""
CRASH = TRAINING + 'raise RuntimeError("CUDA error: an illegal memory access was encountered")'


def start_training(
    lab: Lab, code: str = TRAINING, output: str | None = "train.log", **options: Any
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


JOB = """
set -m
"$@" > {log} 2>&1 &
echo $!
wait
"""
"""A script that starts a command as an interactive shell does: in a process group of its own."""


def start_job(lab: Lab, code: str, log: str = "/dev/null", **options: Any) -> int:
    """Start a training from a shell; return its number once it has begun."""
    command = ("bash", "-c", JOB.format(log=log), "bash", *python(code))
    shell = lab.start(command, stdout=subprocess.PIPE, **options)
    assert shell.stdout is not None
    return int(shell.stdout.readline())


def hold(*pids: int | Path, load: Value = 90) -> Gpu:
    """Return a GPU on which these processes hold 10 GiB each."""
    held = tuple(Process(pid, 10 << 30) for pid in pids)
    return replace(gpu(), processes=held, utilization_gpu=load, memory_used=len(pids) * 10 << 30)


class Agent:
    """A live ``gpualert agent`` on a machine with these GPUs, which samples every second."""

    def __init__(self, lab: Lab, *gpus: Gpu, options: tuple[str, ...] = ()) -> None:
        self._lab = lab
        self.errors = lab.home / "agent.err"
        numbered = [replace(one, uuid=f"GPU-{index}") for index, one in enumerate(gpus)]
        self.variables = {
            **os.environ,
            **environment(Scenario(tuple(numbered)), lab.home / "machine"),
        }
        self._command = (*PROGRAM, "agent", "--every", "1s", *options)
        self.start()

    def start(self, *options: str) -> None:
        """Start it, again after it was killed."""
        with open(self.errors, "ab") as file:
            command = (*self._command, *options)
            self.process = self._lab.start(command, env=self.variables, stderr=file)

    def stop(self) -> int:
        """Stop it as systemd does, and return its exit status."""
        self.process.terminate()
        return self.process.wait(30)

    def find(self, pid: int) -> Record | None:
        """Return the record of a process; None while there is none."""
        for path in self._lab.records():
            record = Record.open(str(path))
            if record.leader_pid == pid:
                return record
            record.close()
        return None

    def await_record(self, pid: int) -> Record:
        """Return the record of a process once the agent watches it."""
        found = until(lambda: self.find(pid), f"process {pid} to be watched")
        until(lambda: found.log_status("telemetry.jsonl"), "its first sample")
        return found

    def await_verdict(self, record: Record) -> Verdict:
        """Return the verdict of a record once it is made."""
        return until(lambda: record.verdict if record.has("verdict.json") else None, "a verdict")

    def rows(self) -> list[dict[str, Any]]:
        """Return the groups of ``gpualert agent --status``."""
        return list(self._lab.json("agent", "--status").get("groups", []))
