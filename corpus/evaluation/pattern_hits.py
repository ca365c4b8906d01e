"""Hits of the patterns: for each pattern, in how many open origins it matches a line.

A pattern that matches in one origin only may know no more than that origin's wording.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from corpus.entries import CORPUS, read_entries
from corpus.evaluation.labelled_logs import LabelledLog, load_logs
from gpualert_common.classify import LogReading, Scanner, load_rules
from gpualert_common.classify.compiled_rules import compile_rules
from gpualert_common.classify.last_resort import find_weak_patterns
from gpualert_common.classify.rules import RuleSet

FILE = "pattern_hits.json"


def count_origins(logs: Sequence[LabelledLog]) -> dict[str, int]:
    """Return the number of origins of *logs* that each pattern of the rules matches in."""
    rules = load_rules()
    origins: dict[str, set[str]] = defaultdict(set)
    for log in logs:
        scanner = Scanner(rules, log.entry.name)
        scanner.feed(log.content, 0)
        reading = scanner.finish()
        for pattern in (*reading.counts, *_find_weak_patterns(reading, rules)):
            origins[pattern].add(log.entry.origin)
    return {one.id: len(origins[one.id]) for one in rules.patterns}


def _find_weak_patterns(reading: LogReading, rules: RuleSet) -> Iterator[str]:
    """Yield the weak patterns that match the message of an exception, or the last words."""
    program = compile_rules(rules)
    for head in reading.tracebacks:
        for one in head.chain():
            for pattern, _ in program.match_message(one.message, one.name):
                yield pattern.id
    for pattern in find_weak_patterns(reading, rules):
        yield pattern.id


def count_open_origins(corpus: Path = CORPUS) -> dict[str, int]:
    """Return the counts over all origins of *corpus* that are not frozen."""
    entries = [entry for entry in read_entries(corpus) if not entry.is_frozen]
    return count_origins(load_logs(corpus, entries))


def write_hits(corpus: Path, hits: Mapping[str, int]) -> None:
    """Store the counts, by pattern, in the order of their names."""
    text = json.dumps(dict(sorted(hits.items())), indent=0)
    (corpus / FILE).write_text(f"{text}\n")


def read_hits(corpus: Path = CORPUS) -> dict[str, int]:
    """Return the stored counts."""
    found: dict[str, int] = json.loads((corpus / FILE).read_text())
    return found
