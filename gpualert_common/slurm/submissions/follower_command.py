"""The command of a run whose child follows a submission."""

from __future__ import annotations

from collections.abc import Sequence

from gpualert_common.processes.program import program_command

CONTINUATION = "gpualert_common.batch_runs"
"""The program that continues the submissions of state directories."""
_PROGRAM = "gpualert_common.slurm.submissions.batch_job"
CANCEL_S = 90.0
"""Added to the grace of a run: for Slurm to end a cancelled job, and for its last output."""
_BEFORE = len(program_command(_PROGRAM))


def make_command(path: str, arguments: Sequence[str]) -> list[str]:
    """Return the command that follows the submission at *path*, and submits it first if need be.

    *arguments* are those of the user, for people who read the command.
    """
    return [*program_command(_PROGRAM, path), *arguments]


def submission_path(command: Sequence[str]) -> str | None:
    """Return the path of the submission that a command follows; None for any other command."""
    if len(command) > _BEFORE and _PROGRAM in command[:_BEFORE]:
        return command[_BEFORE]
    return None
