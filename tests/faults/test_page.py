"""The tables of docs/faults.md have the figures of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.faults import page


def case(row: str, operator: str, **fields: Any) -> dict[str, Any]:
    """Return one case as the fault matrix stores it: by default a success of the first training."""
    usual = {
        "row": row,
        "operator": operator,
        "index": -1,
        "state": "success",
        "tries": 1,
        "returned": "trained by try 1",
        "trainings": 1,
        "most_at_once": 1,
        "problem": "",
        "left_alive": 0,
        "lines_lost": 0,
    }
    return {**usual, **fields}


def outcome(fault: str, face: str, **fields: Any) -> dict[str, Any]:
    """Return one outcome of Prefect's matrix: by default nothing is left."""
    usual = {"left": 0, "most": 1, "engine_gone_s": 1.0, "state": "Failed", "task": ""}
    return {"fault": fault, "face": face, **usual, **fields}


def test_bad_outcomes_stand_out() -> None:
    """Two trainings at once, leftover processes and a failed row are printed in bold."""
    bad = case("timeout", page.THEIRS, trainings=2, most_at_once=2, left_alive=1, lines_lost=3)
    assert page.airflow_outcome(bad) == (
        "success in try 1, trained by try 1, 2 trainings, **2 at once**, **1 process left**,"
        " lines lost"
    )
    assert page.airflow_outcome(case("timeout", page.OURS, problem="no task")) == "**no task**"


def test_executors_are_named_where_they_differ() -> None:
    """A cell has one text for both executors, or one for each."""
    cases = {
        page.LOCAL: [case("timeout", page.OURS), case("timeout", page.THEIRS)],
        page.CELERY: [case("timeout", page.OURS), case("timeout", page.THEIRS, state="failed")],
    }
    row = page.airflow_table({"timeout": "a time-out"}, cases).splitlines()[2]
    assert row == (
        "| a time-out | success in try 1, trained by try 1"
        " | LocalExecutor: success in try 1, trained by try 1"
        "<br>CeleryExecutor: failed in try 1, trained by try 1 |"
    )


def test_faces_that_do_not_differ_share_a_column() -> None:
    """Prefect's table has a column for each outcome, headed by the faces that have it."""
    outcomes = [
        *(outcome("killed", face) for face in ("ours", "ours.submit")),
        outcome("killed", "theirs", left=3, engine_gone_s=None, state="Running"),
    ]
    assert page.prefect_table(outcomes).splitlines() == [
        "| fault | `ours`<br>`ours.submit` | `theirs` |",
        "|---|---|---|",
        "| killed | none left, Failed | **3 processes left**, **flow still runs**, Running |",
    ]


def test_only_the_tables_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text around the tables stays as it is, and every table of the page is known."""
    text = page.PAGE.read_text()
    monkeypatch.setattr(page, "PAGE", tmp_path / "faults.md")
    monkeypatch.setattr(page, "FIGURES", tmp_path)
    page.PAGE.write_text(text)
    rows = {**page.OF_BOTH, **page.OF_CELERY}
    cases = [case(row, operator) for row in rows for operator in (page.OURS, page.THEIRS)]
    of_both = [one for one in cases if one["row"] in page.OF_BOTH]
    for executor, played in ((page.LOCAL, of_both), (page.CELERY, cases)):
        path = tmp_path / f"airflow-faults.{executor}.json"
        path.write_text(json.dumps({"cases": played}))
    found = {"outcomes": [outcome("killed", "ours")]}
    (tmp_path / "prefect-faults.json").write_text(json.dumps(found))
    page.main()
    written = page.PAGE.read_text()
    assert page.BLOCK.sub("", written) == page.BLOCK.sub("", text)
    assert written.count("<!-- faults:") == 3
    assert written.count("| success in try 1") == 2 * len(rows)
