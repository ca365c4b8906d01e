"""Where templates come from: our own, and those of a user, which are kept in a sandbox."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from gpualert_common.report import words

SUBJECT = "subject.txt.j2"
BODY = "body.txt.j2"
BRIEF = "brief.txt.j2"
PAGE = "body.html.j2"
NAMES = (SUBJECT, BODY, BRIEF, PAGE)
"""What a user may bring; whatever is not there is ours."""

_MOST_TEMPLATE_BYTES = 1 << 20
_FILTERS = {
    "duration": words.duration,
    "size": words.size,
    "time": words.time,
    "wrap": words.wrap,
}


class BadTemplateError(Exception):
    """There is one, and it cannot be used; the message says why, on one line."""


@cache
def built_in() -> jinja2.Environment:
    """Our own templates."""
    folder = os.path.join(os.path.dirname(__file__), "templates")
    return _furnished(jinja2.Environment(**_options(jinja2.FileSystemLoader(folder))))


def own(folder: str) -> jinja2.Environment:
    """A sandbox around the templates of a user's directory, and nothing outside of it."""
    return _furnished(ImmutableSandboxedEnvironment(**_options(_Directory(folder))))


def pieces(template: jinja2.Template, variables: Mapping[str, Any], most: int) -> Iterator[str]:
    """What the template says, piece by piece.  Raises BadTemplateError beyond ``most`` characters.

    Counted while it speaks: a loop that never ends fills no memory.
    """
    said = 0
    for piece in template.generate(**variables):
        said += len(piece)
        if said > most:
            raise BadTemplateError(f"it says more than {most} characters")
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
    """Everything is but text: a piece that a page includes may have any name."""
    return name is None or not name.endswith((".txt.j2", ".txt"))


def _furnished(environment: jinja2.Environment) -> jinja2.Environment:
    environment.filters.update(_FILTERS)
    return environment


class _Directory(jinja2.BaseLoader):
    """The regular files below one directory; a link that leads out of it leads nowhere."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.realpath(folder)

    def get_source(self, _environment: jinja2.Environment, template: str) -> tuple[str, str, None]:
        path = os.path.realpath(os.path.join(self._folder, template))
        if not path.startswith(os.path.join(self._folder, "")):
            raise BadTemplateError(f"{words.one_line(template, 80)} lies outside of the directory")
        try:
            data = read(path)
        except (FileNotFoundError, NotADirectoryError):
            if os.path.lexists(os.path.join(self._folder, template)):
                raise BadTemplateError("it is a link that leads nowhere") from None
            raise jinja2.TemplateNotFound(template) from None
        except OSError as error:
            raise BadTemplateError(f"it cannot be read: {error.strerror or error}") from None
        try:
            return data.decode("utf-8"), path, None
        except UnicodeDecodeError as error:
            raise BadTemplateError(f"it is not UTF-8: byte {error.start}") from None


def read(path: str) -> bytes:
    """The content of a template.  Raises OSError, for a pipe in its place as well."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        data = file.read(_MOST_TEMPLATE_BYTES + 1)
    if len(data) > _MOST_TEMPLATE_BYTES:
        raise OSError(errno.EFBIG, f"it is larger than {words.size(_MOST_TEMPLATE_BYTES)}")
    return data
