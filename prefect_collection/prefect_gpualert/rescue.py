"""Automations of Prefect that run a crashed flow run again, so that it adopts its training."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification

from prefect_gpualert.rescue_mark import RESCUABLE

WAIT = "gpualert: hold crashed trainings until their worker has cleaned up"
RERUN = "gpualert: run crashed trainings again"
CRASH = "gpualert: flow runs without heartbeats have crashed"

WAIT_S = 45.0
"""A worker runs the hooks of a crash, then reports it a second time: a flow run that is scheduled
before that would crash again."""
DEFAULT_SILENT_S = 390.0
"""Two heartbeats of Prefect's default frequency (180 s), and half a minute."""
LEAST_SILENT_S = 60.0
"""Prefect's least frequency is 30 s."""
_LONGEST = timedelta(days=366)
"""Longest time between the launch of a training and the crash of its flow run."""

_WAITING = "AwaitingRescue"
"""Name of a state of type Pending, which no worker submits."""


def make_automations(silent_s: float) -> list[AutomationCore]:
    """Return the automations; ``silent_s`` 0 leaves out the one that waits for heartbeats."""
    wait = _automation(
        WAIT,
        "Marks a flow run that crashed after the launch of a training with retries left.",
        EventTrigger(
            after={RESCUABLE},
            expect=_events("Crashed"),
            posture=Posture.Reactive,
            within=_LONGEST,
        ),
        {
            "state": StateType.PENDING,
            "name": _WAITING,
            "message": f"gpualert: it crashed, and runs again in {WAIT_S:g} s",
        },
    )
    rerun = _automation(
        RERUN,
        "Runs such a flow run again, unless a person was quicker. Its task adopts the training; "
        "if that and the task have ended, it trains again.",
        EventTrigger(
            after=_events(_WAITING),
            expect=_events("Scheduled", "AwaitingRetry", "Running", "Cancelling", "Cancelled"),
            posture=Posture.Proactive,
            within=timedelta(seconds=WAIT_S),
        ),
        {
            "state": StateType.SCHEDULED,
            "name": "AwaitingRetry",
            "message": "gpualert: it crashed, and its training may still run",
        },
    )
    crash = _automation(
        CRASH,
        "Marks a flow run as crashed whose heartbeats stop, as after the death of its worker.",
        EventTrigger(
            after=_events("heartbeat"),
            expect=_events("heartbeat", "Completed", "Failed", "Cancelled", "Crashed", "Suspended"),
            posture=Posture.Proactive,
            within=timedelta(seconds=silent_s),
        ),
        {"state": StateType.CRASHED, "message": f"gpualert: no heartbeat for {silent_s:g} s"},
    )
    return [wait, rerun, crash] if silent_s else [wait, rerun]


def _automation(
    name: str, description: str, trigger: EventTrigger, new_state: dict[str, Any]
) -> AutomationCore:
    """Return an automation that changes the state of each flow run by itself."""
    trigger.match = ResourceSpecification({"prefect.resource.id": "prefect.flow-run.*"})
    trigger.for_each = {"prefect.resource.id"}
    trigger.threshold = 1
    action = ChangeFlowRunState.model_validate(new_state)
    return AutomationCore(name=name, description=description, trigger=trigger, actions=[action])


def _events(*states: str) -> set[str]:
    return {f"prefect.flow-run.{state}" for state in states}


def install(silent_s: float) -> Iterator[str]:
    """Create or update the automations; yield a line about each.  Raises the errors of the API."""
    wanted = make_automations(silent_s)
    with get_client(sync_client=True) as client:
        for automation in wanted:
            existing = next(iter(client.read_automations_by_name(automation.name)), None)
            if existing is None:
                client.create_automation(automation)
                done = "created"
            elif _content(existing) == _content(automation):
                done = "exists" if existing.enabled else "exists, but is paused"
            else:
                client.update_automation(existing.id, automation)
                done = "updated"
            yield f"{automation.name}: {done}"
    yield from _remove({WAIT, RERUN, CRASH} - {automation.name for automation in wanted})


def _content(automation: AutomationCore) -> dict[str, Any]:
    """Return the part of an automation that an update would change.

    An update forgets which flow runs train, so there is none without need.
    """
    return automation.model_dump(include={"description", "trigger", "actions"})


def remove() -> Iterator[str]:
    """Remove the automations; yield a line about each.  Raises the errors of the API."""
    removed = [*_remove({WAIT, RERUN, CRASH})]
    yield from removed or ["there is nothing to remove"]


def _remove(names: set[str]) -> Iterator[str]:
    with get_client(sync_client=True) as client:
        for name in sorted(names):
            for existing in client.read_automations_by_name(name):
                client.delete_automation(existing.id)
                yield f"{name}: removed"
