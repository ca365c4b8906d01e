"""The committed corpus, read and classified once, and small ones made for a test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from corpus.entries import CORPUS, CorpusEntry, Provenance, log_path, write_origin
from corpus.evaluation.evaluation import evaluate
from corpus.evaluation.first_contact import contacted_ids, read_contacts
from corpus.evaluation.labelled_logs import LabelledLog, read_labelled_logs
from corpus.evaluation.results import EvaluationResults
from gpualert_common.diagnose.paper_classes import find_paper_class

MakeCorpus = Callable[..., Path]


@pytest.fixture(scope="session")
def logs() -> list[LabelledLog]:
    """Every committed log with its entry and its group of near-copies."""
    return read_labelled_logs(CORPUS)


@pytest.fixture(scope="session")
def results(logs: list[LabelledLog]) -> EvaluationResults:
    """The evaluation of the committed corpus by the rules of this tree."""
    return evaluate(logs, contacted_ids(read_contacts(CORPUS)))


@pytest.fixture
def make_corpus(tmp_path: Path) -> MakeCorpus:
    """A function that adds an origin of (name, cause, exit code, log) to a corpus of its own."""

    def make(origin: str, *logs: tuple[str, str, int | None, str]) -> Path:
        entries = []
        for name, cause, exit_code, text in logs:
            entry = small_entry(origin, name, cause, exit_code)
            entries.append(entry)
            path = log_path(tmp_path, entry)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        write_origin(tmp_path, origin, entries)
        return tmp_path

    return make


def small_entry(origin: str, name: str, cause: str, exit_code: int | None = 1) -> CorpusEntry:
    """An entry with only the required fields."""
    label = find_paper_class(cause)
    return CorpusEntry(origin, name, cause, label, exit_code, Provenance.COMPOSED, "x.py")
