"""Page of the accuracy, and its summary in the README."""

from __future__ import annotations

from corpus.entries import CORPUS
from corpus.evaluation.tables import format_kept_summary, format_kept_tables
from docs.pages.markdown import replace_block

HEAD = """\
# Accuracy of the classifier

Made from `corpus/results.json` and `corpus/first_contact.jsonl` by `make docs`; do not edit. A test
fails if a change of the rules makes these figures untrue.

The corpus has logs of programs that really failed, and logs composed after documented formats.
[The corpus](corpus.md) describes its labels, the frozen origins, and how each figure is computed.
No rule is tuned to a frozen origin. At **first contact** each origin is new to the rules of that
day. Intervals are bootstrap intervals of 95 %; the p-values are those of McNemar's exact test
against the baselines of the paper.

"""


def make_accuracy_page() -> str:
    """Return the page of all figures."""
    return HEAD + format_kept_tables(CORPUS)


def update_readme(page: str) -> str:
    """Return the README with the current summary of the figures."""
    return replace_block(page, "accuracy", format_kept_summary(CORPUS))
