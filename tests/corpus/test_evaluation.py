"""The evaluation agrees with ``gpualert classify``, has a score per split, and is up to date."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from pathlib import Path

import pytest

from corpus.__main__ import main
from corpus.entries import CORPUS, Split, is_frozen
from corpus.errors import CorpusError
from corpus.evaluation.evaluation import evaluate
from corpus.evaluation.first_contact import contacted_ids, group_batches, read_contacts
from corpus.evaluation.html_page import PAGE, PICTURE, write_evaluation
from corpus.evaluation.labelled_logs import LabelledLog, read_labelled_logs
from corpus.evaluation.results import RESULTS, EvaluationResults, read_results
from corpus.evaluation.robustness import measure_robustness
from corpus.evaluation.tables import format_tables
from corpus.evaluation.text_report import format_results
from gpualert_common.cli.main import main as gpualert
from tests.corpus.conftest import MakeCorpus

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
"""Points that a change may cost where the limit of 1 is not reached yet."""


@pytest.fixture
def corpus(make_corpus: MakeCorpus) -> Path:
    """Four logs of an open origin, two of a frozen one."""
    make_corpus(FROZEN, ZERO, LOST)
    return make_corpus(OPEN, ZERO, LOST, WELL, ALARM)


def all_ids(corpus: Path) -> set[str]:
    """The ids of all logs, as if each had its first contact."""
    return {one.entry.id for one in read_labelled_logs(corpus)}


def test_each_split_has_its_own_figures(corpus: Path) -> None:
    """The figures of a split are those of its own logs."""
    results = evaluate(read_labelled_logs(corpus), set())
    logs = {name: scores.logs for name, scores in results.splits.items()}
    assert logs == {"all": 6, "dev": 4, "test": 2}
    assert results.splits[Split.TEST].causes.accuracy.value == 0.5
    assert set(evaluate(read_labelled_logs(corpus), set(), Split.TEST).splits) == {"test"}


def test_wrong_logs_are_listed_only_where_it_does_no_harm(corpus: Path) -> None:
    """Wrong logs of frozen origins, and before their first contact, are never listed."""
    logs = read_labelled_logs(corpus)
    wrong = evaluate(logs, all_ids(corpus)).wrong
    assert [(one.id, one.named) for one in wrong if "lost" in one.id] == [
        (f"{OPEN}/lost", "div_zero")
    ]
    assert {one.id.split("/")[0] for one in wrong} == {OPEN}
    assert evaluate(logs, set()).wrong == ()


def test_the_evaluation_agrees_with_classify(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The evaluation counts the verdict of the program for the same log and exit code."""
    wrong = evaluate(read_labelled_logs(corpus), all_ids(corpus)).wrong
    log = corpus / "logs" / OPEN / "lost.log"
    assert gpualert(["classify", str(log), "--exit-code", "1", "--json"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    found = next(one for one in wrong if one.id == f"{OPEN}/lost")
    assert (verdict["cause"], verdict["confidence"]) == (found.named, found.confidence)


def test_false_alarms_are_counted(corpus: Path) -> None:
    """One of two successful runs is classified as a failure."""
    part = evaluate(read_labelled_logs(corpus), set()).splits[Split.DEV].false_alarms
    assert part.logs == 2
    assert part.share == part.named / 2


def test_a_split_without_logs_is_an_error(make_corpus: MakeCorpus) -> None:
    """The frozen split of a corpus without frozen logs is an error."""
    with pytest.raises(CorpusError, match="test"):
        evaluate(read_labelled_logs(make_corpus(OPEN, ZERO)), set(), Split.TEST)


def test_the_program(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``python -m corpus evaluate`` prints the scores and writes results, plot and page."""
    out = tmp_path / "out"
    assert main(["first-contact", OPEN, "--corpus", str(corpus)]) == 0
    assert main(["evaluate", "--corpus", str(corpus), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "macro-F1" in printed
    assert f"{OPEN}/lost" in printed
    assert {one.name for one in out.iterdir()} == {RESULTS, PICTURE, PAGE}
    assert main(["first-contact", OPEN, "--corpus", str(corpus)]) == 2


def test_the_program_in_json(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With ``--json`` stdout has one object and nothing else."""
    assert main(["evaluate", "--corpus", str(corpus), "--split", "dev", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["corpus"]["logs"] == 6
    assert main(["first-contact", OPEN, "--corpus", str(corpus), "--json"]) == 0
    (contact,) = json.loads(capsys.readouterr().out)["contacts"]
    assert (contact["origin"], contact["logs"]) == (OPEN, 4)


@pytest.mark.parametrize("library", ["numpy", "matplotlib", "sklearn.metrics"])
def test_a_missing_library(
    library: str,
    corpus: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without one of its libraries the program names the command that installs it."""
    for name in [name for name in sys.modules if name.startswith("corpus.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    out = str(tmp_path / "out")
    assert main(["evaluate", "--corpus", str(corpus), "--out", out]) == 2
    assert "make setup" in capsys.readouterr().err


def test_kept_results_of_another_version_are_an_error(tmp_path: Path) -> None:
    """Results that cannot be read are an error that names the command to make them."""
    (tmp_path / RESULTS).write_text('{"schema": 1, "corpus": {}}')
    with pytest.raises(CorpusError, match="python -m corpus evaluate"):
        read_results(tmp_path)


def test_written_files_are_the_same_each_time(corpus: Path, tmp_path: Path) -> None:
    """Results, plot and page depend only on logs and rules."""
    results = evaluate(read_labelled_logs(corpus), all_ids(corpus))
    first, second = (write_evaluation(tmp_path / name, results, []) for name in ("one", "two"))
    assert [one.read_bytes() for one in first] == [one.read_bytes() for one in second]


def test_written_results_are_read_back(corpus: Path, tmp_path: Path) -> None:
    """The results on the disk are the results in memory."""
    logs = read_labelled_logs(corpus)
    rows = measure_robustness(logs, all_ids(corpus), Split.DEV)
    results = evaluate(logs, all_ids(corpus), Split.DEV)
    for one in (results, dataclasses.replace(results, robustness=rows)):
        write_evaluation(tmp_path, one, [])
        assert read_results(tmp_path) == one


def test_the_page_is_complete(corpus: Path, tmp_path: Path) -> None:
    """The page loads nothing and contains its plots."""
    logs = read_labelled_logs(corpus)
    rows = measure_robustness(logs, all_ids(corpus))
    results = dataclasses.replace(evaluate(logs, all_ids(corpus)), robustness=rows)
    text = write_evaluation(tmp_path, results, [])[-1].read_text()
    assert re.findall(r"""(?:src|href)=["'](?!#)|<script|@import|url\((?!#)""", text) == []
    assert text.count("<svg") == 2


def test_robustness_lists_newly_wrong_logs(corpus: Path) -> None:
    """Each change has a row with the points lost, and the open logs that became wrong."""
    rows = measure_robustness(read_labelled_logs(corpus), all_ids(corpus), Split.DEV)
    assert len(rows) == 12
    for row in rows:
        assert set(row.points_lost) == {"causes_all", "causes_dev", "paper_all", "paper_dev"}
        assert {one.id.split("/")[0] for one in row.lost} <= {OPEN}


def test_the_tables(corpus: Path) -> None:
    """The tables have a column for each split and a row for each change."""
    logs = read_labelled_logs(corpus)
    rows = measure_robustness(logs, set())
    text = format_tables(dataclasses.replace(evaluate(logs, set()), robustness=rows), [])
    assert "| macro-F1" not in text.splitlines()[0]
    assert "| all origins | open origins | frozen origins |" in text
    assert "| 200 lines of cascade after |" in text


def test_confidence_by_kind_of_evidence(make_corpus: MakeCorpus) -> None:
    """Confidence and share that is right are scored apart for each kind of evidence."""
    make_corpus(
        OPEN,
        ("silent", "config", 2, "preparing\n"),
        ("killed", "killed_unknown", -9, "step 1 loss 0.3\nstep 2 loss 0.2\n"),
        ("named", "killed_unknown", -9, "run.sh: line 3: 77 Killed   python x\n"),
        ("line", "command_not_found", 1, "bash: line 1: trian: command not found\n"),
    )
    place = make_corpus(FROZEN, ZERO, WELL)
    results = evaluate(read_labelled_logs(place), set())
    found = {
        kind: (one.logs, one.right) for kind, one in results.splits[Split.ALL].evidence.items()
    }
    assert found == {
        "exit status only": (2, 0.5),
        "one line": (1, 1.0),
        "exception": (1, 1.0),
        "two sources": (1, 1.0),
        "no failure": (1, 1.0),
    }
    assert "exception" not in results.splits[Split.DEV].evidence
    printed = "\n".join(format_results(results))
    assert "  two sources  " in printed
    table = format_tables(results, []).partition("## Confidence by kind of evidence")[2]
    assert "| exit status only |" in table
    assert "right 0.50 of 2" in table


def test_the_kept_figures_are_true(results: EvaluationResults) -> None:
    """The figures in results.json, and so in docs/accuracy.md, are those of the current rules.

    To update them: ``python -m corpus evaluate --robustness --out corpus``, then ``make docs``.
    """
    kept = read_results(CORPUS)
    assert kept.corpus == results.corpus
    assert kept.splits == results.splits


@pytest.mark.nightly
def test_the_kept_robustness_is_true(logs: list[LabelledLog]) -> None:
    """No change costs more than its limit, and the table in results.json is up to date.

    To change every log takes minutes of every core, so the test compares every fifth of the open
    logs with the table.
    """
    kept = read_results(CORPUS).robustness or ()
    lost = {row.change: row.points_lost["causes_all"] for row in kept}
    assert {
        change: points for change, points in lost.items() if points > LIMITS.get(change, 1)
    } == {}
    contacted = contacted_ids(read_contacts(CORPUS))
    some = [one for one in logs if Split.DEV.contains(one.entry) and one.entry.id in contacted][::5]
    ids = {one.entry.id for one in some}
    assert {row.change: row.lost for row in measure_robustness(some, contacted)} == {
        row.change: tuple(one for one in row.lost if one.id in ids) for row in kept
    }


def test_the_kept_contacts_make_a_curve() -> None:
    """The curve of the kept first contacts has shares between 0 and 1."""
    shares = [row.share_so_far for row in group_batches(read_contacts(CORPUS))]
    assert shares
    assert all(0 <= share <= 1 for share in shares)
