"""SVG for pages: only shapes and texts, with classes by which a style sheet gives the colours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from gpualert_common.charts.palette import LIGHT
from gpualert_common.charts.summary import summarize_panels
from gpualert_common.charts.svg_paths import shorten_path
from gpualert_common.charts.timeline import Timeline
from gpualert_common.charts.vega_layers import TITLED
from gpualert_common.report.formatting import duration
from gpualert_common.report.formatting import time as format_clock

SVG = "http://www.w3.org/2000/svg"
_TAGS = frozenset({"svg", "g", "path", "line", "rect", "text", "title", "desc"})
_ATTRIBUTES = frozenset(
    {
        *("d", "transform", "x", "y", "x1", "x2", "y1", "y2", "width", "height"),
        *("fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap"),
        *("stroke-linejoin", "stroke-miterlimit", "opacity"),
        *("text-anchor", "font-size", "font-weight"),
    }
)
_DEFAULTS = frozenset(
    {
        *(("transform", "translate(0,0)"), ("opacity", "1"), ("stroke-width", "1")),
        *(("x2", "0"), ("y2", "0"), ("text-anchor", "start"), ("stroke-miterlimit", "10")),
    }
)
_ROLE_OF = {colour: role for role, colour in LIGHT.items()}
_LONG_NUMBER = re.compile(r"-?\d+\.\d{2,}(?:e-?\d+)?")
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MOST_DESCRIBED = 12


def clean_svg(picture: bytes, timeline: Timeline) -> str:
    """Return a drawn chart as one SVG element, with a name and a description for screen readers."""
    drawn = ElementTree.fromstring(replace_unprintable(picture.decode("utf-8", "replace")))
    box = drawn.get("viewBox", "0 0 800 600")
    svg = ElementTree.Element("svg", {"xmlns": SVG, "class": "chart", "viewBox": box})
    svg.set("role", "img")
    svg.set("aria-label", describe_timeline(timeline))
    for child in drawn:
        svg.extend(_clean(child, is_titled=False))
    return ElementTree.tostring(svg, encoding="unicode")


def replace_unprintable(text: str) -> str:
    """Return a text without the characters that XML cannot have."""
    return _NO_XML.sub("\ufffd", text)


def describe_timeline(timeline: Timeline) -> str:
    """Return the timeline in words: its time, its panels with their ranges, its events."""
    if timeline.unit:
        ends = (
            timeline.describe_position(timeline.began_at),
            timeline.describe_position(timeline.ended_at),
        )
        parts = [f"Chart from {ends[0]} to {ends[1]}"]
    else:
        length = duration(timeline.ended_at - timeline.began_at)
        parts = [f"Timeline of {length} from {format_clock(timeline.began_at)}"]
    parts += [
        f"{row.panel}, {row.line}: {row.least} to {row.most} {row.unit}".rstrip()
        for row in summarize_panels(timeline)[:_MOST_DESCRIBED]
    ]
    marks = [one.text for one in timeline.marks]
    if marks:
        parts.append(f"{len(marks)} events, the last: {marks[-1]}")
    return replace_unprintable("; ".join(parts))


def _clean(drawn: ElementTree.Element, *, is_titled: bool) -> Iterator[ElementTree.Element]:
    """Yield the element with what is allowed in it; its children alone if it only groups them."""
    tag = drawn.tag.rpartition("}")[2]
    if tag not in _TAGS or drawn.get("display") == "none":
        return
    is_titled = is_titled or TITLED in drawn.get("class", "")
    children = [one for child in drawn for one in _clean(child, is_titled=is_titled)]
    attributes = {
        name: shorten_path(value) if name == "d" else _shorten(value)
        for name, value in drawn.items()
        if name in _ATTRIBUTES and value and (name, value) not in _DEFAULTS
    }
    if tag == "g" and (not children or not attributes):
        yield from children
        return
    if tag == "path" and "stroke" not in attributes and "fill" not in attributes:
        return  # the empty background of a group
    classes = [
        f"{kind}-{_ROLE_OF[colour]}"
        for kind in ("fill", "stroke")
        if (colour := attributes.get(kind, "")) in _ROLE_OF
    ]
    if classes:
        attributes["class"] = " ".join(classes)
    made = ElementTree.Element(tag, attributes)
    made.text = drawn.text
    if is_titled and tag == "path" and (title := drawn.get("aria-label")):
        ElementTree.SubElement(made, "title").text = title
    made.extend(children)
    yield made


def _shorten(value: str) -> str:
    """Return an attribute whose numbers have one digit behind the point."""
    return _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.1f}".removesuffix(".0"), value)
