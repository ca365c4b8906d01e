"""``python -m tests.collectives``: culprits of 200 simulated stalls, as tables.

Arguments: the number of stalls, and the number of the first one.
"""

from __future__ import annotations

import sys
import time

from tests.collectives.tally import Tally, tally_variants


def main() -> None:
    """Print the tables."""
    given = [int(text) for text in sys.argv[1:3]]
    count, first = (*given, *(200, 0)[len(given) :])
    began = time.monotonic()
    by_fault, by_world = tally_variants(range(first, first + count))
    total = Tally()
    for one in by_fault.values():
        total.add(one)
    by_ranks = {str(world): one for world, one in by_world.items()}
    for heading, tallies in (("fault", by_fault), ("ranks", by_ranks)):
        print(f"| {heading} | runs | culprits named | two that disagree | right | innocent ranks |")
        print("|---|---:|---:|---:|---:|---:|")
        for name, one in tallies.items():
            print(one.format_row(name))
        print(total.format_row("all") + "\n")
    wrong = ", ".join(map(str, total.wrong)) or "none"
    print(f"{time.monotonic() - began:.0f} s; wrong: {wrong}")


if __name__ == "__main__":
    main()
