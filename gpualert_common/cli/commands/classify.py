"""Explain why a run failed, from its log."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from typing import BinaryIO, cast

from gpualert_common.classifier import RunClassifier
from gpualert_common.classify.rule_checks import require_sound
from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_options, add_output_forms
from gpualert_common.cli.explanation import explanation_lines
from gpualert_common.codec import encode
from gpualert_common.errors import UsageError
from gpualert_common.launch_record import LaunchRecord
from gpualert_common.log_files.file_start import FileStart
from gpualert_common.log_files.log_paths import LogPaths, find_logs
from gpualert_common.model import Verdict
from gpualert_common.redact import Redactor
from gpualert_common.report import markdown, terminal
from gpualert_common.report.text_sanitizer import NoMasks, TextSanitizer
from gpualert_common.report.verdict_view import view_verdict
from gpualert_common.settings import load_settings
from gpualert_common.spec import EndFacts, Ending
from gpualert_common.structs import replace, to_builtins


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the logs, the exit status, and the forms of the verdict."""
    parser.description = (
        "Explain why a run failed, from its log or logs (all log files of one run)."
    )
    parser.add_argument(
        "logs",
        nargs="+",
        metavar="LOG",
        help="a log file, plain or compressed; a folder or a quoted pattern ('logs/*.out') of such "
        "files; or - for stdin",
    )
    parser.add_argument(
        "--exit-code",
        type=int,
        metavar="N",
        help="exit status of the run: 0 to 255, or -n for signal n",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="also list the candidates for the cause and the rules that chose among them",
    )
    add_options(parser, "rules")
    add_output_forms(parser)


def execute(options: argparse.Namespace) -> int:
    """Print the verdict of one run from all its log files."""
    ending = Ending(0.0)
    ending.code = options.exit_code
    if ending.code is not None and not -64 <= ending.code <= 255:
        raise UsageError(f"--exit-code {ending.code}: a status is 0 to 255, or -n for signal n")
    own = load_settings({"rules": options.rules})["rules"].value
    if own is not None:
        require_sound(own)
    classifier = RunClassifier(LaunchRecord(rules=own))
    for log in options.logs:
        _read(classifier, log)
    verdict = classifier.conclude(ending, EndFacts())
    verdict = replace(verdict, log_path=_log_of(verdict, options.logs))
    explanation = classifier.explanation if options.explain else None
    if options.json:
        fields = encode(verdict)
        if explanation is not None:
            fields["explanation"] = to_builtins(explanation)
        printing.print_json(fields)
        return 0
    text = TextSanitizer(Redactor() if options.markdown else NoMasks())
    view = view_verdict(verdict, text)
    facts = [("Log", text.line(f"{log}{_describe_size(verdict, log)}")) for log in options.logs]
    if options.markdown:
        printing.print_lines(*markdown.render_page(view, facts=facts).rstrip("\n").split("\n"))
    else:
        layout = terminal.TerminalLayout.of_stdout(is_full=options.full)
        page = terminal.render_page(view, layout, facts=facts)
        printing.print_lines(*page, colours=layout.colours)
    if explanation is not None:
        lines = list(explanation_lines(explanation, text.line))
        printing.print_lines("", *(["```text", *lines, "```"] if options.markdown else lines))
    return 0


def _log_of(verdict: Verdict, logs: list[str]) -> str | None:
    """Return the log of the verdict: the first that it cites, else the last argument."""
    cited = [claim.where.file for claim in verdict.shows if claim.where is not None]
    log = (cited or logs)[-1 if not cited else 0]
    return None if log in ("-", "stdin") else os.path.abspath(log)


def _describe_size(verdict: Verdict, log: str) -> str:
    """Return " (empty)" for a log that was read and has no content."""
    name = "stdin" if log == "-" else log
    sizes = [source.bytes_read for source in verdict.sources if source.file == name]
    return " (empty)" if sizes == [0] else ""


def _read(classifier: RunClassifier, argument: str) -> None:
    """Read what an argument names; older parts of a rotated log go in front of it."""
    found = LogPaths([(argument,)]) if argument == "-" else find_logs(argument)
    if not found.logs:
        raise UsageError("; ".join((f"{argument}: no log file", *found.left_out)))
    for text in found.left_out:
        classifier.warn("left_out", argument, text)
    for parts in found.logs:
        name = "stdin" if argument == "-" else parts[-1]
        try:
            classifier.feed_texts(_open_parts(parts, classifier), name)
        except OSError as error:
            raise UsageError(f"{error.filename or name}: {error.strerror}") from None
        if len(parts) > 1:
            what = "was read behind its older parts: lines and offsets are those of all together"
            classifier.warn("joined", name, what)


def _open_parts(
    parts: tuple[str, ...], classifier: RunClassifier
) -> Iterator[tuple[str, BinaryIO]]:
    """Yield each file up to its present end, so that one that grows is read to an end, too."""
    for path in parts:
        if path == "-":
            yield "stdin", sys.stdin.buffer
            continue
        with open(path, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if not size:  # nor has a pipe, or a file of /proc
                yield path, file
                continue
            yield path, cast("BinaryIO", FileStart(file, size))
            if os.fstat(file.fileno()).st_size > size:
                what = f"grew while it was read: the verdict is that of its first {size:,} bytes"
                classifier.warn("growing", path, what)
