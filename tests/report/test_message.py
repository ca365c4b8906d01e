"""Subject, text and page of an alert with any content and any limit."""

from __future__ import annotations

import unicodedata
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpualert_common.model import Artifact, Fate
from gpualert_common.report.formatting import columns
from gpualert_common.report.message import MOST_HTML_BYTES, render_alert
from gpualert_common.report.run_view import RunView
from gpualert_common.report.samples import COMPLETED, FAILED, SAMPLES, UNEXPLAINED
from gpualert_common.report.task_view import TaskView
from gpualert_common.report.verdict_view import EvidenceItem
from gpualert_common.structs import replace

ROOMY = 1 << 20
VOID = {"meta", "br"}
HOSTILE = '<script>alert("1")</script> & <b>\x1b[31mred\x07 \u202egnp.exe\n\nBcc: a@example.org'

words = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=60),
    st.sampled_from((HOSTILE, "x" * 700, "内存不足" * 100, "مرحبا " * 40, "a b " * 300, "🚀" * 90)),
)
texts = st.lists(words, max_size=8).map(tuple)
seconds = st.floats(min_value=0, max_value=1e12)
shown = st.builds(EvidenceItem, words, words, st.none() | words)
artifacts = st.builds(
    Artifact, words, words, st.none() | st.integers(0, 1 << 62), st.sampled_from(Fate), words
)
alerts = st.builds(
    RunView,
    **dict.fromkeys(
        (
            *("run_id", "job", "host", "command", "cwd", "headline", "exit_status", "implies"),
            *("log_path", "record_path", "next_command"),
        ),
        words,
    ),
    **dict.fromkeys(("cannot_decide", "do", "warnings", "notes", "log_paths"), texts),
    attempt=st.integers(-3, 1 << 70),
    final=st.booleans(),
    state=st.none() | words | st.just("failed"),
    task=st.none()
    | st.builds(
        TaskView,
        **dict.fromkeys(("name", "engine", "workflow", "workflow_run", "owner", "url"), words),
        map_index=st.none() | st.integers(0, 1 << 40),
    ),
    disposition=words | st.sampled_from(("completed", "failed", "timeout")),
    cause=words | st.just("none"),
    confidence=st.floats(0, 1),
    attribution=words | st.just("job"),
    retry=words | st.just("same"),
    started_at=seconds,
    ended_at=st.none() | seconds,
    duration_s=st.none() | seconds,
    shows=st.lists(shown, max_size=12).map(tuple),
    log_bytes=st.integers(0, 1 << 62),
    log_tail=st.lists(words, max_size=60).map(tuple),
    artifacts=st.lists(artifacts, max_size=60).map(tuple),
    beyond_cap=st.integers(0, 1 << 40),
    redactions=st.integers(0, 1 << 40),
)


class Page(HTMLParser):
    """A page as a browser parses it; fails on a tag that is not closed in its place."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the tag and the resources that it loads."""
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close the tag that was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Collect the text."""
        self.text += data


def long_alert(**fields: Any) -> RunView:
    """Return an alert with more content than most messages can hold."""
    return replace(
        FAILED,
        shows=tuple(
            EvidenceItem(f"claim {n}", f"output.log:{n}", "excerpt " * 30) for n in range(8)
        ),
        log_tail=tuple(f"step {n} " + "data " * (n % 30) for n in range(300)),
        artifacts=tuple(
            Artifact(f"/a/{n}", f"out/file_{n}.json", n, Fate.ATTACHED, "", "ab" * 32)
            for n in range(60)
        ),
        beyond_cap=0,
        **fields,
    )


def controls(text: str) -> set[str]:
    """Return the control characters that a mail program or a terminal would interpret."""
    return {
        char
        for char in text
        if char == "\u202e" or (unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t")
    }


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(alerts, st.integers(200, 60_000), st.integers(200, 200_000), st.booleans())
def test_limits_hold(alert: RunView, text_bytes: int, html_bytes: int, brief: bool) -> None:
    """For any alert, subject, text and page are within their limits and safe."""
    made = render_alert(alert, text_bytes=text_bytes, html_bytes=html_bytes, brief=brief)
    assert len(made.text.encode()) <= text_bytes
    assert made.html is None or len(made.html.encode()) <= min(html_bytes, MOST_HTML_BYTES)
    assert len(made.subject) <= 120
    assert len(made.subject.splitlines()) == 1
    assert controls(made.subject + made.text + (made.html or "")) == set()


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(alerts, st.integers(2000, 200_000))
def test_page_is_well_formed(alert: RunView, html_bytes: int) -> None:
    """No content of an alert becomes markup, and a shortened page is still well-formed."""
    made = render_alert(alert, text_bytes=ROOMY, html_bytes=html_bytes).html
    assert made is not None
    page = Page(made)
    assert "script" not in page.tags


@pytest.mark.parametrize("most", [0, 1, 5, 20, 100, 150])
def test_hard_minimum(most: int) -> None:
    """Below the size that any message needs, the text is cut and marked as cut."""
    text = render_alert(FAILED, text_bytes=most).text
    assert len(text.encode()) <= most
    assert text.endswith("[cut]"[:most])


def test_detail_is_dropped_in_order() -> None:
    """A shorter message has less of the log, then of the manifest, then of the evidence."""
    counts_so_far = []
    for most in (60_000, 8_000, 5_500, 3_500, 2_300):
        text = render_alert(long_alert(), text_bytes=most).text
        counts = (text.count("  step "), text.count("out/file_"), text.count("    > excerpt"))
        counts_so_far.append((*counts, text.count("  * claim")))
    assert counts_so_far == sorted(counts_so_far, reverse=True)
    assert counts_so_far[0] == (300, 60, 8, 8)
    assert len(set(counts_so_far)) == len(counts_so_far)
    assert all(
        "gpualert show" in render_alert(long_alert(), text_bytes=n).text for n in (8_000, 2_300)
    )


def test_omissions_are_counted() -> None:
    """The message has the numbers of omitted log lines, files and claims."""
    text = render_alert(long_alert(), text_bytes=2_800).text
    lines, files = text.count("  step "), text.count("out/file_")
    assert f"without the first {300 - lines} of them" in text
    assert f"and {60 - files} more; the record lists all examined files" in " ".join(text.split())
    assert f"and {8 - text.count('  * claim')} more, in verdict.json" in text


def test_manifest_is_bounded() -> None:
    """For a run that wrote ten thousand files, some are listed and the rest is counted."""
    files = long_alert().artifacts[:1] * 10_000
    text = render_alert(replace(FAILED, artifacts=files), text_bytes=ROOMY).text
    assert text.count("out/file_0.json") == 200
    assert "10000 attached" in text
    assert f"and {9_800 + FAILED.beyond_cap} more; the record lists all examined files" in " ".join(
        text.split()
    )


def test_mark_has_the_missing_amount() -> None:
    """Text that cannot be shortened otherwise ends in a mark with a number and a command."""
    alert = replace(FAILED, implies="on and on " * 500)
    text = render_alert(alert, text_bytes=1500).text
    mark = text.rpartition("\n[cut: ")[2]
    assert mark.endswith(f" bytes are missing; all of it: {alert.next_command}]\n")
    assert int(mark.split()[0]) > 3000


def test_page_always_fits_gmail() -> None:
    """A page of any limit stays below the size that Gmail clips."""
    alert = long_alert(do=("do this " * 200,) * 50)
    made = render_alert(alert, text_bytes=ROOMY, html_bytes=10_000_000)
    assert made.html is not None
    assert MOST_HTML_BYTES * 0.9 < len(made.html.encode()) <= MOST_HTML_BYTES


def test_page_falls_back_to_the_text() -> None:
    """If the page does not fit even without detail, it is a bare page with the text."""
    made = render_alert(FAILED, text_bytes=ROOMY, html_bytes=3000)
    assert made.html is not None
    page = Page(made.html)
    assert set(page.tags) == {"html", "meta", "title", "pre"}
    assert FAILED.headline in page.text


def test_no_page_fits() -> None:
    """If not even the bare page fits there is none, and a note has the reason."""
    made = render_alert(FAILED, text_bytes=ROOMY, html_bytes=100)
    assert made.html is None
    assert made.notes == ("no page fits into 100 bytes",)


def test_page_needs_nothing_from_elsewhere() -> None:
    """A page has a language, a title and a heading; its only address is that of the task's page."""
    made = render_alert(long_alert(), text_bytes=ROOMY, html_bytes=ROOMY)
    assert made.html is not None
    page = Page(made.html)
    assert {"html", "title", "h1", "h2", "main"} <= set(page.tags)
    assert not {"script", "img", "link", "iframe", "object"} & set(page.tags)
    assert ("lang", "en") in page.attributes
    assert {name for name, _value in page.attributes} & {"src", "onclick"} == set()
    assert FAILED.task is not None
    links = [value for name, value in page.attributes if name == "href"]
    assert links == [FAILED.task.url]
    assert "http" not in made.html.replace(FAILED.task.url, "")
    assert "url(" not in made.html


def test_page_reads_well_without_its_style_sheet() -> None:
    """Colours, sizes and the wrapping of the log do not depend on the style sheet."""
    html = render_alert(FAILED, text_bytes=ROOMY, html_bytes=ROOMY).html
    assert html is not None
    bare = html[: html.index("<style>")] + html[html.index("</style>") :]
    assert bare.count("white-space:pre-wrap") == bare.count("<pre")
    assert "background:#ffffff" in bare
    assert bare.count("<h2") == bare.count("font-size:13px;line-height:1.4;font-weight:600") + 1


def test_text_is_not_escaped() -> None:
    """Content is unchanged in a text, and escaped in a page."""
    made = render_alert(replace(FAILED, headline="a < b && c"), text_bytes=ROOMY, html_bytes=ROOMY)
    assert "a < b && c" in made.text
    assert "a &lt; b &amp;&amp; c" in (made.html or "")


def test_prose_is_wrapped() -> None:
    """Prose takes at most 78 columns, of wide characters too; log lines and paths stay whole."""
    path = "/data/" + "deep/" * 30
    line = "loss " * 40 + "end"
    alert = replace(
        FAILED,
        implies="内存不足 " * 60,
        do=("try it again " * 20,),
        cwd=path,
        log_tail=(line,),
    )
    lines = render_alert(alert, text_bytes=ROOMY).text.splitlines()
    assert [one for one in lines if columns(one) > 78] == [f"  Directory    {path}", f"  {line}"]


WELL = {"disposition": "completed", "cause": "none"}
SUBJECTS: dict[str, dict[str, Any]] = {
    "[gpualert] train-llm failed: cuda_oom after 3 h 05 min": {},
    "[gpualert] train-llm completed after 3 h 05 min": WELL,
    "[gpualert] train-llm completed, but its log shows cuda_oom after 3 h 05 min": {
        "disposition": "completed"
    },
    "[gpualert] train-llm completed, but its task failed after 3 h 05 min": {
        **WELL, "state": "failed"
    },
    "[gpualert] train-llm failed, and its task was skipped: cuda_oom after 3 h 05 min": {
        "state": "skipped"
    },
    "[gpualert] train-llm was killed: oom_killer after 3 h 05 min": {
        "disposition": "killed", "cause": "oom_killer"
    },
    "[gpualert] train-llm ran out of time after 3 h 05 min": {
        "disposition": "timeout", "cause": "time_limit"
    },
    "[gpualert] train-llm was cancelled after 3 h 05 min": {
        "disposition": "cancelled", "cause": "cancelled"
    },
    "[gpualert] train-llm was preempted after 3 h 05 min": {
        "disposition": "preempted", "cause": "preempted"
    },
    "[gpualert] train-llm could not be started: command_not_found": {
        "disposition": "not_started", "cause": "command_not_found"
    },
    "[gpualert] train-llm ended with an unknown result": {
        "disposition": "unknown", "cause": "unknown", "duration_s": None
    },
    "[gpualert] train-llm failed: cuda_oom after 3 h 05 min, attempt 3 (will be retried)": {
        "attempt": 3, "final": False
    },
}  # fmt: skip


@pytest.mark.parametrize("subject", SUBJECTS)
def test_subject(subject: str) -> None:
    """A subject has the job, the outcome, the cause, the duration, and the next attempt if any."""
    plain: dict[str, Any] = {"attempt": 1, "final": True, "state": None}
    alert = replace(FAILED, **{**plain, **SUBJECTS[subject]})
    assert render_alert(alert, text_bytes=ROOMY).subject == subject


def test_subject_of_a_long_job_has_its_outcome() -> None:
    """The subject of a job named by a whole script still has its outcome."""
    subject = render_alert(replace(FAILED, job="sh -c 'echo " * 30), text_bytes=ROOMY).subject
    assert subject.endswith("… failed: cuda_oom after 3 h 05 min, attempt 2 (will be retried)")


def test_subject_cannot_add_a_header() -> None:
    """A name with line breaks stays on one line."""
    alert = replace(FAILED, job="x\r\nBcc: a@example.org", cause="y\u2028z\x85")
    subject = render_alert(alert, text_bytes=ROOMY).subject
    assert len(subject.splitlines()) == 1
    assert subject.isprintable()


def test_brief_is_brief() -> None:
    """A chat message has the headline, the cause, the first advice, ten log lines and the
    command."""
    text = render_alert(long_alert(), text_bytes=ROOMY, brief=True).text
    assert text.count("step ") == 10
    assert text.splitlines()[:3] == [
        FAILED.headline,
        "Cause: cuda_oom, confidence 0.95",
        f"Do: {FAILED.do[0]}",
    ]
    assert text.endswith(f"\n{FAILED.next_command}\n")


@pytest.mark.parametrize("alert", SAMPLES.values(), ids=SAMPLES)
def test_all_content_is_rendered(alert: RunView) -> None:
    """All content of an alert is in its text and in its page, each complete on its own."""
    made = render_alert(alert, text_bytes=ROOMY, html_bytes=ROOMY)
    known = [alert.headline, alert.host, alert.exit_status, alert.next_command, alert.record_path]
    known += [*alert.log_tail, *alert.warnings, *alert.notes, alert.cwd, alert.log_path]
    known += [one.name for one in alert.artifacts]
    page = " ".join(Page(made.html or "").text.split())
    flat = " ".join(made.text.split())
    missing = [one for one in known if " ".join(one.split()) not in flat]
    assert missing == []
    assert [one for one in known if " ".join(one.split()) not in page] == []


def test_message_of_a_success() -> None:
    """The message of a successful run has no advice, no cause and no doubts."""
    text = render_alert(COMPLETED, text_bytes=ROOMY).text
    assert "What to do" not in text
    assert "Cause" not in text
    assert "Not decided" not in text


def test_nothing_known_leaves_no_gaps() -> None:
    """Unknown values are left out or named as unknown, never None or an empty row."""
    made = render_alert(UNEXPLAINED, text_bytes=ROOMY, html_bytes=ROOMY)
    assert "None" not in made.text + (made.html or "")
    assert "confidence" not in made.text
    assert not any(line.endswith("  ") for line in made.text.splitlines())
