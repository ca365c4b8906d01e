"""Pages from their templates; every value is escaped."""

from __future__ import annotations

import os
from functools import cache

import jinja2
from starlette.responses import HTMLResponse, Response

from gpualert_common import charts, pages
from gpualert_common.report import formatting

_FOLDER = os.path.dirname(__file__)
_OWN = os.path.join(_FOLDER, "static")
_PAGES = os.path.dirname(pages.__file__)
"""Its templates are found, too: pages share the parts about a job with the report."""
_STATIC = {
    "web.css": (_OWN, "text/css; charset=utf-8"),
    "job.css": (_PAGES, "text/css; charset=utf-8"),
    "chart.css": (os.path.dirname(charts.__file__), "text/css; charset=utf-8"),
    "web.js": (_OWN, "text/javascript; charset=utf-8"),
    "icon.svg": (_OWN, "image/svg+xml"),
}
"""Files that pages refer to, with their folders and types; there are no others."""


def render_page(template: str, status: int = 200, **values: object) -> Response:
    """Return the page of a template."""
    page = _environment().get_template(f"{template}.html.j2").render(**values)
    # A lone surrogate, as in a file name, cannot be sent.
    return HTMLResponse(page.encode("utf-8", "replace"), status)


def render_message(
    status: int,
    title: str,
    text: str,
    *,
    back: str = "",
    target: str = "",
    is_reloaded: bool = False,
) -> Response:
    """Return a page with one message.

    ``back`` adds a link, ``target`` the form to sign in and go on there; a page that
    ``is_reloaded`` makes the browser ask for its address once more.
    """
    values = {"title": title, "text": text, "back": back, "target": target}
    return render_page("message", status, **values, is_reloaded=is_reloaded)


@cache
def read_static(name: str) -> tuple[bytes, str] | None:
    """Return content and type of a file that pages refer to; None if there is none of this name."""
    if name not in _STATIC:
        return None
    folder, media_type = _STATIC[name]
    with open(os.path.join(folder, name), "rb") as file:
        return file.read(), media_type


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(
            [os.path.join(folder, "templates") for folder in (_FOLDER, _PAGES)]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        duration=formatting.duration,
        short_duration=formatting.short_duration,
        size=formatting.size,
        time=lambda at: formatting.time(at, "local"),
    )
    return environment
