"""Print the log of a run as it grows."""

from __future__ import annotations

import argparse
import os
import time

from gpualert_common import recover as recovery
from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_run
from gpualert_common.cli.log_start import find_start
from gpualert_common.cli.quantity_arguments import MOMENT_FORMS, parse_count, parse_moment
from gpualert_common.cli.records import find_record

_POLL_S = 0.1
_FOLLOW_CHUNK_BYTES = 1 << 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the run, and the place to start at."""
    parser.add_argument(
        "--tail",
        type=parse_count,
        metavar="N",
        help="print the last N lines of the log first, not all; of each log, if there are two",
    )
    parser.add_argument(
        "--since",
        type=parse_moment,
        metavar="TIME",
        help=f"leave out the output from before that time: {MOMENT_FORMS}",
    )
    add_run(parser, "last", "last")


def execute(options: argparse.Namespace) -> int:
    """Print the log from its start until the run has ended; Ctrl-C stops only the printing."""
    record = find_record(options.run, options)
    fds = [record.open_log(name) for name in record.logs]
    offsets = [
        find_start(record, name, fd, options.tail, options.since)
        for name, fd in zip(record.logs, fds, strict=True)
    ]
    try:
        while True:
            ended = not recovery.is_in_progress(record)
            printed = 0
            for index, fd in enumerate(fds):
                if os.fstat(fd).st_size < offsets[index]:
                    offsets[index] = 0  # truncated: continue at its start
                while data := os.pread(fd, _FOLLOW_CHUNK_BYTES, offsets[index]):
                    printing.print_bytes(data)
                    offsets[index] += len(data)
                    printed += len(data)
            if ended and not printed:
                return 0
            if not printed:
                time.sleep(_POLL_S)
    except KeyboardInterrupt:
        return 130
