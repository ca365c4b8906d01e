"""Tests of the pages that Prefect's UI shows, and of the evidence in its events."""

from __future__ import annotations

import itertools

import pytest
from markdown_it import MarkdownIt  # Prefect's own rich brings it
from prefect_gpualert import presentation
from prefect_gpualert.timeline_picture import TimelinePicture

from gpualert_common.charts.summary import SummaryRow
from gpualert_common.model import Claim, LogLocation, RuledOutFamily, Verdict, VerdictWarning
from gpualert_common.redact import Redactor
from gpualert_common.report import markdown
from gpualert_common.report.text_sanitizer import NoMasks, TextSanitizer
from gpualert_common.report.verdict_view import view_verdict
from tests.verdicts import verdict_with

PARSER = MarkdownIt("gfm-like", {"linkify": False})
NASTY = "<img src=x> | *b* `c` ``` [d](http://e) ~~f~~ # g __h__ \\ &amp; 1. i"
TOKEN = "hf_" + "aB3" * 11 + "x"


def test_rows_are_redacted_and_bounded() -> None:
    """Secrets are masked before a text is cut, and the number of rows is bounded."""
    where, excerpt = LogLocation("stderr.log", 3, 17), f"token={TOKEN} " + "y" * 9000
    claim = Claim(f"{'x' * 490} {TOKEN}", "log", where, excerpt, rank=2)
    rows = presentation.rows(verdict_with(shows=(claim,) * 999), Redactor())
    assert len(rows) == presentation.MOST_ROWS
    assert (rows[0]["file"], rows[0]["line"], rows[0]["rank"]) == ("stderr.log", 3, 2)
    for cell in (rows[0]["claim"], rows[0]["excerpt"]):
        assert isinstance(cell, str)
        assert len(cell) <= presentation.MOST_CELL
        assert "hf_" not in cell


@pytest.mark.parametrize("verdict", [None, verdict_with()])
def test_no_rows_without_evidence(verdict: Verdict | None) -> None:
    """A verdict without evidence has no rows, and a run without a verdict has none."""
    assert presentation.rows(verdict, Redactor()) == []


def test_claim_without_a_place() -> None:
    """A claim that cites no line of a log has cells without a value."""
    (row,) = presentation.rows(verdict_with(shows=(Claim("x", ""),)), Redactor())
    assert row.pop("claim") == "x"
    assert set(row.values()) == {None}


def test_table_of_evidence_is_rendered_as_what_was_meant() -> None:
    """A Markdown parser finds only text and code in the cells; place and rank stand apart."""
    where = LogLocation("a|`b`.log", 7, 0)
    claims = (Claim(NASTY, "log", where, NASTY, 3), Claim("oom kill", "kernel_log"))
    first, second = presentation.tabulate_evidence(
        presentation.rows(verdict_with(shows=claims), Redactor())
    )
    assert parse_inline(first["claim"]) == [("text", NASTY)]
    assert parse_inline(first["excerpt"]) == [("code_inline", NASTY)]
    assert parse_inline(first["place"]) == [("code_inline", "a|`b`.log:7")]
    assert first["rank"] == 3
    assert parse_inline(second["place"]) == [("text", "kernel log")]
    assert (second["excerpt"], second["rank"]) == ("", "")


def test_table_of_evidence_has_ranks_only_where_there_are_some() -> None:
    """A run of one process has no column of ranks; a verdict without evidence has no rows."""
    rows = presentation.rows(verdict_with(shows=(Claim("x", "log"),)), Redactor())
    assert [list(row) for row in presentation.tabulate_evidence(rows)] == [
        ["claim", "place", "excerpt"]
    ]
    assert presentation.tabulate_evidence([]) == []


ROWS = (
    SummaryRow("Loss", NASTY, "", "2.7", "0.3", "2.7", "not finite"),
    SummaryRow("Host memory", "in use", "GiB", "1", "1", "2", "2"),
    SummaryRow("Host memory", "limit", "GiB", "-", "23", "23", "-"),
)


def test_timeline_is_a_picture_and_a_table() -> None:
    """A Markdown parser finds one picture, whose data are in the page, and a table of all lines."""
    page = presentation.timeline_page(TimelinePicture(b"PNG", ROWS))
    tokens = PARSER.parse(page)
    pieces = [piece for one in tokens for piece in one.children or ()]
    (picture,) = [one for one in pieces if one.type == "image"]
    assert picture.attrs["src"] == "data:image/png;base64,UE5H"
    assert {one.type for one in pieces} == {"image", "text"}
    cells = [
        "".join(piece.content for piece in inline.children or ())
        for before, inline in itertools.pairwise(tokens)
        if before.type == "td_open"
    ]
    assert cells[:6] == ["Loss", NASTY, "2.7", "0.3", "2.7", "not finite"]
    assert [cells[6], cells[12]] == ["Host memory (GiB)", ""]
    assert len(cells) == 18


def test_timeline_without_a_picture() -> None:
    """A timeline that cannot be drawn has the reason and its numbers; the table is bounded."""
    page = presentation.timeline_page(TimelinePicture(b"", ROWS * 100, (NASTY,)))
    tokens = PARSER.parse(page)
    assert "image" not in {piece.type for one in tokens for piece in one.children or ()}
    first = next(one for one in tokens if one.type == "inline")
    assert "".join(one.content for one in first.children or ()) == NASTY
    assert "The other 240 lines are left out." in page
    assert len(page) < 20_000


def parse_inline(cell: object) -> list[tuple[str, str]]:
    """Return kind and text of the pieces that a Markdown parser finds in a cell."""
    (inline,) = [one for one in PARSER.parse(str(cell)) if one.type == "inline"]
    texts: list[tuple[str, str]] = []
    for piece in inline.children or ():
        kind = "text" if piece.type in ("text", "text_special") else piece.type
        if texts and kind == "text" == texts[-1][0]:
            texts[-1] = kind, texts[-1][1] + piece.content
        else:
            texts.append((kind, piece.content))
    return texts


def test_progress_is_a_bar() -> None:
    """The page of a training in progress has its percentage, a bar, the counts and its log."""
    page = presentation.progress_page(40.0, "2 of 5 epochs", ["/a [b]/log"])
    assert page.splitlines() == [
        "## 40 % done", "", f"`{'█' * 10}{'░' * 15}` 2 of 5 epochs", "", "### Run", "",
        "- Log: `/a [b]/log`",
    ]  # fmt: skip


def test_page_is_rendered_as_what_was_meant() -> None:
    """A Markdown parser finds the page's own headings and lists, and everything else as text."""
    claim = Claim(NASTY, "log", LogLocation("output.log", 812, 0), NASTY, 3)
    verdict = verdict_with(
        headline=NASTY,
        implies=NASTY,
        do=(NASTY, NASTY),
        cannot_decide=(NASTY,),
        shows=(claim,),
        ruled_out=(RuledOutFamily("B2", NASTY),),
        warnings=(VerdictWarning("x", "[w](http://e) | *w*"),),
    )
    view = view_verdict(verdict, TextSanitizer(NoMasks()))
    page = markdown.render_page(view, facts=[("Command", NASTY)], more="gpualert show x")
    tokens = PARSER.parse(page)
    inlines = [token for token in tokens if token.type == "inline"]
    kinds = {child.type for inline in inlines for child in inline.children or ()}
    assert kinds == {"text", "code_inline"}
    texts = ["".join(child.content for child in inline.children or ()) for inline in inlines]
    titles = ["Do", "Shows", "Implies", "Cannot decide", "Ruled out", "Warnings", "Run"]
    assert [text for text in texts if text in titles] == titles
    assert texts[0] == NASTY
    assert f"{NASTY} (output.log:812, rank 3)" in texts
    assert texts.count(NASTY) >= 6
    assert f"Command: {NASTY}" in texts
    block = {token.type for token in tokens if token.block and token.nesting >= 0}
    assert block <= {
        *("heading_open", "paragraph_open", "inline"),
        *("ordered_list_open", "bullet_list_open", "list_item_open"),
    }
