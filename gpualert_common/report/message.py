"""A run's view as a message: subject, text and page, within the limits of a channel."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Mapping
from typing import Any

import jinja2

from gpualert_common.report import template_environment as templating
from gpualert_common.report.alert_phrases import phrase_alert
from gpualert_common.report.formatting import MOST_SUBJECT, one_line, safe_lines, size
from gpualert_common.report.run_view import RunView
from gpualert_common.report.shortening import count_no_omissions, cut_text, shorten
from gpualert_common.report.template_limits import (
    OWN_TEMPLATES_BYTES,
    OWN_TEMPLATES_S,
    TooSlowError,
    limit_rendering,
)
from gpualert_common.structs import Struct

MOST_HTML_BYTES = 90_000
"""Gmail clips a page at some 102 KB, and the mail program of the reader may add to it."""
_MOST_CHARS = 8 << 20
"""Characters of one rendering, before it is made to fit."""
_PLAIN_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>{}</title>'
    '<pre style="white-space:pre-wrap;overflow-wrap:anywhere">{}</pre></html>'
)


class RenderedAlert(Struct, frozen=True):
    """A message.  ``html`` is None where none was asked for, or none fits.

    ``notes`` are a line for each template that failed, with the reason; the message has them, too.
    """

    subject: str
    text: str
    html: str | None
    notes: tuple[str, ...] = ()


def render_alert(
    view: RunView,
    *,
    text_bytes: int,
    html_bytes: int = 0,
    brief: bool = False,
    templates: str | None = None,
) -> RenderedAlert:
    """Return the message about a run: one line of subject, text and page in UTF-8 within limits.

    Parts that do not fit are left out in the order that :mod:`gpualert_common.report.shortening`
    gives, and the message says so.  ``brief`` asks for the few lines that a chat takes; only a
    user's template mentions somebody there.
    ``templates`` is a directory with the user's own; one that fails is replaced by ours, which
    names the fault.  In the main thread a user's template is limited in time and memory.  A page
    is never larger than MOST_HTML_BYTES.
    """
    writer = _Writer(view, templates, is_chat=brief)
    subject = writer.subject()
    text = writer.text(templating.BRIEF if brief else templating.BODY, text_bytes)
    page = writer.page(text, min(html_bytes, MOST_HTML_BYTES)) if html_bytes > 0 else None
    return RenderedAlert(subject, text, page, tuple(writer.notes))


class _Writer:
    """Writes the parts of one message; ``notes`` name the user's templates that failed."""

    def __init__(self, view: RunView, templates: str | None, *, is_chat: bool) -> None:
        self.notes: list[str] = []
        self._view = view
        self._next = one_line(view.next_command, 200)
        self._adapt = templating.for_chat if is_chat else lambda environment: environment
        self._built_in = self._adapt(templating.built_in())
        self._own: jinja2.Environment | None = None
        if templates is not None:
            self._folder = os.path.realpath(templates)
            if os.path.isdir(templates):
                self._own = self._adapt(templating.sandbox(templates))
            else:
                shown = one_line(templates, 200)
                self.notes.append(f"no directory of templates at {shown}; these are the built-in")

    def subject(self) -> str:
        return self._write(templating.SUBJECT, self._subject)

    def text(self, name: str, most: int) -> str:
        text = self._write(name, lambda template: self._body(template, most))
        notes = [note for note in self.notes if note not in text]  # a template of the user's own
        if notes and len(text.encode()) < most:
            text = "\n".join([text.rstrip("\n"), "", *notes, ""])
        return cut_text(text, most, self._next)

    def page(self, text: str, most: int) -> str | None:
        page = self._write(templating.PAGE, lambda template: self._body(template, most))
        if len(page.encode()) <= most:
            return page
        plain = self._plain_page(text, most)
        if plain is None:
            self.notes.append(f"no page fits into {most} bytes")
        return plain

    def _write(self, name: str, write: Callable[[jinja2.Template], str]) -> str:
        """Return the text of the user's template if it works, else of the built-in one."""
        if self._own is not None:
            try:
                with limit_rendering(OWN_TEMPLATES_S, OWN_TEMPLATES_BYTES):
                    template = self._own.get_template(name)
                    text = write(template)
                    if text.strip():
                        return text
                    raise templating.BadTemplateError("it is empty")
            except jinja2.TemplateNotFound as error:
                if error.name != name:
                    self._note_failure(name, error)
            except (Exception, TooSlowError) as error:  # noqa: BLE001 - it may raise anything
                self._note_failure(name, error)
        return write(self._built_in.get_template(name))

    def _note_failure(self, name: str, error: BaseException) -> None:
        because = one_line(_explain(error, self._folder), 300)
        self.notes.append(f"your template {name} failed: {because}; this is the built-in one")

    def _subject(self, template: jinja2.Template) -> str:
        variables = self._variables(self._view, count_no_omissions(self._view))
        return one_line(
            "".join(templating.generate(template, variables, _MOST_CHARS)), MOST_SUBJECT
        )

    def _body(self, template: jinja2.Template, most: int) -> str:
        def write(view: RunView, left_out: Mapping[str, int]) -> str:
            variables = self._variables(view, left_out)
            return safe_lines("".join(templating.generate(template, variables, _MOST_CHARS)))

        return shorten(self._view, write, most)

    def _variables(self, view: RunView, left_out: Mapping[str, int]) -> dict[str, Any]:
        return {
            "alert": view,
            "job": view.alerted_job,
            "phrases": phrase_alert(self._view),
            "left_out": left_out,
            "problems": self.notes,
        }

    def _plain_page(self, text: str, most: int) -> str | None:
        """Return the text as a page, as much of it as fits."""
        low, high, found = 0, len(text.encode()), None
        while low <= high:
            tried = (low + high) // 2
            kept = cut_text(text, tried, self._next)
            page = _PLAIN_PAGE.format(
                html.escape(phrase_alert(self._view).subject), html.escape(kept)
            )
            if len(page.encode()) <= most:
                low, found = tried + 1, page
            else:
                high = tried - 1
        return found


def _explain(error: BaseException, folder: str) -> str:
    line = _line(error, folder)
    match error:
        case TooSlowError():
            return f"it took longer than {OWN_TEMPLATES_S:g} s"
        case MemoryError():
            return f"{line}it took more than {size(OWN_TEMPLATES_BYTES)} of memory"
        case RecursionError():
            return "it includes or calls itself without end, or is nested too deep"
        case templating.BadTemplateError():
            return str(error)
        case jinja2.TemplateNotFound():
            return f"{line}there is no {error.name}"
        case jinja2.TemplateSyntaxError():
            return f"line {error.lineno}: {error.message}"
        case jinja2.TemplateError():
            return f"{line}{error.message}"
        case _:
            return f"{line}{type(error).__name__}: {error}"


def _line(error: BaseException, folder: str) -> str:
    """Return the line of the template in which the error was raised, such as "line 3: "."""
    found, trace = "", error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith(os.path.join(folder, "")):
            found = f"line {trace.tb_lineno}: "
        trace = trace.tb_next
    return found
