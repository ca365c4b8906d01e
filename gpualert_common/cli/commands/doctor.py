"""Show the evidence sources that work here, and the requirements of the others.

The job directory is tried, too, if there is one.
"""

from __future__ import annotations

import argparse
import os

from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_json
from gpualert_common.cli.job_directory_check import check_job, format_check
from gpualert_common.notify.isolation import NoAnswerError, run_isolated
from gpualert_common.spec import SCHEMA
from gpualert_common.structs import Struct, to_builtins
from gpualert_common.telemetry import source
from gpualert_common.telemetry.source import SourceUnavailableError

DEADLINE_S = 5.0
"""A driver without an answer by then hangs; a driver that has to wake up needs two seconds."""


class SourceState(Struct, frozen=True):
    """Result of opening a source; ``why`` and ``remedy`` are "" if it works."""

    name: str
    works: bool
    decides: str
    why: str = ""
    remedy: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the form of the output."""
    add_json(parser)


def execute(options: argparse.Namespace) -> int:
    """Try each source and print the result; the exit status is always 0."""
    findings = [_examine(name) for name in source.list_sources()]
    jobs = check_job()
    if options.json:
        found = {"sources": to_builtins(findings), "jobs": to_builtins(jobs)}
        printing.print_json({"schema": SCHEMA, **found})
        return 0
    width = max(len(one.name) for one in findings)
    for one in findings:
        printing.print_lines(
            f"{one.name:{width}}  {'works' if one.works else 'no':5}  {one.decides}"
        )
        for lead, text in (("why", one.why), ("remedy", one.remedy)):
            if text:
                printing.print_lines(f"{'':{width}}  {'':5}  {lead}: {text}")
    printing.print_lines(*format_check(jobs))
    return 0


def _examine(name: str) -> SourceState:
    decides = ""
    try:
        decides = source.load_source_class(name).decides
        run_isolated(lambda: _open(name), DEADLINE_S)
    except SourceUnavailableError as error:
        return SourceState(name, False, decides, error.why, error.remedy)
    except NoAnswerError as error:
        return SourceState(name, False, decides, str(error), "")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - it may fail in any way
        return SourceState(name, False, decides, f"{type(error).__name__}: {error}")
    return SourceState(name, True, decides)


def _open(name: str) -> None:
    """Open a source; runs in a separate process.  Output of a driver goes to stderr."""
    os.dup2(2, 1)
    source.load_source_class(name)(None)
