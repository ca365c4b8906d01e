"""Watch jobs of Slurm that somebody submitted without gpualert."""

from __future__ import annotations

import argparse
import pwd
import time
from collections.abc import Mapping

from gpualert_common.cli import printing
from gpualert_common.cli.arguments import CommandParser, add_options
from gpualert_common.cli.batch_following import add_following, detach_batch_run, follow_batch_run
from gpualert_common.errors import SlurmError, UsageError
from gpualert_common.settings import Setting, given_options, load_settings
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
    add_options(parser, *_OPTIONS)
    parser.add_argument("--user", metavar="NAME", help="all jobs of that user, until Ctrl-C")
    add_following(parser, poll="30s")
    parser.add_argument("job", metavar="slurm:JOBID", help="the job, or slurm with --user")


def execute(options: argparse.Namespace) -> int:
    """Follow one job to its end, with its status; or all of a user."""
    from gpualert_common.batch_runs import BatchTerms, launch_watch

    kind, _, job = options.job.partition(":")
    if kind != _SLURM or bool(job) == bool(options.user):
        raise UsageError("name a job as slurm:JOBID, or give: slurm --user NAME")
    settings = load_settings(given_options(vars(options)))
    if options.user:
        if options.detach or options.run_name is not None:
            raise UsageError("--detach and --run-name are about one job, not about --user")
        return _watch_user(options.user, settings, max(_LEAST_POLL_S, options.poll))
    settings["streams"].value = "merged"
    handle = launch_watch(job, settings, BatchTerms(options.run_name, interval_s=options.poll))
    quiet = settings["quiet"].value
    if options.detach:
        return detach_batch_run(handle, quiet=quiet)
    return follow_batch_run(handle, quiet=quiet, is_watch=True)


def _watch_user(user: str, settings: Mapping[str, Setting], interval_s: float) -> int:
    """Print a line for each job that ends, until Ctrl-C."""
    from gpualert_common.slurm_watch import SlurmUserWatch

    if not user.isdigit():
        _check_user(user)
    watch = SlurmUserWatch(user, settings)
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
