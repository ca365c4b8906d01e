"""Remove the records of runs."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from gpualert_common.cli import printing
from gpualert_common.cli.arguments import RUN_HELP, add_json, add_state_dir
from gpualert_common.cli.records import list_places
from gpualert_common.cli.removal_plan import (
    RemovalPlan,
    add_removal_options,
    execute_plan,
    require_place,
)
from gpualert_common.errors import UsageError
from gpualert_common.history import History
from gpualert_common.listing.lookup import list_some, match_records
from gpualert_common.listing.run_summary import RunSummary, summarize_checked


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the runs, and the options of a removal."""
    parser.description = (
        "Remove the records of runs: logs, verdicts and alerts. The runs are shown first. Exit "
        "status 1 if one of them is kept."
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help=RUN_HELP)
    add_removal_options(parser)
    add_json(parser)
    add_state_dir(parser)


def execute(options: argparse.Namespace) -> int:
    """Remove the named runs, and their rows in the history."""
    places = list_places(options)
    found = {run.path: run for run in (_find(one, places) for one in options.runs)}
    plan = RemovalPlan.of(found.values(), force=options.force)

    def forget(gone: Sequence[str]) -> None:
        for place in places:
            problem = History.open(place).remove(*gone)
            if problem:
                printing.print_notes(f"gpualert: the history keeps the rows: {problem}")

    gone = execute_plan(plan, options, places, forget)
    return int(len(gone) < len(found))


def _find(run: str, places: Sequence[str]) -> RunSummary:
    """Return the only run that is meant.  Raises UsageError, RecordError."""
    paths = []
    for record in match_records(run, places):
        require_place(record, places)
        paths.append(os.path.realpath(record.path))
        record.close()
    if len(paths) > 1:
        ids = list_some([os.path.basename(path) for path in paths])
        raise UsageError(
            f"{len(paths)} runs have the name {run!r}: {ids}; name each by its id, or use: "
            "gpualert prune --name"
        )
    summary = summarize_checked(paths[0])
    if summary is None:
        raise UsageError(f"{paths[0]} was removed meanwhile")
    return summary
