"""``python -m corpus evaluate``: the accuracy of the classifier on the labelled logs."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import sys

from corpus.entries import Split
from corpus.evaluation.evaluation import evaluate
from corpus.evaluation.first_contact import contacted_ids, group_batches, read_contacts
from corpus.evaluation.html_page import write_evaluation
from corpus.evaluation.labelled_logs import read_labelled_logs
from corpus.evaluation.results import results_to_json
from corpus.evaluation.robustness import measure_robustness
from corpus.evaluation.text_report import format_results


def run(options: argparse.Namespace) -> int:
    """Evaluate, and print or write the results."""
    if options.out is not None:  # fails now rather than after minutes of work
        importlib.import_module("matplotlib")
        options.out.mkdir(parents=True, exist_ok=True)
    logs = read_labelled_logs(options.corpus)
    contacts = read_contacts(options.corpus)
    contacted = contacted_ids(contacts)
    split = Split(options.split)
    results = evaluate(logs, contacted, split)
    if options.robustness:
        rows = measure_robustness(logs, contacted, split, _report_change)
        results = dataclasses.replace(results, robustness=rows)
    files = []
    if options.out is not None:
        files = write_evaluation(options.out, results, group_batches(contacts))
    if options.json:
        print(results_to_json(results))
        return 0
    for line in format_results(results):
        print(line)
    for file in files:
        print(f"{file} written")
    return 0


def _report_change(change: str) -> None:
    print(f"classifying all logs after: {change}", file=sys.stderr, flush=True)
