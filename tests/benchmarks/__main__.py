"""``python -m tests.benchmarks``: our speed, next to the limits and the paper's tool."""

from __future__ import annotations

import argparse
import sys
import traceback
from pathlib import Path

from tests.benchmarks.bench import PEER, Bench, prepared
from tests.benchmarks.figures import KEPT, Figures, find_losses, read_figures, stamp, write_figures
from tests.benchmarks.measure import Row, UnmeasuredError, text_of
from tests.benchmarks.rows import CORE, ROWS


def main() -> int:
    """Measure, print and store; return 1 if a limit is missed (a ratio, with ``--compare``)."""
    options = _parse()
    kept = read_figures(options.kept)
    figures: Figures = {}
    losses: list[str] = []
    with prepared(quick=options.quick, with_peer=not options.no_peer) as bench:
        for name in options.rows or (CORE if options.quick else ROWS):
            row = _measure(bench, name)
            figures[name] = stamp(row)
            if options.compare and name in kept:
                losses += _confirm_losses(bench, name, kept[name].row, row)
            if options.json is not None:
                write_figures(options.json, figures)
            if options.keep:
                write_figures(options.kept, kept | figures)
    limits = [limit for measurement in figures.values() for limit in measurement.row.limits]
    met = sum(limit.met for limit in limits)
    print(f"{met} of {len(limits)} limits kept; peer is {PEER}")
    if options.compare:
        print("\n".join(losses) or "no ratio is more than twice as bad as the kept one")
        return 1 if losses else 0
    return 1 if met < len(limits) and not options.quick else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}; all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="store the figures too")
    parser.add_argument("--keep", action="store_true", help="keep the figures of these rows")
    parser.add_argument(
        "--compare",
        action="store_true",
        help="fail only if a ratio is more than twice as bad as the kept one",
    )
    parser.add_argument(
        "--kept", type=Path, metavar="FILE", default=KEPT, help=f"the kept figures; {KEPT.name}"
    )
    parser.add_argument("--no-peer", action="store_true", help="leave the paper's tool out")
    parser.add_argument("--quick", action="store_true", help="only see that every row works")
    options = parser.parse_args()
    if unknown := [name for name in options.rows if name not in ROWS]:
        parser.error(f"no such row: {', '.join(unknown)}")
    if options.keep and (options.quick or options.no_peer):
        parser.error("figures that are kept are whole ones: without --quick and --no-peer")
    return options


def _measure(bench: Bench, name: str) -> Row:
    """Return the row and print it; the failure of one does not cost the others."""
    try:
        row = ROWS[name](bench)
    except UnmeasuredError as error:
        row = _failed(name, str(error))
    except Exception as error:  # whatever a benchmark meets: the table says so, and goes on
        if bench.quick:
            raise
        traceback.print_exc()
        row = _failed(name, f"the benchmark failed with {type(error).__name__}")
    print(f"{name}: {text_of(row)}\n", flush=True)
    bench.sync_disk()
    return row


def _failed(name: str, why: str) -> Row:
    row = Row(f"benchmark {name}")
    row.miss("all of it", why)
    return row


def _confirm_losses(bench: Bench, name: str, kept: Row, row: Row) -> list[str]:
    """Return the losses since the kept figures; a row that lost is measured again first."""
    losses = find_losses(kept, row)
    if losses:
        again = find_losses(kept, _measure(bench, name))
        losses = {what: text for what, text in again.items() if what in losses}
    return [f"LOST  {name}: {what}: {text}" for what, text in losses.items()]


if __name__ == "__main__":
    sys.exit(main())
