"""The section of a run's job: its verdict, the picture and the table, within their limits."""

from __future__ import annotations

import os
import re
import time
from email import message_from_bytes
from pathlib import Path

import pytest

from gpualert_common.codec import encode
from gpualert_common.jobs.job_report import JOB_REPORT, JobReport, NodePart, NodeState, NodeSummary
from gpualert_common.jobs.reading.isolated_reading import (
    JobReading,
    read_job,
)
from gpualert_common.pages.node_grid import MOST_MARKS, NodeKind, draw_nodes, draw_sample, find_kind
from gpualert_common.pages.node_rows import fold_nodes
from gpualert_common.pages.report import load_sections, render_report
from gpualert_common.record import Record
from gpualert_common.redact import Redactor
from gpualert_common.report.text_sanitizer import NoMasks, TextSanitizer
from gpualert_common.run_report import make_report
from gpualert_common.structs import replace
from tests.jobs.composed_job import KEY
from tests.jobs.silent_store import ADDRESS, start_silent_store
from tests.pages.kinds_of_jobs import (
    JOBS,
    make_large_job,
    make_node,
    make_one_culprit,
    write_digests,
    write_run,
)
from tests.pages.page_outline import Element, PageOutline
from tests.supervised import Lab, processes, shell, until

MOST_PAGE = 1_000_000


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Return the record of a failed run of a job whose directory does not exist."""
    return write_run(tmp_path, {"key": KEY, "name": "17", "directory": str(tmp_path / "jobs")})


def outline(record: Record, report: JobReport) -> PageOutline:
    """Return the report of the run with that job."""
    return PageOutline(render(record, report))


def render(record: Record, report: JobReport) -> str:
    """Return the report of the run with that job, and without a picture of its timeline."""
    job = JobReading(report=report, read_at=time.time())
    return render_report(record, None, masks=Redactor(), drawing_s=0.0, job=job)


def find_section(page: PageOutline) -> Element:
    """Return the section of the job."""
    (section,) = [one for one in page.find("section") if one.id == "job"]
    return section


def list_rows(page: PageOutline, caption: str) -> list[list[str]]:
    """Return the texts of the cells of a table."""
    (table,) = [
        one for one in page.find("table") if one.children and one.children[0].text == caption
    ]
    rows = [one for one in page.find("tr") if any(parent is table for parent in one.parents)]
    return [[" ".join(cell.text.split()) for cell in row.children] for row in rows[1:]]


# -- verdict, picture and table --------------------------------------------------------------


@pytest.mark.parametrize("kind", JOBS)
def test_well_formed(record: Record, kind: str) -> None:
    """The section of each kind of job is well formed, and holds its limit in bytes."""
    text = render(record, JOBS[kind]())
    page = PageOutline(text)
    assert page.faults == []
    assert find_section(page).text.strip()
    begin = text.index('<section id="job"')
    section = text[begin : text.index("</section>", begin)]
    assert len(section.encode()) <= load_sections()["job"].most_bytes + 500
    assert len(text.encode()) < MOST_PAGE
    assert "could not be made" not in section
    assert "left out" not in section


def test_culprit_first(record: Record) -> None:
    """The table begins with the culprit, and names the time from the root to each other node."""
    page = outline(record, make_one_culprit())
    rows = list_rows(page, "Nodes, the culprit first")
    assert rows[0][:6] == ["gpu003", "culprit", "24-31", "failed, status 1", "cuda_oom", "0.0s"]
    assert rows[1][:6] == ["gpu000", "cascade", "0-7", "failed, status 1", "collective", "+0.3s"]
    assert len(rows) == 8
    text = find_section(page).text
    assert "CUDA out of memory on gpu003 (rank 29)" in text
    assert "8 nodes, 64 ranks" in text


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (0, "This run has the root cause."),
        (5, "This run failed because gpu003 did."),
    ],
    ids=["culprit", "cascade"],
)
def test_own_part(record: Record, node: int, words: str) -> None:
    """The section says which part this run has, and its row is marked."""
    report = make_one_culprit()
    nodes = list(report.nodes)
    nodes[node] = replace(nodes[node], run_id=record.run_id)
    page = outline(record, replace(report, nodes=tuple(nodes)))
    assert words in find_section(page).text
    rows = list_rows(page, "Nodes, the culprit first")
    assert [row[0] for row in rows if "this run" in row[0]] == [f"{nodes[node].host} this run"]


def test_equal_nodes_are_folded(record: Record) -> None:
    """Of 750 nodes those that are equal take one row, with the count and the names in short."""
    page = outline(record, make_large_job())
    rows = list_rows(page, "Nodes, the culprit first")
    assert [row[1] for row in rows] == [
        *("culprit", "same cause", "missing", "missing", "silent", "cascade", "healthy"),
    ]
    assert rows[4][0] == "gpu[096-103] 8 nodes"
    assert rows[5][0] == "gpu[000-011,014-095,104-416,419-639,656-749] 722 nodes"
    assert len(list_rows(page, "Nodes one by one")) == 100
    assert "And 650 more nodes." in find_section(page).text


def test_folding_loses_no_node() -> None:
    """Each node is in one row, whatever its part and state."""
    nodes = [
        make_node(index, part=part, state=state)
        for index, (part, state) in enumerate((p, s) for p in NodePart for s in NodeState)
    ] * 7
    rows = fold_nodes(nodes, TextSanitizer(NoMasks()), None, None)
    assert sum(row.count for row in rows) == len(nodes)
    assert len(rows) <= len(NodePart) * len(NodeState)


def test_picture_has_one_mark_for_each_node(record: Record) -> None:
    """The picture of 750 nodes has 750 marks, its legend counts them, and its name says so."""
    page = outline(record, make_large_job())
    (picture,) = [one for one in page.find("svg") if one.attributes.get("class") == "nodes-grid"]
    paths = [one for one in page.find("path") if any(parent is picture for parent in one.parents)]
    assert sum((one.attributes["d"] or "").count("M") for one in paths) == 750
    name = "750 nodes: 1 culprit, 1 same cause, 2 missing, 8 silent, 722 cascade, 16 healthy"
    assert picture.attributes["aria-label"] == name


def test_marks_differ_without_colours() -> None:
    """No two kinds of nodes have the same mark, unless one is an outline and one is filled."""
    samples = {kind: draw_sample(kind) for kind in NodeKind}
    style = Path(load_style_path()).read_text()
    outlined = {
        kind for kind in NodeKind if f"path.nodes-{kind.partition(' ')[0]} {{ stroke:" in style
    }
    assert {NodeKind.MISSING, NodeKind.SILENT, NodeKind.UNKNOWN} == outlined
    assert len({(path, kind in outlined) for kind, path in samples.items()}) == len(NodeKind)


def load_style_path() -> str:
    """Return the path of the style sheet of the marks."""
    import gpualert_common.pages

    return os.path.join(os.path.dirname(gpualert_common.pages.__file__), "job.css")


@pytest.mark.parametrize("count", [0, 1, 16, 17, 64, 65, 1200, 1201, 6000, 20_000])
def test_picture_of_any_size(count: int) -> None:
    """A mark stands for several nodes where they are too many, and hides no culprit among them."""
    nodes = [make_node(index) for index in range(count)]
    if nodes:
        nodes[count // 2] = replace(nodes[count // 2], part=NodePart.CULPRIT)
    grid = draw_nodes(nodes)
    drawn = sum(one.path.count("M") for one in grid.marks)
    assert drawn <= MOST_MARKS
    assert drawn == -(-count // grid.nodes_of_mark)
    assert sum(one.count for one in grid.marks) == count
    assert [one.kind for one in grid.marks[:1]] == [NodeKind.CULPRIT][:count]
    assert all(one.path for one in grid.marks)
    assert len("".join(one.path for one in grid.marks)) < 40_000


def test_every_part_and_state_has_a_kind() -> None:
    """Each pair of part and state has a kind; a culprit that is missing stays the culprit."""
    for part in NodePart:
        for state in NodeState:
            node = NodeSummary(host="a", state=state, part=part)
            assert (find_kind(node) is NodeKind.CULPRIT) == (part is NodePart.CULPRIT)


def test_hostile_texts(record: Record) -> None:
    """Texts of digests are shown as they are, and absurd numbers break nothing."""
    text = render(record, JOBS["hostile"]())
    assert "<img" not in text
    assert "<script" not in text
    assert "\u202e" not in text
    assert "\x1b" not in text


def test_secrets_of_digests_are_masked(record: Record) -> None:
    """A secret in the text of a digest is masked, as those of the run are."""
    secret = "sk-proj-" + "Ab3" * 16
    report = make_one_culprit()
    nodes = (replace(report.nodes[0], host=secret), *report.nodes[1:])
    verdict = replace(report.verdict, implies=f"The key {secret} is in it.")
    assert secret not in render(record, replace(report, nodes=nodes, verdict=verdict))


@pytest.mark.e2e
def test_report_of_an_alert(lab: Lab) -> None:
    """The report that the alert about a job carries has the section."""
    options = ("--job", "llama", "--job-dir", str(lab.home / "jobs"), "--notify", "mailbox")
    lab.gpualert("run", *options, "--", *shell("echo CUDA out of memory; exit 1"))
    folder = lab.state / "mailbox" / "new"
    (path,) = until(lambda: list(folder.iterdir()) if folder.is_dir() else [], "the alert", 60.0)
    message = message_from_bytes(path.read_bytes())
    (page,) = [one for one in message.walk() if (one.get_filename() or "").endswith(".html")]
    content = page.get_payload(decode=True)
    assert isinstance(content, bytes)
    assert "This run has the root cause." in find_section(PageOutline(content.decode())).text


# -- the place that it comes from ------------------------------------------------------------


def test_job_is_read_from_its_directory(record: Record, tmp_path: Path) -> None:
    """A report reads the digests of all nodes, and leaves out those that are damaged."""
    write_digests(tmp_path / "jobs", 8)
    folder = tmp_path / "jobs" / KEY / "digests"
    for name in ("run-6.json", "run-7.json"):
        (folder / name).write_bytes(b'{"job": 3, ' + b"\xff" * 20_000)
    rows = list_rows(PageOutline(make_report(record)), "Nodes, the culprit first")
    assert rows[0][:2] == ["gpu3", "culprit"]
    assert sum(row[1] == "cascade" for row in rows) == 5


def test_run_without_a_job(tmp_path: Path) -> None:
    """A run without a job has no section, and neither has one without a job directory."""
    for job in (None, {"key": KEY, "name": "17"}):
        page = PageOutline(make_report(write_run(tmp_path, job)))
        assert "job" not in [one.id for one in page.find("section")]


def test_directory_without_an_answer(record: Record) -> None:
    """A directory that does not exist leaves one line with the reason."""
    section = find_section(PageOutline(make_report(record)))
    assert "could not be read from its directory" in section.text
    assert "No such file or directory" in section.text


def test_stored_report_stands_in(record: Record) -> None:
    """The report that the run's alert showed stands in for a directory that is gone."""
    record.write_json(JOB_REPORT, encode(make_one_culprit()))
    page = PageOutline(make_report(record))
    assert list_rows(page, "Nodes, the culprit first")[0][0] == "gpu003"
    assert re.search("could not be read whole: .*No such file", find_section(page).text)
    Path(record.path, JOB_REPORT).write_text('{"job": [')
    assert "could not be read from" in find_section(PageOutline(make_report(record))).text


def test_hanging_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that never answers costs no more than the deadline, and leaves no process behind."""
    with start_silent_store() as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        began = time.monotonic()
        reading = read_job(ADDRESS, KEY, deadline_s=3.0)
        assert 1.0 < time.monotonic() - began < 6.0
    assert reading.report is None
    assert reading.problem
    assert [pid for pid, fields in processes().items() if fields[1] == str(os.getpid())] == []
