"""The report as HTML: its structure and limits, and hostile, damaged and missing parts."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from gpualert_common.errors import RecordError
from gpualert_common.model import Claim, LogLocation, VerdictWarning
from gpualert_common.pages import report
from gpualert_common.pages.report import MOST_BYTES, load_sections, render_report
from gpualert_common.record import EVENTS, EXIT, SPEC, VERDICT, Record
from gpualert_common.recover import classify_logs
from gpualert_common.redact import Redactor
from gpualert_common.run_report import make_report
from gpualert_common.stacks.storage import STACKS
from gpualert_common.structs import replace
from gpualert_common.telemetry.storage import TELEMETRY
from tests.pages.composed_runs import write_cluster
from tests.pages.page_outline import PageOutline
from tests.scenarios.scene import Scene

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg onload=alert(1)>"
    "</style><style>*{display:none}</style>\u202e\u2066\0\x1b[31m{{ 7*7 }}&lt;"
)
EXPECTED_SECTIONS = [
    *("verdict", "timeline", "log_end", "ranks", "gpus", "stack_places", "environment"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Return the record of a training of 64 ranks."""
    home = tmp_path_factory.mktemp("cluster") / "runs"
    home.mkdir()
    return write_cluster(home, seconds=600.0)


@pytest.fixture(scope="module")
def cluster_page(cluster: Record) -> str:
    """Return the report of that run."""
    return make_report(cluster)


def compose(home: Path, **parts: object) -> Record:
    """Return the record of a short run that failed."""
    folder = home / "runs"
    folder.mkdir(exist_ok=True)
    return Scene(code=1, seconds=30.0, **parts).record(folder)  # type: ignore[arg-type]


# -- structure -----------------------------------------------------------------------------


def test_sections(cluster_page: str) -> None:
    """The report has the sections that the record has something for, in their order."""
    page = PageOutline(cluster_page)
    sections = [one.id for one in page.find("section") if one.id]
    assert sections == EXPECTED_SECTIONS
    links = [one.attributes["href"] for one in page.find("a")]
    assert links == ["#report", *(f"#{name}" for name in EXPECTED_SECTIONS)]


def test_every_section_has_a_template_and_a_place() -> None:
    """Each section has a title and an order of its own, and room on the page."""
    sections = load_sections()
    assert len({one.order for one in sections.values()}) == len(sections)
    assert len({one.title for one in sections.values()}) == len(sections)
    room = MOST_BYTES - report.FRAME_BYTES
    assert sum(one.most_bytes for one in sections.values()) <= room


def test_well_formed(cluster_page: str) -> None:
    """Each element is closed where it was opened, and each anchor exists once."""
    page = PageOutline(cluster_page)
    assert page.faults == []
    anchors = [one.id for one in page.elements if one.id]
    assert len(anchors) == len(set(anchors))


def test_headings_in_order(cluster_page: str) -> None:
    """One heading of the first level comes first, and no level is skipped."""
    levels = [int(one.tag[1]) for one in PageOutline(cluster_page).elements if _is_heading(one.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def _is_heading(tag: str) -> bool:
    return re.fullmatch("h[1-6]", tag) is not None


def test_landmarks_and_tables(cluster_page: str) -> None:
    """The page has its landmarks; each table has a caption, and each header cell a scope."""
    page = PageOutline(cluster_page)
    assert [len(page.find(tag)) for tag in ("main", "header", "nav", "footer")] == [1, 1, 1, 1]
    tables = page.find("table")
    assert len(tables) >= 3
    assert all(table.children[0].tag == "caption" for table in tables)
    assert all(cell.attributes.get("scope") in ("col", "row") for cell in page.find("th"))
    assert all(one.children[0].tag == "summary" for one in page.find("details"))


def test_policy_allows_the_style_sheet_alone(cluster_page: str) -> None:
    """Nothing may be loaded or run; the one style sheet is allowed by its digest."""
    page = PageOutline(cluster_page)
    (style,) = page.find("style")
    digest = b64encode(hashlib.sha256(style.text.encode()).digest()).decode()
    (policy,) = [
        one.attributes["content"]
        for one in page.find("meta")
        if one.attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    assert find_active_parts(page) == []


def find_active_parts(page: PageOutline) -> list[str]:
    """Return what a page of ours must not have: scripts, handlers, styles, addresses."""
    active = ("script", "iframe", "object", "embed", "form", "base", "foreignobject", "animate")
    found = [one.tag for one in page.elements if one.tag in active]
    for one in page.elements:
        found += [name for name in one.attributes if name.startswith("on") or name == "style"]
        for name in ("href", "src", "xlink:href", "action"):
            address = one.attributes.get(name) or ""
            if address and not address.startswith("#") and address != "data:,":
                found.append(f"{name}={address}")
    return found


def test_page_of_a_live_run_loads_again(tmp_path: Path) -> None:
    """Only with ``refresh_s`` the page loads itself again; facts of the state come first."""
    facts = [("Progress", "step 7")]
    record = compose(tmp_path)
    shown = render_report(record, None, masks=Redactor(), facts=facts, refresh_s=5)
    page = PageOutline(shown)
    refresh = [one for one in page.find("meta") if one.attributes.get("http-equiv") == "refresh"]
    assert [one.attributes["content"] for one in refresh] == ["5"]
    assert "step 7" in shown
    pending = make_report(record, refresh_s=5)  # it has ended, and this process holds its record
    assert 'http-equiv="refresh"' in pending
    record.close()
    ended = make_report(Record.open(record.path), refresh_s=5)
    assert 'http-equiv="refresh"' not in ended


# -- content -------------------------------------------------------------------------------


def test_ranks_and_gpus(cluster_page: str) -> None:
    """The tables have each rank and each GPU, with its end, and its errors."""
    page = PageOutline(cluster_page)
    rows = [re.sub(r"\s+", " ", one.text) for one in page.find("tr")]
    assert len([row for row in rows if row.startswith("rank ")]) == 64 + 2
    assert any("rank 41" in row and "killed by SIGKILL" in row for row in rows)
    assert any(row.startswith("3") and "Xid 63" in row for row in rows)


def test_excerpt_of_the_log(tmp_path: Path) -> None:
    """A cited line can be unfolded with the ten lines before it, numbered as in the file."""
    log = "".join(f"line {n}\n" for n in range(1, 31)) + "ValueError: bad shape\n"
    traceback = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n'
    record = compose(tmp_path, log=log.replace("ValueError", traceback + "ValueError"))
    page = PageOutline(make_report(record))
    cited = [one for one in page.elements if "cited" in (one.attributes.get("class") or "")]
    assert len(cited) == 1
    assert cited[0].text.startswith("33cited line: ValueError: bad shape")
    assert "details" in [one.tag for one in cited[0].parents]


def test_values_that_are_not_shown(tmp_path: Path) -> None:
    """A token in log or command is masked, and counted; variables are named without values."""
    token = "hf_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dEfG"
    record = compose(
        tmp_path,
        log=f"token={token}\nRuntimeError: {token}\n",
        command=("python", "train.py", f"--token={token}"),
        variables={"NCCL_DEBUG": "value-of-a-variable"},
    )
    shown = make_report(record)
    assert token not in shown
    assert re.search(r"\d+ secrets are masked", shown)
    assert "NCCL_DEBUG" in shown
    assert "value-of-a-variable" not in shown


# -- hostile, damaged and missing parts ----------------------------------------------------


def test_hostile_texts(tmp_path: Path) -> None:
    """Hostile texts in all parts of a record are text on the page, and nothing else."""
    record = compose(
        tmp_path,
        log=f"{HOSTILE}\nRuntimeError: {HOSTILE}\n",
        command=("python", HOSTILE),
        variables={HOSTILE: HOSTILE},
        given={"kernel": HOSTILE, "versions": {HOSTILE: HOSTILE}, "cpus": HOSTILE},
        hostname=HOSTILE,
        gpu_model=HOSTILE,
    )
    record.append_event("alert", channel=HOSTILE, state=HOSTILE, problem=HOSTILE)
    manifest = {"path": HOSTILE, "name": HOSTILE, "size_bytes": 1, "fate": "attached"}
    record.write_json(
        "bundle.mail.json", {"schema": 1, "artifacts": [manifest], "notes": [HOSTILE]}
    )
    shown = make_report(record)
    page = PageOutline(shown)
    assert page.faults == []
    assert find_active_parts(page) == []
    assert len(page.find("style")) == 1
    assert len(page.find("svg")) <= 2
    assert "49" not in "".join(one.text for one in page.find("h1"))
    assert not set(shown) & set("\0\x1b\u202e\u2066")
    assert shown.count("&lt;script&gt;") > 5


Damage = Callable[[Path], None]


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _fill(path: Path) -> None:
    path.write_bytes(b'{"\xff\0": [[[' * 1000)


def _replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: tuple[Damage, ...] = (Path.unlink, _cut, _fill, _replace_by_folder)
FILES = (TELEMETRY, EVENTS, STACKS, EXIT, VERDICT, "output.log")


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files(tmp_path: Path, damage: Damage) -> None:
    """Without any sound file but the launch record, the report still has the run."""
    assert _render_damaged(tmp_path, damage, FILES).count("<h1>") == 1


@pytest.mark.parametrize("name", FILES)
def test_damaged_file(tmp_path: Path, name: str) -> None:
    """A damaged file of the record costs what it has, and not the report."""
    shown = _render_damaged(tmp_path, _fill, (name,))
    assert "could not be made" not in shown
    assert name == "output.log" or "out of memory" in shown


def _render_damaged(home: Path, damage: Damage, names: tuple[str, ...]) -> str:
    """Return the report of a record with damaged files."""
    record = compose(home, log="RuntimeError: CUDA out of memory. Tried to allocate 2 GiB\n")
    path = record.path
    record.write_json(VERDICT, {"schema": 1, "cause": "x"})
    record.append(STACKS, "{}")
    record.close()
    for name in names:
        damage(Path(path) / name)
    shown = render_report(Record.open(path), None, masks=Redactor())
    assert PageOutline(shown).faults == []
    return shown


def test_facts_of_wrong_types(tmp_path: Path) -> None:
    """Values of a wrong type in the telemetry are left out."""
    wrong = {"versions": [1], "variables": "x", "cpus": {}, "memory_bytes": "much", "kernel": 7}
    record = compose(tmp_path, given=wrong)
    lines = [
        {"source": {"name": "nvml", "available": True, "facts": {"gpus": {"index": 1}}}},
        {"event": {"what": "rank_process", "of": "rank:x", "source": "p", "at": 1, "text": "",
                   "fields": {"pid": None, "visible_gpus": 7, "local_rank": "a"}}},
        {"event": {"what": "rank_ended", "of": "rank:1", "source": "p", "at": 1, "text": "",
                   "fields": {"pid": [], "code": "x"}}},
    ]  # fmt: skip
    for line in lines:
        record.append(TELEMETRY, json.dumps(line))
    shown = make_report(record)
    assert "could not be made" not in shown
    assert "rank 1" in shown


def test_section_that_fails(cluster: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    """A section that cannot be made says so, and the others are there."""

    def break_it(*_arguments: object) -> None:
        raise RuntimeError(HOSTILE)

    sections = load_sections()
    broken = {"ranks": sections["ranks"], "gpus": replace(sections["gpus"], collect=break_it)}
    monkeypatch.setattr(report, "load_sections", lambda: broken)
    shown = make_report(cluster)
    assert "It could not be made: RuntimeError: &lt;script&gt;" in shown
    assert PageOutline(shown).faults == []
    assert "rank 41" in shown


def test_record_without_a_verdict(tmp_path: Path) -> None:
    """Without a verdict the report has the end of the run, and its log."""
    made = compose(tmp_path, log="step 1\n")
    made.close()
    shown = render_report(Record.open(made.path), None, masks=Redactor())
    assert "no verdict could be made" in shown
    assert "step 1" in shown


# -- limits --------------------------------------------------------------------------------


def test_at_most_one_megabyte(tmp_path: Path) -> None:
    """Texts that fill every list, and grow when they are escaped, stay within the limit."""
    worst = '"<&>\U0001f600' * 500
    log = "".join(f"{worst}\n" for _ in range(600))
    record = compose(
        tmp_path,
        log=log,
        command=("python", *[worst] * 300),
        variables={f"NCCL_{n}{worst}": "" for n in range(300)},
        given={"versions": {f"{n}{worst}": worst for n in range(300)}},
    )
    size = len(f"{worst}\n".encode())
    rows = [
        {"path": f"{n}{worst}", "name": f"{n}{worst}", "size_bytes": n, "fate": "attached",
         "why": worst, "sha256": "0" * 64}
        for n in range(900)
    ]  # fmt: skip
    record.write_json("bundle.mail.json", {"schema": 1, "artifacts": rows, "notes": [worst] * 100})
    for _ in range(200):
        record.append_event("alert", channel=worst, state="failed", problem=worst)
    full = replace(
        classify_logs(record, record.ending),
        headline=worst,
        implies=worst,
        do=(worst,) * 60,
        cannot_decide=(worst,) * 60,
        warnings=(VerdictWarning("x", worst),) * 60,
        shows=tuple(
            Claim(f"{n}{worst}", "log", LogLocation("output.log", n + 1, n * size), worst)
            for n in range(60)
        ),
    )
    facts = [(f"Fact {n}", worst) for n in range(60)]
    shown = render_report(record, full, masks=Redactor(), facts=facts)
    assert 100_000 < len(shown.encode()) <= MOST_BYTES
    page = PageOutline(shown)
    assert page.faults == []
    assert {one.id for one in page.find("section")} >= {"verdict", "log_end", "files"}


def test_launch_record_that_is_missing(tmp_path: Path) -> None:
    """Without a launch record there is no report."""
    record = compose(tmp_path)
    Path(record.path, SPEC).unlink()
    with pytest.raises(RecordError):
        make_report(record)
