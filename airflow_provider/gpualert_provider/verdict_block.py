"""The verdict as the last lines of a task log."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING

from gpualert_common.structs import replace
from gpualert_provider.task_outcome import GOOD_STATES
from gpualert_provider.xcom import make_redactor

if TYPE_CHECKING:
    from gpualert_common.model import Verdict
    from gpualert_common.record import Record
    from gpualert_common.redact import Redactor
    from gpualert_common.report.verdict_view import EvidenceItem, VerdictView
    from gpualert_provider.alerts import Log, Secrets

_COLUMNS = 100
"""Airflow's page cuts longer lines off."""
_TITLE_COLUMNS = 10
_SECTIONS = ("Do", "Shows", "Warnings")
_MOST_ITEMS = 3


class _Level(StrEnum):
    """Level of the lines of a block."""

    WARNING = "warning"
    ERROR = "error"


def log_verdict(record: Record, state: str, log: Log, secrets: Secrets) -> bool:
    """Log the verdict of a run whose task has *state*; False if there is nothing to say.

    Of a run that ended well there is not.  The verdict of a suspect one is a warning, that of a
    failure an error, so that Airflow's pages show it among the errors.  Raises nothing.
    """
    try:
        verdict = record.verdict
        level = _choose_level(verdict, state)
        if level is None:
            return False
        write = log.warning if level is _Level.WARNING else log.error
        for line in _format_block(record, verdict, state, make_redactor(secrets)):
            write("%s", line)
    except Exception as error:  # noqa: BLE001 - a record that cannot be read does not fail the task
        log.warning("The verdict cannot be shown: %s", error)
        return False
    return True


def _choose_level(verdict: Verdict | None, state: str) -> _Level | None:
    """Return the level of the block; None for no block."""
    from gpualert_common.suspicion import is_suspect

    if state in GOOD_STATES:
        return _Level.WARNING if is_suspect(verdict) else None
    if verdict is not None and verdict.is_healthy:
        return None  # the task failed by something else
    return _Level.ERROR


def _format_block(
    record: Record, verdict: Verdict | None, state: str, redactor: Redactor
) -> Iterator[str]:
    """Yield the lines of the block."""
    from gpualert_common.report.text_sanitizer import TextSanitizer
    from gpualert_common.report.verdict_view import view_verdict
    from gpualert_common.report.wording import describe_missing_verdict

    yield "Verdict"
    if verdict is None:
        yield describe_missing_verdict(is_pending=record.is_verdict_pending)
    else:
        view = replace(view_verdict(verdict, TextSanitizer(redactor)), state=state)
        yield from _format_view(view, _lasted_s(record))
    yield from _format_entry("Log", *(record.log_path(name) for name in record.logs))
    yield from _format_entry("Record", record.path)
    yield from _format_entry("More", f"gpualert show {record.run_id}")


def _format_view(view: VerdictView, lasted_s: float | None) -> Iterator[str]:
    from gpualert_common.report.formatting import wrap

    yield from wrap(view.headline, _COLUMNS).splitlines()
    yield from wrap(view.summarize(lasted_s), _COLUMNS).splitlines()
    for title, items in view.sections():
        if title in _SECTIONS:
            texts = filter(None, map(_format_item, items))
            yield from _format_entry(title, *islice(texts, _MOST_ITEMS))


def _format_item(item: str | EvidenceItem) -> str:
    """Return one item of a section; "" for the exit status, which the summary has."""
    from gpualert_common.report.verdict_view import EXIT_STATUS

    if isinstance(item, str):
        return item
    return "" if item.where == EXIT_STATUS else f"{item.claim} [{item.where}]"


def _format_entry(title: str, *texts: str) -> Iterator[str]:
    """Yield the lines of texts, with the title before the first."""
    from gpualert_common.report.formatting import wrap

    for number, text in enumerate(texts):
        first, *rest = wrap(text, _COLUMNS - _TITLE_COLUMNS).splitlines()
        yield f"{'' if number else title:{_TITLE_COLUMNS}}{first}"
        yield from (f"{'':{_TITLE_COLUMNS}}{line}" for line in rest)


def _lasted_s(record: Record) -> float | None:
    ending = record.ending
    if ending is None or ending.ended_at is None:
        return None
    return ending.ended_at - ending.started_at
