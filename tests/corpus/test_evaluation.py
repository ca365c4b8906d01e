"""The evaluation: as ``gpualert classify`` would, told apart by split, and kept true."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.cli.main import main
from gpualert_common.corpus.entries import is_frozen
from gpualert_common.corpus.evaluate import RESULTS, Sample, Split, read_samples, results_of
from gpualert_common.corpus.first_contact import contacted, curve, read_contacts
from gpualert_common.corpus.page import PAGE, PICTURE, write
from gpualert_common.corpus.robustness import robustness_of
from gpualert_common.corpus.tables import tables
from gpualert_common.errors import CorpusError
from tests.corpus.conftest import CORPUS, MakeCorpus

OPEN, FROZEN = (
    next(name for name in (f"origin_{n}" for n in range(99)) if is_frozen(name) is frozen)
    for frozen in (False, True)
)
ZERO = ("zero", "div_zero", 1, "ZeroDivisionError: division by zero\n")
LOST = ("lost", "permission", 1, "ZeroDivisionError: float modulo in /a/b\n")
WELL = ("well", "none", 0, "step 1 loss 0.3\ndone\n")
ALARM = ("alarm", "none", 0, "step 1\nTraceback (most recent call last):\nValueError: x\n")

LIMITS = {
    "eight ranks in lockstep": 1.5,
    "eight ranks without prefixes": 1.5,
    "200 lines of cascade after": 2.0,
}
"""Points that a change of dress may cost where one is not enough yet."""


@pytest.fixture
def corpus(make_corpus: MakeCorpus) -> Path:
    """Four logs of an open origin, two of a frozen one."""
    make_corpus(FROZEN, ZERO, LOST)
    return make_corpus(OPEN, ZERO, LOST, WELL, ALARM)


def everything(corpus: Path) -> set[str]:
    """The ids of all logs, as if all of them had been met."""
    return {one.entry.id for one in read_samples(corpus)}


def test_splits_are_apart(corpus: Path) -> None:
    """Each split has its own figures, of its own logs."""
    results = results_of(read_samples(corpus), set())
    logs = {name: scores["logs"] for name, scores in results["splits"].items()}
    assert logs == {"all": 6, "dev": 4, "test": 2}
    assert results["splits"]["test"]["causes"]["accuracy"]["value"] == 0.5
    assert set(results_of(read_samples(corpus), set(), Split.TEST)["splits"]) == {"test"}


def test_wrong_ones_are_named_only_where_it_does_no_harm(corpus: Path) -> None:
    """Of frozen origins, and before their first contact, nobody learns which logs are wrong."""
    samples = read_samples(corpus)
    wrong = results_of(samples, everything(corpus))["wrong"]
    assert [(one["id"], one["named"]) for one in wrong if "lost" in one["id"]] == [
        (f"{OPEN}/lost", "div_zero")
    ]
    assert {one["id"].split("/")[0] for one in wrong} == {OPEN}
    assert results_of(samples, set())["wrong"] == []


def test_the_same_words_as_classify(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is counted is what the program says of the same log and exit code."""
    wrong = results_of(read_samples(corpus), everything(corpus))["wrong"]
    log = corpus / "logs" / OPEN / "lost.log"
    assert main(["classify", str(log), "--exit-code", "1", "--json"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    told = next(one for one in wrong if one["id"] == f"{OPEN}/lost")
    assert (verdict["cause"], verdict["confidence"]) == (told["named"], told["confidence"])


def test_false_alarms_are_counted(corpus: Path) -> None:
    """Of two good runs one is named a failure."""
    part = results_of(read_samples(corpus), set())["splits"]["dev"]["false_alarms"]
    assert part["logs"] == 2
    assert part["share"] == part["named"] / 2


def test_a_split_without_logs_is_an_error(make_corpus: MakeCorpus) -> None:
    """Asking for frozen logs where there are none says so."""
    with pytest.raises(CorpusError, match="test"):
        results_of(read_samples(make_corpus(OPEN, ZERO)), set(), Split.TEST)


def test_the_program(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``corpus evaluate`` prints the scores and leaves results, picture and page."""
    out = tmp_path / "out"
    assert main(["corpus", "first-contact", OPEN, "--corpus", str(corpus)]) == 0
    assert main(["corpus", "evaluate", "--corpus", str(corpus), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "macro-F1" in said
    assert f"{OPEN}/lost" in said
    assert {one.name for one in out.iterdir()} == {RESULTS, PICTURE, PAGE}
    assert main(["corpus", "first-contact", OPEN, "--corpus", str(corpus)]) == 2


def test_the_program_in_json(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With ``--json`` one object is on stdout and nothing else."""
    assert main(["corpus", "evaluate", "--corpus", str(corpus), "--split", "dev", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["corpus"]["logs"] == 6


@pytest.mark.parametrize("library", ["numpy", "matplotlib"])
def test_a_library_that_is_missing(
    library: str,
    corpus: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a library of the extra the program says what to install."""
    for name in [name for name in sys.modules if name.startswith("gpualert_common.corpus")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    out = str(tmp_path / "out")
    assert main(["corpus", "evaluate", "--corpus", str(corpus), "--out", out]) == 2
    assert "pip install 'gpualert-common[corpus]'" in capsys.readouterr().err


def test_written_files_are_the_same_each_time(corpus: Path, tmp_path: Path) -> None:
    """Results, picture and page depend on nothing but logs and rules."""
    results = results_of(read_samples(corpus), everything(corpus))
    first, second = (write(tmp_path / name, results, []) for name in ("one", "two"))
    assert [one.read_bytes() for one in first] == [one.read_bytes() for one in second]


def test_the_page_needs_nothing(corpus: Path, tmp_path: Path) -> None:
    """The page loads nothing from anywhere, and holds its pictures."""
    results = results_of(read_samples(corpus), everything(corpus))
    results["robustness"] = robustness_of(read_samples(corpus), everything(corpus))
    text = write(tmp_path, results, [])[-1].read_text()
    assert re.findall(r"""(?:src|href)=["'](?!#)|<script|@import|url\((?!#)""", text) == []
    assert text.count("<svg") == 2


def test_robustness_names_what_fell(corpus: Path) -> None:
    """A row for each change, with points lost, and the logs that fell among the open ones."""
    rows = robustness_of(read_samples(corpus), everything(corpus), Split.DEV)
    assert len(rows) == 12
    for row in rows:
        assert set(row["points_lost"]) == {"causes_all", "causes_dev", "paper_all", "paper_dev"}
        assert {one["id"].split("/")[0] for one in row["lost"]} <= {OPEN}


def test_the_tables(corpus: Path) -> None:
    """The tables for the README have a column for each split and a row for each change."""
    samples = read_samples(corpus)
    results = results_of(samples, set())
    results["robustness"] = robustness_of(samples, set())
    text = tables(results, [])
    assert "| macro-F1" not in text.splitlines()[0]
    assert "| all origins | open origins | frozen origins |" in text
    assert "| 200 lines of cascade after |" in text


def test_the_kept_figures_are_true(results: dict[str, Any]) -> None:
    """What stands in results.json, and so in the README, is what these rules reach today.

    To make it so: ``gpualert corpus evaluate --robustness --out corpus``, then ``make docs``.
    """
    kept = json.loads((CORPUS / RESULTS).read_text())
    assert kept["corpus"] == results["corpus"]
    assert kept["splits"] == results["splits"]


@pytest.mark.nightly
def test_the_kept_robustness_is_true(samples: list[Sample]) -> None:
    """No change of dress costs more than its limit, and the table in results.json says so.

    Dressing every log takes minutes of every core, so it is every fifth of the open ones that has
    to fall, or not to fall, as the table says.
    """
    kept = json.loads((CORPUS / RESULTS).read_text())["robustness"]
    lost = {row["change"]: row["points_lost"]["causes_all"] for row in kept}
    assert {
        change: points for change, points in lost.items() if points > LIMITS.get(change, 1)
    } == {}
    seen = contacted(read_contacts(CORPUS))
    some = [one for one in samples if Split.DEV.holds(one.entry) and one.entry.id in seen][::5]
    ids = {one.entry.id for one in some}
    assert {row["change"]: row["lost"] for row in robustness_of(some, seen)} == {
        row["change"]: [one for one in row["lost"] if one["id"] in ids] for row in kept
    }


def test_the_kept_contacts_make_a_curve() -> None:
    """The first contacts that are kept can be drawn."""
    shares = [row["share_so_far"] for row in curve(read_contacts(CORPUS))]
    assert all(0 <= share <= 1 for share in shares)
