"""Tables of the results of simulated jobs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from gpualert_common.median import median
from tests.simulation.trial import TrialResult

MOST_VERDICT_S = 5.0
"""Time from the last digest to the verdict that a job may take."""


def group_results(
    results: Iterable[TrialResult], key: Callable[[TrialResult], str]
) -> Mapping[str, list[TrialResult]]:
    """Return the results by a key, in the order of their first ones."""
    found: dict[str, list[TrialResult]] = defaultdict(list)
    for one in results:
        found[key(one)].append(one)
    return found


def format_results(heading: str, groups: Mapping[str, Sequence[TrialResult]]) -> str:
    """Return a table with a row for each group, and one for all.

    The times are those of the variants whose alert waited for all digests.
    """
    head = (
        f"| {heading} | variants | culprit right | cause right | exactly one alert | none | several"
        " | before the last digest | seconds after it, median | 95 % | most | within 5 s |"
    )
    lines = [head, f"|---|{'---:|' * 11}"]
    rows = dict(groups)
    if len(groups) > 1:
        rows["all"] = [one for group in groups.values() for one in group]
    for name, group in rows.items():
        waited = [one for one in group if not one.is_early and one.alerts]
        times = sorted(one.verdict_s for one in waited)
        cells = [
            str(len(group)),
            _share(group, lambda one: one.has_culprit),
            _share(group, lambda one: one.has_cause),
            _share(group, lambda one: one.has_one_alert),
            str(sum(one.alerts == 0 for one in group)),
            str(sum(one.alerts > 1 for one in group)),
            _share(group, lambda one: one.is_early),
            f"{median(times):.1f}" if times else "",
            f"{times[math.ceil(0.95 * len(times)) - 1]:.1f}" if times else "",
            f"{times[-1]:.1f}" if times else "",
            _share(waited, lambda one: one.verdict_s <= MOST_VERDICT_S),
        ]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def format_failures(results: Iterable[TrialResult], most: int = 200) -> str:
    """Return a line for each wrong result, with the arguments that simulate it again."""
    wrong = [one for one in results if not one.is_right]
    lines = [
        f"--fault {one.fault} --disturbance {one.disturbance} --seed {one.seed}: {one.alerts}"
        f" alerts; {one.answer}; truth: {one.truth}"
        for one in wrong[:most]
    ]
    return "\n".join(lines)


def format_costs(results: Sequence[TrialResult]) -> str:
    """Return requests and sizes as one line."""
    return (
        f"requests of a node in a minute: {_mean(results, 'renewals_per_minute'):.1f} while it"
        f" runs; {_mean(results, 'waits'):.0f} in all from its end until another node has sent the"
        f" alert; {_mean(results, 'owner_per_minute'):.0f} in a minute by the owner;"
        f" {_mean(results, 'digest_bytes'):.0f} bytes a digest;"
        f" {_mean(results, 'cpu_s'):.2f} s of CPU for a variant\n"
    )


def _mean(results: Sequence[TrialResult], name: str) -> float:
    values = [float(getattr(one, name)) for one in results]
    values = [one for one in values if one]
    return sum(values) / len(values) if values else 0.0


def _share(group: Sequence[TrialResult], is_good: Callable[[TrialResult], bool]) -> str:
    if not group:
        return ""
    good = sum(map(is_good, group))
    return "100 %" if good == len(group) else f"{100 * good / len(group):.1f} %"
