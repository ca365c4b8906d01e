"""Deaths of attempts at a task that is a job of Slurm, and the count of the jobs that it gets."""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.slurm.batch_scene import BatchScene

StartAttempt = Callable[[BatchScene, int], "subprocess.Popen[str]"]
"""Starts the attempt of this number."""

MOMENTS = ("start", "run", "launch", "submitting", "submitted", "ended")
"""Steps of the protocol from which the time of a death is counted."""
_MOST_DEATHS = 3
_SHORT_S = 0.4
_POLL_S = 0.005


@dataclass(frozen=True)
class Death:
    """The death of an attempt so long after a step; ``with_guardian``: of all its processes."""

    moment: str
    after_s: float
    with_guardian: bool


def kill_at_random(
    scenes: Callable[[int], BatchScene],
    start: StartAttempt,
    check_end: Callable[[subprocess.Popen[str]], None],
    *,
    count: int,
    status: int,
    at_once: int,
    start_s: float,
) -> str:
    """Kill so many attempts, of several tasks; return the counts for people.

    Fails if a job was submitted beside another one, or if ``check_end`` does at the end of the last
    attempt at a task.  ``status`` is that of the job; an attempt takes ``start_s`` to act.
    """

    def kill(index: int, deaths: Sequence[Death]) -> tuple[list[str], int]:
        scene = scenes(index)
        steps, last = _kill_attempts(scene, start, deaths)
        if steps[-1] != "reported":
            check_end(start(scene, last + 1))
        return steps, _count_jobs(scene, status)

    planned = _plan(count, random.Random(), start_s)
    with ThreadPoolExecutor(at_once) as pool:
        ends = list(pool.map(kill, range(len(planned)), planned))
    return _summarize([steps for steps, _jobs in ends], [jobs for _steps, jobs in ends])


def _plan(count: int, chance: random.Random, start_s: float) -> list[list[Death]]:
    """Return so many deaths, those of one task in one list."""
    planned: list[list[Death]] = []
    while count > 0:
        some = min(count, chance.randint(1, _MOST_DEATHS))
        planned.append([_draw(chance, start_s) for _ in range(some)])
        count -= some
    return planned


def _draw(chance: random.Random, start_s: float) -> Death:
    moment = chance.choice(MOMENTS)
    longest_s = start_s if moment == "start" else _SHORT_S
    return Death(moment, chance.uniform(0.0, longest_s), chance.random() < 0.5)


def _kill_attempts(
    scene: BatchScene, start: StartAttempt, deaths: Sequence[Death]
) -> tuple[list[str], int]:
    """Kill one attempt after the other; return the steps at which they died, and the last number.

    An attempt that ends before its death has reported the status of the job; so have those after.
    """
    steps: list[str] = []
    for number, death in enumerate(deaths, 1):
        attempt = start(scene, number)
        before = _read_pointers(scene)
        while attempt.poll() is None and not _has_reached(scene, death.moment, before):
            time.sleep(_POLL_S)
        with contextlib.suppress(subprocess.TimeoutExpired):
            attempt.wait(death.after_s)
        if attempt.poll() is not None:
            attempt.communicate()
            return [*steps, "reported"], number
        attempt.kill()
        if death.with_guardian:
            scene.kill_all()
        steps.append(_find_step(scene))
        attempt.communicate()
    return steps, len(deaths)


def _count_jobs(scene: BatchScene, status: int) -> int:
    """Return the number of jobs of the task; fails if one was submitted beside another.

    An attempt that had taken the result is a failure, after which a new job is right.
    """
    marks = scene.marks()
    jobs = [scene.jobs_with(mark) for mark in marks]
    assert all(len(some) <= 1 for some in jobs), dict(zip(marks, jobs, strict=True))
    count = sum(map(len, jobs))
    taken = [
        run for run in _records(scene) if (run / "claim.json").exists() and _has_status(run, status)
    ]
    assert 1 <= count <= max(1, len(taken)), (marks, jobs, [run.name for run in taken])
    return count


def _summarize(steps: Sequence[Sequence[str]], jobs: Sequence[int]) -> str:
    """Return the counts of a whole test for people."""
    died = Counter(step for some in steps for step in some if step != "reported")
    ended = sum(step == "reported" for some in steps for step in some)
    return (
        f"{sum(died.values())} deaths of {len(steps)} tasks, {ended} attempts ended before theirs; "
        f"{dict(sorted(died.items()))}; jobs: {dict(sorted(Counter(jobs).items()))}"
    )


def _has_reached(scene: BatchScene, moment: str, before: list[str]) -> bool:
    """Return True once an attempt has reached a step; those of the job may be of earlier ones."""
    match moment:
        case "start":
            return True
        case "run":
            return _read_pointers(scene) != before
        case "launch":
            return any(_has_launched(run) for run in _records(scene)[-1:])
        case _:
            found = [scene.job_of(mark).get("step", "prepared") for mark in scene.marks()]
            order = ("prepared", "submitting", "submitted", "ended", "refused")
            return any(order.index(step) >= order.index(moment) for step in found[-1:])


def _find_step(scene: BatchScene) -> str:
    """Return the step that the task had reached, for the count."""
    marks = scene.marks()
    if not marks:
        return "0 nothing"
    step = scene.job_of(marks[-1]).get("step")
    if step is None:
        runs = _records(scene)
        return "2 launched" if any(map(_has_launched, runs[-1:])) else "1 prepared"
    if step == "submitting":
        return "4 submitted, without an answer" if scene.jobs_with(marks[-1]) else "3 submitting"
    if step == "submitted":
        return "5 followed"
    last = _records(scene)[-1]
    if not (last / "exit.json").exists():
        return "6 ended, not recorded"
    return "8 taken" if (last / "claim.json").exists() else "7 ended, not taken"


def _records(scene: BatchScene) -> list[Path]:
    return sorted((scene.home / "state" / "gpualert" / "runs").glob("*-*"))


def _read_pointers(scene: BatchScene) -> list[str]:
    folder = scene.home / "state" / "gpualert" / "keys"
    return [file.read_text() for file in sorted(folder.glob("*/run.json"))]


def _has_launched(run: Path) -> bool:
    events = run / "events.jsonl"
    return events.exists() and '"launched"' in events.read_text()


def _has_status(run: Path, status: int) -> bool:
    found: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError):
        found = json.loads((run / "exit.json").read_text())
    return found.get("code") == status
