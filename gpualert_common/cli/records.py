"""Records of runs: how the commands find and print them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from gpualert_common import record_locations
from gpualert_common.abandoned_runs import list_unsupervised, start_recovery
from gpualert_common.cli import printing
from gpualert_common.errors import GPUAlertError, UsageError
from gpualert_common.listing import lookup
from gpualert_common.record import EXIT, Record
from gpualert_common.recover import is_abandoned, locate, may_have_ended_in_slurm
from gpualert_common.report.wording import describe_place
from gpualert_common.settings import load_settings


def list_places(options: argparse.Namespace, *, is_recovery: bool = False) -> list[str]:
    """Return the state directory of this call, and those that stand in for it and have records.

    Each of these is named on stderr, and each directory whose files another user could change.
    Except for a command that does it itself, the recovery of abandoned runs has started then.
    Raises UsageError if no directory can be read.
    """
    setting = load_settings({"state_dir": options.state_dir})["state_dir"]
    notes: list[str] = []
    places = record_locations.list_places(setting.value, on_note=notes.append)
    if not places:
        raise UsageError("; ".join(notes))
    printing.print_notes(*(f"gpualert: {note}" for note in notes))
    if not is_recovery:
        _finish_abandoned_runs(places)
    return places


def find_record(run: str, options: argparse.Namespace) -> Record:
    """Return the record that RUN names.  Raises UsageError, RecordError."""
    return lookup.find_record(run, list_places(options))


def open_records(options: argparse.Namespace) -> Iterator[Record]:
    """Yield each record of this call's state directories that may be trusted, oldest first."""
    return record_locations.open_records(list_places(options))


def _finish_abandoned_runs(places: list[str]) -> None:
    """Have the runs whose supervisor died finished in the background, and say so on stderr."""
    has_abandoned = False
    lost: list[str] = []
    for path in list_unsupervised(places):
        try:
            record = Record.open(path)
            has_abandoned |= may_have_ended_in_slurm(record)  # Slurm is asked in the background
            if is_abandoned(record, asks_slurm=False):
                has_abandoned = True
                lost += [] if record.has(EXIT) else [record.run_id]
            record.close()
        except (GPUAlertError, OSError):
            continue  # removed meanwhile, or damaged
    if has_abandoned and start_recovery(places) and lost:
        which = f"run {lost[0]}" if len(lost) == 1 else f"{len(lost)} runs"
        printing.print_notes(
            f"gpualert: the supervisor of {which} died; completing the record in the background"
        )


def format_place(record: Record) -> str:
    """Return the place of a run that is not visible from here, in words."""
    spec = record.spec
    return describe_place(locate(spec), spec.host)
