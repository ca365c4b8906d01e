"""Simulated trainings that come to a halt, and the flight recorder dumps that their ranks leave.

Each rank runs its program: collectives of steps, in groups for tensor and data parallelism and of
all ranks.  A collective ends once all members have entered it with the same call.  A rank enters
further ones before that, up to a depth, as with NCCL; with depth 0 it waits, as with Gloo.
"""

from __future__ import annotations

import zlib
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from gpualert_common.collectives.recorded_calls import read_trace
from gpualert_common.collectives.trace import RankTrace

_PAIR = 2
WORLDS = (2, 4, 8, 8, 16, 32, 64, 128, 256, 1024)
FAULTS = (
    "asleep", "node_asleep", "chain", "dead", "skipped", "extra", "operation", "size", "dtype",
    "swapped", "transfer",
)  # fmt: skip


@dataclass(frozen=True)
class SimulatedCall:
    """One call of a program: ``role`` is the kind of its group, ``peer`` is that of a transfer."""

    role: str
    operation: str
    elements: int
    dtype: str = "Float"
    peer: int | None = None


@dataclass
class SimulatedRun:
    """A training at a halt: ``culprits`` is the truth, empty where no rank is one.

    ``has_halted`` is False if all ranks came to their ends.  ``disputed`` are both ranks of a pair
    whose calls differ: where their earlier steps do not show which call was meant, the truth is
    that these two disagree.
    """

    fault: str
    world: int
    depth: int
    culprits: frozenset[int]
    dumps: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    has_halted: bool = True
    disputed: frozenset[int] = frozenset()

    @property
    def traces(self) -> list[RankTrace]:
        """The traces of all ranks that left a dump."""
        return [read_trace(dump, rank) for rank, dump in self.dumps.items()]


def simulate(number: int, worlds: Sequence[int] = WORLDS) -> SimulatedRun:
    """Return one variant, always the same one."""
    chance = Random(zlib.crc32(b"collectives") + number)
    fault = FAULTS[number % len(FAULTS)]
    world = chance.choice(worlds)
    tensor = chance.choice([size for size in (1, 1, 2, 4, 8) if size <= world])
    stages = chance.choice([size for size in (1, 1, 2, 4) if size * tensor <= world])
    groups = _make_groups(world, tensor, stages)
    depth = chance.choice((0, 1, 4, 16))
    victim = chance.randrange(world)
    parts = _make_parts(chance, tensor, world // stages)
    steps = chance.randint(3, 12 if world <= 128 else 5)
    programs = {
        rank: _make_step(rank, parts, world // stages, stages) * steps for rank in range(world)
    }
    program = programs[victim]
    length = len(program) // steps
    collectives = [at for at in range(length, len(program) - length) if program[at].peer is None]
    place = chance.choice(collectives)
    run = SimulatedRun(fault, world, depth, frozenset({victim}))
    halts: dict[int, int] = {}
    stuck: tuple[str, int] | None = None
    if fault == "chain":  # it halts before a call of its small group; others wait in larger ones
        small = [at for at in collectives if program[at].role == "tensor"]
        small += [at for at in range(length, len(program)) if program[at].peer is not None]
        place = chance.choice(small or [place])
    if fault in ("asleep", "chain", "dead"):
        halts[victim] = place
    elif fault == "node_asleep":
        size = min(8, max(1, world // 4))
        first = chance.randrange(world // size) * size
        run.culprits = frozenset(range(first, first + size))
        halts = dict.fromkeys(run.culprits, place)
    elif fault == "transfer":
        run.culprits = frozenset()
        key = _group_of(groups, program[place].role, victim)
        stuck = (key, sum(call.role == program[place].role for call in program[: place + 1]))
    else:
        _break_program(program, place, fault, chance)
        run.disputed = frozenset(range(world)) if world == _PAIR else frozenset()
    entered, done = _execute(programs, groups, depth, halts, stuck)
    run.has_halted = any(done[rank] < len(programs[rank]) for rank in programs)
    kept = chance.choice((60, 200, 2000))
    for rank in range(world):
        if fault == "dead" and rank == victim:
            continue
        calls = programs[rank][: entered[rank]]
        run.dumps[rank] = _make_dump(rank, calls, done[rank], groups, kept, depth, chance)
    return run


def _make_groups(world: int, tensor: int, stages: int) -> dict[str, dict[str, tuple[int, ...]]]:
    """Return the members of each group, by role and name."""
    size = world // stages
    names = iter(range(1, 4 * world + 2))
    groups = {"world": {"0": tuple(range(world))}}
    blocks = range(0, world, tensor)
    groups["tensor"] = {str(next(names)): tuple(range(at, at + tensor)) for at in blocks}
    groups["data"] = {
        str(next(names)): tuple(range(first + at, first + size, tensor))
        for first in range(0, world, size)
        for at in range(tensor)
    }
    groups["pipe"] = {str(next(names)): tuple(range(at, world, size)) for at in range(size)}
    return groups


def _group_of(groups: Mapping[str, Mapping[str, tuple[int, ...]]], role: str, rank: int) -> str:
    return next(name for name, members in groups[role].items() if rank in members)


def _make_parts(chance: Random, tensor: int, size: int) -> dict[str, list[SimulatedCall]]:
    """Return the calls of a pass through the layers, and those at the end of a step."""
    layers, end = [], []
    for _layer in range(chance.randint(1, 4)):
        if tensor > 1:
            elements = chance.choice((1024, 4096))
            layers += [SimulatedCall("tensor", "all_reduce", elements)] * 2
            layers.append(SimulatedCall("tensor", "_all_gather_base", elements * 2))
    if size > tensor:
        sizes = [chance.randint(1, 9) * 1000 for _bucket in range(chance.randint(1, 3))]
        end += [SimulatedCall("data", "all_reduce", size) for size in sizes]
    end.append(SimulatedCall("world", "all_reduce", 1))
    if chance.random() < 0.3:
        end.append(SimulatedCall("world", "broadcast", 7))
    return {"layers": layers, "end": end}


def _make_step(
    rank: int, parts: Mapping[str, list[SimulatedCall]], size: int, stages: int
) -> list[SimulatedCall]:
    """Return a step of one rank: forwards and backwards through the pipeline, then its end."""
    stage = rank // size
    before = rank - size if stage > 0 else None
    after = rank + size if stage < stages - 1 else None
    step: list[SimulatedCall] = []
    for receiver, sender in ((before, after), (after, before)):
        if receiver is not None:
            step.append(SimulatedCall("pipe", "recv", 64, peer=receiver))
        step += parts["layers"]
        if sender is not None:
            step.append(SimulatedCall("pipe", "send", 64, peer=sender))
    return step + parts["end"]


def _break_program(program: list[SimulatedCall], place: int, fault: str, chance: Random) -> None:
    call = program[place]
    if fault == "skipped":
        del program[place]
    elif fault == "extra":
        program.insert(place, chance.choice((call, replace(call, operation="barrier"))))
    elif fault == "operation":
        program[place] = replace(call, operation="reduce_scatter_tensor")
    elif fault == "size":
        program[place] = replace(call, elements=call.elements + 1)
    elif fault == "dtype":
        program[place] = replace(call, dtype="BFloat16")
    else:  # swapped with the next one that differs
        later = range(place, len(program))
        found = (at for at in later if program[at] != call and program[at].peer is None)
        other = next(found, place)
        program[place], program[other] = program[other], call


def _execute(
    programs: Mapping[int, Sequence[SimulatedCall]],
    groups: Mapping[str, Mapping[str, tuple[int, ...]]],
    depth: int,
    halts: Mapping[int, int],
    stuck: tuple[str, int] | None,
) -> tuple[dict[int, int], dict[int, int]]:
    """Return the number of calls that each rank has entered and completed when all stand still."""
    own = {
        (role, rank): name
        for role, named in groups.items()
        for name, members in named.items()
        for rank in members
    }
    members = {name: found for named in groups.values() for name, found in named.items()}
    counts: dict[tuple[int, str], int] = defaultdict(int)
    arrived: dict[tuple[str, int], dict[int, SimulatedCall]] = defaultdict(dict)
    queues: dict[int, deque[tuple[str, int]]] = {rank: deque() for rank in programs}
    entered = dict.fromkeys(programs, 0)
    done = dict.fromkeys(programs, 0)
    ready = deque(programs)
    while ready:
        rank = ready.popleft()
        limit = min(len(programs[rank]), halts.get(rank, 1 << 30))
        while entered[rank] < limit and len(queues[rank]) <= depth:
            call = programs[rank][entered[rank]]
            name = own[call.role, rank]
            if call.peer is not None:
                ends = (rank, call.peer) if call.operation == "send" else (call.peer, rank)
                name = "{}->{}".format(*ends)
                members[name] = ends
            counts[rank, name] += 1
            place = (name, counts[rank, name])
            arrived[place][rank] = (
                call if call.peer is None else replace(call, operation="", peer=None)
            )
            queues[rank].append(place)
            entered[rank] += 1
        if not queues[rank]:
            continue
        place = queues[rank][0]
        found = arrived[place]
        group = members[place[0]]
        if (
            place != stuck
            and len(found) == len(group)
            and len(set(found.values())) == 1
            and all(queues[one][0] == place for one in group)
        ):
            for one in group:
                queues[one].popleft()
                done[one] += 1
                ready.append(one)
    return entered, done


def _make_dump(
    rank: int,
    calls: Sequence[SimulatedCall],
    done: int,
    groups: Mapping[str, Mapping[str, tuple[int, ...]]],
    kept: int,
    depth: int,
    chance: Random,
) -> Mapping[str, Any]:
    """Return the dump of a rank, as NCCL's recorder writes it, or Gloo's for depth 0."""
    is_gloo = depth == 0
    numbers: dict[str, int] = defaultdict(int)
    skew_ns = rank // 8 * 7_000_000
    entries = []
    used = {}
    last_done: dict[str, int] = {}
    for index, call in enumerate(calls):
        is_transfer = call.peer is not None
        name = "0" if is_transfer and is_gloo else _group_of(groups, call.role, rank)
        used[name] = "world" if name == "0" else call.role
        numbers[name] += not is_transfer
        is_done = index < done
        if is_done:
            last_done[name] = numbers[name]
        operation = call.operation
        if call.peer is not None:
            ranks = groups[used[name]][name]
            arrow = "->" if operation == "send" else "<-"
            operation += f" {ranks.index(rank)}{arrow}{ranks.index(call.peer)}"
        out = call.elements * len(groups[used[name]][name])
        shapes = [[call.elements]], [[out if "gather" in call.operation else call.elements]]
        entries.append(
            {
                "record_id": index,
                "pg_id": int(name),
                "process_group": (name, "default_pg" if name == "0" else "undefined"),
                "collective_seq_id": numbers[name],
                "p2p_seq_id": 0,
                "op_id": numbers[name],
                "profiling_name": f"{'gloo' if is_gloo else 'nccl'}:{operation}",
                "time_created_ns": 10**18 + skew_ns + index * 1_000_000 + chance.randrange(1000),
                "input_sizes": shapes[0],
                "output_sizes": shapes[1],
                "input_dtypes": [call.dtype],
                "output_dtypes": [call.dtype],
                "state": "completed" if is_done and not is_gloo else "scheduled",
                "retired": is_done,
                "is_p2p": is_transfer,
            }
        )
    config = {
        name: {
            "name": name,
            "desc": "default_pg" if name == "0" else "undefined",
            "ranks": str(list(groups[role][name])),
        }
        for name, role in used.items()
    }
    status = {
        str(int(name)): {
            "last_enqueued_collective": numbers[name],
            "last_started_collective": -1,
            "last_completed_collective": last_done.get(name, 0),
        }
        for name in used
    }
    return {
        "version": "2.10",
        "entries": entries[-kept:],
        "pg_config": {"": {"name": "", "desc": "", "ranks": "[]"}} if is_gloo else config,
        "pg_status": status,
    }
