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
from gpualert_common.model import Verdict
from gpualert_common.pages.page_environment import STYLE, load_environment
from gpualert_common.pages.reported_run import ReportedRun
from gpualert_common.pages.sections._interface import Room, Section
from gpualert_common.plugins import load_plugins
from gpualert_common.record import Record
from gpualert_common.report.formatting import time as format_time
from gpualert_common.report.run_facts import Fact, list_facts
from gpualert_common.report.run_view import RunView
from gpualert_common.report.text_sanitizer import Masks
from gpualert_common.structs import Struct

MOST_BYTES = 1_000_000
FRAME_BYTES = 150_000
"""Limit of all but the sections: the style sheet, the headline, advice and facts."""

_SECTIONS = "gpualert_common.pages.sections"
_SHARES = (1.0, 0.5, 0.25, 0.1, 0.03)
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
) -> str:
    """Return the report, in at most :data:`MOST_BYTES` of UTF-8.

    ``facts`` are those about the state of a run in progress, not yet masked.
    """
    run = ReportedRun(record, verdict, masks, facts)
    sections = list(_render_sections(run))
    view = run.view
    advice = dict(view.sections()).get("Do") or [
        text for label, text in run.state_facts if label == "Do"
    ]
    all_facts = list_facts(view, view.logs)
    style, policy = _load_style()
    return (
        load_environment()
        .get_template("report.html.j2")
        .render(
            view=view,
            status=_describe_status(view),
            summary=view.summarize(run.lasted_s),
            version=__version__,
            state_facts=[one for one in run.state_facts if one[0] != "Do"],
            advice=advice,
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


def _describe_status(view: RunView) -> str:
    """Return the outcome as a label, such as "Failed"."""
    words = view.outcome.removeprefix("was ").removeprefix("is still ")
    return words[:1].upper() + words[1:]


def load_sections() -> dict[str, Section]:
    """Return all sections by name, in the order of the page."""
    found = {name: module.SECTION for name, module in load_plugins(_SECTIONS).items()}
    return dict(sorted(found.items(), key=lambda item: item[1].order))


def _render_sections(run: ReportedRun) -> Iterator[RenderedSection]:
    for name, section in load_sections().items():
        try:
            html = _render_section(run, name, section)
        except Exception as error:  # noqa: BLE001 - the boundary: a damaged file costs one section
            problem = run.text.line(f"It could not be made: {type(error).__name__}: {error}")
            yield RenderedSection(name, section.title, Markup(), problem)
            continue
        if html is None:
            problem = f"It is left out: it has more than {section.most_bytes:,} bytes."
            yield RenderedSection(name, section.title, Markup(), problem)
        elif html:
            yield RenderedSection(name, section.title, html)


def _render_section(run: ReportedRun, name: str, section: Section) -> Markup | None:
    """Return the HTML of a section; "" for one without content, None for one that is too large."""
    template = load_environment().get_template(f"sections/{name}.html.j2")
    for share in _SHARES:
        content = section.collect(run, Room(share))
        if content is None:
            return Markup()
        html = template.render(content=content, title=section.title)
        if len(html.encode()) <= section.most_bytes:
            return Markup(html)
    return None


@cache
def _load_style() -> tuple[Markup, str]:
    """Return the style sheet and the policy that allows it and nothing else."""
    style = files("gpualert_common.pages").joinpath(STYLE).read_text()
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    return Markup(style), policy
