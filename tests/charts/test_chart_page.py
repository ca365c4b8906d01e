"""The SVG of a timeline in a page of a real browser, with a strict Content-Security-Policy."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path

import pytest

from gpualert_common.charts.collection import collect_timeline
from gpualert_common.charts.drawing import draw_svg
from gpualert_common.charts.palette import LIGHT, ColourRole
from gpualert_common.report.text_sanitizer import NoMasks
from tests.browser import WIDTHS, open_browser
from tests.charts.composed import ComposedRun

POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'"
_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Chart</title>
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="chart.css"></head>
<body><main><h1>Run</h1>
<div class="chart-frame" tabindex="0" role="region" aria-label="Timeline">{svg}</div>
</main></body></html>"""
_STYLE = """body { background: #fff; color: #1f2328; margin: 0 }
@media (prefers-color-scheme: dark) { body { background: #161b22; color: #f0f3f6 } }
"""
_STROKES = """return [...document.querySelectorAll('.chart .stroke-series-1')]
    .map(one => getComputedStyle(one).stroke)"""


@pytest.fixture
def host(tmp_path: Path) -> Iterator[str]:
    """Address of a server with the page of a run of two GPUs with a hostile warning."""
    record = ComposedRun(gpus=2, nan_from=900, code=1).compose(tmp_path / "run")
    text = "</title><script>document.title='broken'</script><b onmouseover=alert(1)>"
    record.append_event("warning_raised", record.spec.created_at + 900, kind=text, says=text)
    page = _PAGE.format(svg=draw_svg(collect_timeline(record, masks=NoMasks())))
    style = _STYLE + files("gpualert_common.charts").joinpath("chart.css").read_text()

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_style = self.path.endswith(".css")
            self.send_response(200)
            self.send_header("Content-Type", "text/css" if is_style else "text/html")
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write((style if is_style else page).encode())

        def log_message(self, *_arguments: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.e2e
def test_a_chart_in_a_page(host: str) -> None:
    """The chart has its colours on light and dark pages of any width, and no fault; a hostile
    text is a title and nothing else."""
    with open_browser() as browser:
        for scheme in ("light", "dark"):
            browser.prefer(prefers_color_scheme=scheme)
            for width in WIDTHS:
                browser.open(f"http://{host}/", width)
                assert browser.find_faults(host) == []
            strokes = set(browser.evaluate(_STROKES))
            red, green, blue = bytes.fromhex(LIGHT[ColourRole.SERIES_1][1:])
            is_light = strokes == {f"rgb({red}, {green}, {blue})"}
            assert len(strokes) == 1
            assert is_light is (scheme == "light")
        assert browser.evaluate("return document.title") == "Chart"
        titles = browser.evaluate(
            "return [...document.querySelectorAll('.chart title')].map(one => one.textContent)"
        )
        assert any("<script>document.title='broken'</script>" in text for text in titles)
        assert browser.evaluate("return document.querySelector('script, b, [style]')") is None
