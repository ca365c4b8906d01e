"""Flame graph of a profile as SVG: one panel for each tree, the outermost frames at the top.

Widths are percentages, so that it fits every window; each frame is an ``svg`` of its own, which
cuts its text.  As part of a page it has no styles and no scripts.  As a file of its own it has
both: a click enlarges a frame, and frames can be searched.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from textwrap import wrap
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from gpualert_common.profiles.flame_layout import FlameFrame, FlamePanel, FrameTone, lay_out
from gpualert_common.profiles.profile import Profile
from gpualert_common.profiles.rank_texts import summarize

SVG = "http://www.w3.org/2000/svg"
STYLE = "flame.css"
_SCRIPT = "flame.js"
_ROW = 18
_MARGIN = 8
_LINE = 18
_HEADING = 26
_LEGEND_STEP = 164
_SENTENCE_CHARS = 46
"""Of a line of text in the picture; it fits a telephone."""
_LEAST_LABELLED = 1.2
"""Least width of a frame that has a text, in percent."""
_LEGEND = {
    FrameTone.OWN: "your own code",
    FrameTone.LIBRARY: "libraries",
    FrameTone.WAIT: "may wait for ranks",
    FrameTone.MORE: "▲ more in some ranks",
}


def draw_flame_graph(profile: Profile, *, cwd: str | None = None) -> str:
    """Return the flame graph as a file of its own."""
    panels = lay_out(profile, cwd=cwd)
    summary = summarize(profile, cwd)
    svg = _start(summary)
    SubElement(svg, "style").text = files(__package__).joinpath(STYLE).read_text()
    top = _MARGIN
    sentence = f"Profile: {summary}".replace(" %", "\u00a0%")
    for line in wrap(sentence, _SENTENCE_CHARS):
        top += _LINE
        _add_text(svg, line, top, "flame-title")
    top = _add_legend(svg, top + 4)
    controls = _add_text(svg, "Search", top + _LINE, "flame-control")
    controls.set("id", "flame-search")
    top = _add_panels(svg, panels, top + _LINE)
    _finish(svg, top + _MARGIN)
    SubElement(svg, "script").text = files(__package__).joinpath(_SCRIPT).read_text()
    return ElementTree.tostring(svg, encoding="unicode")


def draw_flame_part(
    profile: Profile, *, cwd: str | None = None, most_rows: int, least_width: float
) -> str:
    """Return the flame graph for a page that has :data:`STYLE`, with at most so many rows in each
    panel and without frames below that width in percent."""
    svg = _start(summarize(profile, cwd))
    top = _add_legend(svg, 0)
    panels = lay_out(profile, cwd=cwd, most_rows=most_rows, least_width=least_width)
    _finish(svg, _add_panels(svg, panels, top))
    return ElementTree.tostring(svg, encoding="unicode")


def _start(summary: str) -> Element:
    label = f"Flame graph: {summary}"
    return Element("svg", {"xmlns": SVG, "class": "flame", "role": "img", "aria-label": label})


def _finish(svg: Element, height: int) -> None:
    svg.set("width", "100%")
    svg.set("height", str(height))


def _add_text(svg: Element, text: str, baseline: int, kind: str, left: str = "4") -> Element:
    made = SubElement(svg, "text", {"class": kind, "x": left, "y": str(baseline)})
    made.text = text
    return made


def _add_legend(svg: Element, top: int) -> int:
    """Add the meaning of the colours, two in a row; return the place below it."""
    for number, (tone, text) in enumerate(_LEGEND.items()):
        left, baseline = 4 + number % 2 * _LEGEND_STEP, top + (number // 2 + 1) * _LINE
        box = {"x": str(left), "y": str(baseline - 11), "width": "12", "height": "12"}
        SubElement(svg, "rect", {"class": f"flame-{tone}", **box})
        _add_text(svg, text, baseline, "flame-note", str(left + 18))
    return top + (len(_LEGEND) + 1) // 2 * _LINE


def _add_panels(svg: Element, panels: Sequence[FlamePanel], top: int) -> int:
    for panel in panels:
        top += _HEADING
        _add_text(svg, panel.title, top - 6, "flame-heading")
        group = SubElement(svg, "g", {"class": "flame-panel"})
        for one in panel.frames:
            _add_frame(group, one, top)
        top += panel.rows * _ROW
        if panel.note:
            top += _LINE
            _add_text(svg, panel.note, top - 4, "flame-note")
    return top


def _add_frame(group: Element, one: FlameFrame, top: int) -> None:
    place = {"x": f"{one.left:.3f}%", "width": f"{one.width:.3f}%"}
    box = {**place, "y": str(top + one.row * _ROW), "height": str(_ROW - 1)}
    frame = SubElement(group, "svg", {"class": f"flame-frame flame-{one.tone}", **box})
    SubElement(frame, "title").text = f"{one.name}\n{one.note}"
    SubElement(frame, "rect", {"width": "100%", "height": "100%"})
    if one.width >= _LEAST_LABELLED:
        mark = "▲ " if one.tone is FrameTone.MORE else ""
        SubElement(frame, "text", {"x": "3", "y": "12.5"}).text = mark + one.name
