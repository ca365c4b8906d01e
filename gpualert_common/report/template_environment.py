"""Environments of the templates: the built-in ones, and those of a user in a sandbox."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from gpualert_common.report import formatting
from gpualert_common.report.mentions import make_inert_in_chat
from gpualert_common.trusted_files import read_regular_file

SUBJECT = "subject.txt.j2"
BODY = "body.txt.j2"
BRIEF = "brief.txt.j2"
PAGE = "body.html.j2"
NAMES = (SUBJECT, BODY, BRIEF, PAGE)
"""Templates that a user may replace."""

_MOST_TEMPLATE_BYTES = 1 << 20
_FILTERS = {
    "duration": formatting.duration,
    "size": formatting.size,
    "time": formatting.time,
    "wrap": formatting.wrap,
}


class BadTemplateError(Exception):
    """A user's template cannot be used; the message has the reason, on one line."""


@cache
def built_in() -> jinja2.Environment:
    """Return the environment of our own templates."""
    folder = os.path.join(os.path.dirname(__file__), "templates")
    return _with_filters(jinja2.Environment(**_options(jinja2.FileSystemLoader(folder))))


def sandbox(folder: str) -> jinja2.Environment:
    """Return a sandbox with the templates of a user's directory, and nothing outside of it."""
    return _with_filters(ImmutableSandboxedEnvironment(**_options(_DirectoryLoader(folder))))


def for_chat(environment: jinja2.Environment) -> jinja2.Environment:
    """Return the same templates, whose variables mention nobody; their own text may."""

    def finalize(value: Any) -> Any:
        return make_inert_in_chat(value) if isinstance(value, str) else value

    return environment.overlay(finalize=finalize)


def generate(template: jinja2.Template, variables: Mapping[str, Any], most: int) -> Iterator[str]:
    """Yield the template's text in pieces.  Raises BadTemplateError beyond ``most`` characters.

    Counted while it is made: an endless loop fills no memory.
    """
    length = 0
    for piece in template.generate(**variables):
        length += len(piece)
        if length > most:
            raise BadTemplateError(f"it makes more than {most} characters")
        yield piece


def _options(loader: jinja2.BaseLoader) -> dict[str, Any]:
    return {
        "loader": loader,
        "autoescape": _is_escaped,
        "undefined": jinja2.StrictUndefined,
        "trim_blocks": True,
        "lstrip_blocks": True,
        "keep_trailing_newline": True,
    }


def _is_escaped(name: str | None) -> bool:
    """Return True for all but plain text: a file that a page includes may have any name."""
    return name is None or not name.endswith((".txt.j2", ".txt"))


def _with_filters(environment: jinja2.Environment) -> jinja2.Environment:
    environment.filters.update(_FILTERS)
    return environment


class _DirectoryLoader(jinja2.BaseLoader):
    """Loads the regular files below one directory; a link that leads out of it is refused."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.realpath(folder)

    def get_source(self, _environment: jinja2.Environment, template: str) -> tuple[str, str, None]:
        path = os.path.realpath(os.path.join(self._folder, template))
        if not path.startswith(os.path.join(self._folder, "")):
            raise BadTemplateError(
                f"{formatting.one_line(template, 80)} lies outside of the directory"
            )
        try:
            data = read_template(path)
        except (FileNotFoundError, NotADirectoryError):
            if os.path.lexists(os.path.join(self._folder, template)):
                raise BadTemplateError("it is a broken link") from None
            raise jinja2.TemplateNotFound(template) from None
        except OSError as error:
            raise BadTemplateError(f"it cannot be read: {error.strerror or error}") from None
        try:
            return data.decode("utf-8"), path, None
        except UnicodeDecodeError as error:
            raise BadTemplateError(f"it is not UTF-8: byte {error.start}") from None


def read_template(path: str) -> bytes:
    """Return the content of a template.  Raises OSError, also for a pipe in its place."""
    return read_regular_file(path, _MOST_TEMPLATE_BYTES)
