"""The committed corpus: labels, logs, near-copies, size."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from corpus.entries import CORPUS, ENTRIES, Provenance, is_frozen, log_path, read_entries
from corpus.errors import CorpusError
from corpus.evaluation.first_contact import contacted_ids, read_contacts
from corpus.evaluation.labelled_logs import LabelledLog, near_copies
from gpualert_common.diagnose.paper_classes import CLASSES
from tests.corpus.conftest import MakeCorpus

MOST_NEAR_COPIES = 0.1
"""The share of logs that may be near-copies of another one."""

A_DEVELOPERS_MACHINE = re.compile(rb"/work/|/root/\.pyenv|/tmp/bash_jobs|\.venv-corpus")


def test_every_log_has_an_entry_and_every_entry_a_log() -> None:
    """Each log in the corpus has an entry, and each entry a log."""
    named = {log_path(CORPUS, entry) for entry in read_entries(CORPUS)}
    there = set((CORPUS / "logs").glob("*/*.log"))
    assert named ^ there == set()


def test_names_are_unique() -> None:
    """No two entries have the same origin and name."""
    names = Counter(entry.id for entry in read_entries(CORPUS))
    assert [name for name, count in names.items() if count > 1] == []


def test_every_log_has_its_source() -> None:
    """The program or generator of each entry is in the repository."""
    gone = {e.id for e in read_entries(CORPUS) if not (CORPUS / e.source).is_file()}
    assert gone == set()


def test_composed_logs_name_their_basis() -> None:
    """The entry of a composed log names the documents that its formats follow."""
    without_basis = {
        entry.id
        for entry in read_entries(CORPUS)
        if entry.provenance is Provenance.COMPOSED and not entry.basis
    }
    assert without_basis == set()


def test_no_path_of_a_developers_machine(logs: list[LabelledLog]) -> None:
    """The logs of programs have no path of the machine that they ran on."""
    found = {one.entry.id for one in logs if A_DEVELOPERS_MACHINE.search(one.content)}
    assert found == set()


def test_near_copies_are_few(logs: list[LabelledLog]) -> None:
    """At most a tenth of the logs are near-copies of another log of the same cause."""
    groups = near_copies(logs)
    copies = sum(len(members) - 1 for members in groups)
    ids = [[one.entry.id for one in members] for members in groups]
    assert copies / len(logs) <= MOST_NEAR_COPIES, ids


def test_no_copy_across_the_split(logs: list[LabelledLog]) -> None:
    """No log that rules may be tuned to is a near-copy of a frozen one."""
    mixed = [
        [one.entry.id for one in members]
        for members in near_copies(logs)
        if len({one.entry.is_frozen for one in members}) > 1
    ]
    assert mixed == []


def test_the_split_is_stable() -> None:
    """The names of the origins decide for ever which ones are frozen."""
    names = {"torch_loop": False, "torch_loader": False, "gpu_hf_finetune": True}
    assert {name: is_frozen(name) for name in names} == names


def test_no_contact_is_forgotten() -> None:
    """Every log with a first contact still exists under its name."""
    ids = {entry.id for entry in read_entries(CORPUS)}
    assert contacted_ids(read_contacts(CORPUS)) - ids == set()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"div_zero"', '"division"', "division"),
        ('"composed"', '"dreamt"', "dreamt"),
        ('"name"', '"nmae"', "nmae"),
        ('"paper_class": "div_zero"', '"paper_class": "zero"', "zero"),
        ("{", "", ":1: "),
    ],
)
def test_wrong_entries_are_named(make_corpus: MakeCorpus, old: str, new: str, message: str) -> None:
    """The error for a wrong entry names the file, the line and the problem."""
    corpus = make_corpus("origin", ("zero", "div_zero", 1, "ZeroDivisionError\n"))
    file: Path = corpus / "logs" / "origin" / ENTRIES
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(CorpusError, match=message) as caught:
        read_entries(corpus)
    assert f"{ENTRIES}:1: " in str(caught.value)


def test_the_corpus_is_large_enough() -> None:
    """700 logs, 38 causes, 25 of each class of the paper, 80 successful runs, 350 real runs."""
    entries = read_entries(CORPUS)
    classes = Counter(entry.paper_class for entry in entries)
    assert len(entries) >= 700
    assert len({entry.cause for entry in entries}) >= 38
    assert {name: classes[name] for name in CLASSES if classes[name] < 25} == {}
    assert sum(entry.cause == "none" for entry in entries) >= 80
    assert sum(entry.provenance is not Provenance.COMPOSED for entry in entries) >= 350


def test_every_log_has_a_first_contact() -> None:
    """The first contact of every log in the corpus is recorded."""
    ids = {entry.id for entry in read_entries(CORPUS)}
    assert ids - contacted_ids(read_contacts(CORPUS)) == set()


def test_a_third_is_frozen() -> None:
    """Between a quarter and two fifths of the origins are frozen."""
    origins = {entry.origin for entry in read_entries(CORPUS)}
    assert 0.25 <= sum(map(is_frozen, origins)) / len(origins) <= 0.42
