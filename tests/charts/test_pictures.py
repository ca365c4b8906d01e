"""Pictures of a timeline: small, safe in any page, and drawn in a process that may fail."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gpualert_common.charts import drawing
from gpualert_common.charts.collection import collect_timeline
from gpualert_common.charts.drawing import ChartsUnavailableError, draw_png, draw_svg
from gpualert_common.charts.palette import ColourRole
from gpualert_common.charts.timeline import ChartLine, Mark, MarkKind, Panel, Timeline
from gpualert_common.report.text_sanitizer import NoMasks
from tests.charts.composed import BEGAN_AT, DAY_S, ComposedRun
from tests.supervised import PYTHON, Lab

MOST_SVG_BYTES = 300_000
HOSTILE = """</svg><script>alert(1)</script><img src=x onerror=alert(1)> {{7*7}} \ufffe\x01 & " '"""
_SAFE_ATTRIBUTES = {
    *("class", "d", "transform", "x", "y", "x1", "x2", "y1", "y2", "width", "height", "viewBox"),
    *("fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin"),
    *("stroke-miterlimit", "opacity", "text-anchor", "font-size", "font-weight", "role"),
    "aria-label",
}


def short_timeline(name: str = "training", text: str = "the end") -> Timeline:
    """Return a timeline with one line and one mark."""
    line = ChartLine(name, (BEGAN_AT, BEGAN_AT + 9), (2.0, 1.0))
    marks = (Mark(BEGAN_AT + 10, MarkKind.END, text, "exit 0"),)
    return Timeline(BEGAN_AT, BEGAN_AT + 10, (Panel("Loss", "", (line,)),), marks)


def list_elements(svg: str) -> Iterator[tuple[str, ElementTree.Element]]:
    """Yield the elements of a picture, with their names."""
    for one in ElementTree.fromstring(svg).iter():
        yield one.tag.rpartition("}")[2], one


@pytest.fixture
def interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that runs in place of the interpreter of the drawing program."""
    path = tmp_path / "interpreter"
    monkeypatch.setattr(sys, "executable", str(path))
    return path


def install(path: Path, script: str) -> None:
    """Make the program a shell script."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_svg_has_only_shapes_and_texts() -> None:
    """No element, attribute or text of the SVG can run, load or style anything."""
    svg = draw_svg(short_timeline(HOSTILE, HOSTILE))
    elements = list(list_elements(svg))
    assert {name for name, _one in elements} <= {"svg", "g", "path", "line", "text", "title"}
    for _name, one in elements:
        assert set(one.keys()) <= _SAFE_ATTRIBUTES
        values = (value for key, value in one.items() if key != "aria-label")
        assert not [value for value in values if "url" in value or ":" in value]
    assert "<script" not in svg
    titles = [one.text or "" for name, one in elements if name == "title"]
    assert any(text.startswith("</svg><script>alert(1)") for text in titles)


def test_svg_is_addressed_by_classes() -> None:
    """Every colour of the SVG is that of a role, by which a style sheet replaces it."""
    svg = draw_svg(short_timeline())
    roles = set(ColourRole)
    for _name, one in list_elements(svg):
        for key in ("fill", "stroke"):
            if one.get(key, "none") not in ("none", "transparent"):
                classes = one.get("class", "").split()
                assert any(name.removeprefix(f"{key}-") in roles for name in classes), one.items()


def test_svg_is_described() -> None:
    """A screen reader has the time, the ranges and the last event of the picture in words."""
    (_name, svg), *_rest = list_elements(draw_svg(short_timeline()))
    assert svg.get("role") == "img"
    words = svg.get("aria-label", "")
    assert "Loss, training: 1 to 2" in words
    assert words.endswith("1 events, the last: the end")


@pytest.mark.parametrize(
    "run",
    [
        ComposedRun(length_s=30 * DAY_S, gpus=8, ranks=8, steps=20_000, checkpoints=500),
        ComposedRun(gpus=64, ranks=64, dead_gpu=37, steps=200, length_s=900),
    ],
    ids=["thirty-days", "64-gpus"],
)
def test_sizes(tmp_path: Path, run: ComposedRun) -> None:
    """The pictures of the longest and of the widest run are within their limits."""
    timeline = collect_timeline(run.compose(tmp_path / "run"), masks=NoMasks())
    assert len(draw_svg(timeline).encode()) <= MOST_SVG_BYTES
    assert len(draw_png(timeline)) <= drawing.MOST_PNG_BYTES


def test_png_fits_a_budget() -> None:
    """A PNG is 1,600 pixels wide or so; for a small budget it is narrower, or refused."""
    timeline = short_timeline()
    picture = draw_png(timeline)
    (width,) = struct.unpack(">I", picture[16:20])
    assert 1500 <= width <= 1700
    smaller = draw_png(timeline, most_bytes=len(picture) - 1)
    assert struct.unpack(">I", smaller[16:20]) < (width,)
    with pytest.raises(ChartsUnavailableError, match="at most 1,000 fit"):
        draw_png(timeline, most_bytes=1000)


def test_nothing_to_draw() -> None:
    """A run without numbers has no picture."""
    with pytest.raises(ChartsUnavailableError, match="no numbers"):
        draw_svg(Timeline(0.0, 0.0))


def test_library_is_missing(interpreter: Path) -> None:
    """Without the library, the error names the package to install."""
    block = "import sys, runpy; sys.modules['vl_convert'] = None; sys.argv[:] = sys.argv[2:]"
    code = f"{block}; runpy.run_path(sys.argv[0], run_name='__main__')"
    install(interpreter, f'exec {PYTHON} -I -c "{code}" "$@"')
    with pytest.raises(ChartsUnavailableError, match=r"pip install 'gpualert-common\[charts\]'"):
        draw_svg(short_timeline())


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("kill -SEGV $$", "killed by SIGSEGV"),
        ("echo broken >&2; exit 7", "exit status 7: broken"),
        ("exec sleep 600", "not drawn within 0.2 s"),
        ("exec sh -c 'sleep 600 & exit 0'", "not drawn within 0.2 s|exit status 0"),
        ("echo no picture", "returned no picture"),
        ("exit 0", "exit status 0"),
        (f'ulimit -d 300000; exec {PYTHON} "$@"', "killed by SIG.*out of memory"),
        (f'ulimit -v 8000000; exec {PYTHON} "$@"', r"limited to 7812 MiB \(ulimit -v\)"),
    ],
    ids=["crash", "error", "hang", "daemon", "text", "nothing", "data", "address-space"],
)
@pytest.mark.parametrize("draw", [draw_svg, draw_png])
def test_faults(interpreter: Path, draw: object, script: str, reason: str) -> None:
    """Whatever happens to the drawing program, the caller gets one error with the reason."""
    assert callable(draw)
    install(interpreter, script)
    deadline_s = 0.2 if "sleep" in script else drawing.TIME_LIMIT_S
    with pytest.raises(ChartsUnavailableError, match=reason):
        draw(short_timeline(), deadline_s=deadline_s)


def test_no_interpreter(interpreter: Path) -> None:
    """An interpreter that cannot be executed is an error with the reason."""
    assert not interpreter.exists()
    with pytest.raises(ChartsUnavailableError, match="does not start"):
        draw_png(short_timeline())


def test_limits_of_the_caller(lab: Lab) -> None:
    """A limit of address space that its owner may lift, as that of the sender, is no obstacle."""
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (4 << 30, -1))\n"
        "from tests.charts.test_pictures import short_timeline\n"
        "from gpualert_common.charts.drawing import draw_png\n"
        "draw_png(short_timeline())\n"
    )
    root = Path(__file__).resolve().parents[2]
    done = lab.call((PYTHON, "-c", code), cwd=root)
    assert done.returncode == 0, done.stderr.decode()


def test_no_heavy_imports(lab: Lab) -> None:
    """The caller of the drawing imports neither the library nor templates."""
    code = (
        "import sys, gpualert_common.charts.drawing, gpualert_common.charts.collection\n"
        "print(*{'vl_convert', 'jinja2', 'numpy'} & set(sys.modules))"
    )
    assert lab.call((PYTHON, "-c", code)).stdout.split() == []
