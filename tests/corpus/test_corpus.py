"""The committed corpus: labels, logs, copies, numbers."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from gpualert_common.corpus.entries import (
    ENTRIES,
    Provenance,
    is_frozen,
    log_path,
    read_entries,
)
from gpualert_common.corpus.evaluate import Sample, near_copies
from gpualert_common.corpus.first_contact import contacted, read_contacts
from gpualert_common.diagnose.paper_classes import CLASSES
from gpualert_common.errors import CorpusError
from tests.corpus.conftest import CORPUS, MakeCorpus

MOST_NEAR_COPIES = 0.1
"""The share of logs that may be near-copies of another one."""

A_DEVELOPERS_MACHINE = re.compile(rb"/work/|/root/\.pyenv|/tmp/bash_jobs|\.venv-corpus")


def test_every_log_has_an_entry_and_every_entry_a_log() -> None:
    """Nothing lies in the corpus that no entry tells of, and no entry tells of nothing."""
    told = {log_path(CORPUS, entry) for entry in read_entries(CORPUS)}
    there = set((CORPUS / "logs").glob("*/*.log"))
    assert told ^ there == set()


def test_every_name_is_there_once() -> None:
    """No two entries share origin and name."""
    names = Counter(entry.id for entry in read_entries(CORPUS))
    assert [name for name, count in names.items() if count > 1] == []


def test_every_log_has_its_source() -> None:
    """The program or generator that an entry names is in the repository."""
    gone = {e.id for e in read_entries(CORPUS) if not (CORPUS / e.source).is_file()}
    assert gone == set()


def test_composed_logs_say_after_what() -> None:
    """A log that no program wrote names the documents that its formats follow."""
    silent = {
        entry.id
        for entry in read_entries(CORPUS)
        if entry.provenance is Provenance.COMPOSED and not entry.basis
    }
    assert silent == set()


def test_no_path_of_a_developers_machine(samples: list[Sample]) -> None:
    """What a program really wrote is cleaned of where it really ran."""
    found = {one.entry.id for one in samples if A_DEVELOPERS_MACHINE.search(one.log)}
    assert found == set()


def test_near_copies_are_few(samples: list[Sample]) -> None:
    """At most a tenth of the logs say what another one of the same cause has said."""
    groups = near_copies(samples)
    copies = sum(len(members) - 1 for members in groups)
    told = [[one.entry.id for one in members] for members in groups]
    assert copies / len(samples) <= MOST_NEAR_COPIES, told


def test_no_copy_across_the_split(samples: list[Sample]) -> None:
    """What rules may be tuned to holds no near-copy of a frozen log."""
    torn = [
        [one.entry.id for one in members]
        for members in near_copies(samples)
        if len({one.entry.frozen for one in members}) > 1
    ]
    assert torn == []


def test_the_split_is_stable() -> None:
    """Which origins are frozen follows from their names for ever."""
    names = {"torch_loop": False, "torch_loader": False, "gpu_hf_finetune": True}
    assert {name: is_frozen(name) for name in names} == names


def test_no_contact_is_forgotten() -> None:
    """Every log that was ever met is still there under its name."""
    ids = {entry.id for entry in read_entries(CORPUS)}
    assert contacted(read_contacts(CORPUS)) - ids == set()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"div_zero"', '"division"', "division"),
        ('"composed"', '"dreamt"', "dreamt"),
        ('"name"', '"nmae"', "nmae"),
        ('"paper_class": "div_zero"', '"paper_class": "zero"', "zero"),
        ("{", "", ":1: "),
    ],
)
def test_wrong_entries_are_named(make_corpus: MakeCorpus, old: str, new: str, told: str) -> None:
    """An entry that is wrong is told by file and line, with what is wrong in it."""
    corpus = make_corpus("origin", ("zero", "div_zero", 1, "ZeroDivisionError\n"))
    file: Path = corpus / "logs" / "origin" / ENTRIES
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(CorpusError, match=told) as caught:
        read_entries(corpus)
    assert f"{ENTRIES}:1: " in str(caught.value)


def test_the_corpus_is_large_enough() -> None:
    """700 logs, 38 causes, 25 for each class of the paper, 80 good runs, 350 that really ran."""
    entries = read_entries(CORPUS)
    classes = Counter(entry.paper_class for entry in entries)
    assert len(entries) >= 700
    assert len({entry.cause for entry in entries}) >= 38
    assert {name: classes[name] for name in CLASSES if classes[name] < 25} == {}
    assert sum(entry.cause == "none" for entry in entries) >= 80
    assert sum(entry.provenance is not Provenance.COMPOSED for entry in entries) >= 350


def test_every_log_was_met() -> None:
    """No log is in the corpus whose first contact was not recorded."""
    ids = {entry.id for entry in read_entries(CORPUS)}
    assert ids - contacted(read_contacts(CORPUS)) == set()


def test_a_third_is_frozen() -> None:
    """Between a quarter and two fifths of the origins are kept apart."""
    origins = {entry.origin for entry in read_entries(CORPUS)}
    assert 0.25 <= sum(map(is_frozen, origins)) / len(origins) <= 0.42
