"""Show the progress of a training, and the curve of its loss."""

from __future__ import annotations

import argparse
import os
import sys
from typing import BinaryIO

from gpualert_common.classify import CHUNK_BYTES
from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_json, add_state_dir
from gpualert_common.cli.records import find_record
from gpualert_common.codec import encode
from gpualert_common.errors import UsageError
from gpualert_common.progress import (
    Progress,
    ProgressReader,
    describe_progress,
    determine_start,
)
from gpualert_common.record import Record
from gpualert_common.run_progress import read_progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the log or run, and the form of the output."""
    parser.description = (
        "Show how far a training came, by its log: steps, losses, checkpoints, and whether it "
        "started from the beginning or resumed."
    )
    add_state_dir(parser)
    parser.add_argument("log", metavar="LOG", help="a log file, - for stdin, or a run")
    add_json(parser)


def execute(options: argparse.Namespace) -> int:
    """Print the progress of a training from a log, or from the logs of a run."""
    found = _read(options)
    if options.json:
        start, because = determine_start(found)
        value = {**encode(found), "beginning": {"start": str(start), "because": list(because)}}
        printing.print_json(value)
    else:
        columns = printing.terminal_columns(80) if sys.stdout.isatty() else 0
        printing.print_lines(*describe_progress(found, columns))
    return 0


def _read(options: argparse.Namespace) -> Progress:
    """Return the progress from stdin, a file, or else the run of that name."""
    log = options.log
    if log == "-":
        return _of_stream(sys.stdin.buffer, "stdin")
    if os.path.exists(log) and not os.path.isdir(log):
        try:
            with open(log, "rb", buffering=0) as file:
                return _of_stream(file, log)
        except OSError as error:
            raise UsageError(f"{log}: {error.strerror}") from None
    if os.path.isdir(log):
        return _of_record(Record.open(log))
    if os.sep in log:
        raise UsageError(f"{log}: No such file or directory")
    try:
        record = find_record(log, options)
    except UsageError as error:
        raise UsageError(f"{log} is not a file, and {error}") from None
    return _of_record(record)


def _of_record(record: Record) -> Progress:
    """Return the progress from all logs of a run, with the times at which they grew."""
    progress = read_progress(record)
    if not progress.files:
        raise UsageError(f"{record.path}: it has no log that can be read")
    return progress


def _of_stream(stream: BinaryIO, name: str) -> Progress:
    reader = ProgressReader(name)
    offset = 0
    while data := stream.read(CHUNK_BYTES):
        reader.feed(data, offset)
        offset += len(data)
    return reader.finish()
