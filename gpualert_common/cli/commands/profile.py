"""Show where the ranks of a run spend their time, and where some differ."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from gpualert_common import recover
from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_json, add_run
from gpualert_common.cli.new_file import replace_file, require_replaceable
from gpualert_common.cli.quantity_arguments import parse_count, parse_seconds
from gpualert_common.cli.rank_arguments import add_ranks
from gpualert_common.cli.records import find_record
from gpualert_common.codec import encode
from gpualert_common.errors import UsageError
from gpualert_common.profile_request import take_profile
from gpualert_common.profiles.flame_graph import draw_flame_graph
from gpualert_common.profiles.profile import MOST_DURATION_S, MOST_RATE, MOST_SAMPLES, Profile
from gpualert_common.profiles.profile_files import PICTURE, SPEEDSCOPE, read_profiles
from gpualert_common.profiles.py_spy_sampler import NATIVE_RATE, RATE, SamplingOptions
from gpualert_common.profiles.rank_differences import find_differences
from gpualert_common.profiles.rank_texts import describe_findings
from gpualert_common.profiles.speedscope_file import make_speedscope
from gpualert_common.record import Record
from gpualert_common.report.profile_lines import render_profile
from gpualert_common.report.text_sanitizer import NoMasks, TextSanitizer
from gpualert_common.spec import SCHEMA

_LEAST_DURATION_S = 0.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the run, how its stacks are sampled, and the form of the output."""
    parser.description = (
        "Sample the stacks of all ranks of a run in progress for the same seconds, and show where "
        "they spend their time and where some of them differ. The record gets a flame graph and a "
        "file for speedscope. Of a run that has ended, the newest profile in its record is shown."
    )
    parser.add_argument(
        "--duration",
        type=parse_seconds,
        default=10.0,
        metavar="DURATION",
        help="time for which the stacks are sampled (default: 10s)",
    )
    parser.add_argument(
        "--rate",
        type=parse_count,
        metavar="N",
        help=f"samples per second of each process (default: {RATE}; with --native {NATIVE_RATE})",
    )
    add_ranks(parser)
    parser.add_argument(
        "--native",
        action="store_true",
        help="native frames, too; pauses each process for each sample",
    )
    parser.add_argument(
        "--idle", action="store_true", help="also threads that use no processor, such as pools"
    )
    parser.add_argument(
        "--stored", action="store_true", help="take none, and show the newest of the record"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="also write the flame graph to this file, or speedscope's form for .json",
    )
    add_json(parser)
    add_run(parser, "last", "last")


def execute(options: argparse.Namespace) -> int:
    """Print the profile of a run.  Raises UsageError if there is none."""
    sampling = _read_sampling(options)
    if options.output:
        require_replaceable(options.output, "--output")
    record = find_record(options.run, options)
    path, problem = "", ""
    if not options.stored and recover.is_in_progress(record):
        taken = take_profile(record, sampling, ranks=frozenset(options.ranks))
        profile, path, problem = taken.profile, taken.path, taken.problem
    else:
        stored = next(read_profiles(record), None)
        if stored is None:
            raise UsageError(f"{record.run_id}: its record has no profile{_explain_end(record)}")
        path, profile = stored
    if problem:
        printing.print_notes(f"gpualert: {problem}")
    if options.json:
        printing.print_json(_to_json(record, profile, path))
    else:
        printing.print_lines(*_render(record, profile, path))
    if options.output:  # last: the profile is shown also if the file cannot be written
        content = _make_file(record, profile, options.output)
        replace_file(os.path.abspath(options.output), [content])
    return 0


def _read_sampling(options: argparse.Namespace) -> SamplingOptions:
    duration_s, rate = options.duration, options.rate
    if rate is None:
        rate = NATIVE_RATE if options.native else RATE
    if not _LEAST_DURATION_S <= duration_s <= MOST_DURATION_S:
        raise UsageError(f"--duration: from {_LEAST_DURATION_S:g}s to {MOST_DURATION_S / 60:.0f}m")
    if not 1 <= rate <= MOST_RATE:
        raise UsageError(f"--rate: from 1 to {MOST_RATE} samples per second")
    if duration_s * rate > MOST_SAMPLES:
        raise UsageError(f"--duration times --rate: at most {MOST_SAMPLES:,} samples")
    return SamplingOptions(duration_s, rate, options.native, options.idle)


def _explain_end(record: Record) -> str:
    return "" if recover.is_in_progress(record) else ", and it has ended"


def _make_file(record: Record, profile: Profile, path: str) -> bytes:
    if path.endswith(".json"):
        return make_speedscope(profile, record.run_id)
    return draw_flame_graph(profile, cwd=record.spec.cwd).encode("utf-8", "replace")


def _render(record: Record, profile: Profile, path: str) -> Iterator[str]:
    text = TextSanitizer(NoMasks())
    yield from render_profile(profile, text, cwd=record.spec.cwd)
    if path:
        yield ""
        yield f"flame graph: {os.path.join(path, PICTURE)}"
        yield f"for speedscope: {os.path.join(path, SPEEDSCOPE)}"


def _to_json(record: Record, profile: Profile, path: str) -> dict[str, object]:
    found = find_differences(profile)
    return {
        "schema": SCHEMA,
        "run_id": record.run_id,
        "path": path or None,
        "summary": describe_findings(profile, found, record.spec.cwd)[0],
        "differences": [
            {
                **encode(one),
                "ranks": [profile.ranks[column].number for column in one.ranks],
                "compared": [profile.ranks[column].number for column in one.compared],
            }
            for one in found
        ],
        "profile": encode(profile),
    }
