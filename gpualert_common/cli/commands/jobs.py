"""List the jobs in the job directory and in the records of this machine, newest first."""

from __future__ import annotations

import argparse
import time

from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_json, add_options, add_state_dir
from gpualert_common.cli.jobs import list_known_jobs
from gpualert_common.cli.quantity_arguments import parse_count
from gpualert_common.cli.run_table import format_start
from gpualert_common.codec import encode
from gpualert_common.jobs.job_page import find_duration
from gpualert_common.jobs.job_view import JobView, view_job
from gpualert_common.report.colours import has_colours
from gpualert_common.report.formatting import short_duration
from gpualert_common.report.tables import Column, format_table
from gpualert_common.report.terminal import TITLE, TONES
from gpualert_common.report.text_sanitizer import NoMasks
from gpualert_common.spec import SCHEMA

_STDOUT = 1
_PIPED = 160
"""Default width without a terminal."""
_DEFAULT_LIMIT = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the limit, the job directory, the state directory and the form of the output."""
    parser.add_argument(
        "-n",
        "--limit",
        type=parse_count,
        default=_DEFAULT_LIMIT,
        metavar="N",
        help=f"list the newest N jobs only (default: {_DEFAULT_LIMIT}); all their digests are read",
    )
    add_options(parser, "job_dir")
    add_json(parser)
    add_state_dir(parser)


def execute(options: argparse.Namespace) -> int:
    """List the jobs, newest first: state, nodes, culprit and cause of each."""
    reports = []
    for key, job in list_known_jobs(options):
        if job.report is not None:
            reports.append(job.report)
        problem = job.problem or ("" if job.report else "no digest of it can be read")
        if problem:
            printing.print_notes(f"gpualert: {key}: {problem}")
    if options.json:
        printing.print_json({"schema": SCHEMA, "jobs": [encode(report) for report in reports]})
        return 0
    if not reports:
        printing.print_notes("no jobs yet")
        return 0
    colours = has_colours(_STDOUT)
    width = printing.terminal_columns(_PIPED)
    views = [view_job(report, NoMasks(), zone="local") for report in reports]
    printing.print_lines(*_format_jobs(views, width, colours=colours), colours=colours)
    return 0


def _format_jobs(views: list[JobView], width: int, *, colours: bool) -> list[str]:
    now = time.time()
    tones = [TONES[view.tone] if colours else "" for view in views]
    columns = [
        Column("JOB", [view.key for view in views]),
        Column("NAME", [view.name if view.name != view.key else "-" for view in views], 3, 8),
        Column("STATE", [_describe_state(view) for view in views], 0, 13, colours=tones),
        Column("NODES", [str(view.node_count) for view in views], 2, is_right=True),
        Column("LASTED", [short_duration(find_duration(view)) for view in views], 4, is_right=True),
        Column("STARTED", [format_start(view.started_at, now) for view in views], 5),
        Column("HEADLINE", [view.headline for view in views], 1, 14),
    ]
    return format_table(columns, width, title_colour=TITLE if colours else "")


def _describe_state(view: JobView) -> str:
    if view.cause in ("none", "unknown"):
        return view.disposition
    return f"{view.disposition}: {view.cause}"
