"""Run a command under supervision."""

from __future__ import annotations

import argparse
import mmap
import os

from gpualert_common.api import make_spec
from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_options
from gpualert_common.cli.run_end import make_closing_text, print_alerts
from gpualert_common.errors import GPUAlertError
from gpualert_common.printable_text import format_messages
from gpualert_common.run_hooks import RunHooks
from gpualert_common.settings import Interface, given_options, load_settings, option_names
from gpualert_common.spec import EXIT_NOT_PREPARED
from gpualert_common.supervise import supervise
from gpualert_common.supervise.forwarder import is_discard
from gpualert_common.supervise.terminal_output import TerminalOutput, print_if_ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpualert_common.cli.arguments import CommandParser
    from gpualert_common.launch.preparation import PreparedRun
    from gpualert_common.spec import RunSpec

_STDOUT, _STDERR = 1, 2
_START_S = 2.0
"""A command that cannot be executed fails within this time."""
_START_POLL_S = 0.01


def add_arguments(parser: CommandParser) -> None:
    """Add the options, and the command with its arguments."""
    parser.usage = "gpualert run [options] -- CMD..."
    parser.usage_status = EXIT_NOT_PREPARED
    parser.description = (
        "Run CMD with its log on disk before it starts, exit with its exit status, and explain "
        "why it failed. stdout and stderr are those of CMD; gpualert's own messages go to stderr."
    )
    add_options(parser, *option_names(Interface.CLI))
    parser.add_argument("--cwd", metavar="DIR", help="working directory of the command")
    parser.add_argument("--name", metavar="NAME", help="human-readable run name")
    parser.add_argument(
        "--detach",
        action="store_true",
        help="leave the run to a guardian that survives this shell, and print the run id",
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="CMD", help=argparse.SUPPRESS)


def execute(options: argparse.Namespace) -> int:
    """Run the command and exit with its status, even if a helper process still hangs."""
    settings = load_settings(given_options(vars(options)))
    if settings["streams"].value == "auto":
        is_merged = options.detach or settings["pty"].value
        settings["streams"].value = "merged" if is_merged else printing.choose_streams()
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    spec = make_spec(command, settings, cwd=options.cwd, name=options.name, inherit=True)
    quiet = settings["quiet"].value
    if options.detach:
        return _detach(spec, quiet=quiet)
    offsets = memoryview(mmap.mmap(-1, mmap.PAGESIZE)).cast("Q")

    def hooks(prepared: PreparedRun) -> RunHooks:
        terminal = TerminalOutput(
            _forwards(spec),
            greeting="" if quiet else _greeting(prepared),
            make_closing_text=None if quiet else lambda: make_closing_text(prepared),
            offsets=offsets,
        )
        return RunHooks(spec, prepared, terminal)

    supervised = supervise(spec, hooks, own_process=True)
    if supervised.is_late and not quiet:
        print_if_ready(_late_text(supervised.record.run_id))
    print_alerts(spec, supervised, quiet=quiet)
    os._exit(supervised.ending.shell_code)


def _detach(spec: RunSpec, *, quiet: bool) -> int:
    """Start the run under a guardian, print its id, and the command that follows it."""
    import time

    from gpualert_common.guardian import RunHandle

    handle = RunHandle.launch(spec)
    record = handle.record
    deadline = time.monotonic() + _START_S
    while record.event("launched") is None and record.ending is None:
        if time.monotonic() > deadline:
            break
        time.sleep(_START_POLL_S)
    try:
        printing.print_lines(handle.run_id)
    except (GPUAlertError, printing.NoReaderError):
        pass  # the run goes on, and an error would make its caller launch another one
    ending = record.ending
    if ending is not None and not ending.started:
        assert ending.start_error is not None
        printing.print_notes(f"gpualert: {ending.start_error[1]}")
        return ending.shell_code
    if not quiet:
        tried = [f"gpualert: no log at {place}: {problem}" for place, problem in handle.tried]
        follow = f"follow it with: gpualert follow {handle.run_id}"
        logs = " and ".join(handle.log_paths)
        printing.print_notes(*tried, f"gpualert: log {logs}; {follow}")
    return 0


def _forwards(spec: RunSpec) -> dict[str, int]:
    targets = dict(zip(spec.logs, (_STDOUT, _STDERR), strict=False))
    return {name: fd for name, fd in targets.items() if not is_discard(fd)}


def _greeting(prepared: PreparedRun) -> str:
    tried = [f"no log at {place}: {what}" for place, what in prepared.tried]
    return format_messages(*tried, f"the record is {prepared.record.path}") if tried else ""


def _late_text(run_id: str) -> str:
    return f"gpualert: the verdict is not ready yet; see it later with: gpualert show {run_id}\n"
