"""Nodes of Slurm that failed: the events of the accounting, and the states of the controller."""

from __future__ import annotations

from collections.abc import Iterable

from gpualert_common.slurm.commands import DEADLINE_S, run_command
from gpualert_common.slurm.fields import clean_text, format_time, parse_time
from gpualert_common.structs import Struct

_EVENT_FIELDS = "NodeName,Start,End,State,User,Reason"
_STATE_FORMAT = "%N|%T|%H|%u|%E"
_MOST_NODES = 64
_SILENT = "*"
"""Ends the state of a node that does not answer its controller."""
_LOST = ("DOWN", "UNKNOWN", "NO_RESPOND")
"""Beginnings of the states of a node that no job can use any more.  FAIL and FAILING are none: the
node still runs its jobs, and is only expected to fail."""


class NodeEvent(Struct, frozen=True):
    """A node that left service: its state, when, the reason, and who set it.

    The reason and the user are texts of people.
    """

    node: str
    state: str
    at: float | None = None
    until: float | None = None
    reason: str = ""
    user: str = ""

    @property
    def is_lost(self) -> bool:
        """True for a node that failed or does not answer; a drained one still runs its jobs."""
        return self.state.endswith(_SILENT) or self.state.upper().startswith(_LOST)


def read_node_events(
    nodes: str, since: float, *, cluster: str | None = None, deadline_s: float = DEADLINE_S
) -> list[NodeEvent]:
    """Return the events of nodes since a time, by the accounting.  Raises SlurmError."""
    asked = [f"nodes={nodes}", f"start={format_time(since)}", f"format={_EVENT_FIELDS}"]
    if cluster:
        asked.append(f"clusters={cluster}")
    options = ("--noheader", "--parsable2", "--readonly", "show", "event")
    output = run_command("sacctmgr", *options, *asked, deadline_s=deadline_s)
    return parse_node_events(output.splitlines())


def parse_node_events(lines: Iterable[str]) -> list[NodeEvent]:
    """Return the events from the lines of ``sacctmgr``; the reason may contain anything."""
    found = []
    for line in list(lines)[:_MOST_NODES]:
        words = line.split("|", 5)
        if len(words) == 6 and words[0]:
            node, start, end, state, user, reason = map(clean_text, words)
            found.append(NodeEvent(node, state, parse_time(start), parse_time(end), reason, user))
    return found


def read_node_states(nodes: str, *, deadline_s: float = DEADLINE_S) -> list[NodeEvent]:
    """Return the present state of nodes by the controller, each node once.  Raises SlurmError."""
    options = ("--all", "--noheader", "--Node", f"--nodes={nodes}", f"--format={_STATE_FORMAT}")
    output = run_command("sinfo", *options, deadline_s=deadline_s)
    return parse_node_states(output.splitlines())


def parse_node_states(lines: Iterable[str]) -> list[NodeEvent]:
    """Return the states from the lines of ``sinfo``, which repeats a node for each partition."""
    found: dict[str, NodeEvent] = {}
    for line in lines:
        words = line.split("|", 4)
        if len(words) == 5 and words[0] and len(found) < _MOST_NODES:
            node, state, at, user, reason = map(clean_text, words)
            found.setdefault(node, NodeEvent(node, state, parse_time(at), None, reason, user))
    return list(found.values())
