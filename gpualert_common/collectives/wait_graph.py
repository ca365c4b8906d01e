"""Graph of waits: from each waiting node to those that it waits for."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def find_ends(edges: Mapping[Node, Sequence[Node]]) -> list[tuple[Node, ...]]:
    """Return the ends of all chains: nodes that wait for none, and circles that nothing leaves."""
    component: dict[Node, int] = {}
    members: list[tuple[Node, ...]] = []
    for nodes in _list_components(edges):
        component |= dict.fromkeys(nodes, len(members))
        members.append(nodes)
    ends = []
    for number, nodes in enumerate(members):
        targets = {component[to] for node in nodes for to in edges.get(node, ())}
        if targets <= {number}:
            ends.append(nodes)
    return ends


def find_sources(edges: Mapping[Node, Sequence[Node]], targets: Iterable[Node]) -> set[Node]:
    """Return all nodes that wait for one of *targets*, directly or not, and the targets."""
    backwards: dict[Node, list[Node]] = {}
    for node, found in edges.items():
        for to in found:
            backwards.setdefault(to, []).append(node)
    reached, pending = set(targets), list(targets)
    while pending:
        for node in backwards.get(pending.pop(), ()):
            if node not in reached:
                reached.add(node)
                pending.append(node)
    return reached


def _list_components(edges: Mapping[Node, Sequence[Node]]) -> list[tuple[Node, ...]]:
    """Return the strongly connected components, by Tarjan's algorithm without recursion."""
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    stack: list[Node] = []
    on_stack: set[Node] = set()
    found: list[tuple[Node, ...]] = []
    for root in edges:
        if root in index:
            continue
        work = [(root, iter(edges.get(root, ())))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, targets = work[-1]
            for to in targets:
                if to not in index:
                    index[to] = low[to] = len(index)
                    stack.append(to)
                    on_stack.add(to)
                    work.append((to, iter(edges.get(to, ()))))
                    break
                if to in on_stack:
                    low[node] = min(low[node], index[to])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[node])
                if low[node] == index[node]:
                    cut = stack.index(node)
                    found.append(tuple(stack[cut:]))
                    on_stack.difference_update(stack[cut:])
                    del stack[cut:]
    return found
