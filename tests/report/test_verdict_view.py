"""A verdict at a terminal and as Markdown: complete, in order, within its width, safe."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpualert_common.classifier import RunClassifier
from gpualert_common.codec import decode, encode
from gpualert_common.errors import DamagedFileError
from gpualert_common.model import (
    Claim,
    LogLocation,
    RuledOutFamily,
    SecondaryCause,
    SourceStatus,
    Verdict,
    VerdictWarning,
)
from gpualert_common.redact import Redactor
from gpualert_common.report import markdown, terminal
from gpualert_common.report.formatting import columns
from gpualert_common.report.text_sanitizer import NoMasks, TextSanitizer
from gpualert_common.report.verdict_view import EvidenceItem, VerdictView, view_verdict
from gpualert_common.spec import EndFacts, Ending
from tests.scenarios import hangs, hardware, memory, training
from tests.verdicts import UNKNOWN, verdict_with

GOLDEN = Path(__file__).parent / "golden"
TOKEN = "hf_" + "aB3" * 11 + "x"
FACTS = [("Run", "20261121-023010-412733-9c1e"), ("Command", "python train.py")]
OOM = (
    "step 812 loss 1.93\n"
    "Traceback (most recent call last):\n"
    '  File "/srv/llm/train.py", line 88, in <module>\n'
    "    main()\n"
    '  File "/srv/llm/model.py", line 212, in forward\n'
    "    scores = q @ k\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 91.60 GiB. GPU 0 has a total "
    "capacity of 79.15 GiB of which 12.30 GiB is free. Of the allocated memory 50.00 GiB is "
    "allocated by PyTorch, and 1.10 GiB is reserved by PyTorch but unallocated.\n"
)
LOGS = {
    "cuda_oom": (OOM, 1),
    "file_not_found": ("FileNotFoundError: [Errno 2] No such file: '/data/*train*.json'\n", 1),
    "killed": ("step 1 loss 2.3\n", -9),
    "exit_0_with_nan": ("".join(f"{{'loss': nan, 'epoch': {n}}}\n" for n in range(9)), 0),
}


def verdict_of(log: str, code: int) -> Verdict:
    """Return the verdict on this log and this status."""
    classifier = RunClassifier()
    classifier.feed("output.log", log.encode(), 0)
    ending = Ending(0.0)
    ending.code = code
    return classifier.conclude(ending, EndFacts())


@cache
def scene(name: str) -> Verdict:
    """Return the verdict on a scenario's run."""
    places = (memory, hardware, hangs, training)
    make = next(getattr(place, name) for place in places if hasattr(place, name))
    with TemporaryDirectory() as home:
        return decode(Verdict, make(Random(7)).verdict(Path(home)), name)


def view(verdict: Verdict) -> VerdictView:
    """Return the view of a verdict, with nothing masked."""
    return view_verdict(verdict, TextSanitizer(NoMasks()))


def shown(verdict: Verdict, **paper: Any) -> list[str]:
    """Return the lines at a terminal."""
    return terminal.render_page(
        view(verdict), terminal.TerminalLayout(**paper), lasted_s=11100.0, facts=FACTS
    )


def flat(lines: list[str]) -> str:
    """Return the lines joined, as they were before wrapping."""
    return " ".join(" ".join(lines).split())


SCENES = (
    *("leader_killed", "worker_killed", "only_counted", "killed_by_somebody"),
    *("lost_gpu_in_a_collective", "memory_errors_rise", "overheated", "one_is_slow"),
    *("stuck_before_the_first_step", "gpu_memory_of_others", "blew_up", "frozen"),
    *("nan_to_the_end", "cut_short", "no_batches", "trained_by_trainer", "at_work"),
)
VERDICTS = [
    *(pytest.param(verdict_of(*LOGS[name]), id=name) for name in LOGS),
    *(pytest.param(name, id=name) for name in SCENES),
]


@pytest.fixture(params=VERDICTS)
def verdict(request: pytest.FixtureRequest) -> Verdict:
    """A real verdict of each kind."""
    return scene(request.param) if isinstance(request.param, str) else request.param


@pytest.mark.parametrize("columns_", [40, 50, 80, 100])
def test_width_is_respected(verdict: Verdict, columns_: int) -> None:
    """No line is wider than the terminal, except a single word."""
    for line in shown(verdict, columns=columns_, is_full=True):
        words = line.removeprefix("Run").removeprefix("Command").split()
        assert columns(line) <= columns_ or len(words) == 1, line


def test_order_of_the_parts(verdict: Verdict) -> None:
    """The order is headline, advice, evidence with its places, facts of the run."""
    lines = shown(verdict, is_full=True)
    text_shown = flat(lines)
    assert text_shown.startswith(" ".join(verdict.headline.split()))
    places = [
        text_shown.index(verdict.headline),
        text_shown.index(" Shows "),
        text_shown.index(" Implies "),
    ]
    if verdict.cause != "none":
        assert "At fault: " in text_shown
        assert "A retry " in text_shown
        places.insert(1, text_shown.index(" Do "))
    places.append(text_shown.index(" Run "))
    assert places == sorted(places)
    for claim in verdict.shows:
        where = claim.where
        assert not where or f"{where.file}:{where.line}" in text_shown
    assert verdict.implies in text_shown
    assert all(text in text_shown for text in verdict.cannot_decide)


def test_a_page_is_short(verdict: Verdict) -> None:
    """A page fits on one and a half screens; the omitted entries are counted."""
    assert len(shown(verdict)) <= 48
    many = replace(verdict, shows=verdict.shows * 9, do=verdict.do * 9)
    assert len(shown(many)) <= 60
    assert f"and {len(many.shows) - 4} more, with --full" in flat(shown(many))
    assert "--full" not in flat(shown(many, is_full=True))


def test_nothing_is_repeated(verdict: Verdict) -> None:
    """No warning and no other cause repeats the evidence."""
    parts = view(verdict)
    sections = dict(parts.sections())
    claims = [claim.claim for claim in parts.shows]
    others = [str(text) for title in ("Warnings", "Also seen") for text in sections[title]]
    rest = (*others, *parts.ruled_out, parts.implies, parts.headline)
    assert len(set(rest)) == len(rest)
    for text in others:
        assert not any(claim in text for claim in claims), text
    assert not any("unknown" in text for text in (parts.headline, parts.implies))


def test_markdown_has_the_same_parts(verdict: Verdict) -> None:
    """The Markdown page has every part, and each claim with its place."""
    page = markdown.render_page(view(verdict), lasted_s=3.0, facts=FACTS, more="gpualert show x")
    assert page.startswith(f"## {markdown.plain(verdict.headline)}\n\nThe run ")
    for claim in verdict.shows:
        where = claim.where
        assert not where or f"`{where.file}:{where.line}" in page
    assert markdown.plain(verdict.implies) in page
    for text in verdict.cannot_decide:
        assert f"* {markdown.plain(text)}\n" in page
    assert page.endswith("* More: `gpualert show x`\n")


def test_colours_change_no_letter(verdict: Verdict) -> None:
    """With colours the same text is shown, and each line ends its own colour."""
    coloured = shown(verdict, colours=True)
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in coloured] == shown(verdict)
    assert all(line.count("\x1b[") % 2 == 0 for line in coloured)
    assert "\x1b" not in "".join(shown(verdict))


anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=6,
)
NAMES = ("headline", "disposition", "cause", "confidence", "do", "shows", "implies", "warnings")
MORE = ("cannot_decide", "secondary", "ruled_out", "sources", "measured", "attribution", "retry")
CLAIM = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("claim", "source", "where", "excerpt", "rank"), anything)
)
damaged = st.fixed_dictionaries(
    {}, optional={name: anything | st.lists(CLAIM, max_size=3) for name in (*NAMES, *MORE)}
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(damaged, st.integers(24, 100), st.booleans())
def test_damaged_verdict(fields: dict[str, Any], width: int, whole: bool) -> None:
    """A damaged verdict is refused; any other has a page without control characters."""
    try:
        verdict = decode(Verdict, {**encode(UNKNOWN), **fields}, "verdict.json")
    except DamagedFileError:
        return
    lines = shown(verdict, columns=width, is_full=whole)
    assert lines
    page = markdown.render_page(view(verdict), facts=FACTS)
    for char in "".join(lines) + page.replace("\n", ""):
        assert unicodedata.category(char) not in ("Cc", "Cs")


def bare(excerpt: str) -> VerdictView:
    """A verdict with one claim."""
    claim = Claim(excerpt, "log", LogLocation("output.log", 7, 90), excerpt)
    return view(verdict_with(headline=excerpt, cause="traceback", shows=(claim,), do=(excerpt,)))


def test_control_characters_are_replaced() -> None:
    """Escape sequences, carriage returns and bidirectional marks are shown as marks."""
    lines = terminal.render_page(
        bare("\x1b]0;owned\x07\x1b[2Ja\rb\u202ec\x9bd"), terminal.TerminalLayout()
    )
    assert not {"\x1b", "\x07", "\r", "\u202e", "\x9b"} & set("".join(lines))


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("train_model.py in main()", "train_model.py in main()"),
        ("__init__ of <module>", r"\_\_init\_\_ of &lt;module&gt;"),
        ("![a](http://b) & *c* `d` ~~e~~", r"!\[a](http://b) &amp; \*c\* \`d\` \~\~e\~\~"),
        ("- # 1. no list", r"\- # 1. no list"),
        ("12. no list", r"12\. no list"),
        ("a | b", r"a \| b"),
        (r"C:\*", r"C:\\\*"),
    ],
)
def test_text_is_escaped(text: str, escaped: str) -> None:
    """No text of a log becomes Markdown or HTML."""
    assert markdown.plain(text) == escaped


@pytest.mark.parametrize(
    ("text", "span"), [("a_b*", "`a_b*`"), ("a`b", "``a`b``"), ("`a``", "``` `a`` ```"), (" ", "")]
)
def test_code_is_escaped(text: str, span: str) -> None:
    """A code span ends at its end, with any content."""
    assert markdown.code(text) == span


def test_excerpt_stays_in_its_span() -> None:
    """An excerpt with backticks does not end its code span."""
    page = markdown.render_page(bare("``` <img src=x> ````"))
    assert "\n\n  ````` ``` <img src=x> ```` `````\n" in page
    assert "<img" not in page.replace("````` ``` <img", "")


@pytest.mark.parametrize("many", [1, 50])
def test_markdown_is_bounded(many: int) -> None:
    """A page is bounded, and a shortened one has the command for the whole."""
    page = markdown.render_page(
        view(verdict_with(headline="x", do=("ü" * 2000,) * many)), more="gpualert show y"
    )
    assert len(page.encode()) <= markdown.MOST_BYTES
    assert ("The rest is left out; `gpualert show y` shows all of it." in page) == (many == 50)


def test_masks_reach_every_part() -> None:
    """With a redactor no part of a verdict contains a secret."""
    text = f"token={TOKEN}"
    verdict = verdict_with(
        headline=text,
        implies=text,
        do=(text,),
        cannot_decide=(text,),
        shows=(Claim(text, "log", excerpt=text),),
        secondary=(SecondaryCause("data", text),),
        ruled_out=(RuledOutFamily("B2", text),),
        warnings=(VerdictWarning("x", text),),
        sources=(SourceStatus("nvml", available=False, why=text),),
    )
    parts = view_verdict(verdict, TextSanitizer(Redactor()))
    assert TOKEN not in markdown.render_page(parts)
    assert TOKEN not in "".join(terminal.render_page(parts, terminal.TerminalLayout()))


def test_cause_is_not_ruled_out() -> None:
    """Evidence against other forms of the cause does not rule out its own family."""
    parts = view(scene("worker_killed"))
    assert parts.cause == "oom_killer"
    assert not any("killed for memory" in text for text in parts.ruled_out)


def test_cost_of_a_run() -> None:
    """Known GPU-hours of a run are shown, with the number of wasted ones."""
    assert view(verdict_with()).gpu_hours == ""
    assert view(verdict_with(measured={"gpu_seconds": 1800.0})).gpu_hours == "0.50"
    measured = {"gpu_seconds": 72_000.0, "wasted_gpu_seconds": 5400.0}
    assert view(verdict_with(measured=measured)).gpu_hours == "20.0, 1.50 of them wasted"


def test_same_claim_again() -> None:
    """A claim of several lines is written once, and each line is cited."""
    claims = tuple(Claim("it says so", "log", LogLocation("a", n, n)) for n in (3, 4))
    assert dict(view(verdict_with(shows=claims)).sections())["Shows"] == (
        EvidenceItem("it says so", "a:3"),
        EvidenceItem("again", "a:4"),
    )


def golden() -> Iterator[Any]:
    """Yield the golden pages: name and text."""
    for name in ("cuda_oom", "exit_0_with_nan"):
        verdict = verdict_of(*LOGS[name])
        for width in (80, 40):
            yield f"verdict.{name}.{width}.txt", "\n".join(shown(verdict, columns=width)) + "\n"
        page = markdown.render_page(
            view(verdict), lasted_s=11100.0, facts=FACTS, more="gpualert show x"
        )
        yield f"verdict.{name}.md", page


GOLDEN_PAGES = [*golden()]


@pytest.mark.parametrize(("name", "page"), GOLDEN_PAGES, ids=[name for name, _ in GOLDEN_PAGES])
def test_page_equals_its_golden_file(name: str, page: str) -> None:
    """Pages equal those in ``golden/``; WRITE_GOLDEN=1 writes them again for review."""
    if os.environ.get("WRITE_GOLDEN"):
        (GOLDEN / name).write_text(page)
    assert page == (GOLDEN / name).read_text()
