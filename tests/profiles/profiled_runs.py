"""Runs of programs with known shares of time, and their profiles by the command."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from gpualert_common.codec import decode
from gpualert_common.processes.procfs import read_command
from gpualert_common.profiles.profile import FrameTree, Profile
from tests.supervised import PROGRAM, PYTHON, Lab, Supervised, until

RANKS = str(Path(__file__).with_name("profiled_ranks.py"))


def launch(lab: Lab, *arguments: str, ranks: int = 1) -> Supervised:
    """Start the program, and return once its ranks are at work."""
    run = lab.launch(PYTHON, RANKS, *arguments, options=("--streams", "merged", "--grace", "1s"))
    until(lambda: run.log().count(b"ready") == ranks, "the ranks to be at work")
    return run


def find_rank(run: Supervised, rank: int) -> int:
    """Return the process of a rank."""
    for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == run.leader and f"\0RANK={rank}\0".encode() in environment:
            return pid
    raise AssertionError(f"rank {rank} has no process")


def start_profile(lab: Lab, *options: str) -> subprocess.Popen[bytes]:
    """Start the command in the background."""
    command = (*PROGRAM, "profile", "--json", *options)
    return lab.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def await_py_spy(pid: int) -> None:
    """Return once a py-spy samples the process."""

    def is_there() -> bool:
        pids = map(int, filter(str.isdecimal, os.listdir("/proc")))
        return any(["record", "--pid", str(pid)] == read_command(one)[1:4] for one in pids)

    until(is_there, f"py-spy to sample process {pid}")


def read_profile(output: bytes) -> Profile:
    """Return the profile in the JSON of the command."""
    return decode(Profile, json.loads(output)["profile"], "profile")


def take(lab: Lab, *options: str) -> tuple[dict[str, Any], Profile]:
    """Return the JSON of the command, and its profile."""
    done = lab.gpualert("profile", "--json", *options)
    assert done.returncode == 0, done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    return value, read_profile(done.stdout)


def list_shares(profile: Profile, tree: FrameTree, column: int = 0) -> dict[str, float]:
    """Return the share of each function of a rank by its name; one that calls itself is missing."""
    return {
        profile.frames[node.frame].function: node.counts[column] / tree.samples[column]
        for node in tree.nodes
    }
