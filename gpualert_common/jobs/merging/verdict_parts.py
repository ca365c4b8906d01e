"""Parts of the verdict of a job, as its cases describe them, and words that they share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from gpualert_common.classify.details import Scalar
from gpualert_common.jobs.merging.failures import Failure, FailureKind
from gpualert_common.jobs.merging.job_nodes import JobNode
from gpualert_common.jobs.merging.node_names import fold_names
from gpualert_common.jobs.merging.node_run import NodeRun
from gpualert_common.model import Attribution, Claim, Disposition, Retry, SecondaryCause
from gpualert_common.report.formatting import duration
from gpualert_common.structs import Struct, field

_MOST_CAUSES = 8


class JobVerdictParts(Struct, frozen=True):
    """The parts of a verdict that depend on the case.

    ``run`` is that of the culprit, ``culprits`` are the nodes at fault, ``same`` the titles of
    those with the same cause.  ``lost_ranks`` are the ranks that the others lost.
    """

    headline: str
    cause: str
    disposition: Disposition = Disposition.FAILED
    attribution: Attribution = Attribution.UNKNOWN
    retry: Retry = Retry.SAME
    confidence: float = 0.5
    family: str | None = None
    fault_class: str | None = None
    paper_class: str | None = None
    run: NodeRun | None = None
    rank: int | None = None
    culprits: tuple[JobNode, ...] = ()
    same: frozenset[str] = frozenset()
    lost_ranks: tuple[int, ...] = ()
    details: dict[str, Scalar] = field(default_factory=dict)
    shows: tuple[Claim, ...] = ()
    implies: str = ""
    cannot_decide: tuple[str, ...] = ()
    do: tuple[str, ...] = ()
    secondary: tuple[SecondaryCause, ...] = ()


def count_nodes_in_words(number: int, which: str = "") -> str:
    """Return "1 node", "8 nodes", or with a word between, as in "7 more nodes"."""
    return f"{number} {which}{' ' if which else ''}node{'' if number == 1 else 's'}"


def describe_end(failure: Failure) -> str:
    """Return the failure of a run without a verdict in words: its cause, or the end of a rank."""
    code = next((one.code for one in failure.run.ranks if one.rank == failure.rank), None)
    if code is None or not (failure.is_unexplained or failure.kind is FailureKind.KILLED):
        return failure.cause.replace("_", " ").capitalize()
    how = f"with exit status {code}" if code > 0 else f"by signal {-code}"
    return f"Rank {failure.rank} ended {how}"


def describe_lead(seconds: float, error_s: float) -> str:
    """Return the time between two events of different nodes, such as "0.8 s later"."""
    if abs(seconds) <= error_s:
        return "at the same time"
    return f"{duration(abs(seconds))} {'later' if seconds > 0 else 'earlier'}"


def list_other_causes(
    failures: Iterable[Failure], nodes: Sequence[JobNode], first: Failure | None
) -> tuple[SecondaryCause, ...]:
    """Return each cause that other nodes have, with their names and the first time."""
    titles = {node.runs[0].place: node.title for node in nodes}
    by_cause: dict[str, list[Failure]] = defaultdict(list)
    for one in failures:
        by_cause[one.cause].append(one)
    found = []
    for cause, some in sorted(by_cause.items(), key=lambda one: min(f.at for f in one[1])):
        names = fold_names(dict.fromkeys(titles[one.run.place] for one in some))
        earliest = min(some, key=lambda one: one.at)
        when = ""
        if first is not None:
            error_s = earliest.error_s + first.error_s
            when = f", {describe_lead(earliest.at - first.at, error_s)}"
        found.append(SecondaryCause(cause, f"on {names}{when}"))
    return tuple(found[:_MOST_CAUSES])
