"""Failures of the DAGs in a period: by cause, by DAG, and one page of the task instances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from gpualert_common.structs import Struct
from gpualert_provider.web.task_verdicts import TaskVerdict

PAGE_ROWS = 50


class FailureFilter(Struct, frozen=True):
    """The part of the failures that is listed; "" for all causes or DAGs."""

    cause: str = ""
    dag_id: str = ""
    page: int = 1

    def accepts(self, verdict: TaskVerdict) -> bool:
        """Return True for a failure that is listed."""
        return (
            verdict.is_failed
            and self.cause in ("", verdict.cause)
            and self.dag_id in ("", verdict.task.dag_id)
        )


class FailureGroup(Struct, frozen=True):
    """Task instances of one cause or one DAG.  ``most`` is its most frequent DAG or cause.

    ``others`` counts the further ones; ``share`` is the part of all wasted GPU time, or of all
    failures if no GPU time was wasted, from 0 to 1.
    """

    name: str
    runs: int
    failures: int
    gpu_seconds: float
    wasted_gpu_seconds: float
    attribution: str
    most: str
    others: int
    share: float = 0.0


class FailureSummary(Struct, frozen=True):
    """All that the page shows of a period."""

    total: FailureGroup
    causes: tuple[FailureGroup, ...]
    dags: tuple[FailureGroup, ...]
    listed: tuple[TaskVerdict, ...]
    matches: int
    page: int
    pages: int


def summarize(verdicts: Iterable[TaskVerdict], chosen: FailureFilter) -> FailureSummary:
    """Return the summary of verdicts, which come newest first."""
    found = list(verdicts)
    total = _make_group("all", found, [one.cause for one in found])
    causes = _group(
        [one for one in found if one.is_failed],
        [one.cause for one in found if one.is_failed],
        [one.task.dag_id for one in found if one.is_failed],
        total,
    )
    dags = _group(found, [one.task.dag_id for one in found], [one.cause for one in found], total)
    matches = [one for one in found if chosen.accepts(one)]
    pages = max(1, -(-len(matches) // PAGE_ROWS))
    page = min(max(1, chosen.page), pages)
    return FailureSummary(
        total=total,
        causes=tuple(causes),
        dags=tuple(one for one in dags if one.failures),
        listed=tuple(matches[(page - 1) * PAGE_ROWS : page * PAGE_ROWS]),
        matches=len(matches),
        page=page,
        pages=pages,
    )


def _group(
    verdicts: Sequence[TaskVerdict],
    names: Sequence[str],
    members: Sequence[str],
    total: FailureGroup,
) -> list[FailureGroup]:
    """Return a group for each name, the most expensive first."""
    parts: dict[str, tuple[list[TaskVerdict], list[str]]] = {}
    for verdict, name, member in zip(verdicts, names, members, strict=True):
        part = parts.setdefault(name, ([], []))
        part[0].append(verdict)
        part[1].append(member)
    groups = [_make_group(name, *part, total=total) for name, part in parts.items()]
    return sorted(groups, key=lambda one: (-one.wasted_gpu_seconds, -one.failures, one.name))


def _make_group(
    name: str,
    verdicts: Sequence[TaskVerdict],
    members: Sequence[str],
    total: FailureGroup | None = None,
) -> FailureGroup:
    failed = [one for one in verdicts if one.is_failed]
    counts = Counter(
        member for one, member in zip(verdicts, members, strict=True) if one.is_failed
    ).most_common()
    attributions = Counter(one.attribution for one in failed).most_common(1)
    wasted = sum(one.wasted_gpu_seconds for one in failed)
    share = 0.0
    if total is not None:
        all_wasted, all_failed = total.wasted_gpu_seconds, total.failures
        share = wasted / all_wasted if all_wasted else len(failed) / all_failed if all_failed else 0
    return FailureGroup(
        name=name,
        runs=len(verdicts),
        failures=len(failed),
        gpu_seconds=sum(one.gpu_seconds for one in verdicts),
        wasted_gpu_seconds=wasted,
        attribution=attributions[0][0] if attributions else "",
        most=counts[0][0] if counts else "",
        others=max(0, len(counts) - 1),
        share=share,
    )
