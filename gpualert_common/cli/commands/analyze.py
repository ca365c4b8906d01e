"""Analyze traces of PyTorch's profiler, one file for each rank."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_json
from gpualert_common.cli.new_file import require_replaceable
from gpualert_common.errors import UsageError
from gpualert_common.regex import compile_text
from gpualert_common.report.text_sanitizer import NoMasks, TextSanitizer
from gpualert_common.report.trace_text import render_analysis
from gpualert_common.traces.analyzer import analyse_traces
from gpualert_common.traces.merging import merge_traces
from gpualert_common.traces.trace_file import read_head
from gpualert_common.traces.trace_finding import encode_with_finding, name_rank
from gpualert_common.traces.trace_source import TraceSource

_RANK_IN_NAME = compile_text(r"(?i)rank[-_]?(\d{1,6})\b")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the files, the merged trace, and the form of the output."""
    parser.description = (
        "Analyze traces of PyTorch's profiler: where the time of each rank goes, and which rank "
        "the others wait for. The files are those of `gpualert trace`, one for each rank, or of "
        "export_chrome_trace of torch.profiler."
    )
    parser.add_argument(
        "traces", nargs="+", metavar="TRACE", help="a trace of one rank, plain or compressed"
    )
    parser.add_argument(
        "--merge", metavar="FILE", help="also write one trace of all ranks, for Perfetto (.json.gz)"
    )
    parser.add_argument("--full", action="store_true", help="details of all ranks")
    add_json(parser)


def execute(options: argparse.Namespace) -> int:
    """Print the analysis of the traces.  Raises UsageError if none of them is readable."""
    if options.merge is not None:
        _check_merged(options.merge, options.traces)
    sources = _name_ranks(options.traces)
    analysis = analyse_traces(sources)
    if not analysis.ranks:
        raise UsageError("; ".join(one.problem for one in analysis.left_out))
    if options.json:
        printing.print_json(encode_with_finding(analysis))
    else:
        text = TextSanitizer(NoMasks())
        printing.print_lines(*render_analysis(analysis, text, is_full=options.full))
    is_complete = not analysis.left_out
    if options.merge is not None:
        is_complete &= _merge(sources, options.merge)
    return 0 if is_complete else 1


def _check_merged(output: str, traces: Sequence[str]) -> None:
    """Raise UsageError where the merged trace would replace a trace, or must not be written."""
    require_replaceable(output, "--merge")
    if any(_is_same(output, one) for one in traces):
        raise UsageError(f"--merge {output}: it is one of the traces; give another file")


def _is_same(output: str, trace: str) -> bool:
    """Return True for one file, also by two names."""
    try:
        return os.path.samefile(output, trace)
    except (OSError, ValueError):
        return False


def _merge(sources: Sequence[TraceSource], output: str) -> bool:
    """Write the merged trace and return True if it has all ranks; print which it has not."""
    try:
        merged = merge_traces(sources, output)
    except OSError as error:
        raise UsageError(f"--merge {output}: {error.strerror}") from None
    for one in merged.left_out:
        printing.print_notes(f"--merge {output}: {name_rank(one.rank)} is left out: {one.problem}")
    return not merged.left_out


def _name_ranks(paths: Sequence[str]) -> list[TraceSource]:
    """Return the sources in the order of their ranks: by their content, else by their names.

    Files without ranks have their own names.
    """
    for find_rank in (lambda path: read_head(path).rank, _find_rank_in_name):
        ranks = {find_rank(path): path for path in paths}
        if len(ranks) == len(paths) and min(ranks) >= 0:
            return [TraceSource(f"rank:{rank}", 0, path) for rank, path in sorted(ranks.items())]
    names = [os.path.basename(path) for path in paths]
    labels = names if len(set(names)) == len(names) else paths
    return [TraceSource(label, 0, path) for label, path in zip(labels, paths, strict=True)]


def _find_rank_in_name(path: str) -> int:
    """Return the rank in a name such as ``rank-3.json.gz``; -1 without one."""
    found = _RANK_IN_NAME.search(os.path.basename(path))
    return int(found[1]) if found else -1
