"""The report of a run: one self-contained HTML file."""

from __future__ import annotations

import hashlib
import time
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

from markupsafe import Markup

from gpualert_common._version import __version__
from gpualert_common.charts.drawing import TIME_LIMIT_S
from gpualert_common.jobs.reading.isolated_reading import JobReading
from gpualert_common.model import Verdict
from gpualert_common.pages.page_environment import STYLES, load_environment
from gpualert_common.pages.reported_run import ReportedRun
from gpualert_common.pages.sections._interface import SHARES, Room, Section
from gpualert_common.plugins import load_plugins
from gpualert_common.record import Record
from gpualert_common.report.formatting import one_line
from gpualert_common.report.formatting import time as format_time
from gpualert_common.report.run_facts import Fact, list_facts
from gpualert_common.report.run_view import RunView
from gpualert_common.report.text_sanitizer import Masks
from gpualert_common.structs import Struct

MOST_BYTES = 1_000_000
FRAME_BYTES = 150_000
"""Limit of all but the sections: the style sheet, the headline, advice and facts."""

_SECTIONS = "gpualert_common.pages.sections"
_MOST_CHARS = 2000
_MOST_NAME = 300
_LONG_FACTS = ("Run", "Task", "Command", "Directory", "Log", "Record", "Page")
"""Facts that take a line of their own."""


class RenderedSection(Struct, frozen=True):
    """A section as HTML; ``problem`` says why it is left out."""

    name: str
    title: str
    html: Markup
    problem: str = ""


def render_report(
    record: Record,
    verdict: Verdict | None,
    *,
    masks: Masks,
    facts: Sequence[Fact] = (),
    refresh_s: int | None = None,
    drawing_s: float = TIME_LIMIT_S,
    job: JobReading | None = None,
) -> str:
    """Return the report, in at most :data:`MOST_BYTES` of UTF-8.

    ``facts`` are those about the state of a run in progress, not yet masked.  A picture that is not
    drawn within ``drawing_s`` is left out.  ``job`` is the job of the run by its directory; by
    default it is that of the record.
    """
    run = ReportedRun(record, verdict, masks, facts, drawing_s=drawing_s, job=job)
    sections = list(_render_sections(run))
    used = sum(len(one.html.encode()) for one in sections)
    for share in SHARES:
        page = _render_page(run, sections, refresh_s, Room(share))
        if len(page.encode()) - used <= FRAME_BYTES:
            break
    return page


def load_sections() -> dict[str, Section]:
    """Return all sections by name, in the order of the page."""
    found = {name: module.SECTION for name, module in load_plugins(_SECTIONS).items()}
    return dict(sorted(found.items(), key=lambda item: item[1].order))


def _render_page(
    run: ReportedRun, sections: Sequence[RenderedSection], refresh_s: int | None, room: Room
) -> str:
    view = run.view
    most = room.limit(_MOST_CHARS)
    state_facts = _cut_facts(run.state_facts, most)
    advice = [one_line(str(one), most) for one in dict(view.sections()).get("Do", ()) if one]
    advice += [value for label, value in state_facts if label == "Do"]
    all_facts = _cut_facts(list_facts(view, view.logs), most)
    style, policy = _load_style()
    return (
        load_environment()
        .get_template("report.html.j2")
        .render(
            tone=view.tone,
            is_live=view.disposition == "running",
            job=one_line(view.job, _MOST_NAME),
            headline=view.headline,
            status=_describe_status(view),
            summary=view.summarize(run.lasted_s),
            version=__version__,
            advice=advice,
            state_facts=[one for one in state_facts if one[0] != "Do"],
            short_facts=[one for one in all_facts if one[0] not in _LONG_FACTS],
            long_facts=[one for one in all_facts if one[0] in _LONG_FACTS],
            sections=sections,
            style=style,
            policy=policy,
            refresh_s=refresh_s,
            made_at=format_time(time.time()),
            redactions=run.text.masked,
        )
    )


def _cut_facts(facts: Sequence[Fact], most: int) -> list[Fact]:
    return [(label, one_line(value, most)) for label, value in facts]


def _describe_status(view: RunView) -> str:
    """Return the outcome as a label, such as "Failed"."""
    words = view.outcome.removeprefix("was ").removeprefix("is still ")
    return words[:1].upper() + words[1:]


def _render_sections(run: ReportedRun) -> Iterator[RenderedSection]:
    left = MOST_BYTES - FRAME_BYTES
    for name, section in load_sections().items():
        most = min(section.most_bytes, left)
        try:
            html = _render_section(run, name, section, most)
        except Exception as error:  # noqa: BLE001 - the boundary: a damaged file costs one section
            problem = run.text.line(f"It could not be made: {type(error).__name__}: {error}")
            yield RenderedSection(name, section.title, Markup(), problem)
            continue
        if html is None:
            problem = f"It is left out: it has more than {most:,} bytes."
            yield RenderedSection(name, section.title, Markup(), problem)
        elif html:
            left -= len(html.encode())
            yield RenderedSection(name, section.title, html)


def _render_section(
    run: ReportedRun, name: str, section: Section, most_bytes: int
) -> Markup | None:
    """Return the HTML of a section; "" for one without content, None for one that is too large."""
    template = load_environment().get_template(f"sections/{name}.html.j2")
    for share in SHARES:
        content = section.collect(run, Room(share))
        if content is None:
            return Markup()
        html = template.render(content=content, title=section.title)
        if len(html.encode()) <= most_bytes:
            return Markup(html)
    return None


@cache
def _load_style() -> tuple[Markup, str]:
    """Return the style sheet and the policy that allows it and nothing else."""
    style = "".join(files(package).joinpath(name).read_text() for package, name in STYLES)
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    return Markup(style), policy
