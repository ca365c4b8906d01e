"""Serve Prometheus metrics of the runs on this machine."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_state_dir
from gpualert_common.cli.new_file import replace_file
from gpualert_common.cli.quantity_arguments import parse_count, parse_seconds
from gpualert_common.cli.records import list_places
from gpualert_common.errors import UsageError
from gpualert_common.structs import replace

if TYPE_CHECKING:
    from gpualert_common.exporter.reading import RunReader

_LISTEN = "127.0.0.1:10789"
_ENDED_S = 900.0
_MOST_RUNS = 200
_PAUSE_S = 15.0
_LEAST_PAUSE_S = 1.0
_READABLE = 0o644
"""node_exporter has a user of its own."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the address, the file, the limits and the state directory."""
    parser.description = (
        "Serve Prometheus metrics of your runs on this machine: their state, progress, GPUs, "
        "warnings, verdicts and alerts. Prints the address, and serves until it is interrupted; "
        "or writes a file for the textfile collector of node_exporter. "
        "Needs the extra: pip install 'gpualert-common[exporter]'"
    )
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument(
        "--listen",
        default=_LISTEN,
        metavar="ADDRESS:PORT",
        help=f"address to listen on (default: {_LISTEN}, which all users of this machine can "
        "read, and no other machine); nothing is encrypted, and nobody signs in",
    )
    forms.add_argument(
        "--textfile",
        metavar="FILE",
        help="write the metrics to FILE again and again instead, for node_exporter; its name ends "
        "in .prom",
    )
    parser.add_argument(
        "--interval",
        type=parse_seconds,
        default=_PAUSE_S,
        metavar="DURATION",
        help=f"with --textfile: time between two writes (default: {_PAUSE_S:g}s)",
    )
    parser.add_argument(
        "--once", action="store_true", help="with --textfile: write the file once, and exit"
    )
    parser.add_argument(
        "--keep-ended",
        type=parse_seconds,
        default=_ENDED_S,
        metavar="DURATION",
        help="how long a run keeps its own time series after its end (default: 15m)",
    )
    parser.add_argument(
        "--most-runs",
        type=parse_count,
        default=_MOST_RUNS,
        metavar="N",
        help=f"at most N runs have time series of their own (default: {_MOST_RUNS}); those in "
        "progress come first, and the others are only counted",
    )
    add_state_dir(parser)


def execute(options: argparse.Namespace) -> int:
    """Serve or write the metrics until a signal ends this process."""
    _check(options)
    try:
        from gpualert_common.exporter.page import MetricsPage
        from gpualert_common.exporter.reading import RunLimits, RunReader
        from gpualert_common.exporter.server import parse_address, serve
    except ModuleNotFoundError as error:
        raise UsageError(
            f"gpualert exporter needs {error.name}, which is not installed: "
            "pip install 'gpualert-common[exporter]'"
        ) from None
    limits = RunLimits(options.keep_ended, options.most_runs)
    reader = RunReader(list_places(options), limits)
    if options.textfile:
        return _write_file(reader, options.textfile, None if options.once else options.interval)
    try:
        address = parse_address(options.listen)
    except ValueError as error:
        raise UsageError(f"--listen: {error}") from None
    if not address.is_local:
        printing.print_notes(
            f"gpualert: {address.host} can be reached from other machines: who reaches it reads "
            "the names of your runs, jobs and users"
        )
    serve(address, MetricsPage(reader, _print_problem), printing.print_lines)
    return 0


def _check(options: argparse.Namespace) -> None:
    if options.once and not options.textfile:
        raise UsageError("--once needs --textfile FILE")
    if options.textfile and not options.textfile.endswith(".prom"):
        raise UsageError(f"{options.textfile}: node_exporter reads only files named *.prom")


def _write_file(reader: RunReader, path: str, interval_s: float | None) -> int:
    """Write the file, and without an interval once.  Raises UsageError if the first write fails."""
    from gpualert_common.exporter.exposition import format_reading

    failures = 0

    def write() -> None:
        reading = replace(reader.read(), failures=failures)
        data = format_reading(reading, has_process=False)
        replace_file(path, [data], permissions=_READABLE, option="--textfile")

    write()
    while interval_s is not None:
        time.sleep(max(_LEAST_PAUSE_S, interval_s))
        try:
            write()
        except Exception as error:  # noqa: BLE001 - the exporter outlives every record
            failures += 1
            _print_problem(f"{type(error).__name__}: {error}")
    return 0


def _print_problem(text: str) -> None:
    printing.print_notes(f"gpualert: {text}")
