"""``python -m tests.simulation``: jobs of many ranks with faults, through the real code.

Each variant is a job in virtual time: nodes that renew their digests, a fault, and the senders that
agree on one alert, on a store with the disturbance of the variant.  ``--fault NAME --disturbance
NAME --seed N`` simulates one of them again, and ``--explain`` prints its nodes and the alert.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

from tests.simulation.disturbances import DISTURBANCES
from tests.simulation.explanation import explain
from tests.simulation.faults import FAULTS, OF_MANY_NODES
from tests.simulation.job import RANKS_OF_NODE
from tests.simulation.tables import format_costs, format_failures, format_results, group_results
from tests.simulation.trial import TrialResult, run_trial

_CURVE = (8, 64, 512, 6000)


def list_variants(
    faults: Sequence[str], disturbances: Sequence[str], variants: int, nodes: int
) -> Iterator[tuple[str, str, int, int]]:
    """Yield fault, disturbance, seed and nodes of each variant: the disturbances take turns."""
    for fault in faults:
        if nodes > 1 or fault not in OF_MANY_NODES:
            for seed in range(variants):
                yield fault, disturbances[seed % len(disturbances)], seed, nodes


def run_all(variants: Sequence[tuple[str, str, int, int]], processes: int) -> list[TrialResult]:
    """Return the results of all variants."""
    if processes == 1:
        return [run_trial(*one) for one in variants]
    with ProcessPoolExecutor(processes) as workers:
        return list(workers.map(run_trial, *zip(*variants, strict=True), chunksize=8))


def main() -> int:
    """Print the tables; return 1 where a verdict was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=6000)
    parser.add_argument("--variants", type=int, default=200, help="of each fault")
    parser.add_argument("--fault", action="append", choices=list(FAULTS))
    parser.add_argument("--disturbance", action="append", choices=list(DISTURBANCES))
    parser.add_argument("--seed", type=int, help="only this variant")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--explain", action="store_true", help="print one variant")
    options = parser.parse_args()
    faults = options.fault or list(FAULTS)
    disturbances = options.disturbance or list(DISTURBANCES)
    nodes = max(1, options.ranks // RANKS_OF_NODE)
    if options.explain:
        print(explain(faults[0], disturbances[0], options.seed or 0, nodes))
        return 0
    began = time.monotonic()
    variants = list(list_variants(faults, disturbances, options.variants, nodes))
    if options.seed is not None:
        variants = [(fault, disturbances[0], options.seed, nodes) for fault in faults]
    results = run_all(variants, options.processes)
    print(format_results("fault", group_results(results, lambda one: one.fault)))
    print(format_results("disturbance", group_results(results, lambda one: one.disturbance)))
    print(format_costs(results))
    print(format_failures(results))
    print(f"{len(results)} variants of {nodes} nodes in {time.monotonic() - began:.0f} s")
    return 0 if all(one.is_right for one in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
