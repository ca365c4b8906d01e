"""The section of the report that has the newest profile."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpualert_common.pages.report import load_sections, render_report
from gpualert_common.profiles.profile import Profile
from gpualert_common.profiles.profile_files import store_profile
from gpualert_common.record import Record
from gpualert_common.redact import Redactor
from gpualert_common.report.profile_lines import list_head
from gpualert_common.stacks.dump import StackFrame
from gpualert_common.structs import replace
from tests.pages.page_outline import PageOutline
from tests.profiles.composed_profiles import COMPUTING, LOADING, MAIN, WAITING, make_profile
from tests.scenarios.scene import Scene

FAST = {LOADING: 40, COMPUTING: 360, WAITING: 600}
SLOW = {LOADING: 620, COMPUTING: 360, WAITING: 20}
HOSTILE = "<script>alert(1)</script></svg></figure><img src=x onerror=alert(1)>\"'"
TOKEN = "hf_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zZ1c"


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Record]:
    """Return the record of a run."""
    made = Scene(code=1, seconds=30.0, log="RuntimeError: x\n").record(tmp_path)
    yield made
    made.close()


def render(record: Record, profile: Profile) -> str:
    """Return the report of a run with that profile, which is well-formed."""
    store_profile(record, profile)
    page = render_report(record, None, masks=Redactor(), drawing_s=0.01)
    outline = PageOutline(page)
    assert outline.faults == []
    assert outline.find("script") == []
    assert "could not be made" not in page
    return page


def test_section(record: Record) -> None:
    """The newest profile is shown with its finding and its flame graph."""
    store_profile(record, make_profile(SLOW, FAST))
    page = render(record, replace(make_profile(FAST, FAST, SLOW), at=1_900_000_000.0))
    (section,) = [one for one in PageOutline(page).find("section") if one.id == "time_profile"]
    assert "Rank 2 spends 62 % of its time in load_batch (data.py:41)" in section.text
    assert "rank 2: 62 %; the others: 4 %" in section.text
    assert "Rank 0 spends" not in section.text


@pytest.mark.parametrize(
    ("duration_s", "spread_s", "is_said"),
    [(10.0, 0.9, False), (10.0, 1.1, True), (60.0, 1.1, True), (2.0, 0.25, True)],
)
def test_spread(duration_s: float, spread_s: float, is_said: bool) -> None:
    """Processes whose sampling began at clearly different times are named."""
    profile = replace(make_profile(FAST, SLOW), duration_s=duration_s, spread_s=spread_s)
    (note,) = [one for one in list_head(profile) if "same seconds" in one] or [""]
    assert note.endswith(f"the last began {spread_s:.1f} s after the first") == is_said


def test_hostile_names(record: Record) -> None:
    """Names in a profile are texts in the page, and secrets in them are masked."""
    hostile = StackFrame(HOSTILE, f"/job/{HOSTILE}.py", 1, is_own=True)
    secret = StackFrame("load", f"/job/{TOKEN}/data.py", 1, is_own=True)
    page = render(record, make_profile({(MAIN, hostile): 100, (MAIN, secret): 100}))
    assert "&lt;script&gt;alert(1)" in page
    assert TOKEN not in page


def test_large_profile(record: Record) -> None:
    """A profile with more frames than fit has the widest ones, within the limit of the section."""
    chance = random.Random(1)
    frames = [
        StackFrame(f"f{n}" + "&" * 150, "/job/" + "<" * 300 + ".py", n + 1, is_own=True)
        for n in range(400)
    ]
    counts = {tuple(chance.choices(frames, k=90)): chance.randrange(1, 9) for _ in range(300)}
    page = render(record, make_profile(counts, counts, counts))
    begin = page.index('id="time_profile"')
    section = page[begin : page.index("</section>", begin)]
    assert len(section.encode()) <= load_sections()["time_profile"].most_bytes + 500
    assert "Flame graph" in section
