"""A first contact is one, and tells nothing of frozen logs but counts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.corpus.entries import is_frozen
from gpualert_common.corpus.first_contact import (
    FILE,
    contact,
    contacted,
    curve,
    read_contacts,
    rules_digest,
)
from gpualert_common.errors import UsageError
from gpualert_common.rule_files import RULES_DIR_VARIABLE, shipped_directory
from tests.corpus.conftest import MakeCorpus

TODAY = "2026-03-11"
OPEN, FROZEN = (
    next(name for name in (f"origin_{n}" for n in range(99)) if is_frozen(name) is frozen)
    for frozen in (False, True)
)
RIGHT = ("zero", "div_zero", 1, "ZeroDivisionError: division by zero\n")
WRONG = ("label", "permission", 1, "ZeroDivisionError: division by zero\n")


def test_a_line_for_each_origin(make_corpus: MakeCorpus) -> None:
    """A contact writes what was right, by which rules, and of which logs."""
    corpus = make_corpus(OPEN, RIGHT, WRONG)
    (line,) = contact(corpus, [OPEN], TODAY)
    assert read_contacts(corpus) == [line]
    assert (line["origin"], line["split"], line["date"]) == (OPEN, "dev", TODAY)
    assert (line["logs"], line["right"], line["batch"]) == (2, 1, 1)
    assert line["rules"] == rules_digest()
    assert line["wrong"] == {"label": ["permission", "div_zero"]}
    assert contacted([line]) == {f"{OPEN}/zero", f"{OPEN}/label"}


def test_of_frozen_logs_only_counts(make_corpus: MakeCorpus) -> None:
    """What was wrong in a frozen origin is told nowhere."""
    corpus = make_corpus(FROZEN, RIGHT, WRONG)
    (line,) = contact(corpus, [FROZEN], TODAY)
    assert (line["split"], line["right"]) == ("test", 1)
    assert "wrong" not in line


def test_a_second_contact_is_refused(make_corpus: MakeCorpus) -> None:
    """Logs are met once; the error names the origin, and nothing is written of any other."""
    corpus = make_corpus(OPEN, RIGHT)
    contact(corpus, [OPEN], TODAY)
    make_corpus(FROZEN, RIGHT)
    with pytest.raises(UsageError, match=OPEN):
        contact(corpus, [FROZEN, OPEN], TODAY)
    assert len(read_contacts(corpus)) == 1


def test_logs_that_came_later_are_a_line_of_their_own(make_corpus: MakeCorpus) -> None:
    """An origin that grew is met again, with its new logs only."""
    corpus = make_corpus(OPEN, RIGHT)
    contact(corpus, [OPEN], TODAY)
    make_corpus(OPEN, RIGHT, WRONG)
    (line,) = contact(corpus, [OPEN], TODAY)
    assert (line["names"], line["logs"], line["batch"]) == (["label"], 1, 2)


def test_an_unknown_origin_is_refused(make_corpus: MakeCorpus) -> None:
    """A folder that is not there is named."""
    with pytest.raises(UsageError, match="nowhere"):
        contact(make_corpus(OPEN, RIGHT), ["nowhere"], TODAY)
    assert not (make_corpus(OPEN, RIGHT) / FILE).exists()


def test_the_curve_adds_up() -> None:
    """A row for each batch, with what was right in it and so far."""

    def line(batch: int, logs: int, right: int, macro_f1: float) -> dict[str, Any]:
        counts = {"logs": logs, "right": right, "macro_f1": macro_f1}
        return {"batch": batch, "date": TODAY, "origin": f"o{logs}", **counts}

    first, second = curve([line(1, 10, 5, 0.4), line(1, 30, 25, 0.8), line(2, 10, 10, 1.0)])
    assert (first["origins"], first["logs"], first["share"]) == (2, 40, 0.75)
    assert first["macro_f1"] == pytest.approx(0.7)
    assert (second["share"], second["share_so_far"]) == (1.0, 0.8)


def test_the_digest_follows_the_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any change of any rule changes the digest."""
    rules = Path(shutil.copytree(shipped_directory(), tmp_path / "rules"))
    monkeypatch.setenv(RULES_DIR_VARIABLE, str(rules))
    before = rules_digest()
    (rules / "div_zero.toml").write_text((rules / "div_zero.toml").read_text() + "\n")
    assert rules_digest() != before


def test_the_kept_lines_are_whole(make_corpus: MakeCorpus) -> None:
    """The file is one JSON object a line."""
    corpus = make_corpus(OPEN, RIGHT)
    contact(corpus, [OPEN], TODAY)
    assert [json.loads(line) for line in (corpus / FILE).read_text().splitlines()]
