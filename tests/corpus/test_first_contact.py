"""First contacts happen once per log, and of frozen logs only counts are kept."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from corpus.entries import Split, is_frozen
from corpus.evaluation.first_contact import (
    FILE,
    FirstContact,
    contacted_ids,
    digest_rules,
    group_batches,
    read_contacts,
    record_contacts,
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
    """The line of an origin has the score, the rules and the logs."""
    corpus = make_corpus(OPEN, RIGHT, WRONG)
    (line,) = record_contacts(corpus, [OPEN], TODAY)
    assert read_contacts(corpus) == [line]
    assert (line.origin, line.split, line.date) == (OPEN, "dev", TODAY)
    assert (line.logs, line.right, line.batch) == (2, 1, 1)
    assert line.rules == digest_rules()
    assert line.wrong == {"label": ("permission", "div_zero")}
    assert contacted_ids([line]) == {f"{OPEN}/zero", f"{OPEN}/label"}


def test_of_frozen_logs_only_counts(make_corpus: MakeCorpus) -> None:
    """The wrong logs of a frozen origin are written nowhere."""
    corpus = make_corpus(FROZEN, RIGHT, WRONG)
    (line,) = record_contacts(corpus, [FROZEN], TODAY)
    assert (line.split, line.right, line.wrong) == ("test", 1, None)
    assert "wrong" not in (corpus / FILE).read_text()


def test_a_second_contact_is_refused(make_corpus: MakeCorpus) -> None:
    """A second contact is an error that names the origin, and no other origin is written."""
    corpus = make_corpus(OPEN, RIGHT)
    record_contacts(corpus, [OPEN], TODAY)
    make_corpus(FROZEN, RIGHT)
    with pytest.raises(UsageError, match=OPEN):
        record_contacts(corpus, [FROZEN, OPEN], TODAY)
    assert len(read_contacts(corpus)) == 1


def test_later_logs_have_a_line_of_their_own(make_corpus: MakeCorpus) -> None:
    """The second contact of an origin has only its new logs."""
    corpus = make_corpus(OPEN, RIGHT)
    record_contacts(corpus, [OPEN], TODAY)
    make_corpus(OPEN, RIGHT, WRONG)
    (line,) = record_contacts(corpus, [OPEN], TODAY)
    assert (line.names, line.logs, line.batch) == (("label",), 1, 2)


def test_an_unknown_origin_is_refused(make_corpus: MakeCorpus) -> None:
    """The error for an unknown origin names it."""
    with pytest.raises(UsageError, match="nowhere"):
        record_contacts(make_corpus(OPEN, RIGHT), ["nowhere"], TODAY)
    assert not (make_corpus(OPEN, RIGHT) / FILE).exists()


def test_the_curve_adds_up() -> None:
    """Each batch has a row with its own share and the share so far."""

    def line(batch: int, logs: int, right: int, macro_f1: float) -> FirstContact:
        origin = f"o{logs}"
        return FirstContact(batch, TODAY, origin, Split.DEV, logs, right, macro_f1, "0.1.0", "", ())

    first, second = group_batches([line(1, 10, 5, 0.4), line(1, 30, 25, 0.8), line(2, 10, 10, 1.0)])
    assert (first.origins, first.logs, first.share) == (2, 40, 0.75)
    assert first.macro_f1 == pytest.approx(0.7)
    assert (second.share, second.share_so_far) == (1.0, 0.8)


def test_the_digest_follows_the_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any change of any rule changes the digest."""
    rules = Path(shutil.copytree(shipped_directory(), tmp_path / "rules"))
    monkeypatch.setenv(RULES_DIR_VARIABLE, str(rules))
    before = digest_rules()
    (rules / "div_zero.toml").write_text((rules / "div_zero.toml").read_text() + "\n")
    assert digest_rules() != before


def test_the_file_has_json_lines(make_corpus: MakeCorpus) -> None:
    """Each line of the file is one JSON object."""
    corpus = make_corpus(OPEN, RIGHT)
    record_contacts(corpus, [OPEN], TODAY)
    assert [json.loads(line) for line in (corpus / FILE).read_text().splitlines()]
