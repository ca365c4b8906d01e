"""Analyze traces of PyTorch's profiler, one file for each rank."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_json
from gpualert_common.errors import UsageError
from gpualert_common.regex import compile_text
from gpualert_common.report.text_sanitizer import NoMasks, TextSanitizer
from gpualert_common.report.trace_text import render_analysis
from gpualert_common.traces.analyzer import analyse_traces
from gpualert_common.traces.merging import merge_traces
from gpualert_common.traces.trace_file import read_head
from gpualert_common.traces.trace_finding import encode_with_finding
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
    sources = _name_ranks(options.traces)
    analysis = analyse_traces(sources)
    if not analysis.ranks:
        raise UsageError("; ".join(one.problem for one in analysis.left_out))
    if options.merge is not None:
        try:
            merge_traces(sources, options.merge)
        except OSError as error:
            raise UsageError(f"--merge {options.merge}: {error.strerror}") from None
    if options.json:
        printing.print_json(encode_with_finding(analysis))
    else:
        text = TextSanitizer(NoMasks())
        printing.print_lines(*render_analysis(analysis, text, is_full=options.full))
    return 1 if analysis.left_out else 0


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
