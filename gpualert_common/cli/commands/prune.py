"""Remove the records of old runs, or the folders of old jobs."""

from __future__ import annotations

import argparse

from gpualert_common.cli.arguments import add_json, add_options, add_state_dir
from gpualert_common.cli.job_removal import remove_old_jobs
from gpualert_common.cli.quantity_arguments import MOMENT_FORMS, parse_moment
from gpualert_common.cli.records import list_places
from gpualert_common.cli.removal_plan import RemovalPlan, add_removal_options, execute_plan
from gpualert_common.errors import UsageError
from gpualert_common.listing.condition import FAILURES
from gpualert_common.listing.run_list import list_runs
from gpualert_common.listing.run_summary import RunSummary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the choice of the runs, and the options of a removal."""
    parser.description = (
        "Remove the records of old runs. The runs are shown first. The history keeps what it needs "
        "to compare later runs with them. With --jobs, old jobs in the job directory are removed "
        "instead."
    )
    parser.add_argument(
        "--older-than",
        type=parse_moment,
        metavar="TIME",
        required=True,
        help=f"remove only runs that ended before that time: {MOMENT_FORMS}",
    )
    parser.add_argument(
        "--keep-failed", action="store_true", help="keep the runs that `runs --failed` lists"
    )
    parser.add_argument("--name", metavar="GLOB", help="remove only runs of this name or pattern")
    parser.add_argument(
        "--jobs",
        action="store_true",
        help="remove jobs that last changed before that time from the job directory, and no runs; "
        "--name is then a pattern of their folders",
    )
    add_options(parser, "job_dir")
    add_removal_options(parser)
    add_json(parser)
    add_state_dir(parser)


def execute(options: argparse.Namespace) -> int:
    """Remove the runs that ended before a time; 1 if one of them could not be removed."""
    if options.jobs:
        return remove_old_jobs(options)
    if options.job_dir is not None:
        raise UsageError("--job-dir goes with --jobs")
    places = list_places(options)
    runs = list_runs(places, lambda run: _is_old(run, options))
    plan = RemovalPlan.of(runs, force=options.force)
    gone = execute_plan(plan, options, places)
    return int(options.yes and len(gone) < len(plan.removable))


def _is_old(run: RunSummary, options: argparse.Namespace) -> bool:
    at = run.ended_at or run.started_at
    if at is None or at >= options.older_than:
        return False
    if options.keep_failed and run.condition in FAILURES:
        return False
    return options.name is None or run.has_name(options.name)
