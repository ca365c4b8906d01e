"""The fault matrix: one fault for every face at once, and the remains of each training."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.prefect.deployment import Place, end, server, worker
from tests.faults.prefect.scene import GRACE_S, Scene
from tests.observer import left_by_task

OPERATIONS = (
    "TrainingOperation.run",
    "TrainingOperation.run.submit",
    "TrainingRun.follow.submit",
)
OURS = ("gpualert_run", "gpualert_run.submit", "gpualert_run.awaited", *OPERATIONS)
THEIRS = ("ShellOperation.run", "ShellOperation.run.submit", "shell_run_command")
FACES = OURS + THEIRS
POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Fault:
    """One row: the fault, the kind of the training, and the way to run it.

    ``do`` gets the live scenes and the process of the worker or the server that the row has for
    itself.  ``disposition`` is what the verdict of ours must be, "" where it can only guess.
    ``bound_s`` is the time after the fault until the result is read.
    """

    name: str
    disposition: str
    do: Callable[[Sequence[Scene], subprocess.Popen[bytes] | None], None]
    how: str = "plain"
    by_worker: bool = False
    own_server: bool = False
    seconds: float = 120.0
    timeout_s: float | None = None
    bound_s: float = 15.0
    faces: tuple[str, ...] = FACES


@dataclass(slots=True)
class Outcome:
    """The outcome of one face in one row; times are seconds after the fault, None: not in time."""

    fault: str
    face: str
    gone_s: float | None = None
    """Until no process of the training was left."""
    engine_gone_s: float | None = None
    left: int = 0
    """Processes of the training at the end of the row."""
    most: int = 0
    """Trainings at one instant."""
    state: str = ""
    """The flow run's, as the API has it."""
    task: str = ""
    """The task's result for its flow: "returned", the name of its error, or nothing."""
    record: dict[str, Any] = field(default_factory=dict)


def send(number: int) -> Callable[[Sequence[Scene], object], None]:
    """Send a signal to the process that runs the flow alone."""

    def do(scenes: Sequence[Scene], _process: object) -> None:
        for scene in scenes:
            scene.signal_engine(number)

    return do


def nothing(_scenes: Sequence[Scene], _process: object) -> None:
    """The fault is in the flow itself."""


def kill_process(_scenes: Sequence[Scene], process: subprocess.Popen[bytes] | None) -> None:
    """Send SIGKILL to the worker or the server alone."""
    assert process is not None
    end(process, group=False)


def kill_group(_scenes: Sequence[Scene], process: subprocess.Popen[bytes] | None) -> None:
    """Send SIGKILL to the server and its helpers."""
    assert process is not None
    end(process)


def cancel(scenes: Sequence[Scene], _process: object) -> None:
    """Cancel the flow run, as the button in the UI does."""
    for scene in scenes:
        scene.cancel()


def kill_guardian(scenes: Sequence[Scene], _process: object) -> None:
    """Send SIGKILL to the guardian of the training, which only ours has."""
    for scene in scenes:
        os.kill(scene.records()[-1].spec.supervisor_pid, signal.SIGKILL)


TERM, INT, KILL = (send(n) for n in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL))

FAULTS = (
    Fault("SIGTERM to the flow", "preempted", TERM),
    Fault("SIGINT to the flow", "cancelled", INT),
    Fault("SIGKILL to the flow", "cancelled", KILL),
    Fault("timeout_seconds", "timeout", nothing, timeout_s=8.0),
    Fault("SIGTERM, child ignores TERM", "preempted", TERM, how="deaf", bound_s=20.0),
    Fault("SIGTERM, child saves and exits 0", "preempted", TERM, how="save"),
    Fault("guardian SIGKILLed", "", kill_guardian, faces=OURS),
    Fault("API server gone", "completed", kill_group, own_server=True, seconds=30.0, bound_s=45.0),
    Fault("worker: flow cancelled", "cancelled", cancel, by_worker=True, bound_s=45.0),
    Fault("worker: engine SIGKILLed", "cancelled", KILL, by_worker=True),
    Fault("worker: engine SIGTERMed", "preempted", TERM, by_worker=True, bound_s=20.0),
    Fault(
        "worker: worker SIGKILLed",
        "completed",
        kill_process,
        by_worker=True,
        seconds=20.0,
        bound_s=35.0,
    ),
)


def play(fault: Fault, place: Place, faces: Sequence[str]) -> dict[str, Outcome]:
    """Cause the fault in a training of each face at once, and return the outcomes by face."""
    scenes = [Scene.new(place, face) for face in faces]
    parameters: dict[str, Any] = {
        "how": fault.how,
        "seconds": fault.seconds,
        "timeout_s": fault.timeout_s,
        "ours": {"grace": GRACE_S},
    }
    try:
        if fault.own_server:
            with server(place.home / f"own-{scenes[0].mark}") as (url, process):
                for scene in scenes:
                    scene.start(url, **parameters)
                return _watch(fault, scenes, process)
        if fault.by_worker:
            with worker(place.home, place.url) as process:
                for scene in scenes:
                    scene.deploy(**parameters)
                return _watch(fault, scenes, process)
        for scene in scenes:
            scene.start(**parameters)
        return _watch(fault, scenes, None)
    finally:
        for scene in scenes:
            scene.clear()


def _watch(
    fault: Fault, scenes: Sequence[Scene], process: subprocess.Popen[bytes] | None
) -> dict[str, Outcome]:
    for scene in scenes:
        scene.begins()
    time.sleep(1.0)
    began = time.monotonic()
    fault.do(scenes, process)
    outcomes = {scene.face: Outcome(fault.name, scene.face) for scene in scenes}
    while (passed := time.monotonic() - began) < fault.bound_s:
        left = left_by_task()
        for scene in scenes:
            outcome = outcomes[scene.face]
            if outcome.gone_s is None and scene.mark not in left:
                outcome.gone_s = round(passed, 1)
            if outcome.engine_gone_s is None and not scene.engine_lives():
                outcome.engine_gone_s = round(passed, 1)
        if all(None not in (one.gone_s, one.engine_gone_s) for one in outcomes.values()):
            break
        time.sleep(POLL_S)
    time.sleep(1.0)
    left = left_by_task()
    for scene in scenes:
        outcome = outcomes[scene.face]
        outcome.left = len(left.get(scene.mark, {}))
        outcome.most = scene.place.observer.most[scene.mark]
        outcome.state = "" if fault.own_server else scene.state()
        last = scene.ended() or {}
        outcome.task = "returned" if "returned" in last else str(last.get("raised", ""))
        outcome.record = scene.read_facts()
    return outcomes


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the outcomes as a text table: a row per fault, a column per face."""
    faces = list(dict.fromkeys(outcome.face for outcome in outcomes))
    cells = {(outcome.fault, outcome.face): cell(outcome) for outcome in outcomes}
    faults = dict.fromkeys(outcome.fault for outcome in outcomes)
    rows = [["", *faces]]
    rows += [[fault, *(cells.get((fault, face), "") for face in faces)] for fault in faults]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def cell(outcome: Outcome) -> str:
    """Return one outcome in a few words."""
    if outcome.left:
        gone = f"{outcome.left} LEFT"
    else:
        gone = f"gone {outcome.gone_s:g} s" if outcome.gone_s is not None else "gone late"
    engine = "" if outcome.engine_gone_s is not None else ", flow hangs"
    return f"{gone}{engine}, {outcome.state or outcome.task or '-'}"


def store_outcomes(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Write the outcomes as JSON; other rows of an earlier run are kept."""
    played = {outcome.fault for outcome in outcomes}
    before = json.loads(path.read_text())["outcomes"] if path.exists() else []
    found = [outcome for outcome in before if outcome["fault"] not in played]
    found += [asdict(outcome) for outcome in outcomes]
    order = [fault.name for fault in FAULTS]
    found = [outcome for outcome in found if outcome["fault"] in order]
    found.sort(key=lambda outcome: (order.index(outcome["fault"]), FACES.index(outcome["face"])))
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"schema": 1, "outcomes": found}, indent=1) + "\n")
