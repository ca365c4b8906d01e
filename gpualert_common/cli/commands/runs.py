"""List the runs on this machine, newest first."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any

from gpualert_common.causes import CAUSES
from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_json, add_state_dir
from gpualert_common.cli.quantity_arguments import MOMENT_FORMS, parse_count, parse_moment
from gpualert_common.cli.records import list_places
from gpualert_common.cli.run_table import format_runs, format_total
from gpualert_common.current_condition import find_unsupervised
from gpualert_common.listing.condition import FAILURES, Condition
from gpualert_common.listing.run_list import list_runs
from gpualert_common.listing.run_summary import RunSummary, name_user
from gpualert_common.record_locations import list_record_paths
from gpualert_common.report.colours import has_colours
from gpualert_common.spec import SCHEMA
from gpualert_common.suggestions import suggest_or_list

_STDOUT = 1
_PIPED = 160
"""Default width without a terminal."""
_LEAST_COLUMNS = 40
STATES = tuple(condition.replace(" ", "-") for condition in Condition)
"""States of runs, each as one word."""
_ME = "me"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the filters, the state directory and the form of the output."""
    parser.add_argument(
        "-n", "--limit", type=parse_count, metavar="N", help="list the newest N runs only"
    )
    parser.add_argument(
        "--failed",
        action="store_true",
        help="list only runs that ended badly: failed, killed, timed out, not started, suspect "
        "(exit status 0, but the verdict names a cause), or with an unknown end",
    )
    parser.add_argument(
        "--since",
        type=parse_moment,
        metavar="TIME",
        help=f"list only runs started since then: {MOMENT_FORMS}",
    )
    parser.add_argument(
        "--name",
        metavar="GLOB",
        help="list only runs of this name, or whose name matches the pattern, such as 'llama*'",
    )
    parser.add_argument(
        "--cause",
        action="append",
        type=_parse_cause,
        choices=CAUSES,
        metavar="CAUSE",
        help="list only runs with this cause in their verdict, such as cuda_oom; can be repeated",
    )
    parser.add_argument(
        "--state",
        action="append",
        type=_parse_condition,
        metavar="STATE",
        help=f"list only runs in this state: {', '.join(STATES)}; can be repeated",
    )
    parser.add_argument(
        "--user",
        metavar="USER",
        help="list only runs that this user launched, or whose task belongs to that owner; me: you",
    )
    parser.add_argument(
        "--job",
        metavar="JOB",
        help="list only runs of this job, by its key or its name, such as 'slurm-17' or 'llama*'",
    )
    add_json(parser)
    add_state_dir(parser)


def execute(options: argparse.Namespace) -> int:
    """List the runs, newest first; as JSON oldest first, as in earlier releases."""
    places = list_places(options)
    runs = list_runs(
        places,
        lambda run: _is_wanted(run, options),
        options.limit,
        on_note=lambda text: printing.print_notes(f"gpualert: {text}"),
    )
    runs = [find_unsupervised(run) for run in runs]
    if options.json:
        rows = [run.to_json() for run in reversed(runs)]
        printing.print_json({"schema": SCHEMA, "runs": rows, "total": _total(rows)})
        return 0
    paths = list_record_paths(places)
    if not runs:
        printing.print_notes("no runs yet" if not paths else "no run matches")
        return 0
    colours = has_colours(_STDOUT)
    width = max(_LEAST_COLUMNS, printing.terminal_columns(_PIPED))
    table = format_runs(runs, [os.path.basename(path) for path in paths], width, colours=colours)
    printing.print_lines(*table, format_total(runs, len(paths)), colours=colours)
    return 0


def _is_wanted(run: RunSummary, options: argparse.Namespace) -> bool:
    """True for a run that all filters let through."""
    if options.user is not None and not run.has_user(_resolve_user(options.user)):
        return False
    if options.state and find_unsupervised(run).condition not in options.state:
        return False
    if options.failed and run.condition not in FAILURES:
        return False
    if options.since is not None and (run.started_at or 0.0) < options.since:
        return False
    if options.cause and run.cause not in options.cause:
        return False
    if options.job is not None and not run.has_job(options.job):
        return False
    return options.name is None or run.has_name(options.name)


def _parse_cause(text: str) -> str:
    if text not in CAUSES:
        raise argparse.ArgumentTypeError(f"no cause {text!r}{suggest_or_list(text, CAUSES)}")
    return text


def _parse_condition(text: str) -> Condition:
    """Return the condition; its words may be joined by any of the usual characters."""
    name = text.strip().lower().replace("-", " ").replace("_", " ")
    if name not in tuple(Condition):
        raise argparse.ArgumentTypeError(f"no state {text!r}{suggest_or_list(text, STATES)}")
    return Condition(name)


def _resolve_user(name: str) -> str:
    return name_user(os.geteuid()) if name == _ME else name


def _total(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the number of runs, and the sums of their known values; None without known values."""
    found: dict[str, Any] = {"runs": len(rows)}
    for name in ("gpu_hours", "wasted_gpu_hours"):
        values = [row[name] for row in rows if row[name] is not None]
        found[name] = sum(values) if values else None
    return found
