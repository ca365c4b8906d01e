"""Interface through which the recorder reaches everything that is not the record."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import Popen
    from typing import Protocol

    from gpualert_common.model import Verdict
    from gpualert_common.spec import Ending
    from gpualert_common.supervise.captures import CaptureRequest
    from gpualert_common.supervise.helper_process import HelperProcess
    from gpualert_common.supervise.live_classifier import LogClassifier
    from gpualert_common.supervise.terminal_output import TerminalOutput

    class RecorderHooks(Protocol):
        """Classifier, helper processes, terminal and alerts of one run.

        The recorder calls them after the launch.  Each may raise or hang: that costs what it would
        have done, and never the exit status.
        """

        @property
        def terminal(self) -> TerminalOutput:
            """The run's output on our own descriptors."""

        def make_classifier(self) -> LogClassifier:
            """Return the classifier of the run's logs; may import heavy modules."""

        def helper_processes(self) -> list[HelperProcess]:
            """Return the helper processes, none of them started.

            The recorder starts each at its age of the run, and ends them with the run.
            """

        def start_capture(self, wanted: CaptureRequest) -> Popen[bytes]:
            """Return the program that takes a capture into the record.

            Raises OSError, RuntimeError.
            """

        def freeze_artifacts(self, ending: Ending) -> None:
            """Start to freeze the files that an alert about this end may carry; returns at once.

            Raises OSError.
            """

        def needed_sender(self, verdict: Verdict | None, ending: Ending) -> str:
            """Return which alerts a sender has to send after this end; empty for none."""

        def mark_finished(self, sender: str) -> None:
            """Mark the record as complete; ``sender`` as :meth:`needed_sender` returned it."""

        def finish_abandoned_runs(self) -> None:
            """Have the records of runs whose supervisor died finished; returns at once."""

        def send_alerts_detached(self) -> None:
            """Send the alerts without waiting for them: the supervisor has already exited."""

        def send_unsent_alerts(self) -> None:
            """Send the alerts again, after a late verdict, if one is queued and was not sent."""

        def start_late_verdict(self, lock_fd: int) -> None:
            """Start the process that completes a late verdict; it inherits the record's lock.

            Raises OSError.
            """

        def send_warnings(self) -> None:
            """Send the warnings that were raised so far; returns at once."""
