"""The front of a run that is a job of Slurm: its options, its output, Ctrl-C, and its end."""

from __future__ import annotations

import argparse
import os
import signal
import time
from types import FrameType

from gpualert_common import recover as recovery
from gpualert_common.batch_runs import continue_submission
from gpualert_common.cli import printing
from gpualert_common.cli.quantity_arguments import parse_seconds
from gpualert_common.cli.run_printing import RunPrinter
from gpualert_common.errors import GPUAlertError
from gpualert_common.guardian import RunHandle
from gpualert_common.listing.lookup import find_record
from gpualert_common.record import VERDICT, Record
from gpualert_common.record.marks import find_state_dir
from gpualert_common.report.closing_lines import write_closing_lines
from gpualert_common.report.terminal import TerminalLayout
from gpualert_common.slurm.submissions.submission import find_submission
from gpualert_common.spec import EXIT_NOT_PREPARED
from gpualert_common.stop_origin import STOP_COMMAND
from gpualert_common.stop_request import make_sender

_STDERR = 2
_POLL_S = 0.1
_VERDICT_S = 10.0
_CONTINUE_S = 30.0
_MOST_FOLLOWERS = 100
_STOPS = (signal.SIGINT, signal.SIGTERM)


def add_following(parser: argparse.ArgumentParser, *, poll: str) -> None:
    """Add the name of the run, the time between two questions, *poll*, and ``--detach``."""
    parser.add_argument("--run-name", metavar="NAME", help="human-readable run name")
    parser.add_argument(
        "--poll",
        type=parse_seconds,
        default=poll,
        metavar="DURATION",
        help=f"longest time between two questions to Slurm's controller (default: {poll})",
    )
    parser.add_argument(
        "--detach",
        action="store_true",
        help="print the run id, and leave the job to its follower in the background",
    )


class BatchRunFront:
    """Prints one job while it runs; each SIGINT or SIGTERM requests its stop.

    With ``is_watch`` the job belongs to somebody else, and a signal only ends the printing.
    """

    def __init__(self, handle: RunHandle, *, is_watch: bool) -> None:
        self._record = handle.record
        self._is_watch = is_watch
        self._signals = 0
        self._sent = 0

    def run(self) -> Record:
        """Return the record of the last run of the job, once that has ended.

        A job whose follower was killed goes on, and gets a new one.  Raises KeyboardInterrupt for a
        watch that is left, and NoReaderError.
        """
        for number in _STOPS:
            signal.signal(number, self._count_signal)
        for _follower in range(_MOST_FOLLOWERS):
            printer = RunPrinter(self._record)
            try:
                printer.print_until_end(self._pass_signals_on)
            finally:
                printer.close()
            recovery.recover(self._record)
            self._record.release_own_lock()
            following = self._continue()
            if following is None:
                break
            self._record = following
        return self._record

    def _continue(self) -> Record | None:
        submission = find_submission(self._record.spec.command)
        ending = self._record.ending
        has_exited = ending is not None and ending.code is not None and ending.code >= 0
        if submission is None or has_exited or not submission.job.is_open:
            return None
        deadline = time.monotonic() + _CONTINUE_S
        while time.monotonic() < deadline:  # the guardian does it, too
            try:
                handle = continue_submission(submission.path)
                if handle is not None:
                    return handle.record
                run_id = submission.job.run_id
                if run_id != self._record.run_id:
                    return find_record(run_id, [find_state_dir(self._record.path)])
            except (GPUAlertError, OSError) as error:
                printing.print_notes(f"gpualert: the job goes on without a follower: {error}")
                return None
            time.sleep(_POLL_S)
        return None

    def _pass_signals_on(self) -> None:
        if self._signals and self._is_watch:
            raise KeyboardInterrupt
        if self._signals > self._sent:
            self._sent = self._signals
            if self._record.is_held:
                self._record.request("stop", sender=make_sender(STOP_COMMAND))

    def _count_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._signals += 1


def follow_batch_run(handle: RunHandle, *, quiet: bool, is_watch: bool = False) -> int:
    """Print the job of a run until its end, and return its exit status."""
    try:
        record = BatchRunFront(handle, is_watch=is_watch).run()
    except KeyboardInterrupt:
        printing.print_notes(f"gpualert: the watch goes on: gpualert follow {handle.run_id}")
        return 130
    ending = record.ending
    if not quiet:
        _print_end(record)
    return EXIT_NOT_PREPARED if ending is None else ending.shell_code


def detach_batch_run(handle: RunHandle, *, quiet: bool) -> int:
    """Print the id of a run that goes on in the background, and the command that follows it."""
    try:
        printing.print_lines(handle.run_id)
    except (GPUAlertError, printing.NoReaderError):
        pass  # the run goes on, and an error would make its caller start another one
    if not quiet:
        printing.print_notes(f"gpualert: follow it with: gpualert follow {handle.run_id}")
    return 0


def _print_end(record: Record) -> None:
    """Print the closing lines; no error of theirs changes the exit status."""
    deadline = time.monotonic() + _VERDICT_S
    while not record.has(VERDICT) and record.is_held and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    try:
        ending, verdict = record.ending, record.verdict
        if ending is None:
            return
        layout = TerminalLayout.of_descriptor(_STDERR) if os.isatty(_STDERR) else None
        seconds = max(0.0, (ending.ended_at or ending.started_at) - ending.started_at)
        is_late = verdict is None and record.is_held
        text = write_closing_lines(
            verdict, record.run_id, record.log_paths, seconds, layout, is_late=is_late
        )
    except GPUAlertError as error:
        text = f"gpualert: {error}\n"
    printing.print_notes(*text.rstrip("\n").split("\n"), colours=True)
