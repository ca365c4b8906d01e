"""The stored hits of the patterns are those of the rules and logs of today."""

from __future__ import annotations

from corpus.evaluation.pattern_hits import count_open_origins, count_origins, read_hits
from gpualert_common.classify import load_rules


def test_stored_hits_are_current() -> None:
    """``python -m corpus pattern-hits`` was run after the last change of a rule or a log."""
    assert read_hits() == count_open_origins()


def test_every_pattern_is_counted() -> None:
    """A pattern without hits counts, too."""
    hits = count_origins([])
    assert set(hits) == {one.id for one in load_rules().patterns}
    assert set(hits.values()) == {0}
