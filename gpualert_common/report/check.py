"""Are a user's templates any good?  For ``gpualert notify preview``."""

from __future__ import annotations

import os

from gpualert_common.report import environment as env
from gpualert_common.report.rendering import render
from gpualert_common.report.sample import SAMPLES
from gpualert_common.report.words import one_line


def check_templates(folder: str) -> list[str]:
    """What is wrong with the templates in ``folder``, a line each; empty when nothing is.

    Each is tried on a failure, a success, and a run that nothing is known of.  A template that no
    message would use is named, too: its name may be misspelled.
    """
    found: dict[str, None] = {}
    for sample in SAMPLES:
        for brief in (False, True):
            rendered = render(
                sample(), text_bytes=1 << 20, html_bytes=1 << 20, brief=brief, templates=folder
            )
            found.update(dict.fromkeys(rendered.notes))
    return [*found, *_unused(folder)]


def _unused(folder: str) -> list[str]:
    """Templates beside those we ask for that none of the others names."""
    sources = {}
    for name in sorted(_listed(folder)):
        try:
            sources[name] = env.read(os.path.join(folder, name)).decode("utf-8", "replace")
        except OSError:
            continue
    asked = ", ".join(env.NAMES)
    return [
        f"template {one_line(name, 80)} is used by no message: these are: {asked}"
        for name in sources
        if name not in env.NAMES
        and not any(name in source for other, source in sources.items() if other != name)
    ]


def _listed(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name.endswith(".j2")]
    except OSError:
        return []
