"""The end of a run on the terminal: its closing lines, and the state of its alerts."""

from __future__ import annotations

import os

from gpualert_common.cli import printing
from gpualert_common.run_hooks import send_alerts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpualert_common.launch.preparation import PreparedRun
    from gpualert_common.model import Verdict
    from gpualert_common.report.terminal import TerminalLayout
    from gpualert_common.spec import Ending, RunSpec
    from gpualert_common.supervise import SupervisedRun
    from gpualert_common.supervise.terminal_output import ClosingText

_STDERR = 2


def print_alerts(spec: RunSpec, supervised: SupervisedRun, *, quiet: bool) -> None:
    """Send the alerts of a run, and print their state; no error changes the exit status."""
    try:
        alerts = send_alerts(spec, supervised)
        if not quiet and alerts:
            from gpualert_common.notify.status_text import format_status
            from gpualert_common.report.notes import Note, render_notes

            notes = [Note(format_status(fields), "alert") for fields in alerts]
            lines = render_notes(notes, _layout()).splitlines()
            printing.print_notes(*lines, colours=True)
    except Exception:  # noqa: BLE001 - the boundary: no fault of an alert changes the status
        pass


def make_closing_text(prepared: PreparedRun) -> ClosingText:
    """Return the function that writes the closing lines; heavy modules are imported here."""
    from gpualert_common.report import closing_lines

    def format_end(verdict: Verdict | None, ending: Ending, is_late: bool) -> str:
        record = prepared.record
        paths = [log.current_path for log in prepared.logs]
        seconds = max(0.0, (ending.ended_at or 0.0) - ending.started_at)
        return closing_lines.write_closing_lines(
            verdict, record.run_id, paths, seconds, _layout(), is_late=is_late
        )

    return format_end


def _layout() -> TerminalLayout | None:
    """Return the layout of messages on stderr; None where it is no terminal."""
    from gpualert_common.report.terminal import TerminalLayout

    return TerminalLayout.of_descriptor(_STDERR) if os.isatty(_STDERR) else None
