"""Invocation of sbatch, and queries, with the errors after which Slurm may answer later."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence

from gpualert_common.errors import SlurmError
from gpualert_common.printable_text import make_printable
from gpualert_common.slurm.commands import run_command
from gpualert_common.structs import Struct
from gpualert_common.whole_words import cut_words

QUERY_S = 30.0
"""Limit of a query: Slurm's own commands give up after two or three times MessageTimeout (10 s)."""
MOST_OUTPUT_BYTES = 16 << 20
_MOST_MESSAGE_CHARACTERS = 500
_TRANSIENT = (
    "Unable to contact slurm controller",
    "Message send failure",
    "Message receive failure",
    "Communication connection failure",
    "Communication shutdown failure",
    "Unexpected message received",
    "Unable to create job record, try again",
    "Socket timed out",
    "Zero Bytes were transmitted",
    "Connection refused",
    "Connection reset",
    "Connection timed out",
    "No route to host",
    "Transport endpoint",
    "Slurm temporarily unable to accept job",
    "Resource temporarily unavailable",
    "Protocol authentication error",
    "Unable to contact slurmdbd",
    "Problem talking to the database",
    "in standby mode",
    "Could not establish a configuration source",
)
"""Messages of a controller that may answer later."""
_NO_CLUSTER = "res_nsearch error: Unknown host"
"""Without a configuration file, the name service that would know the controller has none."""


class ProgramAnswer(Struct, frozen=True):
    """The answer of one of Slurm's programs; ``status`` is None if its deadline was over."""

    status: int | None
    output: str
    message: str

    @property
    def is_transient(self) -> bool:
        """True if the same request may succeed later, or may have succeeded."""
        return self.status is None or _is_passing(self.message)


def invoke(
    command: Sequence[str],
    *,
    within_s: float = QUERY_S,
    env: Mapping[str, str] | None = None,
    stdin: int = subprocess.DEVNULL,
    pass_fds: Sequence[int] = (),
) -> ProgramAnswer:
    """Return the answer of a program of Slurm that changes something, as sbatch.

    It has the environment of the user, unlike a query by :func:`run_command`.  A process that it
    leaves behind is not killed, and cannot hold up the answer, which goes to files.  Raises
    SlurmError if it cannot be executed.
    """
    variables = {**(os.environ if env is None else env), "LC_ALL": "C.UTF-8"}
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                command,
                env=variables,
                stdin=stdin,
                stdout=output,
                stderr=errors,
                pass_fds=tuple(pass_fds),
            )
        except OSError as error:
            problem = f"{command[0]}: {error.strerror}; is Slurm installed here?"
            raise SlurmError(problem, is_missing=True) from None
        status: int | None
        try:
            status = process.wait(within_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            status = None
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read(MOST_OUTPUT_BYTES).decode("utf-8", "backslashreplace"))
    return ProgramAnswer(status, *texts)


def ask(program: str, *arguments: str) -> str:
    """Return the output of a query.  Raises SlurmError if it fails."""
    return run_command(program, *arguments, deadline_s=QUERY_S, most_bytes=MOST_OUTPUT_BYTES)


def is_transient(error: BaseException) -> bool:
    """Return True for an error of Slurm after which the same request may succeed later."""
    return isinstance(error, SlurmError) and (error.is_late or _is_passing(error.said))


def _is_passing(message: str) -> bool:
    return _NO_CLUSTER not in message and any(text in message for text in _TRANSIENT)


def describe_failure(program: str, answer: ProgramAnswer) -> str:
    """Return the failure of a program in one line."""
    if answer.status is None:
        return f"{program} did not answer in time"
    lines = [line for line in answer.message.splitlines() if line.strip()]
    said = make_printable(cut_words(" | ".join(lines[-3:]), _MOST_MESSAGE_CHARACTERS))
    return f"{program} failed with status {answer.status}: {said or 'no message'}"
