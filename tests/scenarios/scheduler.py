"""Runs in jobs of Slurm, with its records: stopped by it, with a lost node, or ended before it."""

from __future__ import annotations

import time
from random import Random
from typing import Any

from gpualert_common.telemetry.source import SourceEvent
from tests.scenarios.catalogue import near_miss, scenario
from tests.scenarios.ends import print_cancellation
from tests.scenarios.logs import some_steps, traceback
from tests.scenarios.scene import Card, Scene, steps

GLOO = (
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:538] "
    "Connection closed by peer [10.1.0.12]:35714"
)


def _cards(chance: Random) -> list[Card]:
    return [Card() for _ in range(chance.choice((0, 1, 4, 8)))]


def _sender(chance: Random) -> dict[str, Any]:
    name = chance.choice(("slurmstepd", "slurmstepd: [4711.batch]", "slurmstepd: [4711.0]"))
    return {"pid": chance.randint(2, 9999), "uid": 0, "command": name}


def _job(state: str, **fields: Any) -> tuple[str, float, SourceEvent]:
    """Return the event about the job of a run, as Slurm was asked at its end."""
    job = {"job": "4711", "state": state, "has_ended": state != "RUNNING", "nodes": "gpu[01-04]"}
    text = f"Slurm ended its job 4711 as {state}"
    return "slurm", 1.0, SourceEvent("slurm_job", "slurm", text, {**job, **fields})


def _node(
    chance: Random, state: str = "DOWN*", part: float = 1.0
) -> tuple[str, float, SourceEvent]:
    name = f"gpu{chance.randint(1, 4):02}"
    reason = chance.choice(("Not responding", "Node unexpectedly rebooted", "gpu xid 79"))
    fields = {"node": name, "state": state, "reason": reason}
    text = f"Slurm reports the node {name} as {state}: {reason}"
    return "slurm", part, SourceEvent("slurm_node_lost", f"node:{name}", text, fields)


def _stopped(chance: Random, *events: tuple[str, float, SourceEvent], **fields: Any) -> Scene:
    """Return a run that Slurm stopped: by TERM, and KILL where it did not exit in time."""
    return Scene(
        **{
            "log": some_steps(chance),
            "code": chance.choice((-15, 143, -9, 0)),
            "signal": 15,
            "sender": _sender(chance),
            "cards": _cards(chance),
            "events": events,
            "slurm": {"job": "4711"},
            **fields,
        }
    )


# -- F1 --------------------------------------------------------------------------------------------


@scenario("F1", "node_failure")
def slurm_lost_a_node(chance: Random) -> Scene:
    """Slurm ends the job on the other nodes."""
    return _stopped(chance, _job("NODE_FAIL"), _node(chance))


@scenario("F1", "node_failure")
def lost_node_without_a_name(chance: Random) -> Scene:
    """The events of the nodes are not there yet."""
    return _stopped(chance, _job(chance.choice(("NODE_FAIL", "BOOT_FAIL"))))


@scenario("F1", "node_failure")
def peer_on_a_lost_node(chance: Random) -> Scene:
    """The ranks notice the lost node before Slurm ends the job."""
    log = some_steps(chance) + traceback(GLOO, "main", "all_reduce")
    events = (_job("RUNNING", is_active=True), _node(chance))
    return Scene(
        log=log, code=1, cards=_cards(chance), events=events, slurm={"job": "4711", "nodes": "x"}
    )


@near_miss("F1", "collective")
def peer_on_a_good_node(chance: Random) -> Scene:
    """A rank lost its peer, and all nodes are there."""
    log = some_steps(chance) + traceback(GLOO, "main", "all_reduce")
    events = (_job("RUNNING", is_active=True),)
    return Scene(log=log, code=1, cards=_cards(chance), events=events, slurm={"job": "4711"})


@near_miss("F1", "traceback", family=None)
def bug_beside_a_lost_node(chance: Random) -> Scene:
    """A bug ended the run; a node of the job went down in the meantime."""
    log = some_steps(chance) + traceback("KeyError: 'x'", "main", "step")
    events = (_job("FAILED"), _node(chance, part=chance.uniform(0.3, 1)))
    return Scene(log=log, code=1, cards=_cards(chance), events=events, slurm={"job": "4711"})


@near_miss("F1", "preempted")
def preempted_beside_a_job_limit(chance: Random) -> Scene:
    """Slurm preempted the job, and lost no node."""
    return _stopped(chance, _job("PREEMPTED"))


@near_miss("F1", "killed_unknown")
def killed_in_a_running_job(chance: Random) -> Scene:
    """Something killed it, and the job and its nodes go on."""
    events = (_job("RUNNING", is_active=True),)
    return Scene(
        log=some_steps(chance),
        code=-9,
        cards=_cards(chance),
        events=events,
        slurm={"job": "4711"},
    )


@near_miss("F1", "none")
def trained_in_spite_of_a_lost_node(chance: Random) -> Scene:
    """A node that it did not need went down."""
    log = some_steps(chance) + "training finished\n"
    events = (_node(chance, part=0.5),)
    return Scene(log=log, cards=_cards(chance), events=events, slurm={"job": "4711"})


@scenario("F1", "node_failure", real_s=7)
def node_failure_in_the_log(chance: Random) -> Scene:
    """Slurm is not asked: its line in the log of the batch script names the reason."""
    log = some_steps(chance) + print_cancellation(
        chance, "DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"
    )
    return Scene(log=log, code=chance.choice((-15, 143)), signal=15, cards=_cards(chance))


@near_miss("F1", "preempted", real_s=7)
def preemption_in_the_log(chance: Random) -> Scene:
    """The same line names another reason."""
    log = some_steps(chance) + print_cancellation(chance, "DUE TO PREEMPTION")
    return Scene(log=log, code=chance.choice((-15, 143)), signal=15, cards=_cards(chance))


@near_miss("F1", "time_limit", real_s=7)
def limit_in_the_log(chance: Random) -> Scene:
    """The same line names the time limit."""
    log = some_steps(chance) + print_cancellation(chance, "DUE TO TIME LIMIT")
    return Scene(log=log, code=chance.choice((-15, 143)), signal=15, cards=_cards(chance))


@near_miss("F1", "traceback", family=None, real_s=7)
def bug_after_a_check_of_nodes(chance: Random) -> Scene:
    """The program writes about its nodes, and then has a bug."""
    log = some_steps(chance) + "node health: no node failure, 4 nodes up\n"
    log += traceback("KeyError: 'x'", "main", "step")
    return Scene(log=log, code=1, cards=_cards(chance))


# -- F2 --------------------------------------------------------------------------------------------


@scenario("F2", "preempted")
def slurm_preempted_it(chance: Random) -> Scene:
    """The accounting says that it was preempted."""
    more = {"next_state": chance.choice(("PENDING", "RUNNING", "COMPLETED"))}
    return _stopped(chance, _job("PREEMPTED", **(more if chance.random() < 0.5 else {})))


@scenario("F2", "preempted")
def slurm_requeued_it(chance: Random) -> Scene:
    """An operator put it back into the queue."""
    return _stopped(chance, _job("REQUEUED", next_state="PENDING"))


@scenario("F2", "cancelled")
def user_cancelled_the_job(chance: Random) -> Scene:
    """The user, or an operator, cancelled the job."""
    return _stopped(chance, _job("CANCELLED", by_uid=chance.choice((0, 1000, 2_000_000))))


@scenario("F2", "cancelled")
def only_a_step_was_cancelled(chance: Random) -> Scene:
    """A signal of Slurm, and the job goes on."""
    return _stopped(chance, _job("RUNNING", is_active=True), code=chance.choice((-15, 143)))


@near_miss("F2", "traceback", family=None)
def failed_before_its_job_was_cancelled(chance: Random) -> Scene:
    """A bug ended it; much later the job was cancelled."""
    log = some_steps(chance) + traceback("KeyError: 'x'", "main", "step")
    late = _job("CANCELLED", by_uid=1000, ended_at=4_000_000_000.0)
    return Scene(log=log, code=1, cards=_cards(chance), events=(late,), slurm={"job": "4711"})


@near_miss("F2", "traceback", family=None)
def failed_and_its_script_cancelled_the_job(chance: Random) -> Scene:
    """A bug ended it, and another node's script then cancelled the whole job at once."""
    log = some_steps(chance) + traceback("KeyError: 'x'", "main", "step")
    cancelled = _job("CANCELLED", by_uid=1000)
    return Scene(log=log, code=1, cards=_cards(chance), events=(cancelled,), slurm={"job": "4711"})


@near_miss("F2", "time_limit")
def signal_at_the_limit_of_the_job(chance: Random) -> Scene:
    """Without accounting: the signal came when the job had no time left."""
    return _stopped(chance, slurm={"job": "4711", "ends_at": 1_000_000_000.0})


@near_miss("F2", "none")
def completed_before_its_job_was_cancelled(chance: Random) -> Scene:
    """It succeeded, and the rest of the job was cancelled."""
    log = some_steps(chance) + "training finished\n"
    events = (_job("CANCELLED", by_uid=1000),)
    return Scene(log=log, cards=_cards(chance), events=events, slurm={"job": "4711"})


# -- F3 --------------------------------------------------------------------------------------------


@scenario("F3", "time_limit")
def at_the_limit_of_its_job(chance: Random) -> Scene:
    """Slurm's time limit ends a run that works."""
    limit = {"time_limit_s": chance.choice((60.0, 3600.0, 86400.0))}
    return _stopped(chance, _job("TIMEOUT", **limit), silent_s=chance.uniform(0, 60))


@scenario("F3", "time_limit")
def at_the_deadline_of_its_job(chance: Random) -> Scene:
    """The deadline of the job (--deadline)."""
    return _stopped(chance, _job("DEADLINE"))


@scenario("F3", "time_limit")
def signalled_before_the_limit(chance: Random) -> Scene:
    """The signal that --signal orders: the job has minutes left, and saves a checkpoint."""
    ends_at = time.time() + chance.uniform(1, 600)
    job = _job("RUNNING", is_active=True, time_limit_s=43200.0, ends_at=ends_at)
    return _stopped(chance, job, code=chance.choice((0, 143)))


@near_miss("F3", "idle_hang")
def hung_until_the_limit_of_its_job(chance: Random) -> Scene:
    """Slurm's limit ends a run that hangs: the limit is a consequence."""
    silent_s = chance.uniform(300, 3000)
    at = 1.0 - silent_s / 3600.0
    cards = [Card(load=steps((0.0, 90.0), (at, 0.0)))]
    cores = steps((0.0, 1.5), (at, chance.uniform(0, 0.02)))
    ended = _job("TIMEOUT", time_limit_s=3600.0)
    return _stopped(chance, ended, silent_s=silent_s, cards=cards, cores=cores, code=-15)


@near_miss("F3", "cancelled")
def cancelled_long_before_its_limit(chance: Random) -> Scene:
    """A person cancelled the job."""
    return _stopped(chance, _job("CANCELLED", by_uid=1000, time_limit_s=86400.0))


@near_miss("F3", "preempted")
def preempted_shortly_before_its_limit(chance: Random) -> Scene:
    """Slurm took its nodes."""
    return _stopped(chance, _job("PREEMPTED", time_limit_s=3601.0))


# -- A2 --------------------------------------------------------------------------------------------


def _memory(chance: Random, step: str) -> tuple[str, float, SourceEvent]:
    text = f"Slurm reports that the kernel killed a process of its step {step} for memory"
    return "slurm", 1.0, SourceEvent("slurm_step_memory", "slurm", text, {"step": step})


@scenario("A2", "oom_killer")
def step_out_of_memory(chance: Random) -> Scene:
    """Slurm's state of the step, where the kernel's log is not readable."""
    events = (_job("FAILED"), _memory(chance, f"4711.{chance.randint(0, 9)}"))
    return Scene(
        log=some_steps(chance),
        code=chance.choice((-9, 137, 1)),
        cards=_cards(chance),
        events=events,
        missing=("kernel_log", "cgroup"),
        slurm={"job": "4711"},
    )


@near_miss("A2", "killed_unknown")
def killed_in_a_failed_job(chance: Random) -> Scene:
    """Slurm's step did not run out of memory."""
    return Scene(
        log=some_steps(chance),
        code=-9,
        cards=_cards(chance),
        events=(_job("FAILED"),),
        missing=("kernel_log", "cgroup"),
        slurm={"job": "4711"},
    )
