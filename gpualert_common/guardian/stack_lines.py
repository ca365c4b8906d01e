"""Stacks of a run as lines for an engine's own log."""

from __future__ import annotations

from gpualert_common.errors import GPUAlertError
from gpualert_common.record import Record

_MOST_LINES = 60


class StackLines:
    """Lines of the dumps of one run, each dump once."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._shown = 0

    def take(self) -> list[str]:
        """Return the lines of the dumps since the last call, with secrets masked; empty if they
        cannot be read."""
        # Imported here: most runs have no dump.
        from gpualert_common.redact import Redactor
        from gpualert_common.report.stack_text import render_stacks
        from gpualert_common.report.text_sanitizer import TextSanitizer
        from gpualert_common.stacks.storage import read_dumps

        try:
            dumps = read_dumps(self._record)
            new, self._shown = dumps[self._shown :], len(dumps)
            text, cwd = TextSanitizer(Redactor()), self._record.spec.cwd
            lines = [line for dump in new for line in render_stacks(dump, text, cwd=cwd) if line]
        except (OSError, GPUAlertError) as error:
            if isinstance(error, OSError) and error.errno is None:
                raise  # an engine's time-out, which may land here
            return []
        more = [f"{len(lines) - _MOST_LINES} more lines: gpualert stacks --stored"]
        shown = lines if len(lines) <= _MOST_LINES else lines[:_MOST_LINES] + more
        return [f"[gpualert] {line}" for line in shown]
