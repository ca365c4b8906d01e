"""Runs of which one rank ended before the others, and runs that only resemble them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from gpualert_common.telemetry.source import SourceEvent
from tests.scenarios.catalogue import near_miss, scenario
from tests.scenarios.hangs import TIMEOUT
from tests.scenarios.scene import Card, Scene, rising

_FIRST_PID = 5000
_LAST = 0.9995
"""Part of the run at which the first rank ended."""
_LATER = 0.0001
_STEPS = "step 1 loss 2.31\n"
_DISK_FULL = (
    "[rank0]: Traceback (most recent call last):\n"
    '[rank0]:   File "train.py", line 88, in save\n'
    "[rank0]:     torch.save(state, path)\n"
    "[rank0]: OSError: [Errno 28] No space left on device: '/ckpt/last.pt'\n"
)


def _lost_peer(rank: int) -> str:
    """Return what a rank prints of which the peer is gone."""
    return (
        f"[rank{rank}]: Traceback (most recent call last):\n"
        f'[rank{rank}]:   File "train.py", line 21, in <module>\n'
        f"[rank{rank}]:     dist.all_reduce(gradient)\n"
        f'[rank{rank}]:   File "/opt/venv/lib/python3.11/site-packages/torch/distributed/'
        'distributed_c10d.py", line 3252, in all_reduce\n'
        f"[rank{rank}]:     work.wait()\n"
        f"[rank{rank}]: RuntimeError: [/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/"
        "pair.cc:537] Read error [127.0.0.1]:2889: Connection reset by peer. This is typically"
        " caused by a remote worker hanging or bugs in the application.\n"
    )


def _timed_out(rank: int) -> str:
    """Return what a rank prints that waited for a peer until its timeout."""
    whole, _, _reason = _lost_peer(rank).partition("pair.cc")
    return f"{whole}unbound_buffer.cc:78] Timed out waiting 1800000ms for recv operation\n"


def _lost_peers(ranks: Sequence[int]) -> str:
    return _STEPS + "".join(map(_lost_peer, ranks))


def _ends(
    codes: Sequence[tuple[int, int | None]], world: int, at: float = _LAST, restarts: int = 0
) -> list[tuple[str, float, SourceEvent]]:
    """Return the events of all ranks: their starts, and these ends in their order."""
    return [*_starts(world, restarts), *_end_events(codes, at)]


def _is_new(event: SourceEvent) -> bool:
    """Return whether a process is one of a second launch."""
    return bool(event.fields["pid"] >= _FIRST_PID + 100)


def _starts(
    world: int, restarts: int, world_size: int | None = None
) -> Iterator[tuple[str, float, SourceEvent]]:
    """Yield the starts of the ranks of this machine, in each launch."""
    for attempt in range(restarts + 1):
        for rank in range(world):
            pid = _FIRST_PID + rank + 100 * attempt
            fields = {"pid": pid, "rank": rank, "world_size": world_size or world}
            event = SourceEvent("rank_process", f"rank:{rank}", f"rank {rank} is {pid}", fields)
            yield "processes", 0.01 + 0.97 * attempt, event


def _end_events(
    codes: Sequence[tuple[int, int | None]], at: float
) -> Iterator[tuple[str, float, SourceEvent]]:
    for place, (rank, code) in enumerate(codes):
        pid = _FIRST_PID + rank
        fields: dict[str, Any] = {"pid": pid} if code is None else {"pid": pid, "code": code}
        text = f"rank {rank} (process {pid}) ended with {code}"
        event = SourceEvent("rank_ended", f"rank:{rank}", text, fields)
        yield "processes", at + place * _LATER, event


def _of_one_rank(chance: Random, code: int | None, **more: Any) -> Scene:
    """Return a run of which one rank ended first, so that the others lost it."""
    world = chance.choice((2, 4, 8))
    lost = chance.randrange(world)
    others = [rank for rank in range(world) if rank != lost]
    events = _ends([(lost, code), (others[0], 1), *((one, -15) for one in others[1:])], world)
    return Scene(**{"log": _lost_peers(others), "code": 1, "events": events, **more})


@scenario("C2", "collective")
def left_early(chance: Random) -> Scene:
    """A rank left with exit status 0 while the others still had steps to do."""
    return _of_one_rank(chance, 0, attribution="job")


@scenario("C2", "collective")
def left_and_was_stopped(chance: Random) -> Scene:
    """A rank closed its connections; another one ended first, and the launcher stopped the rest."""
    world = chance.choice((2, 4, 8))
    lost, first, *others = chance.sample(range(world), world)
    events = _ends([(first, 1), *((one, -15) for one in (*others, lost))], world)
    log = _lost_peers([first, *others])
    return Scene(log=log, code=1, events=events, attribution="job")


@scenario("C2", "killed_unknown", family="A2")
def killed_first(chance: Random) -> Scene:
    """SIGKILL ended a rank, and only the lost peers were reported."""
    return _of_one_rank(chance, -9)


@scenario("C2", "segfault", family="A2")
def crashed_first(chance: Random) -> Scene:
    """A native crash ended a rank, and only the lost peers were reported."""
    return _of_one_rank(chance, chance.choice((-11, -7, -4)))


@scenario("C2", "collective")
def ended_in_an_unknown_way(chance: Random) -> Scene:
    """A rank of another user ended first: how is not visible."""
    return _of_one_rank(chance, None, attribution="unknown")


@scenario("C2", "killed_unknown", family="A2")
def ended_at_once_by_a_kill(chance: Random) -> Scene:
    """Too late for their order, the ends are seen at once; only one of them is an own end."""
    world = chance.choice((2, 4, 8))
    lost, first, *others = chance.sample(range(world), world)
    codes = [(first, 1), (lost, -9), *((one, -15) for one in others)]
    ends = [next(_end_events([one], _LAST)) for one in codes]
    return Scene(log=_lost_peers([first]), code=1, events=[*_starts(world, 0), *ends])


@scenario("C2", "collective")
def waited_for_until_the_timeout(chance: Random) -> Scene:
    """The others timed out; the launcher had to stop a rank that was stuck, or to kill it."""
    world = chance.choice((2, 4, 8))
    lost, first, *others = chance.sample(range(world), world)
    codes = [(first, 1), *((one, -15) for one in others), (lost, chance.choice((-15, -9)))]
    log = _STEPS + "".join(map(_timed_out, (first, *others)))
    events = _ends(codes, world, at=_LAST - 0.001)
    return Scene(log=log, code=1, events=events, attribution="unknown")


def noticed_first(chance: Random) -> Scene:
    """A rank of another machine was lost; the first to notice printed no number of a rank."""
    here = chance.choice((2, 4))
    first, *others = chance.sample(range(here), here)
    codes = [(first, chance.choice((1, None))), *((one, -15) for one in others)]
    events = [*_starts(here, 0, 2 * here), *_end_events(codes, _LAST)]
    log = _STEPS + _lost_peer(first).replace(f"[rank{first}]: ", "")
    return Scene(log=log, code=1, events=events)


def waited_for_on_several_machines(chance: Random) -> tuple[Scene, list[int]]:
    """One of four ranks here, of eight in the job, did not come; with the ranks that timed out."""
    lost, first, *others = chance.sample(range(4), 4)
    codes = [(first, 1), *((one, 1) for one in others), (lost, -15)]
    events = [*_starts(4, 0, 8), *_end_events(codes, _LAST - 0.001)]
    log = _STEPS + "".join(map(_timed_out, (first, *others)))
    return Scene(log=log, code=1, events=events), sorted((first, *others))


def stopped_by_its_agent(chance: Random) -> Scene:
    """Another machine failed, and the agent of this one stopped its ranks one after the other."""
    events = [*_starts(4, 0, 8), *_end_events([(one, -15) for one in range(4)], _LAST)]
    return Scene(log=_lost_peers((1, 3)), code=1, events=events)


def launched_twice(chance: Random) -> Scene:
    """A run of two launches: the first one, with more ranks, ended well."""
    second = [("processes", 0.6, event) for _source, _at, event in _starts(2, 1) if _is_new(event)]
    ends = _ends([(one, 0) for one in range(4)], 4, at=0.5)
    return Scene(log=_lost_peers((0, 1)), code=1, events=[*ends, *second])


def went_on_without_it(chance: Random) -> Scene:
    """A rank was done early; the others trained on for half an hour, and lost another peer."""
    events = [*_starts(4, 0, 8), *_end_events([(3, 0)], 0.5), *_end_events([(0, 1)], _LAST)]
    log = "".join(f"step {step} loss {9 / step:.3f}\n" for step in range(1, 200))
    log += _lost_peers((0, 1)).removeprefix(_STEPS)
    return Scene(cards=[Card()], log=log, code=1, events=events, printed=rising(1.0))


UNCLEAR = (noticed_first, stopped_by_its_agent, launched_twice, went_on_without_it)
"""Runs of which no rank may be named."""


@near_miss("C2", "disk_full")
def ended_one_after_the_other(chance: Random) -> Scene:
    """The other ranks were done; rank 0 saved the last checkpoint and failed."""
    world = chance.choice((2, 4, 8))
    events = _ends([*((one, 0) for one in range(1, world)), (0, 1)], world)
    return Scene(log=_STEPS + _DISK_FULL, code=1, events=events)


@near_miss("C2", "collective")
def all_lost_a_peer_elsewhere(chance: Random) -> Scene:
    """Every rank of this machine lost a peer, which was on another one."""
    world = chance.choice((2, 4, 8))
    events = _ends([(one, 1) for one in range(world)], world)
    return Scene(log=_lost_peers(range(world)), code=1, events=events)


@near_miss("C2", "collective")
def ended_at_once(chance: Random) -> Scene:
    """Two ranks ended at the same moment, before the others noticed."""
    world = chance.choice((4, 8))
    events = _ends([(0, 1)], world)
    ends = [next(_end_events([(one, 0)], _LAST)) for one in (1, 2)]
    log = _lost_peers(range(3, world))
    return Scene(log=log, code=1, events=[*events[:-1], *ends])


@near_miss("C2", "collective")
def ended_before_a_restart(chance: Random) -> Scene:
    """A rank had ended in an earlier attempt of the launcher; this one failed elsewhere."""
    events = _ends([(1, 0)], 2, at=0.5, restarts=1)
    events.sort(key=lambda event: event[1])
    return Scene(log=_lost_peers((0, 1)), code=1, events=events)


@near_miss("C2", "time_limit")
def ranks_of_a_stopped_run(chance: Random) -> Scene:
    """All ranks ended because the run was stopped."""
    events = _ends([(one, -15) for one in range(4)], 4)
    return Scene(events=events, **TIMEOUT)  # type: ignore[arg-type]


@near_miss("C2", "none", family="G1", health="unverifiable")
def ranks_of_a_good_run(chance: Random) -> Scene:
    """The ranks ended one after the other, as always."""
    return Scene(events=_ends([(one, 0) for one in (2, 0, 3, 1)], 4))


@near_miss("C2", "collective", real_s=7)
def lost_peers_alone(_chance: Random) -> Scene:
    """Nothing is known of the processes of the ranks."""
    return Scene(log=_lost_peers((0, 2, 3)), code=1)


@near_miss("C2", "disk_full", real_s=7)
def lost_a_rank_with_a_full_disk(_chance: Random) -> Scene:
    """A rank failed with an own error, and the others lost it."""
    return Scene(log=_STEPS + _DISK_FULL + _lost_peer(1) + _lost_peer(2), code=1)


@near_miss("C2", "collective", real_s=7)
def lost_peers_without_numbers(_chance: Random) -> Scene:
    """The reports do not say of which rank they are."""
    return Scene(log=_STEPS + _lost_peer(1).replace("[rank1]: ", ""), code=1)


@near_miss("C2", "collective", real_s=7)
def timeouts_alone(_chance: Random) -> Scene:
    """Ranks waited until their timeout, and nothing is known of the others."""
    return Scene(log=_STEPS + _timed_out(0) + _timed_out(2), code=1)


@scenario("C2", "collective", real_s=7)
def different_sizes(chance: Random) -> Scene:
    """A message of another size came than a rank expected."""
    received, expected = chance.choice(((28, 16), (4096, 8)))
    whole, _, _reason = _lost_peer(0).partition("[/__w")
    text = (
        f"[enforce fail at pair.cc:456] op.preamble.length <= op.nbytes. {received} vs {expected}\n"
    )
    return Scene(log=f"{_STEPS}{whole}{text}", code=1, attribution="job")


@near_miss("C2", "disk_full", real_s=7)
def noticed_before_the_disk(_chance: Random) -> Scene:
    """The others noticed the loss before the rank had printed its own error."""
    return Scene(log=_STEPS + _lost_peer(1) + _DISK_FULL, code=1)
