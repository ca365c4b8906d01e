"""``python -m corpus pattern-hits``: in how many open origins each pattern matches."""

from __future__ import annotations

import argparse

from corpus.evaluation.pattern_hits import count_open_origins, write_hits


def run(options: argparse.Namespace) -> int:
    """Count the hits, store them, and print the patterns with hits in fewer than two origins."""
    hits = count_open_origins(options.corpus)
    write_hits(options.corpus, hits)
    for pattern, origins in sorted(hits.items()):
        if origins < 2:
            print(f"{origins} {pattern}")
    return 0
