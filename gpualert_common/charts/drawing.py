"""Pictures of a timeline: SVG for a page, PNG for a message.

The picture is drawn in a process of its own (:mod:`.drawing_program`): the library may be missing,
crash, or be refused its memory, and none of that reaches the caller.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import suppress
from xml.etree import ElementTree

from gpualert_common.charts import drawing_program
from gpualert_common.charts.png import SIGNATURE
from gpualert_common.charts.svg import clean_svg, replace_unprintable
from gpualert_common.charts.timeline import Timeline
from gpualert_common.charts.vega_layers import JsonObject
from gpualert_common.charts.vega_lite import VERSION, build_chart
from gpualert_common.errors import GPUAlertError
from gpualert_common.printable_text import make_printable
from gpualert_common.processes.bootstrap import import_path
from gpualert_common.processes.program import start_program
from gpualert_common.signal_names import signal_name
from gpualert_common.structs import replace
from gpualert_common.whole_words import cut_words

INSTALL = "pip install 'gpualert-common[charts]'"
TIME_LIMIT_S = 30.0
"""A picture takes one to three seconds of a core, which may be busy with the training."""
MOST_PNG_BYTES = 400_000
_SCALE = 2.0
_MOST_REASON = 200
_PROGRAM = "gpualert_common.charts.drawing_program"


class ChartsUnavailableError(GPUAlertError):
    """No picture can be drawn here; the message has the reason and, if there is one, the remedy."""


def draw_svg(timeline: Timeline, *, deadline_s: float = TIME_LIMIT_S) -> str:
    """Return the timeline as an SVG element for a page with a strict Content-Security-Policy.

    It has no styles, scripts or links; ``chart.css`` gives it its colours, for light and dark
    pages.  Raises ChartsUnavailableError.
    """
    picture = _draw({"format": "svg"}, timeline, deadline_s, is_transparent=True)
    try:
        return clean_svg(picture, timeline)
    except ElementTree.ParseError as error:
        raise ChartsUnavailableError(f"the drawing program returned no picture: {error}") from error


def draw_png(
    timeline: Timeline, *, most_bytes: int = MOST_PNG_BYTES, deadline_s: float = TIME_LIMIT_S
) -> bytes:
    """Return the timeline as a PNG on white, 1,600 pixels wide, or narrower to fit *most_bytes*.

    Raises ChartsUnavailableError.
    """
    request = {"format": "png", "scale": _SCALE, "most_bytes": most_bytes}
    picture = _draw(request, timeline, deadline_s, is_transparent=False)
    if not picture.startswith(SIGNATURE):
        raise ChartsUnavailableError("the drawing program returned no picture")
    if len(picture) > most_bytes:
        raise ChartsUnavailableError(
            f"the picture of the timeline has {len(picture):,} bytes; at most {most_bytes:,} fit"
        )
    return picture


def _draw(
    request: JsonObject, timeline: Timeline, deadline_s: float, *, is_transparent: bool
) -> bytes:
    """Return the output of the drawing program.  Raises ChartsUnavailableError."""
    if not timeline.panels:
        raise ChartsUnavailableError("there are no numbers of the run to draw")
    spec = build_chart(_clean_texts(timeline), is_transparent=is_transparent)
    more = {"spec": spec, "version": VERSION, "sys_path": import_path()}
    data = json.dumps({**request, **more}).encode()
    try:
        program = start_program(
            _PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    except OSError as error:
        raise ChartsUnavailableError(f"the drawing program does not start: {error}") from error
    try:
        picture, problems = program.communicate(data, timeout=deadline_s)
    except subprocess.TimeoutExpired:
        raise ChartsUnavailableError(
            f"the picture of the timeline was not drawn within {deadline_s:g} s"
        ) from None
    finally:
        _end(program)
    if program.returncode == 0 and picture:
        return picture
    raise ChartsUnavailableError(_explain(program.returncode, problems))


def _end(program: subprocess.Popen[bytes]) -> None:
    """Kill the program and its children, unless it has been reaped, and close its pipes."""
    if program.returncode is None:
        with suppress(OSError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()
    for pipe in (program.stdin, program.stdout, program.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def _clean_texts(timeline: Timeline) -> Timeline:
    """Return the timeline without the characters at which the library ends its process."""
    panels = (
        replace(
            panel,
            title=replace_unprintable(panel.title),
            unit=replace_unprintable(panel.unit),
            lines=tuple(replace(one, name=replace_unprintable(one.name)) for one in panel.lines),
        )
        for panel in timeline.panels
    )
    marks = (
        replace(one, text=replace_unprintable(one.text), label=replace_unprintable(one.label))
        for one in timeline.marks
    )
    return replace(timeline, panels=tuple(panels), marks=tuple(marks))


def _explain(status: int, problems: bytes) -> str:
    """Return the reason why the drawing program failed, in a sentence."""
    lines = [line.strip(" #") for line in problems.decode("utf-8", "replace").splitlines()]
    shown = [make_printable(cut_words(line, _MOST_REASON)) for line in lines if line]
    match status:
        case drawing_program.LIBRARY_MISSING:
            return f"no pictures without vl-convert-python; install it: {INSTALL}"
        case drawing_program.MEMORY_REFUSED:
            return f"no pictures: {shown[-1] if shown else 'the memory is limited'}"
        case _ if status < 0:
            why = f": {shown[0]}" if shown else ""
            return f"the drawing program was killed by {signal_name(-status)}{why}"
        case _:
            why = f": {shown[-1]}" if shown else ""
            return f"the drawing program failed with exit status {status}{why}"
