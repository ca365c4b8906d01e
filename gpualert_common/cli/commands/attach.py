"""Watch a process that was started without gpualert."""

from __future__ import annotations

import argparse
import os

from gpualert_common.cli.arguments import add_options
from gpualert_common.cli.run_end import make_closing_text, print_alerts
from gpualert_common.errors import UsageError
from gpualert_common.printable_text import format_messages
from gpualert_common.record import NO_LONGER_WATCHED
from gpualert_common.settings import given_options, load_settings
from gpualert_common.spec import EXIT_NOT_PREPARED
from gpualert_common.supervise.terminal_output import TerminalOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpualert_common.agent.foreign_process import ForeignProcess
    from gpualert_common.agent.output_files import Outputs
    from gpualert_common.cli.arguments import CommandParser
    from gpualert_common.launch.preparation import PreparedRun
    from gpualert_common.model import Verdict
    from gpualert_common.spec import Ending
    from gpualert_common.supervise.terminal_output import ClosingText

_OPTIONS = (
    *("state_dir", "hang_timeout", "notify", "notify_on", "notify_deadline", "warn", "templates"),
    *("rules", "job", "observe", "quiet"),
)
_INTERRUPTED = 130


def add_arguments(parser: CommandParser) -> None:
    """Add the process, its log, and the options about samples and alerts."""
    parser.usage = "gpualert attach [options] PID"
    parser.usage_status = EXIT_NOT_PREPARED
    parser.description = (
        "Watch a process that was started without gpualert until it ends: sample it, warn, explain "
        "its end and send an alert, as for any run. Exits with the status of the process, with 125 "
        "if the kernel does not report it, and with 130 after Ctrl-C, which ends the watch and "
        "leaves the process alone."
    )
    add_options(parser, *_OPTIONS)
    parser.add_argument(
        "--log",
        metavar="FILE",
        help="its output; default: the files of its stdout and stderr",
    )
    parser.add_argument("--name", metavar="NAME", help="human-readable run name")
    parser.add_argument("pid", type=_parse_pid, metavar="PID", help="number of the process")


def execute(options: argparse.Namespace) -> int:
    """Watch the process; exit with its status, 125 if that is not known, 130 after Ctrl-C."""
    from gpualert_common.agent.attachment import attach
    from gpualert_common.agent.foreign_process import read_foreign_process, require_access
    from gpualert_common.agent.watch_spec import make_watch_spec

    settings = load_settings(given_options(vars(options)))
    process = read_foreign_process(options.pid)
    require_access(process)
    _require_unsupervised(process, settings["state_dir"].value)
    outputs = _open_outputs(process, options.log)
    spec = make_watch_spec(process, outputs, settings, name=options.name)
    quiet = settings["quiet"].value

    def make_terminal(prepared: PreparedRun) -> TerminalOutput:
        greeting = "" if quiet else _greet(process, outputs, prepared.record.run_id)
        closing = None if quiet else lambda: _make_closing_text(prepared, process.pid)
        return TerminalOutput(greeting=greeting, make_closing_text=closing)

    done = attach(process, spec, outputs, make_terminal)
    if done.is_left:
        os._exit(_INTERRUPTED)
    print_alerts(spec, done, quiet=quiet)
    os._exit(done.ending.shell_code)


def _parse_pid(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or not 0 < int(text) < 1 << 31:
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of a process")
    return int(text)


def _require_unsupervised(process: ForeignProcess, state_dir: str | None) -> None:
    """Raise UsageError for a process of a run that gpualert supervises."""
    from gpualert_common import recover
    from gpualert_common.errors import RecordError
    from gpualert_common.listing.lookup import find_record
    from gpualert_common.record_locations import list_places

    if process.marked_runs and process.uid != os.geteuid():  # the record may be in any place
        raise UsageError(
            f"process {process.pid} belongs to {process.marked_runs[-1]}, "
            "which gpualert supervises for its user"
        )
    places = list_places(state_dir)
    for run_id in process.marked_runs:
        try:
            is_live = recover.is_in_progress(find_record(run_id, places))
        except (RecordError, UsageError):
            continue  # it is over, and its record was removed
        if is_live:
            raise UsageError(
                f"process {process.pid} belongs to {run_id}, which gpualert supervises: "
                f"gpualert follow {run_id}"
            )


def _open_outputs(process: ForeignProcess, log: str | None) -> Outputs:
    from gpualert_common.agent.output_files import open_log, open_outputs
    from gpualert_common.processes.user_files import UnreadableFileError

    if log is None:
        return open_outputs(process)
    try:
        return open_log(os.path.abspath(log), process)
    except UnreadableFileError as error:
        raise UsageError(f"--log: {log}: {error}") from None


def _make_closing_text(prepared: PreparedRun, pid: int) -> ClosingText:
    """Return the function that writes the closing lines, or that the process goes on."""
    usual = make_closing_text(prepared)

    def format_end(verdict: Verdict | None, ending: Ending, is_late: bool) -> str:
        if prepared.record.event(NO_LONGER_WATCHED) is not None:
            return format_messages(f"process {pid} is no longer watched; it goes on")
        return usual(verdict, ending, is_late)

    return format_end


def _greet(process: ForeignProcess, outputs: Outputs, run_id: str) -> str:
    paths = " and ".join(file.path for file in outputs.files)
    reads = f"reads {paths}" if paths else f"reads no output: {outputs.problem}; see --log"
    return format_messages(
        f"watching process {process.pid} as {run_id}; Ctrl-C ends the watch, and not the process",
        reads,
    )
