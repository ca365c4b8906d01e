"""docs/templates.md documents all variables of a template."""

from __future__ import annotations

import re
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.model import Artifact, Fate, SecondaryCause
from gpualert_common.report.alert_phrases import AlertPhrases
from gpualert_common.report.alerted_job import AlertedJob, JobRow
from gpualert_common.report.message import render_alert
from gpualert_common.report.run_view import RunView
from gpualert_common.report.samples import FAILED
from gpualert_common.report.shortening import count_no_omissions
from gpualert_common.report.task_view import TaskView
from gpualert_common.report.template_environment import NAMES, built_in
from gpualert_common.report.template_limits import OWN_TEMPLATES_BYTES, OWN_TEMPLATES_S
from gpualert_common.report.verdict_view import EvidenceItem

PAGE = (Path(__file__).parents[2] / "docs" / "templates.md").read_text()
ROWS = dict(re.findall(r"^\| `([\w.]+)` \|(.*)$", PAGE, re.MULTILINE))


def fields(kind: Any) -> list[str]:
    """Return the names of a data class's fields."""
    return list(signature(kind).parameters)


@pytest.mark.parametrize(("name", "kind"), [("alert", RunView), ("phrases", AlertPhrases)])
def test_every_field_has_a_row(name: str, kind: Any) -> None:
    """The tables list the fields of an alert and of its phrases, and no others."""
    listed = [row.partition(".")[2] for row in ROWS if row.startswith(f"{name}.")]
    assert sorted(listed) == sorted(fields(kind))


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ("alert.shows", EvidenceItem),
        ("alert.artifacts", Artifact),
        ("alert.secondary", SecondaryCause),
        ("alert.task", TaskView),
        ("job.rows", JobRow),
    ],
)
def test_fields_of_entries_are_named(row: str, kind: Any) -> None:
    """The fields of an entry are named in the row of the list, those of a task in its row."""
    assert set(re.findall(r"`(\w+)`", ROWS[row])) == set(fields(kind))


def test_every_field_of_a_job_has_a_row() -> None:
    """The table of a job lists its fields and properties, and no others."""
    listed = {row.partition(".")[2] for row in ROWS if row.startswith("job.")}
    assert listed == {*fields(AlertedJob), "is_addition", "place"}


def test_other_names_are_documented() -> None:
    """Templates, filters, fates, counts of omissions and limits are on the page."""
    ours = {"duration", "size", "time", "wrap"}
    assert ours <= set(built_in().filters)
    for name in (*NAMES, *ours, *Fate, "problems"):
        assert f"`{name}`" in PAGE
    for name in count_no_omissions(FAILED):
        assert f"`left_out.{name}`" in PAGE
    assert f"{OWN_TEMPLATES_S:g} seconds, {OWN_TEMPLATES_BYTES >> 20} MiB" in PAGE


def test_example_works(tmp_path: Path) -> None:
    """The example on the page is a template with the described output."""
    found = re.search(r"```jinja\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    (tmp_path / "body.txt.j2").write_text(found.group(1))
    made = render_alert(FAILED, text_bytes=1 << 20, templates=str(tmp_path))
    assert made.notes == ()
    assert "train-llm failed after 3 h 05 min on gpu-17.example.org." in made.text
