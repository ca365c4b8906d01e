"""Stop a run gracefully."""

from __future__ import annotations

import argparse
import getpass
import os
import time
from contextlib import suppress

from gpualert_common import record_locations
from gpualert_common import recover as recovery
from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_json, add_run
from gpualert_common.cli.records import format_place, list_places
from gpualert_common.end_record import Sender
from gpualert_common.errors import UsageError
from gpualert_common.listing.lookup import find_record, list_some, match_records
from gpualert_common.processes.host import host_name
from gpualert_common.record import Record, RunState
from gpualert_common.settings import load_settings
from gpualert_common.spec import SCHEMA
from gpualert_common.stop_origin import STOP_COMMAND
from gpualert_common.supervise.stop import KILLING_S, TERMINATE_S

_POLL_S = 0.1
_STOP_MARGIN_S = 5.0


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
    if record.state is RunState.ENDED:
        return _answer(options, record, "already ended", 1)
    if recovery.is_remote(record):
        raise UsageError(f"{record.run_id} runs on {format_place(record)}; stop it there")
    if record.state is not RunState.LOST:
        _ask_to_stop(record, grace_s)
    if record.state is RunState.LOST:
        own_s = record.spec.grace_s
        return _stop_unsupervised(options, record, own_s if grace_s is None else grace_s)
    ending = record.ending
    if ending is None:
        return _answer(options, record, "stop requested, but still running", 1)
    by_itself = ending.signal is None and ending.limit is None
    return _answer(options, record, "ended by itself" if by_itself else "ended", 0)


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


def _ask_to_stop(record: Record, grace_s: float | None) -> None:
    """Send a request to the supervisor, and wait until it has stopped the run or died.

    Without a grace the supervisor uses that of the run.
    """
    record.request("stop", grace_s=grace_s, sender=_make_sender())
    own_s = record.spec.grace_s if grace_s is None else grace_s
    deadline = time.monotonic() + own_s + TERMINATE_S + KILLING_S + _STOP_MARGIN_S
    while record.state not in (RunState.ENDED, RunState.LOST) and time.monotonic() < deadline:
        time.sleep(_POLL_S)


def _stop_unsupervised(options: argparse.Namespace, record: Record, grace_s: float) -> int:
    if not recovery.has_processes(record):
        return _answer(options, record, "not running; its supervisor died", 1)
    left = recovery.stop_unsupervised(record, grace_s, _make_sender())
    if left:
        return _answer(options, record, f"{len(left)} processes left", 1)
    recovery.recover(record)
    return _answer(options, record, "ended", 0)


def _answer(options: argparse.Namespace, record: Record, text: str, status: int) -> int:
    if options.json:
        printing.print_json({"schema": SCHEMA, "run_id": record.run_id, "outcome": text})
    else:
        printing.print_lines(f"{record.run_id}  {text}")
    return status


def _make_sender() -> Sender:
    """Return this process as the sender of a stop, with its user, host and terminal."""
    sender: Sender = {
        "pid": os.getpid(),
        "uid": os.getuid(),
        "command": STOP_COMMAND,
        "user": _user(),
        "host": host_name(),
    }
    terminal = _find_terminal()
    return sender if terminal is None else {**sender, "terminal": terminal}


def _find_terminal() -> str | None:
    """Return the terminal of this process by its name; None where it has none, as in a script."""
    for fd in (0, 1, 2):
        with suppress(OSError):
            return os.ttyname(fd)
    return None


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
