"""Hooks of the watch over processes that gpualert did not start."""

from __future__ import annotations

from gpualert_common.record import NO_LONGER_WATCHED
from gpualert_common.run_hooks import OLDER_ALERTS, RunHooks
from gpualert_common.supervise.captures import CaptureRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import Popen

    from gpualert_common.model import Verdict
    from gpualert_common.spec import Ending
    from gpualert_common.supervise.helper_process import HelperProcess


class WatchHooks(RunHooks):
    """Hooks of a watch: no alert is sent about a process that is no longer watched.

    No files are collected (:func:`gpualert_common.artifacts.changes.find_changes`).
    """

    def helper_processes(self) -> list[HelperProcess]:
        """Return the helper processes, without the survey of the working directory."""
        return [one for one in super().helper_processes() if one.name != "survey"]

    def start_capture(self, wanted: CaptureRequest) -> Popen[bytes]:
        """Return the program that takes a capture; none of them pauses a process."""
        return super().start_capture(CaptureRequest(wanted.reason, kind=wanted.kind))

    def freeze_artifacts(self, ending: Ending) -> None:
        """Freeze nothing."""

    def needed_sender(self, verdict: Verdict | None, ending: Ending) -> str:
        """Return the work for a sender, or "" for none."""
        found = super().needed_sender(verdict, ending)
        return OLDER_ALERTS if found and self._is_left else found

    @property
    def _is_left(self) -> bool:
        return self._record.event(NO_LONGER_WATCHED) is not None
