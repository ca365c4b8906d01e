"""The newest profile: where the ranks spend their time, and where some differ."""

from __future__ import annotations

from markupsafe import Markup

from gpualert_common.pages.reported_run import ReportedRun
from gpualert_common.pages.sections._interface import Room, Section
from gpualert_common.profiles.flame_graph import draw_flame_part
from gpualert_common.profiles.profile import change_names
from gpualert_common.report.profile_lines import list_head
from gpualert_common.structs import Struct

_MOST_ROWS = 48
_LEAST_WIDTH = 0.5
"""Percent: a narrower frame has no room for a letter in a page."""
_MOST_SENTENCES = 20


class ShownProfile(Struct, frozen=True):
    """Sentences about a profile, the finding second, and its flame graph."""

    head: tuple[str, ...]
    picture: Markup


def _collect(run: ReportedRun, room: Room) -> ShownProfile | None:
    if run.profile is None:
        return None
    profile = change_names(run.profile, run.text.line)
    sentences = list(list_head(profile, run.spec.cwd))[: room.limit(_MOST_SENTENCES)]
    picture = draw_flame_part(
        profile,
        cwd=run.spec.cwd,
        most_rows=room.limit(_MOST_ROWS),
        least_width=_LEAST_WIDTH / room.share,
    )
    return ShownProfile(tuple(map(run.text.prose, sentences)), Markup(picture))


SECTION = Section("Profile", order=65, most_bytes=50_000, collect=_collect)
