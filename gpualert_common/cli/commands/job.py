"""Show a job: the verdict over all its nodes and ranks, and a table of its nodes."""

from __future__ import annotations

import argparse

from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_options, add_output_forms, add_state_dir
from gpualert_common.cli.jobs import find_job
from gpualert_common.cli.quantity_arguments import parse_count
from gpualert_common.codec import encode
from gpualert_common.errors import UsageError
from gpualert_common.jobs.job_page import format_job, format_markdown
from gpualert_common.jobs.job_view import view_job
from gpualert_common.redact import Redactor
from gpualert_common.report.terminal import TerminalLayout
from gpualert_common.report.text_sanitizer import NoMasks

_PIPED = 160
"""Default width of the table without a terminal."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the job, its attempt, the job directory and the forms of the output."""
    parser.add_argument(
        "job",
        metavar="JOB",
        help="the key of a job, its name, the id of one of its runs, or its id in Slurm",
    )
    parser.add_argument(
        "--attempt",
        type=parse_count,
        metavar="N",
        help="show this attempt at the job; default: the newest",
    )
    add_options(parser, "job_dir")
    add_output_forms(parser)
    add_state_dir(parser)


def execute(options: argparse.Namespace) -> int:
    """Show one job: which node failed first and why, and what became of the others.

    ``--json`` gives the report of the job, as docs/jobs.md describes it.
    """
    found = find_job(options)
    report = found.job.report
    if report is None:
        which = "" if options.attempt is None else f" of attempt {options.attempt}"
        raise UsageError(f"job {found.key} has no digest{which} that can be read")
    if options.json:
        printing.print_json({**encode(report), "damaged_digests": found.job.damaged})
        return 0
    if options.markdown:
        view = view_job(report, Redactor(), damaged=found.job.damaged)
        printing.print_lines(*format_markdown(view).rstrip("\n").split("\n"))
        return 0
    layout = TerminalLayout.of_stdout(is_full=options.full)
    view = view_job(report, NoMasks(), zone="local", damaged=found.job.damaged)
    width = max(layout.columns, printing.terminal_columns(_PIPED))
    printing.print_lines(*format_job(view, layout, width), colours=layout.colours)
    return 0
