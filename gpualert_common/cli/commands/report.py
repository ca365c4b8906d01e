"""Write the report of a run: one HTML file to look at and to send."""

from __future__ import annotations

import argparse
import os

from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_run
from gpualert_common.cli.new_file import replace_file
from gpualert_common.cli.records import find_record
from gpualert_common.run_report import make_report

_STDOUT = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the run, and the file."""
    add_run(parser, "last", "last")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write to this file, or to stdout for -; default: gpualert-RUNID.html in the current "
        "directory",
    )


def execute(options: argparse.Namespace) -> int:
    """Write the report of one run, and print the path of the file.

    The file needs no other file and no network: it has the verdict with the lines of the log, the
    timeline, ranks and GPUs, stacks, environment, artifacts and earlier runs.  Secrets are masked.
    The report of a live run shows it as it is now.
    """
    record = find_record(options.run, options)
    page = make_report(record).encode()
    if options.output == _STDOUT:
        printing.print_bytes(page)
        return 0
    path = os.path.abspath(options.output or f"gpualert-{record.run_id}.html")
    replace_file(path, [page])
    printing.print_lines(path)
    return 0
