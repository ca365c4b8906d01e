"""Runs whose processes do not find each other, and runs that resemble them."""

from __future__ import annotations

from random import Random
from typing import Any

from gpualert_common.coordinator.endpoint_trial import TrialOutcome
from gpualert_common.coordinator.state import CoordinatorState, PortConflict
from gpualert_common.structs import to_builtins
from gpualert_common.telemetry.source import SourceEvent
from tests.scenarios.catalogue import near_miss, scenario
from tests.scenarios.hangs import TIMEOUT
from tests.scenarios.logs import falling, plain, some_steps, traceback
from tests.scenarios.scene import Card, Scene, flat, steps

FAILURES = (
    TrialOutcome.UNKNOWN_NAME,
    TrialOutcome.NO_NAME_SERVER,
    TrialOutcome.REFUSED,
    TrialOutcome.UNREACHABLE,
    TrialOutcome.NO_ANSWER,
    TrialOutcome.DENIED,
)
TIMED_OUT = (
    "torch.distributed.DistNetworkError: The client socket has timed out after {ms}ms while trying "
    "to connect to ({host}, {port})."
)
JOINED = (
    "torch.distributed.DistStoreError: Timed out after {s} seconds waiting for clients. "
    "{joined}/{size} clients joined."
)
WAITED_FOR_KEY = (
    "torch.distributed.DistStoreError: wait timeout after 20000ms, keys: /default_pg/0//cpu//0/0"
)
IN_USE = (
    "torch.distributed.DistNetworkError: The server socket has failed to listen on any local "
    "network address. port: {port}, useIpv6: false, code: -98, name: EADDRINUSE, message: address "
    "already in use"
)
NO_HUB = (
    "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='huggingface.co', "
    "port=443): Max retries exceeded with url: /api/models/base (Caused by "
    "NewConnectionError('Failed to establish a new connection: [Errno 101] Network is "
    "unreachable'))"
)
_AT = (0.1, 0.4)
"""Part of the run at which the source reports a state."""


def _failed_trial(chance: Random) -> CoordinatorState:
    outcome = chance.choice(FAILURES)
    is_resolved = outcome not in FAILURES[:2]
    return CoordinatorState(
        host=f"node-{chance.randint(0, 99)}",
        port=chance.randint(1024, 65000),
        outcome=outcome,
        named_by="MASTER_ADDR",
        addresses=(f"10.0.0.{chance.randint(1, 250)}",) if is_resolved else (),
        error="an error of the system",
        world_size=16,
        nodes=2,
        node_rank=1,
        ranks=tuple(range(8, 16)),
    )


def _here(**fields: Any) -> CoordinatorState:
    known = {"host": "node-0", "port": 29500, "addresses": ("10.0.0.1",), **fields}
    return CoordinatorState(outcome=TrialOutcome.IS_HERE, listens=True, is_own=True, **known)


def _seen(chance: Random, state: CoordinatorState | PortConflict) -> tuple[str, float, SourceEvent]:
    what = "port_in_use" if isinstance(state, PortConflict) else "rendezvous_state"
    event = SourceEvent(what, "rendezvous", state.describe(), to_builtins(state))
    return "rendezvous", chance.uniform(*_AT), event


def _fails(chance: Random, state: CoordinatorState | PortConflict, message: str) -> Scene:
    """Return a run that gives up with this exception."""
    log = traceback(message, "main", "init_process_group")
    return Scene(log=log, code=1, seconds=700.0, cores=steps((0.0, 0.02)),
        events=[_seen(chance, state)], waited_s=600.0)  # fmt: skip


def _waits(chance: Random, state: CoordinatorState, **more: Any) -> Scene:
    """Return a run that waits, without a message, until its time limit."""
    waited_s = chance.uniform(300.0, 3000.0)
    given = {"log": "starting\n", "silent_s": waited_s, "waited_s": waited_s, **TIMEOUT, **more}
    return Scene(cores=steps((0.0, 0.01)), events=[_seen(chance, state)], **given)


def _blame(scene: Scene, state: CoordinatorState) -> Scene:
    """Return the scene of a failed trial with the side at fault."""
    sides = {TrialOutcome.UNKNOWN_NAME: "job", TrialOutcome.REFUSED: "unknown"}
    scene.attribution = sides.get(state.outcome, "infrastructure")
    return scene


@scenario("C1", "rendezvous")
def cannot_reach_the_coordinator(chance: Random) -> Scene:
    """The store's client gives up, and a trial shows why."""
    state = _failed_trial(chance)
    message = TIMED_OUT.format(ms=chance.randint(1, 600) * 1000, host=state.host, port=state.port)
    return _blame(_fails(chance, state, message), state)


@scenario("C1", "rendezvous")
def coordinator_came_late(chance: Random) -> Scene:
    """The store's client gives up, and the address accepts a connection at the end."""
    state = CoordinatorState("node-0", 29500, TrialOutcome.ANSWERED, addresses=("10.0.0.1",),
        world_size=2, ranks=(1,))  # fmt: skip
    message = TIMED_OUT.format(ms=chance.randint(1, 600) * 1000, host="node-0", port=29500)
    scene = _fails(chance, state, message)
    scene.attribution = "unknown"
    return scene


@scenario("C1", "rendezvous")
def store_was_open_after_the_trial(chance: Random) -> Scene:
    """The port was not yet open at the last trial, and then the store counted its clients."""
    state = CoordinatorState("node-0", 29500, TrialOutcome.IS_HERE, addresses=("10.0.0.1",),
        nodes=2, ranks=(0,), world_size=2)  # fmt: skip
    scene = _fails(chance, state, JOINED.format(s=chance.randint(30, 60), joined=1, size=2))
    scene.attribution = "infrastructure"
    return scene


@scenario("C1", "rendezvous")
def node_missing(chance: Random) -> Scene:
    """The coordinator is here, and some nodes never came."""
    nodes = chance.randint(2, 32)
    hosts = tuple(f"10.0.1.{one}" for one in range(chance.randint(0, nodes - 2)))
    state = _here(nodes=nodes, world_size=8 * nodes, hosts=("", *hosts), clients=1 + len(hosts))
    message = JOINED.format(s=chance.randint(30, 1800), joined=1 + len(hosts), size=nodes)
    scene = _fails(chance, state, message)
    scene.attribution = "unknown"
    return scene


@scenario("C1", "rendezvous")
def rank_waits_in_the_store(chance: Random) -> Scene:
    """A rank gives up its wait for a rank that was never started."""
    started = chance.randint(1, 7)
    state = _here(
        host="127.0.0.1", addresses=("127.0.0.1",), is_loopback=True,
        world_size=chance.randint(started + 1, 16), ranks=tuple(range(started)), clients=started,
    )  # fmt: skip
    scene = _fails(chance, state, WAITED_FOR_KEY)
    scene.attribution = "job"
    return scene


@near_miss("C1", "collective")
def rank_waits_for_a_silent_rank(chance: Random) -> Scene:
    """All nodes are connected, and one rank does not write its key."""
    return _fails(chance, _here(nodes=2, hosts=("", "10.0.1.1")), WAITED_FOR_KEY)


@scenario("C1", "rendezvous")
def port_in_use(chance: Random) -> Scene:
    """Another process has the port."""
    port = chance.randint(1024, 65000)
    listens = chance.random() < 0.8
    state = PortConflict(port, listens, 900 if listens else 0, "python", "python other.py")
    scene = _fails(chance, state, IN_USE.format(port=port))
    scene.attribution = "job"
    return scene


@scenario("C1", "rendezvous")
def waits_for_the_coordinator(chance: Random) -> Scene:
    """It waits until its time limit for a coordinator that cannot be reached."""
    state = _failed_trial(chance)
    return _blame(_waits(chance, state), state)


@scenario("C1", "rendezvous")
def waits_for_nodes(chance: Random) -> Scene:
    """The coordinator waits for nodes until the time limit, with GPUs that it has not used."""
    cards = [Card(memory=flat(0.004), load=flat(0.0)) for _ in range(chance.choice((0, 1, 8)))]
    state = _here(nodes=chance.randint(2, 8), hosts=("",), clients=8)
    return _waits(chance, state, cards=cards, attribution="unknown")


@scenario("C1", "rendezvous")
def wrong_world_size(chance: Random) -> Scene:
    """Fewer processes were started on the only machine than the world size says."""
    started = chance.randint(1, 7)
    state = _here(
        host="127.0.0.1", addresses=("127.0.0.1",), is_loopback=True,
        world_size=chance.randint(started + 1, 16), ranks=tuple(range(started)), clients=started,
    )  # fmt: skip
    return _waits(chance, state, attribution="job")


@scenario("C1", "rendezvous", real_s=7)
def times_out_in_its_log(chance: Random) -> Scene:
    """Only the log is known: the store's client gives up."""
    ms, port = chance.randint(1, 600) * 1000, chance.randint(1024, 65000)
    message = TIMED_OUT.format(ms=ms, host="127.0.0.1", port=port)
    return Scene(log=traceback(message, "main", "init_process_group"), code=1)


@scenario("C1", "rendezvous", real_s=7)
def misses_peers_in_its_log(chance: Random) -> Scene:
    """Only the log is known: the store gives up."""
    size = chance.randint(2, 64)
    message = JOINED.format(s=chance.randint(30, 1800), joined=size - 1, size=size)
    return Scene(log=traceback(message, "main", "init_process_group"), code=1)


@scenario("C1", "rendezvous", real_s=7)
def port_in_use_in_its_log(chance: Random) -> Scene:
    """Only the log is known: the port is in use; it is free when the source looks."""
    message = IN_USE.format(port=chance.randint(10, 99))
    scene = Scene(log=traceback(message, "main", "init_process_group"), code=1)
    scene.attribution = "job"
    return scene


@near_miss("C1", "none", real_s=7)
def connects_late_and_trains(chance: Random) -> Scene:
    """Its first attempts fail, and then it trains to its end."""
    tried = "[W socket.cpp:764] [c10d] The client socket has failed to connect to [node-0]:29500\n"
    last = chance.choice((200, 1000))
    log = tried * chance.randint(1, 9) + plain(falling(chance), range(1, last + 1, 5), last)
    return Scene(log=log)


@near_miss("C1", "missing_module", family="A1", real_s=7)
def fails_before_it_connects(chance: Random) -> Scene:
    """A rank cannot import its model, before any rendezvous."""
    message = f"ModuleNotFoundError: No module named 'model_{chance.randint(1, 9)}'"
    return Scene(log=traceback(message, "main", "load"), code=1)


@near_miss("C1", "missing_module", family="A1", real_s=7)
def fails_after_it_connected(chance: Random) -> Scene:
    """It reached its coordinator at the second attempt, and cannot import its model."""
    tried = "[W socket.cpp:764] [c10d] The client socket has failed to connect to [node-0]:29500\n"
    message = f"ModuleNotFoundError: No module named 'model_{chance.randint(1, 9)}'"
    log = tried * chance.randint(1, 9) + traceback(message, "main", "load")
    return Scene(log=log, code=1)


@near_miss("C1", "collective", real_s=7)
def loses_a_peer(chance: Random) -> Scene:
    """A peer closes its connection in the middle of the training."""
    message = "RuntimeError: [pair.cc:534] Connection closed by peer [127.0.0.1]:48213"
    return Scene(log=some_steps(chance) + traceback(message, "main", "all_reduce"), code=1)


@near_miss("C1", "network", family="A1", real_s=7)
def hub_out_of_reach(chance: Random) -> Scene:
    """The model cannot be downloaded."""
    return Scene(log=traceback(NO_HUB, "main", "from_pretrained"), code=1)


@near_miss("C1", "collective")
def lost_a_peer_in_training(chance: Random) -> Scene:
    """It had trained: a peer that is gone is not a rendezvous, even if its port refuses now."""
    message = "RuntimeError: [pair.cc:534] Connection closed by peer [10.0.0.2]:48213"
    log = some_steps(chance) + traceback(message, "main", "all_reduce")
    return Scene(log=log, code=1, events=[_seen(chance, _failed_trial(chance))], waited_s=0.0)


@near_miss("C1", "idle_hang")
def stuck_in_a_complete_group(chance: Random) -> Scene:
    """All nodes are connected, and it stands still before its first step."""
    nodes = chance.randint(1, 8)
    hosts = ("", *(f"10.0.1.{one}" for one in range(nodes - 1)))
    return _waits(chance, _here(nodes=nodes, world_size=nodes, ranks=(0,), hosts=hosts))


@near_miss("C1", "idle_hang")
def stuck_with_a_coordinator_that_answers(chance: Random) -> Scene:
    """The coordinator on another node answers: a later wait looks the same from here."""
    state = CoordinatorState("node-0", 29500, TrialOutcome.ANSWERED, addresses=("10.0.0.1",),
        world_size=2, ranks=(1,))  # fmt: skip
    return _waits(chance, state)


@near_miss("C1", "idle_hang")
def stuck_after_its_first_steps(chance: Random) -> Scene:
    """It found its peers late, trained, and stands still since."""
    scene = _waits(chance, _failed_trial(chance), log=some_steps(chance))
    began = SourceEvent("training_began", "rendezvous", "the log has a step of a training")
    scene.events = [*scene.events, ("rendezvous", 0.5, began)]
    return scene


@near_miss("C1", "time_limit")
def started_late(chance: Random) -> Scene:
    """It waited for its coordinator, and was then at work without a line when the time was up."""
    scene = _waits(chance, _failed_trial(chance), waited_s=0.0)
    scene.cores = steps((0.0, 0.01), (0.45, chance.uniform(0.9, 8.0)))
    scene.silent_s = chance.uniform(200.0, 1500.0)
    return scene


@near_miss("C1", "config", family="A1")
def refused_by_its_own_check(chance: Random) -> Scene:
    """Its arguments are wrong, whatever a trial showed before."""
    log = "usage: train.py [-h] --data DATA\ntrain.py: error: unrecognized arguments: --dta\n"
    return Scene(log=log, code=2, seconds=30.0, events=[_seen(chance, _failed_trial(chance))])
