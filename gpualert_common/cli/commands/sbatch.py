"""Submit a job to Slurm once, and follow it as a run."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from gpualert_common.cli import printing
from gpualert_common.cli.arguments import CommandParser, add_options
from gpualert_common.cli.batch_following import add_following, detach_batch_run, follow_batch_run
from gpualert_common.errors import UsageError
from gpualert_common.settings import Interface, given_options, load_settings, option_names
from gpualert_common.spec import EXIT_NOT_PREPARED

_NOT_OPTIONS = (
    *("end_survivors", "hang_timeout", "log_full", "observe", "on_hang", "on_slowdown"),
    *("pty", "streams", "tracing"),
)
"""Options about a process of this machine."""


def add_arguments(parser: CommandParser) -> None:
    """Add the options, and the arguments of sbatch."""
    parser.usage = "gpualert sbatch [options] [--] ARGS..."
    parser.usage_status = EXIT_NOT_PREPARED
    parser.passes_options_on = True
    parser.description = (
        "Submit a batch job with sbatch ARGS, once, print its output while it runs, exit with its "
        "exit status, and explain why it failed. Ctrl-C cancels the job; the end of this program, "
        "or of the machine, does not."
    )
    names = [name for name in option_names(Interface.CLI) if name not in _NOT_OPTIONS]
    add_options(parser, *names)
    add_following(parser, poll="15s")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="ARGS", help=argparse.SUPPRESS)


def execute(options: argparse.Namespace) -> int:
    """Submit the job, and exit with its status unless it is left to the background."""
    from gpualert_common.batch_runs import BatchTerms, launch_batch_run
    from gpualert_common.slurm.submissions.sbatch_options import read_options

    arguments = options.command[1:] if options.command[:1] == ["--"] else options.command
    if shutil.which("sbatch") is None:
        raise UsageError("there is no sbatch in PATH: is Slurm installed here?")
    found = read_options(arguments)
    if found.submits_nothing:
        os.execvp("sbatch", ["sbatch", *arguments])
    settings = load_settings(given_options(vars(options)))
    settings["streams"].value = "merged" if options.detach else printing.choose_streams()
    script = sys.stdin.buffer.read() if found.reads_stdin else None
    terms = BatchTerms(name=options.run_name, interval_s=options.poll)
    handle = launch_batch_run(arguments, settings, terms, script)
    go_on = detach_batch_run if options.detach else follow_batch_run
    return go_on(handle, quiet=settings["quiet"].value)
