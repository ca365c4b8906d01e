"""Flame graphs: valid pictures, whatever the names are, with a text for all that colours say."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

from gpualert_common.profiles.flame_graph import draw_flame_graph, draw_flame_part
from gpualert_common.profiles.flame_layout import FrameTone, lay_out
from gpualert_common.profiles.frame_trees import SampledThread, build_trees
from gpualert_common.profiles.profile import TreeKind
from gpualert_common.profiles.rank_texts import summarize
from gpualert_common.profiles.sampled_stacks import ThreadStacks
from gpualert_common.stacks.dump import StackFrame
from gpualert_common.structs import replace
from tests.profiles.composed_profiles import COMPUTING, LOADING, MAIN, WAITING, make_profile

HOSTILE = "<script>alert(1)</script>\"'&]]>{{ 7*7 }}<svg onload=alert(1)>" + "x" * 5000
FAST = {LOADING: 40, COMPUTING: 360, WAITING: 600}
SLOW = {LOADING: 620, COMPUTING: 360, WAITING: 20}
SVG = "{http://www.w3.org/2000/svg}"


def list_titles(picture: str) -> dict[str, str]:
    """Return the class of each frame of a picture by the name in its title."""
    frames = (one for one in ElementTree.fromstring(picture).iter(f"{SVG}svg"))
    found = ((one.get("class", ""), one.findtext(f"{SVG}title")) for one in frames)
    return {title.split("\n")[0]: kind for kind, title in found if title}


def test_tones() -> None:
    """A frame that some ranks have more of is marked, and so is one in which ranks may wait."""
    profile = make_profile(FAST, FAST, SLOW)
    (panel,) = lay_out(profile, cwd="/job")
    tones = {one.name: one.tone for one in panel.frames}
    assert tones == {
        "<module> > train": FrameTone.OWN,
        "load_batch (data.py:41)": FrameTone.MORE,
        "forward (model.py:20)": FrameTone.OWN,
        "Linear.forward (torch/nn/modules/linear.py:124)": FrameTone.LIBRARY,
        "all_reduce (torch/distributed/distributed_c10d.py:3000)": FrameTone.WAIT,
    }
    notes = {one.name: one.note for one in panel.frames}
    assert notes["load_batch (data.py:41)"] == "rank 2: 62 %; the others: 4 %"
    assert notes["forward (model.py:20)"] == (
        "36 % of the time (mean); 36 % in rank 0 to 36 % in rank 0"
    )


def test_widths() -> None:
    """Each frame is as wide as its mean share, and inside the frame that called it."""
    (panel,) = lay_out(make_profile(FAST, {stack: 9 * n for stack, n in SLOW.items()}))
    frames = {one.name.split(" ")[0]: one for one in panel.frames}
    assert frames["load_batch"].width == pytest.approx(33)
    assert frames["all_reduce"].width == pytest.approx(31)
    inner, outer = frames["Linear.forward"], frames["forward"]
    assert (inner.left, inner.width, inner.row) == (outer.left, outer.width, outer.row + 1)
    assert sum(one.width for one in panel.frames if one.row == 1) == pytest.approx(100)


def test_file() -> None:
    """The file is valid XML without references, and has the finding, titles, and its script."""
    picture = draw_flame_graph(make_profile(FAST, FAST, SLOW), cwd="/job")
    root = ElementTree.fromstring(picture)
    assert "rank 2 spends 62 % of its time in load_batch (data.py:41)" in root.get("aria-label", "")
    assert list_titles(picture)["load_batch (data.py:41)"] == "flame-frame flame-more"
    assert len(list(root.iter(f"{SVG}script"))) == 1
    assert not {"href", "src"} & set(list_attributes(root))


def test_part_of_a_page() -> None:
    """In a page the picture has no script and no style, whose policy would refuse them."""
    root = ElementTree.fromstring(draw_part(FAST, SLOW))
    assert {one.tag.removeprefix(SVG) for one in root.iter()} == {
        *("svg", "g", "rect", "text", "title"),
    }
    assert not {"style", "href", "onclick"} & set(list_attributes(root))


def test_only_other_threads() -> None:
    """A profile without samples of a main thread has a picture and a sentence of its others."""
    threads = [
        SampledThread(TreeKind.THREAD, rank, ThreadStacks(9, "pin", {LOADING: 100}))
        for rank in (0, 1)
    ]
    forest = build_trees(threads, [0, 1])
    profile = replace(make_profile({}, {}), frames=forest.frames, trees=forest.trees)
    assert "load_batch" in draw_flame_graph(profile)
    summary = summarize(profile, "/job")
    assert summary.startswith("thread pin of ranks 0-1 ")
    assert summary.endswith("100 % in load_batch (data.py:41)")


def test_hostile_names() -> None:
    """Names are texts in the picture, never parts of it."""
    hostile = StackFrame(HOSTILE, f"/job/{HOSTILE}", 1, is_own=True)
    for picture in (
        draw_part({(MAIN, hostile): 100}),
        draw_flame_graph(make_profile({(hostile,): 9})),
    ):
        root = ElementTree.fromstring(picture)
        scripts = [one.text or "" for one in root.iter(f"{SVG}script")]
        assert all("alert" not in one for one in scripts)
        assert not {"onload", "onclick"} & set(list_attributes(root))
        assert any(HOSTILE in title for title in list_titles(picture))


def test_limits() -> None:
    """Rows and narrow frames beyond the limits are left out, and counted."""
    deep = tuple(StackFrame(f"f{n}", "/job/a.py", n + 1, is_own=True) for n in range(100))
    profile = make_profile({(MAIN, *deep): 50, (MAIN,): 1, (MAIN, *COMPUTING): 50})
    (panel,) = lay_out(profile, most_rows=10, least_width=1.0)
    assert panel.rows == 10
    assert panel.note == "1 narrow or deep branches are not drawn"


def draw_part(*ranks: dict[tuple[StackFrame, ...], int]) -> str:
    """Return the flame graph of ranks as part of a page."""
    return draw_flame_part(make_profile(*ranks), most_rows=50, least_width=0.1)


def list_attributes(root: ElementTree.Element) -> Iterator[str]:
    """Yield the names of all attributes."""
    for one in root.iter():
        yield from one.keys()
