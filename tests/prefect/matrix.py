"""The fault matrix: one fault done to every face at once, and what is left of each training."""

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
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterName
from prefect.client.schemas.objects import FlowRun
from prefect.deployments import run_deployment
from prefect.states import Cancelling

from tests.observer import Observer, left_of
from tests.prefect.stage import Scene, end, server, worker
from tests.supervised import is_alive, until

OURS = ("gpualert_run", "gpualert_run.submit", "agpualert_run")
THEIRS = ("ShellOperation.run", "ShellOperation.run.submit", "shell_run_command")
FACES = OURS + THEIRS
START_S = 120.0
POLL_S = 0.1
GRACE_S = 3.0
MOST_S = 10.0
"""How long after a fault ours may need: the grace, the last call, and this machine's load."""


@dataclass(slots=True)
class Place:
    """Where the matrix is played: a server with a pool and deployments, and an observer."""

    home: Path
    url: str
    observer: Observer


@dataclass(frozen=True, slots=True)
class Fault:
    """One row: what is done, to a training of which kind, run in which way.

    ``do`` gets the live scenes and the process of the worker or the server that the row has for
    itself.  ``disposition`` is what the verdict of ours must be, "" where it can only guess.
    ``bound_s`` is how long after the fault we look.
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
    """What came of one face in one row; times are seconds after the fault, None: not in time."""

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
    """What the task gave its flow: "returned", the name of what it raised, or nothing."""
    record: dict[str, Any] = field(default_factory=dict)


def signal_engine(number: int) -> Callable[[Sequence[Scene], object], None]:
    """Send a signal to the process that runs the flow, and to nobody else."""

    def send(scenes: Sequence[Scene], _process: object) -> None:
        for scene in scenes:
            os.kill(scene.engines()[-1], number)

    return send


def nothing(_scenes: Sequence[Scene], _process: object) -> None:
    """The fault is in the flow itself."""


def kill_process(_scenes: Sequence[Scene], process: subprocess.Popen[bytes] | None) -> None:
    """SIGKILL to the worker or the server, and to nobody else."""
    assert process is not None
    end(process, group=False)


def kill_group(_scenes: Sequence[Scene], process: subprocess.Popen[bytes] | None) -> None:
    """SIGKILL to the server and its helpers."""
    assert process is not None
    end(process)


def cancel(scenes: Sequence[Scene], _process: object) -> None:
    """What the button in the UI does."""
    with get_client(sync_client=True) as client:
        for scene in scenes:
            assert scene.flow_run_id is not None
            client.set_flow_run_state(UUID(scene.flow_run_id), Cancelling(), force=True)


def kill_guardian(scenes: Sequence[Scene], _process: object) -> None:
    """SIGKILL to what supervises the training, which only ours has."""
    for scene in scenes:
        os.kill(scene.records()[-1].spec["supervisor_pid"], signal.SIGKILL)


TERM, INT, KILL = (signal_engine(n) for n in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL))

FAULTS = (
    Fault("SIGTERM to the flow", "preempted", TERM),
    Fault("SIGINT to the flow", "cancelled", INT),
    Fault("SIGKILL to the flow", "preempted", KILL),
    Fault("timeout_seconds", "timeout", nothing, timeout_s=8.0),
    Fault("SIGTERM, child ignores TERM", "preempted", TERM, how="deaf", bound_s=20.0),
    Fault("SIGTERM, child saves and exits 0", "preempted", TERM, how="save"),
    Fault("guardian SIGKILLed", "", kill_guardian, faces=OURS),
    Fault("API server gone", "completed", kill_group, own_server=True, seconds=30.0, bound_s=45.0),
    Fault("worker: flow cancelled", "cancelled", cancel, by_worker=True, bound_s=45.0),
    Fault("worker: engine SIGKILLed", "preempted", KILL, by_worker=True),
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


def play(fault: Fault, place: Place) -> dict[str, Outcome]:
    """Do the fault to a training of every face, all at once, and say what came of each."""
    scenes = [Scene.new(place.home, face) for face in fault.faces]
    parameters = {
        "how": fault.how,
        "seconds": fault.seconds,
        "timeout_s": fault.timeout_s,
        "ours": {"grace": GRACE_S},
    }
    try:
        if fault.own_server:
            with server(place.home / f"own-{scenes[0].mark}") as (url, process):
                for scene in scenes:
                    scene.start(place.home, url, **parameters)
                return _watch(fault, place, scenes, process)
        if fault.by_worker:
            with worker(place.home, place.url) as process:
                for scene in scenes:
                    deploy(scene, **parameters)
                return _watch(fault, place, scenes, process)
        for scene in scenes:
            scene.start(place.home, place.url, **parameters)
        return _watch(fault, place, scenes, None)
    finally:
        for scene in scenes:
            clear(scene)


def deploy(scene: Scene, **parameters: Any) -> None:
    """Have the worker run the flow of a scene."""
    flow_run = run_deployment(
        f"{scene.flow}/{scene.flow}",
        parameters=scene.parameters(**parameters),
        timeout=0,
        flow_run_name=scene.mark,
        as_subflow=False,
    )
    assert isinstance(flow_run, FlowRun)
    scene.flow_run_id = str(flow_run.id)


def _watch(
    fault: Fault, place: Place, scenes: Sequence[Scene], process: subprocess.Popen[bytes] | None
) -> dict[str, Outcome]:
    observer = place.observer
    until(
        lambda: all(observer.seen.get(scene.mark) for scene in scenes),
        f"every training of {fault.name!r} to start",
        START_S,
    )
    time.sleep(1.0)
    began = time.monotonic()
    fault.do(scenes, process)
    outcomes = {scene.face: Outcome(fault.name, scene.face) for scene in scenes}
    while (passed := time.monotonic() - began) < fault.bound_s:
        for scene in scenes:
            outcome = outcomes[scene.face]
            if outcome.gone_s is None and not left_of(scene.mark):
                outcome.gone_s = round(passed, 1)
            if outcome.engine_gone_s is None and not _engine_lives(scene):
                outcome.engine_gone_s = round(passed, 1)
        if all(None not in (one.gone_s, one.engine_gone_s) for one in outcomes.values()):
            break
        time.sleep(POLL_S)
    time.sleep(1.0)
    for scene in scenes:
        outcome = outcomes[scene.face]
        outcome.left = len(left_of(scene.mark))
        outcome.most = observer.most[scene.mark]
        outcome.state = "" if fault.own_server else state_of(scene)
        told = scene.ended() or {}
        outcome.task = "returned" if "returned" in told else str(told.get("raised", ""))
        outcome.record = told_by_record(scene)
    return outcomes


def _engine_lives(scene: Scene) -> bool:
    if scene.process is not None:
        return scene.process.poll() is None
    return is_alive(scene.engines()[-1])


def state_of(scene: Scene) -> str:
    """The state of the scene's flow run, as the API has it."""
    with get_client(sync_client=True) as client:
        named = FlowRunFilter(name=FlowRunFilterName(any_=[scene.mark]))
        (flow_run,) = client.read_flow_runs(flow_run_filter=named)
    scene.flow_run_id = str(flow_run.id)
    return str(flow_run.state_name)


def told_by_record(scene: Scene) -> dict[str, Any]:
    """What the record of the scene's last run says."""
    records = scene.records()
    if not records:
        return {}
    record = records[-1]
    ending, verdict = record.ending, record.read_json("verdict.json") or {}
    return {
        "runs": len(records),
        "state": record.state,
        "exit_code": None if ending is None else ending.exit_code,
        "signal": None if ending is None else ending.signal,
        "disposition": verdict.get("disposition"),
        "cause": verdict.get("cause"),
    }


def clear(scene: Scene) -> None:
    """Kill whatever a scene has left: its flow, its engines, its training."""
    if scene.process is not None:
        end(scene.process)
    for pid in {*scene.engines(), *left_of(scene.mark)}:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    until(lambda: not left_of(scene.mark), "the processes of the scene to be gone")


def table(outcomes: Sequence[Outcome]) -> str:
    """The outcomes as a text table: a row per fault, a column per face."""
    faces = list(dict.fromkeys(outcome.face for outcome in outcomes))
    cells = {(outcome.fault, outcome.face): cell(outcome) for outcome in outcomes}
    faults = dict.fromkeys(outcome.fault for outcome in outcomes)
    rows = [["", *faces]]
    rows += [[fault, *(cells.get((fault, face), "") for face in faces)] for fault in faults]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def cell(outcome: Outcome) -> str:
    """One outcome in a few words."""
    if outcome.left:
        gone = f"{outcome.left} LEFT"
    else:
        gone = f"gone {outcome.gone_s:g} s" if outcome.gone_s is not None else "gone late"
    engine = "" if outcome.engine_gone_s is not None else ", flow hangs"
    return f"{gone}{engine}, {outcome.state or outcome.task or '-'}"


def store_outcomes(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Write the outcomes as JSON; rows of an earlier run that were not played now stay."""
    played = {outcome.fault for outcome in outcomes}
    before = json.loads(path.read_text())["outcomes"] if path.exists() else []
    found = [outcome for outcome in before if outcome["fault"] not in played]
    found += [asdict(outcome) for outcome in outcomes]
    order = [fault.name for fault in FAULTS]
    found = [outcome for outcome in found if outcome["fault"] in order]
    found.sort(key=lambda outcome: (order.index(outcome["fault"]), FACES.index(outcome["face"])))
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"schema": 1, "outcomes": found}, indent=1) + "\n")
