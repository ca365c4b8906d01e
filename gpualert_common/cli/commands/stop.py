"""Stop a run gracefully."""

from __future__ import annotations

import argparse
import os
from contextlib import suppress

from gpualert_common import record_locations
from gpualert_common import recover as recovery
from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_json, add_run
from gpualert_common.cli.records import list_places
from gpualert_common.errors import UsageError
from gpualert_common.listing.lookup import find_record, list_some, match_records
from gpualert_common.record import Record
from gpualert_common.settings import load_settings
from gpualert_common.spec import SCHEMA
from gpualert_common.stop_origin import STOP_COMMAND
from gpualert_common.stop_request import make_sender, stop_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the run and the grace period."""
    parser.add_argument(
        "--grace", metavar="DURATION", help="time between the first signal and SIGKILL"
    )
    add_run(parser, None, "the only live one")
    add_json(parser)


def execute(options: argparse.Namespace) -> int:
    """Stop a run gracefully and wait for its end; 1 if there was nothing to stop."""
    record = _find_run(options)
    grace_s = None
    if options.grace is not None:
        grace_s = load_settings({"grace": options.grace})["grace"].value
    outcome = stop_run(record, make_sender(STOP_COMMAND, _find_terminal()), grace_s)
    return _answer(options, record, str(outcome), 0 if outcome.is_stopped else 1)


def _find_run(options: argparse.Namespace) -> Record:
    """Return the run that is meant: without RUN the only live one, or else the last.

    Of several runs of one name it is the live one.  Raises UsageError if several are live.
    """
    places = list_places(options)
    newest = find_record(options.run or "last", places)
    if options.run is None:
        records = record_locations.open_records(places)
    else:
        records = match_records(options.run, places)
    live = [record.path for record in records if recovery.is_in_progress(record)]
    if len(live) > 1:
        ids = list_some([os.path.basename(path) for path in live])
        raise UsageError(f"{len(live)} runs are live: {ids}; name one of them by its id")
    return Record.open(live[0]) if live else newest


def _answer(options: argparse.Namespace, record: Record, text: str, status: int) -> int:
    if options.json:
        printing.print_json({"schema": SCHEMA, "run_id": record.run_id, "outcome": text})
    else:
        printing.print_lines(f"{record.run_id}  {text}")
    return status


def _find_terminal() -> str | None:
    """Return the terminal of this process by its name; None where it has none, as in a script."""
    for fd in (0, 1, 2):
        with suppress(OSError):
            return os.ttyname(fd)
    return None
