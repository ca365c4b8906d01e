"""Score the classifier on labelled logs."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from gpualert_common.cli.arguments import add_json
from gpualert_common.errors import UsageError

_EXTRA = ("matplotlib", "numpy")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions ``evaluate`` and ``first-contact``."""
    actions = parser.add_subparsers(dest="corpus_action", metavar="ACTION", required=True)
    evaluate = actions.add_parser(
        "evaluate",
        help="classify every log and compare with its label",
        description="Classify every log of a corpus as `gpualert classify` would, and compare "
        "what is named with the labels. Near-copies together count as one log.",
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
        help="each log again with prefixes, noise, cuts and cascades (takes minutes)",
    )
    evaluate.add_argument(
        "--out",
        metavar="DIR",
        help="write results.json, confusion.svg and evaluation.html into this directory",
    )
    contact = actions.add_parser(
        "first-contact",
        help="classify logs of origins for the first time, and keep the score",
        description="Classify the logs of origins that were never classified before, and add "
        "the scores to first_contact.jsonl in the corpus. Of frozen origins only counts are told.",
    )
    contact.add_argument("origins", nargs="+", metavar="ORIGIN", help="a folder below logs/")
    for action in (evaluate, contact):
        action.add_argument("--corpus", default="corpus", metavar="DIR", help="default: ./corpus")
        add_json(action)


def execute(options: argparse.Namespace) -> int:
    """Evaluate, or record a first contact.

    Raises :class:`UsageError` where a library of the extra is not installed.
    """
    try:
        if options.corpus_action == "first-contact":
            return _first_contact(options)
        return _evaluate(options)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _EXTRA:
            raise
        raise UsageError(
            f"gpualert corpus needs {error.name}, which is not installed here: "
            "pip install 'gpualert-common[corpus]'"
        ) from error


def _evaluate(options: argparse.Namespace) -> int:
    from gpualert_common.corpus.evaluate import Split, read_samples, results_of
    from gpualert_common.corpus.first_contact import contacted, curve, read_contacts
    from gpualert_common.corpus.page import write
    from gpualert_common.corpus.robustness import robustness_of

    if options.out is not None:  # rather now than behind minutes of work
        importlib.import_module("matplotlib")
        os.makedirs(options.out, exist_ok=True)
    samples = read_samples(options.corpus)
    contacts = read_contacts(options.corpus)
    seen = contacted(contacts)
    split = Split(options.split)
    results = results_of(samples, seen, split)
    if options.robustness:
        results["robustness"] = robustness_of(samples, seen, split, _say)
    written = write(options.out, results, curve(contacts)) if options.out is not None else []
    if options.json:
        print(json.dumps(results, ensure_ascii=False))
    else:
        _print_results(results)
        for file in written:
            print(f"{file} written")
    return 0


def _first_contact(options: argparse.Namespace) -> int:
    from gpualert_common.corpus.first_contact import contact

    lines = contact(options.corpus, options.origins, datetime.now(UTC).date().isoformat())
    if options.json:
        print(json.dumps({"schema": 1, "contacts": lines}, ensure_ascii=False))
        return 0
    for line in lines:
        told = f"{line['right']} of {line['logs']} right, macro-F1 {line['macro_f1']:.3f}"
        print(f"{line['origin']:32} {line['split']:4} {told}")
        for name, (label, named) in line.get("wrong", {}).items():
            print(f"    {name}: {label}, named {named}")
    return 0


def _print_results(results: Mapping[str, Any]) -> None:
    facts = results["corpus"]
    print(
        f"{facts['logs']} logs of {facts['origins']} origins ({facts['frozen_origins']} frozen), "
        f"{facts['causes']} causes; without near-copies {facts['groups']}"
    )
    for name, scores in results["splits"].items():
        print(f"\n== {name}: {scores['logs']} logs")
        _print_scores(scores)
    _print_causes(results)
    if "robustness" in results:
        _print_robustness(results["robustness"])
    if results["wrong"]:
        print("\nwrong, of origins that are not frozen and whose first contact is past:")
    for one in results["wrong"]:
        print(f"  {one['id']:48} {one['label']:18} named {one['named']} ({one['confidence']:.2f})")


def _say(change: str) -> None:
    print(f"again with {change}", file=sys.stderr, flush=True)


def _print_robustness(rows: Sequence[Mapping[str, Any]]) -> None:
    print(f"\n{'again with':32} {'causes':>7} {'lost':>6} {'paper':>7} {'lost':>6}  newly wrong")
    for row in rows:
        lost = row["points_lost"]
        figures = [
            f"{row[key]:7.3f} {lost[key]:6.1f}"
            for key in (next(k for k in lost if k.startswith(part)) for part in ("causes", "paper"))
        ]
        print(f"{row['change']:32} {' '.join(figures)}  {row['newly_wrong']}")
        for one in row["lost"]:
            print(f"    {one['id']:46} {one['label']:18} named {one['named']}")


def _print_scores(scores: Mapping[str, Any]) -> None:
    causes, paper = scores["causes"], scores["paper"]
    _print_figure("causes, macro-F1", causes["macro_f1"])
    _print_figure("causes, accuracy", causes["accuracy"])
    if paper is not None:
        _print_figure(f"paper's classes, macro-F1 ({paper['logs']} logs)", paper["macro_f1"])
        _print_figure("paper's classes, accuracy", paper["accuracy"])
        for name, baseline in paper["baselines"].items():
            test = baseline["mcnemar"]
            note = f"McNemar {test['only_ours']}:{test['only_theirs']}, p = {test['p']:.2g}"
            _print_figure(f"  {name}, macro-F1", baseline["macro_f1"], note)
    for title, key in (("false alarms", "false_alarms"), ("failures named none", "missed")):
        part = scores[key]
        print(f"{title:42} {part['share']:.1%}   {part['named']} of {part['logs']} logs")
    print(f"{'expected calibration error':42} {scores['calibration']['error']:.3f}")
    for one in scores["calibration"]["bins"]:
        print(
            f"  confidence {one['low']:.2f}-{one['high']:.2f}: said {one['confidence']:.3f}, "
            f"right {one['right']:.3f}, weight {one['weight']:.1f}"
        )
    for part in ("provenance", "origins"):
        print(f"by {part}:")
        for name, one in scores[part].items():
            print(
                f"  {name:40} macro-F1 {one['macro_f1']:.3f}  right {one['accuracy']:.3f}"
                f"  {one['logs']} logs"
            )


def _print_figure(title: str, figure: Mapping[str, float], note: str = "") -> None:
    span = f"[{figure['low']:.3f}, {figure['high']:.3f}]"
    print(f"{title:42} {figure['value']:.3f} {span}  {note}".rstrip())


def _print_causes(results: Mapping[str, Any]) -> None:
    first = next(iter(results["splits"].values()))
    print(f"\n{'cause':20} {'precision':>9} {'recall':>7} {'F1':>6} {'logs':>5}")
    for name, one in first["causes"]["per_cause"].items():
        print(
            f"{name:20} {one['precision']:9.3f} {one['recall']:7.3f} {one['f1']:6.3f}"
            f" {one['logs']:5}"
        )
