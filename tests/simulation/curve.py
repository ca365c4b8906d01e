"""Costs of a job by its size: one row for each number of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from tests.simulation.merging_cost import MergingCost, measure_merging
from tests.simulation.tables import MOST_VERDICT_S
from tests.simulation.trial import TrialResult, plan_job, simulate

_LARGEST = ("hang", "none", 0)
"""The variant whose digests are the largest: all nodes have stacks and collectives."""


@dataclass(frozen=True)
class CurvePoint:
    """Results and costs at one size."""

    ranks: int
    nodes: int
    variants: int
    culprit_right: float
    one_alert: float
    after_last_s: float
    within_limit: float
    renewals_per_minute: float
    requests_to_leave: float
    owner_per_minute: float
    digest_bytes: float
    merging: MergingCost

    def to_json(self) -> dict[str, object]:
        """Return it for a file."""
        return asdict(self)


def measure_point(ranks: int, nodes: int, results: Sequence[TrialResult]) -> CurvePoint:
    """Return the results at one size, with the costs of merging its largest digests."""
    job = plan_job(*_LARGEST, nodes)
    outcome, place = simulate(job)
    merging = measure_merging(place, job.key, max(outcome.published))
    waited = sorted(one.verdict_s for one in results if one.alerts and not one.is_early)
    return CurvePoint(
        ranks=ranks,
        nodes=nodes,
        variants=len(results),
        culprit_right=_mean([one.has_culprit for one in results]),
        one_alert=_mean([one.has_one_alert for one in results]),
        after_last_s=waited[int(0.95 * (len(waited) - 1))] if waited else 0.0,
        within_limit=_mean([one <= MOST_VERDICT_S for one in waited]),
        renewals_per_minute=_mean([one.renewals_per_minute for one in results]),
        requests_to_leave=_mean([one.waits for one in results if one.waits]),
        owner_per_minute=_mean([one.owner_per_minute for one in results if one.owner_per_minute]),
        digest_bytes=_mean([one.digest_bytes for one in results if one.digest_bytes]),
        merging=merging,
    )


def format_curve(points: Sequence[CurvePoint]) -> str:
    """Return a table with a row for each size."""
    head = (
        "| ranks | nodes | variants | culprit right | one alert | seconds after the last digest,"
        " 95 % | within 5 s | renewals of a node in a minute | requests of a node at its end"
        " | requests of the owner in a minute | stored digest, largest | merging all of them:"
        " CPU | peak memory, of that the program |"
    )
    lines = [head, f"|{'---:|' * 13}"]
    for one in points:
        cost = one.merging
        cells = [
            str(one.ranks),
            str(one.nodes),
            str(one.variants),
            f"{100 * one.culprit_right:.1f} %",
            f"{100 * one.one_alert:.1f} %",
            f"{one.after_last_s:.1f}",
            f"{100 * one.within_limit:.1f} %",
            f"{one.renewals_per_minute:.1f}",
            f"{one.requests_to_leave:.0f}",
            f"{one.owner_per_minute:.0f}",
            f"{cost.stored_bytes / cost.digests / 1024:.1f} KB",
            f"{cost.cpu_s:.2f} s",
            f"{cost.peak_mb:.0f} MB, {cost.base_mb:.0f} MB",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
