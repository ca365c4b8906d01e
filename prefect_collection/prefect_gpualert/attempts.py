"""The training of a task run, and the number of the attempt.

Prefect gives a task run a new id and a new dynamic key whenever its flow run runs again, so these
identify the training only while one engine lives.  Across engines a training is identified by the
flow run, the task, the command and a count: the second task of a flow run with this command is the
second one in its next attempt, too.  Tasks that are equal in all of these may be confused.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

from prefect.client.schemas.objects import TaskRun
from prefect.context import FlowRunContext, TaskRunContext

from gpualert_common.guardian import Attempt
from prefect_gpualert.contexts import current
from prefect_gpualert.engine_task import describe_current_task
from prefect_gpualert.retry_condition import refuses
from prefect_gpualert.run_identity import training_name

if TYPE_CHECKING:
    from gpualert_common.model import Verdict

ADOPTION_S = 900.0
"""The automations run a flow run again some 60 s after a crash that its worker reports, and within
eight minutes where its heartbeats stop; the rest is for a person, or for a busy machine.  A
training that nobody adopts occupies its GPUs for so long."""
RETRY_SLACK_S = 60.0
"""For the next attempt of the same engine, which begins without a worker."""
_LEASE_S = 60.0
"""Prefect keeps a slot of a concurrency limit for so long after the engine's death."""
_FLOW_ATTEMPT = 1000
"""More attempts than a task has in one attempt of its flow run."""

_counting = threading.Lock()


def current_attempt(
    command: Sequence[str],
    env: Mapping[str, str] | None,
    cwd: str | None,
    adopt_within_s: float | None,
) -> Attempt:
    """Return the attempt of the current task run, or of the flow run where there is no task.

    Outside of both, no later attempt can adopt the training.
    """
    digest = _digest(command, env, cwd)
    context, flow = current()
    within_s = next_within_s()
    if adopt_within_s is None:
        adopt_within_s = ADOPTION_S + _slot_s(context) if has_reruns_left() else 0.0
    if context is not None:
        run = context.task_run
        key = ("prefect", str(run.flow_run_id or ""), run.task_key, *_place(run, digest))
        number, shown = find_attempt_number(run), find_shown_number(run)
    elif flow is not None and flow.flow_run is not None:
        nth = _count_call(flow, f"gpualert//{digest}")
        key = ("prefect", str(flow.flow_run.id), "", digest, str(nth))
        shown = max(flow.flow_run.run_count, 1)
        number = shown * _FLOW_ATTEMPT
    else:
        return Attempt(("prefect", "", "", uuid4().hex), 1, adopt_within_s)
    return Attempt(
        key,
        number,
        adopt_within_s,
        is_last=within_s is None,
        shown_number=shown,
        fingerprint=digest,
        training=training_name(),
        task=describe_current_task(),
    )


def find_attempt_number(run: TaskRun) -> int:
    """Return the number of a task run's attempt, counted over the attempts of its flow run."""
    return (max(run.flow_run_run_count or 1, 1) - 1) * _FLOW_ATTEMPT + max(run.run_count, 1)


def find_shown_number(run: TaskRun) -> int:
    """Return the number of a task run's attempt for people: earlier runs of its flow count, too."""
    return max(run.flow_run_run_count or 1, 1) - 1 + max(run.run_count, 1)


def next_within_s(verdict: Verdict | None = None) -> float | None:
    """Return the longest time until the next attempt after a failure; None if none follows.

    ``retry_by_cause`` decides by ``verdict``; another ``retry_condition_fn`` may still refuse the
    attempt.
    """
    context, flow = current()
    if context is not None:
        task, run = context.task, context.task_run
        refused = refuses(task.retry_condition_fn, verdict)
        if (task.retries or 0) >= run.run_count and not refused:
            delays = task.retry_delay_seconds or 0.0
            if isinstance(delays, Sequence):
                delays = delays[min(run.run_count, len(delays)) - 1]
            return float(delays) * (1 + (task.retry_jitter_factor or 0.0)) + RETRY_SLACK_S
    if flow is None or flow.flow is None or flow.flow_run is None:
        return None
    if (flow.flow.retries or 0) < max(flow.flow_run.run_count, 1):
        return None
    return float(flow.flow.retry_delay_seconds or 0.0) + RETRY_SLACK_S


def has_reruns_left() -> bool:
    """Return True if the flow run is to be run again when its engine dies.

    Only a worker does that, with a flow run of a deployment.
    The retries of a task end with its engine.  They then show how many more attempts the author
    wants, and each run of the flow run is one of them.
    """
    context, flow = current()
    if flow is None or flow.flow is None or flow.flow_run is None:
        return False
    if flow.flow_run.deployment_id is None:
        return False  # a script or a subflow: nothing runs this flow run again
    of_task = 0 if context is None else context.task.retries or 0
    return max(flow.flow_run.run_count, 1) <= max(flow.flow.retries or 0, of_task)


def _slot_s(context: TaskRunContext | None) -> float:
    """Return how much longer the next attempt may have to wait for this one's slot."""
    return _LEASE_S if context is not None and context.task_run.tags else 0.0


def _digest(command: Sequence[str], env: Mapping[str, str] | None, cwd: str | None) -> str:
    """Return a digest with the values of variables: SEED=1 and SEED=2 are different trainings."""
    text = json.dumps([list(command), sorted((env or {}).items()), cwd])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _place(run: TaskRun, digest: str) -> tuple[str, str]:
    """Return what identifies this training in the flow run; a retry of a task has the same."""
    flow = FlowRunContext.get()
    if flow is None or flow.detached:
        return digest, run.dynamic_key  # other processes have counts of their own
    counts = flow.task_run_dynamic_keys
    with _counting:
        nth = _next(counts, f"gpualert/{run.id}/{run.run_count}/{digest}")
        place = f"gpualert/{run.id}/{digest}/{nth}"
        if place not in counts:
            counts[place] = _next(counts, f"gpualert/{run.task_key}/{digest}")
        return digest, str(counts[place])


def _count_call(flow: FlowRunContext, name: str) -> int:
    with _counting:
        return _next(flow.task_run_dynamic_keys, name)


def _next(counts: dict[str, str | int], name: str) -> int:
    number = int(counts.get(name, -1)) + 1
    counts[name] = number
    return number
