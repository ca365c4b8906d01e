"""Show where the processes of a run stand, and which rank the others wait for."""

from __future__ import annotations

import argparse

from gpualert_common import recover
from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_json, add_run
from gpualert_common.cli.records import find_record
from gpualert_common.codec import encode
from gpualert_common.errors import UsageError
from gpualert_common.report.stack_text import render_stacks
from gpualert_common.report.text_sanitizer import NoMasks, TextSanitizer
from gpualert_common.spec import SCHEMA
from gpualert_common.stack_request import take_stacks
from gpualert_common.stacks.culprits import find_culprits
from gpualert_common.stacks.description import describe_culprits, describe_place, describe_state
from gpualert_common.stacks.dump import Dump
from gpualert_common.stacks.groups import group_processes
from gpualert_common.stacks.storage import read_dumps


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the run, how its stacks are taken, and the form of the output."""
    parser.description = (
        "Show the stacks of all processes of a run, merged by place. Of a run in progress they "
        "are taken now, without pausing it; of one that has ended, those in its record are shown."
    )
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument(
        "--pause",
        action="store_true",
        help="pause each process for milliseconds: exact stacks",
    )
    ways.add_argument(
        "--native", action="store_true", help="native frames, too; pauses each process longer"
    )
    ways.add_argument(
        "--stored", action="store_true", help="take none, and show all that the record has"
    )
    parser.add_argument("--full", action="store_true", help="all frames, processes and threads")
    add_json(parser)
    add_run(parser, "last", "last")


def execute(options: argparse.Namespace) -> int:
    """Print the stacks of a run.  Raises UsageError if there are none."""
    record = find_record(options.run, options)
    is_live = not options.stored and recover.is_in_progress(record)
    if is_live:
        dumps = [take_stacks(record, is_pausing=options.pause, with_native=options.native)]
    else:
        dumps = read_dumps(record)
    if not dumps:
        raise UsageError(f"{record.run_id} has ended, and no stacks were taken while it ran")
    if options.json:
        value = {"run_id": record.run_id, "dumps": [_to_json(one) for one in dumps]}
        printing.print_json({"schema": SCHEMA, **value})
        return 0
    text, cwd = TextSanitizer(NoMasks()), record.spec.cwd
    for number, dump in enumerate(dumps):
        lines = render_stacks(dump, text, cwd=cwd, is_full=options.full)
        printing.print_lines(*([""] if number else []), *lines)
    return 0


def _to_json(dump: Dump) -> dict[str, object]:
    """Return a dump with its groups, and the ranks that the others wait for."""
    groups = group_processes(dump)
    culprits = find_culprits(dump, groups)
    return {
        **encode(dump),
        "groups": [
            {
                "pids": [one.pid for one in group.processes],
                "labels": [one.label for one in group.processes],
                "activity": str(group.activity),
                "state": describe_state(group),
                "place": describe_place(group),
                "is_awaited": group in culprits.groups,
            }
            for group in groups
        ],
        "missing_ranks": list(culprits.missing),
        "summary": describe_culprits(culprits),
    }
