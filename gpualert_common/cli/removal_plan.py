"""Plan of a removal: the runs that go and those that stay, shown before anything is removed."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable

from gpualert_common.cli import printing
from gpualert_common.cli.run_table import format_condition, format_name, format_start
from gpualert_common.errors import GPUAlertError, RecordError, UsageError
from gpualert_common.listing.condition import choose_condition_tone
from gpualert_common.listing.run_summary import RunSummary
from gpualert_common.printable_text import make_printable
from gpualert_common.record import Record
from gpualert_common.removal import empty_trash, find_obstacle, measure_size, remove_record
from gpualert_common.report import terminal
from gpualert_common.report.colours import has_colours
from gpualert_common.report.formatting import size
from gpualert_common.report.tables import Column, format_table
from gpualert_common.spec import SCHEMA
from gpualert_common.structs import Struct, field

_STDOUT = 1
_MOST_ROWS = 20
_LEAST_COLUMNS = 40
_PIPED = 160


def add_removal_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command that removes records."""
    parser.add_argument(
        "-y",
        "--yes",
        action="store_true",
        help="remove without a question; without a terminal nothing is removed otherwise",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="also remove runs with an alert that is not delivered, or a result that no task has "
        "taken; never runs that have not ended",
    )


class RemovalPlan(Struct):
    """Runs to remove, with their sizes, and runs to keep, with the reasons."""

    removable: list[tuple[RunSummary, int]] = field(default_factory=list)
    kept: list[tuple[RunSummary, str]] = field(default_factory=list)
    force: bool = False

    @classmethod
    def of(cls, runs: Iterable[RunSummary], *, force: bool) -> RemovalPlan:
        """Return the plan for these runs; nothing is changed."""
        plan = cls(force=force)
        for run in runs:
            try:
                record = Record.open(run.path)
            except RecordError as error:
                plan.kept.append((run, str(error)))
                continue
            obstacle = find_obstacle(record, force=force)
            if obstacle:
                plan.kept.append((run, obstacle))
            else:
                plan.removable.append((run, measure_size(record)))
            record.close()
        return plan

    @property
    def total(self) -> str:
        """Number of the runs to remove, and the disk space that they take."""
        count = len(self.removable)
        space = size(sum(taken for _run, taken in self.removable))
        return f"{count} run{'s' if count != 1 else ''}, {space}"

    def carry_out(self) -> list[str]:
        """Remove the runs; return the ids of those that are gone.  The others are kept."""
        gone = []
        for run, _size in self.removable:
            try:
                record = Record.open(run.path)
                try:
                    remove_record(record, force=self.force)
                finally:
                    record.close()
            except (GPUAlertError, OSError) as error:
                self.kept.append((run, str(error)))
                continue
            gone.append(run.run_id)
        return gone


def execute_plan(
    plan: RemovalPlan,
    options: argparse.Namespace,
    places: Iterable[str],
    forget: Callable[[list[str]], None] = lambda _gone: None,
) -> list[str]:
    """Show the plan, and carry it out if the user agrees; return the ids of the removed runs.

    ``forget`` gets these ids.  Records of an interrupted removal are deleted first.
    """
    if not options.json:
        _show(plan)
    agreed = options.yes or (not options.json and bool(plan.removable) and _ask(plan))
    gone = []
    if agreed:
        for place in places:
            empty_trash(place)
        planned = len(plan.kept)
        gone = plan.carry_out()
        forget(gone)
        if not options.json:
            _show_kept(plan.kept[planned:])
            printing.print_lines(f"removed {len(gone)} run{'s' if len(gone) != 1 else ''}")
    if options.json:
        printing.print_json(_to_json(plan, gone))
    return gone


def _show(plan: RemovalPlan) -> None:
    colours = has_colours(_STDOUT)
    now = time.time()
    rows = plan.removable[:_MOST_ROWS]
    runs = [run for run, _size in rows]
    if rows:
        columns = [
            Column("RUN", [make_printable(run.run_id) for run in runs]),
            Column("NAME", [format_name(run) for run in runs], rank=2, least=12),
            Column(
                "STATE",
                [format_condition(run) for run in runs],
                rank=1,
                least=9,
                colours=[
                    terminal.TONES[choose_condition_tone(run.condition)] if colours else ""
                    for run in runs
                ],
            ),
            Column("STARTED", [format_start(run.started_at, now) for run in runs], rank=3),
            Column("SIZE", [size(taken) for _run, taken in rows], is_right=True),
        ]
        width = max(_LEAST_COLUMNS, printing.terminal_columns(_PIPED))
        title_colour = terminal.TITLE if colours else ""
        table = format_table(columns, width, title_colour=title_colour)
        printing.print_lines(*table, colours=colours)
        more = len(plan.removable) - len(rows)
        printing.print_lines(*([f"and {more} more"] if more else []), f"to remove: {plan.total}")
    else:
        printing.print_notes("no run to remove")
    _show_kept(plan.kept)


def _show_kept(kept: Iterable[tuple[RunSummary, str]]) -> None:
    for run, reason in kept:
        printing.print_notes(f"gpualert: {run.run_id} is kept: {reason}")


def _ask(plan: RemovalPlan) -> bool:
    """Return whether a person at the terminal agrees; without a terminal nobody does."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        printing.print_notes("nothing is removed; to remove: --yes")
        return False
    what = "this run" if len(plan.removable) == 1 else f"these {len(plan.removable)} runs"
    sys.stderr.write(f"Remove {what}? [y/N] ")
    sys.stderr.flush()
    agreed = sys.stdin.readline().strip().lower() in ("y", "yes")
    if not agreed:
        printing.print_notes("nothing is removed")
    return agreed


def _to_json(plan: RemovalPlan, gone: list[str]) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "removable": [
            {"run_id": run.run_id, "path": run.path, "bytes": taken}
            for run, taken in plan.removable
        ],
        "kept": [{"run_id": run.run_id, "because": reason} for run, reason in plan.kept],
        "removed": gone,
    }


def require_place(record: Record, places: Iterable[str]) -> None:
    """Raise UsageError for a record that is in no state directory of this call."""
    runs = os.path.dirname(os.path.realpath(record.path))
    if runs not in [os.path.join(place, "runs") for place in places]:
        raise UsageError(
            f"{record.path} is not in a state directory of this call; name its state directory "
            "with --state-dir"
        )
