"""``python -m tests.collectives``: culprits of 200 simulated stalls, as a table."""

from __future__ import annotations

import sys
import time

from tests.collectives.tally import Tally, tally_variants


def main() -> None:
    """Print the table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    began = time.monotonic()
    tallies = tally_variants(range(count))
    total = Tally()
    print("| fault | runs | culprits right | not decided | innocent ranks named |")
    print("|---|---:|---:|---:|---:|")
    for fault, one in tallies.items():
        print(one.format_row(fault))
        total.add(one)
    print(total.format_row("all"))
    print(
        f"\n{time.monotonic() - began:.0f} s; wrong: {', '.join(map(str, total.wrong)) or 'none'}"
    )


if __name__ == "__main__":
    main()
