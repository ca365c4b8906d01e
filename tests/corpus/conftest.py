"""The committed corpus, read and judged once, and small ones made for a test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.corpus.entries import Entry, Provenance, entry_of, log_path, write_origin
from gpualert_common.corpus.evaluate import Sample, read_samples, results_of
from gpualert_common.corpus.first_contact import contacted, read_contacts

CORPUS = Path(__file__).parents[2] / "corpus"

MakeCorpus = Callable[..., Path]


@pytest.fixture(scope="session")
def samples() -> list[Sample]:
    """Every committed log with its entry and its group of near-copies."""
    return read_samples(CORPUS)


@pytest.fixture(scope="session")
def results(samples: list[Sample]) -> dict[str, Any]:
    """The evaluation of the committed corpus by the rules of this tree."""
    return results_of(samples, contacted(read_contacts(CORPUS)))


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


def small_entry(origin: str, name: str, cause: str, exit_code: int | None = 1) -> Entry:
    """An entry with nothing but what it must have."""
    fields = {"name": name, "cause": cause, "exit_code": exit_code}
    return entry_of(origin, {**fields, "provenance": Provenance.COMPOSED, "source": "x.py"})
