"""The stacks of a node in its digest: groups of ranks, with a key that is equal on all nodes."""

from __future__ import annotations

import hashlib

from gpualert_common.jobs.digests.digest import StackGroupDigest
from gpualert_common.jobs.digests.rank_digests import find_rank
from gpualert_common.stacks.description import describe_place, describe_state, shorten_file
from gpualert_common.stacks.dump import Dump
from gpualert_common.stacks.groups import Group, group_processes

MOST_GROUPS = 16
_MOST_FRAMES = 64
_KEY_CHARS = 12


def collect_stacks(dump: Dump, node: int | None) -> tuple[StackGroupDigest, ...]:
    """Return the groups of a dump: those of ranks, or of all processes where none is a rank."""
    groups = group_processes(dump)
    ranked = [group for group in groups if group.is_ranked]
    return tuple(
        StackGroupDigest(
            ranks=_list_ranks(group, node),
            key=make_key(group),
            activity=group.activity,
            place=describe_place(group) if group.own_frame is not None else "",
            waits_for=describe_state(group),
        )
        for group in (ranked or groups)[:MOST_GROUPS]
    )


def make_key(group: Group) -> str:
    """Return the key of a group: of equal code at equal lines, wherever it is installed."""
    places = [
        f"{shorten_file(frame.file)}:{frame.function}:{frame.line}"
        for frame in group.frames[:_MOST_FRAMES]
    ]
    if not places:
        first = group.processes[0]
        wait = first.main.wait
        places = [first.name, wait.kind, wait.place]
    text = "\n".join((group.activity, *places))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_KEY_CHARS]


def _list_ranks(group: Group, node: int | None) -> tuple[int, ...]:
    found = (
        find_rank(one.label, {"local_world_size": one.local_world_size}, node)
        for one in group.processes
    )
    return tuple(sorted({rank for rank in found if rank is not None}))
