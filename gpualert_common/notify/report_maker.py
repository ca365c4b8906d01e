"""The report of a run as a file of a message: one HTML page, or a picture of its timeline.

It is made in a process of its own with a deadline, so that no fault of it delays or loses an alert.
"""

from __future__ import annotations

from collections.abc import Callable

from gpualert_common.errors import GPUAlertError
from gpualert_common.model import Attachment, CarriedReport, ReportForm
from gpualert_common.notify.alert_facts import read_verdict
from gpualert_common.notify.isolation import NoAnswerError, run_isolated
from gpualert_common.notify.message import Budget
from gpualert_common.record import Record
from gpualert_common.redact import Redactor
from gpualert_common.structs import Struct
from gpualert_common.whole_words import cut_words

REPORT_S = 8.0
"""Limit for one report or picture; a usual one takes a second."""
DRAWING_S = 5.0
"""Limit for the picture in it: a page without a picture is better than none."""
REPORT_SHARE = 2 / 3
"""Share of the room beside the ends of the logs; the rest is for artifacts."""
MOST_PICTURE_BYTES = 1_000_000
LEAST_PICTURE_BYTES = 8 << 10
"""No picture of a timeline is smaller."""
_MOST_REASON = 300
_TYPES = {
    ReportForm.NONE: ("", ""),
    ReportForm.PAGE: ("html", "text/html"),
    ReportForm.PICTURE: ("png", "image/png"),
}


class MadeReport(Struct, frozen=True):
    """A report as a file, or the reason why there is none."""

    content: bytes = b""
    redactions: int = 0
    problem: str = ""


class ReportFile(Struct, frozen=True):
    """A report for a message.  ``carried`` is None where none is wanted."""

    attachment: Attachment | None = None
    carried: CarriedReport | None = None
    redactions: int = 0


class ReportMaker:
    """Makes the report of a run once, for all budgets that a delivery tries."""

    def __init__(self, record: Record, known_secrets: list[str]) -> None:
        self._record = record
        self._known_secrets = known_secrets
        self._made: dict[ReportForm, MadeReport] = {}

    def attach(self, budget: Budget, used_bytes: int, used_files: int) -> ReportFile:
        """Return the report in the form of a budget of which the logs take so much.  Never raises.

        Waits for at most REPORT_S.
        """
        form = budget.report
        if form is ReportForm.NONE:
            return ReportFile()
        ending, media_type = _TYPES[form]
        name = f"gpualert-{self._record.run_id}.{ending}"
        room = min(budget.file_bytes, int((budget.files_bytes - used_bytes) * REPORT_SHARE))
        if used_files >= budget.files or room < LEAST_PICTURE_BYTES:
            return ReportFile(carried=CarriedReport(name, form, False, "no room was left"))
        made = self._make(form, min(room, MOST_PICTURE_BYTES))
        why = made.problem
        if len(made.content) > room:
            why = f"it has {len(made.content):,} bytes; {room:,} were left for it"
        if why:
            return ReportFile(carried=CarriedReport(name, form, False, why))
        size = len(made.content)
        carried = CarriedReport(name, form, True, sent_bytes=size)
        return ReportFile(Attachment(name, made.content, media_type), carried, made.redactions)

    def _make(self, form: ReportForm, most_picture_bytes: int) -> MadeReport:
        found = self._made.get(form)
        is_picture_too_large = (
            found is not None
            and form is ReportForm.PICTURE
            and len(found.content) > most_picture_bytes
        )
        if found is None or is_picture_too_large:
            functions: dict[ReportForm, Callable[[], MadeReport]] = {
                ReportForm.PAGE: self._render,
                ReportForm.PICTURE: lambda: self._draw(most_picture_bytes),
            }
            found = self._made[form] = _isolate(functions[form])
        return found

    def _render(self) -> MadeReport:
        from gpualert_common.pages.report import render_report

        masks = Redactor(self._known_secrets)
        verdict = read_verdict(self._record)
        page = render_report(self._record, verdict, masks=masks, drawing_s=DRAWING_S)
        return MadeReport(page.encode("utf-8", "replace"), _count(masks))

    def _draw(self, most_bytes: int) -> MadeReport:
        from gpualert_common.charts.collection import collect_timeline
        from gpualert_common.charts.drawing import ChartsUnavailableError, draw_png

        masks = Redactor(self._known_secrets)
        timeline = collect_timeline(self._record, masks=masks)
        if not timeline.panels:
            return MadeReport(problem="the run has no numbers over time")
        try:
            return MadeReport(draw_png(timeline, most_bytes=most_bytes), _count(masks))
        except ChartsUnavailableError as error:
            return MadeReport(problem=str(error))


def _count(masks: Redactor) -> int:
    return int(sum(masks.found.values()))


def _isolate(make: Callable[[], MadeReport]) -> MadeReport:
    """Return what a function makes, in a process of its own; a fault of it as the problem."""
    try:
        return run_isolated(make, REPORT_S)
    except (NoAnswerError, GPUAlertError, OSError) as error:
        problem = str(error)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - its defect must not cost the alert
        problem = f"{type(error).__name__}: {error}"
    return MadeReport(problem=cut_words(f"it could not be made: {problem}", _MOST_REASON))
