"""``python -m tests.benchmarks``: our speed, next to the limits and the paper's tool."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks import (
    alert,
    ending,
    flood,
    guardian,
    launch,
    listing,
    observing,
    redact,
    restraint,
    scan,
    start,
)
from tests.benchmarks.bench import PEER, Bench, prepared
from tests.benchmarks.measure import Row, text_of

ROWS: dict[str, Callable[[Bench], Row]] = {
    "launch": launch.measure,
    "start": start.measure,
    "blocks": flood.measure_blocks,
    "lines": flood.measure_lines,
    "paced": ending.measure_paced,
    "live": ending.measure_live,
    "flat-out": ending.measure_flat_out,
    "endless-line": restraint.measure_endless_line,
    "idle": restraint.measure_idle,
    "guardian": guardian.measure_start,
    "follower": guardian.measure_follower,
    "followed": guardian.measure_followed,
    "scan": scan.measure,
    "dense": scan.measure_dense,
    "redact": redact.measure,
    "alert": alert.measure,
    "observe": observing.measure,
    "telemetry": observing.measure_telemetry,
    "listing": listing.measure,
}


def main() -> int:
    """Measure, print and store; return 1 if a limit is exceeded (never in quick mode)."""
    options = _parser().parse_args()
    rows = []
    with prepared(quick=options.quick, with_peer=not options.no_peer) as bench:
        for name in options.rows or ROWS:
            rows.append(ROWS[name](bench))
            print(text_of(rows[-1]) + "\n", flush=True)
            bench.sync_disk()
    limits = [limit for row in rows for limit in row.limits]
    missed = sum(not limit.met for limit in limits)
    print(f"{len(limits) - missed} of {len(limits)} promises kept; peer is {PEER}")
    if options.json is not None:
        content = {"schema": 1, "quick": options.quick, "machine": _machine(), "peer": PEER}
        content["rows"] = [row.to_json() for row in rows]
        options.json.write_text(json.dumps(content, indent=1) + "\n")
    return 1 if missed and not options.quick else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}; all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="store the figures too")
    parser.add_argument("--no-peer", action="store_true", help="leave the paper's tool out")
    parser.add_argument("--quick", action="store_true", help="only see that every row works")
    return parser


def _machine() -> dict[str, object]:
    return {
        "kernel": platform.release(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "load": os.getloadavg(),
    }


if __name__ == "__main__":
    sys.exit(main())
