"""``python -m tests.simulation``: jobs of many ranks with faults, through the real code.

Each variant is a job in virtual time: nodes that renew their digests, a fault, and the senders that
agree on one alert, on a store with the disturbance of the variant.  ``--fault NAME --disturbance
NAME --seed N`` simulates one of them again, and ``--explain`` prints its nodes and its alerts.
``--curve`` adds smaller jobs.  ``--real`` runs the nodes as real processes on a real directory, a
few variants of each fault, with at most 64 nodes.  ``--page`` writes docs/job-scale.md.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path

from tests.simulation.curve import CurvePoint, format_curve, measure_point
from tests.simulation.disturbances import DISTURBANCES
from tests.simulation.explanation import explain
from tests.simulation.faults import FAULTS, OF_MANY_NODES
from tests.simulation.job import RANKS_OF_NODE
from tests.simulation.page import write_block
from tests.simulation.real_processes import REAL_DISTURBANCES, run_real_trial
from tests.simulation.tables import format_costs, format_failures, format_results, group_results
from tests.simulation.trial import TrialResult, run_trial

Variant = tuple[str, str, int, int]
"""Fault, disturbance, seed, and number of nodes."""
_SMALLER = (8, 64, 512)
_MOST_REAL_NODES = 64


def list_variants(
    faults: Sequence[str], disturbances: Sequence[str], variants: int, nodes: int
) -> list[Variant]:
    """Return all variants, those with the same seed together: the disturbances take turns."""
    return [
        (fault, disturbances[seed % len(disturbances)], seed, nodes)
        for seed in range(variants)
        for fault in faults
        if nodes > 1 or fault not in OF_MANY_NODES
    ]


def run_all(variants: Sequence[Variant], processes: int, kept: Path | None) -> list[TrialResult]:
    """Return the results of all variants; those in the file *kept* are not simulated again."""
    found: dict[Variant, TrialResult] = {}
    if kept is not None and kept.exists():
        for line in kept.read_text().splitlines():
            one = TrialResult(**json.loads(line))
            found[one.fault, one.disturbance, one.seed, one.nodes] = one
    missing = [one for one in variants if one not in found]
    with ProcessPoolExecutor(processes) as workers:
        for variant, one in zip(missing, workers.map(run_variant, missing), strict=True):
            found[variant] = one
            if kept is not None:
                with kept.open("a") as file:
                    file.write(json.dumps(asdict(one)) + "\n")
    return [found[one] for one in variants]


def run_variant(variant: Variant) -> TrialResult:
    """Return the result of one variant; the search for cycles would take a fifth of its time."""
    gc.disable()
    try:
        return run_trial(*variant)
    finally:
        gc.enable()
        gc.collect()


def format_all(results: Sequence[TrialResult]) -> str:
    """Return the tables of the results at one size."""
    return "\n".join(
        (
            format_results("fault", group_results(results, lambda one: one.fault)),
            format_results("disturbance", group_results(results, lambda one: one.disturbance)),
            format_costs(results),
        )
    )


def run_real(faults: Sequence[str], variants: int, nodes: int, speed: float) -> list[TrialResult]:
    """Return the results of variants with real processes, one after the other."""
    nodes = min(nodes, _MOST_REAL_NODES)
    chosen = list_variants(faults, REAL_DISTURBANCES, variants, nodes)
    return [run_real_trial(*one, speed) for one in chosen]


def main() -> int:
    """Print the tables; return 1 where a verdict was wrong."""
    options = _parse()
    nodes = max(1, options.ranks // RANKS_OF_NODE)
    faults = options.fault or list(FAULTS)
    disturbances = options.disturbance or list(DISTURBANCES)
    if options.explain:
        print(explain(faults[0], disturbances[0], options.seed or 0, nodes))
        return 0
    began = time.monotonic()
    if options.real:
        results = run_real(faults, options.real, nodes, options.speed)
    elif options.seed is not None:
        results = [run_trial(one, disturbances[0], options.seed, nodes) for one in faults]
    else:
        variants = list_variants(faults, disturbances, options.variants, nodes)
        results = run_all(variants, options.processes, options.results)
    tables, failures = format_all(results), format_failures(results)
    print(tables, failures, sep="\n")
    points: list[CurvePoint] = []
    if options.curve:
        for ranks in (*(one for one in _SMALLER if one < options.ranks), options.ranks):
            size = max(1, ranks // RANKS_OF_NODE)
            same = ranks == options.ranks
            variants = list_variants(faults, disturbances, options.variants, size)
            found = results if same else run_all(variants, options.processes, options.results)
            points.append(measure_point(ranks, size, found))
        print(format_curve(points))
    if options.json:
        Path(options.json).write_text(json.dumps([one.to_json() for one in points], indent=1))
    if options.page:
        wrong = f"Wrong variants:\n\n```text\n{failures or 'none'}\n```\n"
        head = f"{options.ranks} ranks on {nodes} nodes, {options.variants} variants of each fault."
        write_block("results", f"{head}\n\n{tables}\n{wrong}")
        write_block("curve", format_curve(points))
    print(f"{len(results)} variants of {nodes} nodes in {time.monotonic() - began:.0f} s")
    return 0 if all(one.is_right for one in results) else 1


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=6000)
    parser.add_argument("--variants", type=int, default=200, help="of each fault")
    parser.add_argument("--fault", action="append", choices=list(FAULTS))
    parser.add_argument("--disturbance", action="append", choices=list(DISTURBANCES))
    parser.add_argument("--seed", type=int, help="only this variant")
    parser.add_argument("--processes", type=int, default=1, help="that simulate at once")
    parser.add_argument("--results", type=Path, help="keep them here, and go on from there")
    parser.add_argument("--explain", action="store_true", help="print one variant")
    parser.add_argument("--real", type=int, default=0, help="real variants of each fault")
    parser.add_argument("--speed", type=float, default=20.0, help="of the time of real processes")
    parser.add_argument("--curve", action="store_true", help="smaller jobs, too")
    parser.add_argument("--json", help="write the points of the curve to this file")
    parser.add_argument("--page", action="store_true", help="write docs/job-scale.md")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
