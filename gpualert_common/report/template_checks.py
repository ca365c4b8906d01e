"""Faults of a user's templates, for ``gpualert notify preview``."""

from __future__ import annotations

import os

from gpualert_common.report import template_environment as templating
from gpualert_common.report.formatting import one_line
from gpualert_common.report.message import render_alert
from gpualert_common.report.samples import SAMPLES


def check_templates(folder: str) -> list[str]:
    """Return the faults of the templates in ``folder``, a line each.

    Each is tried on a failure, a success, a run of which nothing is known, and a job.  A template
    that no message uses is a fault, too: its name may be misspelled.
    """
    found: dict[str, None] = {}
    for sample in SAMPLES.values():
        for brief in (False, True):
            rendered = render_alert(
                sample, text_bytes=1 << 20, html_bytes=1 << 20, brief=brief, templates=folder
            )
            found.update(dict.fromkeys(rendered.notes))
    return [*found, *_find_unused(folder)]


def _find_unused(folder: str) -> list[str]:
    """Return a line for each template that no message and no other template uses."""
    sources = {}
    for name in sorted(_list_templates(folder)):
        try:
            sources[name] = templating.read_template(os.path.join(folder, name)).decode(
                "utf-8", "replace"
            )
        except OSError:
            continue
    asked = ", ".join(templating.NAMES)
    return [
        f"template {one_line(name, 80)} is used by no message: these are: {asked}"
        for name in sources
        if name not in templating.NAMES
        and not any(name in source for other, source in sources.items() if other != name)
    ]


def _list_templates(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name.endswith(".j2")]
    except OSError:
        return []
