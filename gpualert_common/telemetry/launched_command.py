"""The command of an observed run and its working directory, by its launch record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpualert_common.errors import RecordError
from gpualert_common.processes.procfs import read_cwd
from gpualert_common.record import Record
from gpualert_common.telemetry.source import ObservedRun, SourceUnavailableError


class LaunchedCommand(NamedTuple):
    """A command and its working directory, None if that is not known."""

    command: Sequence[str]
    cwd: str | None


def read_launched_command(run: ObservedRun) -> LaunchedCommand:
    """Return the command of *run*.  Raises :class:`SourceUnavailableError`."""
    try:
        spec = Record.open(run.record_path).spec
    except RecordError as error:
        raise SourceUnavailableError(f"the launch record cannot be read: {error}") from None
    return LaunchedCommand(spec.command, spec.cwd or read_cwd(run.pid))


def is_path(value: str) -> bool:
    """Return whether the value of an option can be a path of this machine."""
    return bool(value) and "://" not in value and "\0" not in value
