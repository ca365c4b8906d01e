"""The environment of the pages' templates: every value is escaped."""

from __future__ import annotations

import os
from functools import cache

import jinja2

STYLES = (
    ("gpualert_common.pages", "report.css"),
    ("gpualert_common.pages", "job.css"),
    ("gpualert_common.charts", "chart.css"),
    ("gpualert_common.profiles", "flame.css"),
)
"""Packages and files of the style sheets, in order."""


@cache
def load_environment() -> jinja2.Environment:
    """Return the environment; an undefined variable is an error."""
    folder = os.path.join(os.path.dirname(__file__), "templates")
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
