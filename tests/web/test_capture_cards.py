"""Tests of the newest trace and profile on the page of a run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpualert_common.kineto.trace_analyses import analyse_stored
from gpualert_common.profiles.profile_files import PROFILE, store_profile
from gpualert_common.record import Record
from gpualert_common.report.text_sanitizer import NoMasks, TextSanitizer
from gpualert_common.structs import replace
from gpualert_common.web.capture_cards import list_capture_cards
from tests.diagnose.test_slow_steps import make_profile
from tests.supervised import Lab, python
from tests.traces.test_stored_analysis import HOSTILE, slow_traces, store
from tests.web.web_server import WebServer, start_server


@pytest.fixture
def server(lab: Lab) -> Iterator[WebServer]:
    """A server of the runs in the lab."""
    with start_server(errors=lab.home / "notes") as one:
        yield one


def test_newest_captures(lab: Lab, server: WebServer) -> None:
    """The page has the finding of the newest trace and of the newest profile, as text only."""
    lab.gpualert("run", "--", *python("print('done')"))
    (path,) = lab.records()
    record = Record.open(str(path))
    store_profile(record, replace(make_profile((20, 20, 20, 20)), at=1e9))
    profile = make_profile((20, 20, 20, 400))
    frames = (*profile.frames[:1], replace(profile.frames[1], function=HOSTILE), profile.frames[2])
    store_profile(record, replace(profile, at=2e9, frames=frames))
    analyse_stored(store(record, slow_traces()))
    page = server.get_run(path.name).text
    assert "Rank 3 spends 80 % of its time in &lt;script&gt;alert(1)" in page
    assert "Rank 1 is slower by" in page
    assert "spend their time alike" not in page
    assert not re.search("<script>alert|<img src=x|\u202e|\x1b", page)


def test_page_without_captures(lab: Lab, server: WebServer) -> None:
    """A record without captures, or with damaged ones, has a page without them."""
    lab.gpualert("run", "--", *python("print('done')"))
    (path,) = lab.records()
    for folder in ("profiles/20260101T000000.1", "traces/20260101-000000-000"):
        (path / folder).mkdir(parents=True)
    (path / "profiles/20260101T000000.1/profile.json").write_text('{"schema": 1, "ranks": [')
    (path / "traces/20260101-000000-000/analysis.json").write_text("[]")
    page = server.get_run(path.name).text
    assert "<h2>Profile</h2>" not in page
    assert "<h2>Trace</h2>" not in page


def test_profile_is_read_once(lab: Lab) -> None:
    """The sentences about a stored profile are kept, and those about a newer one are shown."""
    lab.gpualert("run", "--", *python("print('done')"))
    (path,) = lab.records()
    record = Record.open(str(path))
    text = TextSanitizer(NoMasks())
    folder = store_profile(record, replace(make_profile((20, 20, 20, 20)), at=1e9))
    (first,) = list_capture_cards(record, text)
    Path(folder, PROFILE).write_text("")
    assert list(list_capture_cards(record, text)) == [first]
    store_profile(record, replace(make_profile((20, 20, 20, 400)), at=2e9))
    (newer,) = list_capture_cards(record, text)
    assert newer.sentences[0].startswith("Rank 3 spends 80 %")
