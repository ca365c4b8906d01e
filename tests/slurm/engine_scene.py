"""Attempts at a task whose command is a batch job, each in a process as an engine makes it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.slurm.batch_scene import BatchScene

ATTEMPT = Path(__file__).with_name("engine_attempt.py")
_END_S = 90.0


def start(scene: BatchScene, command: str, number: int = 1) -> subprocess.Popen[str]:
    """Start an attempt at the task."""
    asked = json.dumps({"number": number, "command": command})
    return subprocess.Popen(
        (sys.executable, str(ATTEMPT), asked),
        env={**scene.environment, "PYTHONPATH": str(ATTEMPT.parents[2])},
        cwd=scene.home / "work",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(attempt: subprocess.Popen[str]) -> list[dict[str, Any]]:
    """Return what an attempt printed until its end."""
    try:
        out, err = attempt.communicate(timeout=_END_S)
    except subprocess.TimeoutExpired:
        attempt.kill()
        raise AssertionError(attempt.communicate()) from None
    assert attempt.returncode == 0, err
    return [json.loads(line) for line in out.splitlines()]


def find(told: list[dict[str, Any]], key: str) -> list[Any]:
    """Return every value of a key."""
    return [one[key] for one in told if key in one]


def kill_engine(attempt: subprocess.Popen[str]) -> None:
    """Kill the process of an attempt alone."""
    attempt.kill()
    attempt.communicate()
