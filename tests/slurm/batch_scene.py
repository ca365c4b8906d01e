"""Scene of the tests of submissions: one user's state directory, and the processes of GPUAlert."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.slurm_cluster import SlurmCluster, wait_until

_GPUALERT = (sys.executable, "-m", "gpualert_common")
_SCENE = "GPUALERT_TEST_SCENE"
_OPEN = ("submitting", "submitted")
_FOLLOWER = "gpualert_common.slurm.submissions.batch_job"


@dataclass
class BatchScene:
    """A state directory, a folder for scripts and outputs, and a way to kill what it started.

    ``programs`` is a folder in front of PATH, for stand-ins of sbatch that call the real one.
    """

    cluster: SlurmCluster
    home: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Create the folders, in which every user may write."""
        for name in ("state", "work", "programs"):
            (self.home / name).mkdir(parents=True, exist_ok=True)
        (self.home / "work").chmod(0o777)
        inherited = {name: value for name, value in os.environ.items() if "GPUALERT" not in name}
        self.environment = {
            **inherited,
            **self.cluster.environment,
            "PATH": f"{self.programs}:{self.cluster.environment['PATH']}",
            "XDG_STATE_HOME": str(self.home / "state"),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            _SCENE: str(self.home),
        }

    @property
    def programs(self) -> Path:
        """The folder in front of PATH."""
        return self.home / "programs"

    def script(self, body: str, name: str = "train.sh") -> str:
        """Write a batch script; its path."""
        path = self.home / "work" / name
        path.write_text(f"#!/bin/bash\n{body}\n")
        return str(path)

    def wrap_sbatch(self, before: str = ":", after: str = ":") -> None:
        """Put an sbatch into PATH that runs shell commands before and after the real one."""
        real = next(
            folder + "/sbatch"
            for folder in self.cluster.environment["PATH"].split(":")
            if os.access(folder + "/sbatch", os.X_OK)
        )
        file = self.programs / "sbatch"
        file.write_text(f'#!/bin/sh\n{before}\n"{real}" "$@"\nstatus=$?\n{after}\nexit $status\n')
        file.chmod(0o755)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command of gpualert."""
        return subprocess.Popen(
            (*_GPUALERT, *arguments),
            env=self.environment,
            cwd=self.home / "work",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, timeout_s: float = 60.0) -> subprocess.CompletedProcess[str]:
        """Run a command of gpualert to its end."""
        with self.start(*arguments) as process:
            try:
                out, err = process.communicate(timeout=timeout_s)
            except subprocess.TimeoutExpired:
                process.kill()
                out, err = process.communicate()
                raise AssertionError(f"{arguments}: no end\n{out}\n{err}") from None
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def sbatch(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Submit and follow a job to its end."""
        return self.run("sbatch", "--poll=1s", *arguments)

    def runs(self) -> list[dict[str, Any]]:
        """The runs, oldest first, as ``gpualert runs --json`` has them."""
        listed = json.loads(self.run("runs", "--json", "--limit=1000").stdout)["runs"]
        return sorted(listed, key=lambda run: str(run["run_id"]))

    def processes(self, name: str = "") -> list[int]:
        """The processes of GPUAlert in this scene, without jobs and without sbatch."""
        return [pid for pid, words in _list_marked(self.home) if name in words]

    def followers(self) -> list[int]:
        """The processes that follow a job."""
        return self.processes(_FOLLOWER)

    def kill(self, pids: Sequence[int]) -> None:
        """Kill processes at once."""
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def kill_all(self) -> None:
        """Kill the front, the guardian and the follower, as the loss of a machine does."""
        deadline = time.monotonic() + 10
        while pids := self.processes():
            self.kill(pids)
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def recover(self) -> None:
        """Have the job followed again, as soon as no sbatch of a dead follower is left."""

        def follows() -> bool:
            self.run("recover")
            return bool(self.followers()) or not self.is_open

        wait_until(follows, "nobody follows the job", 20.0)

    @property
    def is_open(self) -> bool:
        """True while a submission may have a job whose end is not known."""
        return any(self.job_of(mark).get("step") in _OPEN for mark in self.marks())

    def kill_sbatch(self) -> None:
        """Kill what stands in for sbatch, with the processes that it started."""
        self.kill([pid for pid, _words in _list_marked(self.home, "")])

    def marks(self) -> list[str]:
        """The marks of all submissions."""
        folder = self.home / "state" / "gpualert" / "submissions"
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []

    def job_of(self, mark: str) -> dict[str, Any]:
        """The state of a submission as its file has it; empty before it has one."""
        file = self.home / "state" / "gpualert" / "submissions" / mark / "job.json"
        found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
        return found

    def jobs_with(self, mark: str) -> list[str]:
        """The ids of all jobs whose comment has the mark, by controller and accounting."""
        listed = self.cluster.run("squeue", "-h", "-t", "all", "-o", "%F|%k").stdout
        kept = self.cluster.run("sacct", "-P", "-n", "-X", "-a", "-o", "JobID,Comment").stdout
        lines = (line.partition("|") for line in (listed + kept).splitlines())
        return sorted({job.partition("_")[0] for job, _, comment in lines if mark in comment})

    def wait_for_job(self) -> str:
        """The id of the only job, as soon as its submission has it."""

        def find() -> str:
            marks = self.marks()
            return str(self.job_of(marks[0]).get("job_id", "")) if marks else ""

        return wait_until(find, "no job was submitted", 20.0)

    def wait_for_end(self, mark: str, timeout_s: float = 60.0) -> dict[str, Any]:
        """The state of a submission once its job has ended."""

        def find() -> dict[str, Any]:
            job = self.job_of(mark)
            return job if job.get("step") in ("ended", "refused") else {}

        return wait_until(find, f"{mark} did not end", timeout_s)


def _list_marked(home: Path, word: str = "gpualert_common") -> Iterator[tuple[int, str]]:
    """Yield the processes of this scene whose command line has a word, with that line."""
    mark = f"{_SCENE}={home}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            variables = (folder / "environ").read_bytes().split(b"\0")
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        is_job = any(one.startswith(b"SLURM_JOB_ID=") for one in variables)
        if mark in variables and not is_job and word in words:
            yield int(folder.name), words
