"""Watch jobs of Slurm that somebody submitted without gpualert."""

from __future__ import annotations

import argparse
import getpass
import pwd
import time
from collections.abc import Mapping

from gpualert_common.cli import printing
from gpualert_common.cli.arguments import CommandParser, add_options
from gpualert_common.cli.batch_following import follow_batch_run
from gpualert_common.errors import SlurmError, UsageError
from gpualert_common.settings import (
    Interface,
    Setting,
    given_options,
    load_settings,
    option_names,
)
from gpualert_common.settings.values import parse_duration
from gpualert_common.spec import EXIT_NOT_PREPARED

_SLURM = "slurm"
_OPTIONS = (
    *("state_dir", "notify", "notify_on", "notify_deadline", "artifact", "templates", "rules"),
    "quiet",
)
_LEAST_POLL_S = 2.0


def add_arguments(parser: CommandParser) -> None:
    """Add the job or the user, and the options about alerts."""
    parser.usage = "gpualert watch [options] slurm:JOBID | slurm --user NAME"
    parser.usage_status = EXIT_NOT_PREPARED
    parser.description = (
        "Follow a job of Slurm that somebody submitted without gpualert: print its output, and "
        "explain its end and send an alert about it. With --user, do so for each job of a user "
        "that ends. Ctrl-C ends no job."
    )
    known = option_names(Interface.CLI)
    add_options(parser, *(name for name in _OPTIONS if name in known))
    parser.add_argument("--user", metavar="NAME", help="all jobs of that user, until Ctrl-C")
    parser.add_argument("--run-name", metavar="NAME", help="human-readable run name")
    parser.add_argument(
        "--poll",
        default="30s",
        metavar="DURATION",
        help="longest time between two questions to Slurm's controller (default: 30s)",
    )
    parser.add_argument(
        "--detach",
        action="store_true",
        help="print the run id, and leave the job to its follower in the background",
    )
    parser.add_argument("job", metavar="slurm:JOBID", help="the job, or slurm with --user")


def execute(options: argparse.Namespace) -> int:
    """Follow one job to its end, with its status; or all of a user."""
    from gpualert_common.batch_runs import BatchTerms, launch_watch

    try:
        interval_s = parse_duration(options.poll) or 0.0
    except ValueError as error:
        raise UsageError(f"--poll: {error}") from None
    kind, _, job = options.job.partition(":")
    if kind != _SLURM or bool(job) == (options.user is not None):
        raise UsageError("name a job as slurm:JOBID, or give: slurm --user NAME")
    settings = load_settings(given_options(vars(options)))
    if options.user is not None:
        return _watch_user(options.user, settings, max(_LEAST_POLL_S, interval_s))
    settings["streams"].value = "merged"
    handle = launch_watch(job, settings, BatchTerms(options.run_name, interval_s=interval_s))
    if not options.detach:
        return follow_batch_run(handle, quiet=settings["quiet"].value, is_watch=True)
    printing.print_lines(handle.run_id)
    return 0


def _watch_user(user: str, settings: Mapping[str, Setting], interval_s: float) -> int:
    """Print a line for each job that ends, until Ctrl-C."""
    from gpualert_common.slurm_watch import SlurmUserWatch

    user = user or getpass.getuser()
    if not user.isdigit():
        _check_user(user)
    watch = SlurmUserWatch(user, settings)
    if not settings["quiet"].value:
        printing.print_notes(f"gpualert: watching the jobs of {user}, until Ctrl-C")
    while True:
        try:
            for record in watch.take_turn():
                verdict = record.verdict
                text = "no verdict" if verdict is None else verdict.headline
                printing.print_lines(f"{record.run_id}  {record.spec.name}  {text}")
        except SlurmError as error:
            if error.is_missing:
                raise
            printing.print_notes(f"gpualert: {error}")
        time.sleep(interval_s)


def _check_user(user: str) -> None:
    """Raise UsageError for an unknown user: squeue would list no job, and not fail."""
    try:
        pwd.getpwnam(user)
    except KeyError:
        raise UsageError(f"--user: this machine does not know the user {user!r}") from None
