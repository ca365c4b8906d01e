"""``python -m corpus``: the program of the corpus; needs a checkout and its development group."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from corpus.entries import CORPUS
from gpualert_common.errors import GPUAlertError

EXIT_ERROR = 2
_LIBRARIES = ("matplotlib", "numpy", "scipy", "sklearn")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.  Returns its exit status: 1 if it found something wrong, 2 for an error."""
    options = build_parser().parse_args(arguments)
    module = options.command.replace("-", "_")
    try:
        return int(importlib.import_module(f"corpus.commands.{module}").run(options))
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _LIBRARIES:
            raise
        print(f"corpus: {error.name} is not installed; run: make setup", file=sys.stderr)
    except (GPUAlertError, OSError) as error:
        print(f"corpus: {error}", file=sys.stderr)
    return EXIT_ERROR


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="python -m corpus",
        description="Evaluate the classifier, and make the logs that it is evaluated on.",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    evaluate = _add_command(
        commands,
        "evaluate",
        "classify every log and compare the cause with the label",
        "Classify every log as `gpualert classify` does, and compare the cause with the label. "
        "Near-copies together count as one log.",
    )
    evaluate.add_argument(
        "--split",
        choices=("all", "dev", "test"),
        default="all",
        help="all origins, those that rules may be tuned to (dev), or the frozen ones (test)",
    )
    evaluate.add_argument(
        "--robustness",
        action="store_true",
        help="classify each log again with prefixes, noise, cuts and cascades (takes minutes)",
    )
    evaluate.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="write results.json, confusion.svg and evaluation.html into this directory",
    )
    contact = _add_command(
        commands,
        "first-contact",
        "classify the logs of origins for the first time, and keep the score",
        "Classify the logs of origins that were never classified, and add the scores to "
        "first_contact.jsonl. Only counts are shown of frozen origins.",
    )
    contact.add_argument("origins", nargs="+", metavar="ORIGIN", help="a folder below logs/")
    hits = _add_command(
        commands,
        "pattern-hits",
        "count the origins that each pattern matches in",
        "Count, for each pattern of the rules, the origins that are not frozen and have a line "
        "that it matches. Write pattern_hits.json, and print the patterns with fewer than two.",
    )
    for command in (evaluate, contact, hits):
        command.add_argument(
            "--corpus", type=Path, default=CORPUS, metavar="DIR", help="default: this one"
        )
    for command in (evaluate, contact):
        command.add_argument("--json", action="store_true", help="print only JSON")
    compose = _add_command(
        commands,
        "compose",
        "write the logs of the generators",
        "Run the generators in compose/ and write their logs. The result is deterministic.",
    )
    compose.add_argument("origins", nargs="*", metavar="ORIGIN", help="default: all generators")
    compose.add_argument("--check", action="store_true", help="write nothing, report differences")
    produce = _add_command(
        commands,
        "produce",
        "run the programs and keep their logs",
        "Run the programs in produce/, each alone in an empty directory, with stdout and stderr in "
        "one file.",
    )
    produce.add_argument(
        "selected", nargs="*", metavar="ORIGIN[/NAME]", help="default: all programs"
    )
    produce.add_argument(
        "--check", action="store_true", help="keep nothing, compare with the entries (drift)"
    )
    return parser


def _add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    description: str,
) -> argparse.ArgumentParser:
    return commands.add_parser(name, help=summary, description=description)


if __name__ == "__main__":
    sys.exit(main())
