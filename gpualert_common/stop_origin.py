"""Origin of a stop: who stopped a run, by the sender that its record names."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from gpualert_common.model import StopOrigin

if TYPE_CHECKING:
    from gpualert_common.end_record import Sender

TERMINAL = "the terminal"
"""Command of the sender of a signal that the kernel sent for a terminal."""
STOP_COMMAND = "gpualert stop"
"""Command of the sender of a request that a person made."""
WEB_COMMAND = "gpualert web"
"""Command of the sender of a request that a person made on a page of the web server."""
_COMMANDS = (STOP_COMMAND, WEB_COMMAND)
CALLER = "KeyboardInterrupt"
"""Command of the sender when the program that called ``run()`` was interrupted."""
MEANINGS = ("cancelled", "preempted", "timeout")
"""Words of an engine for the reason of a stop."""

SCHEDULERS = (
    *("slurmstepd", "slurmd", "slurmctld", "srun", "systemd", "systemd-logind", "kubelet"),
    *("containerd", "containerd-shim", "crio", "conmon", "dockerd", "tini", "pbs_mom", "sge_execd"),
    *("condor_starter", "lsf", "sbatchd", "res"),
)
"""Programs that stop a job on behalf of a scheduler, not of a person."""


def find_origin(
    number: int | None, sender: Sender | None, limit: str | None = None
) -> StopOrigin | None:
    """Return who stopped a run, by the signal, its sender and the limit; None for no stop."""
    if limit is not None:
        return StopOrigin.HANG if limit == "hang" else StopOrigin.TIME_LIMIT
    if number is None:
        return None
    known: Sender = sender or {}
    command = known.get("command") or ""
    if known.get("meant_as") in MEANINGS:
        return StopOrigin.ENGINE
    if command == TERMINAL:
        return StopOrigin.HANGUP if number == signal.SIGHUP else StopOrigin.KEYBOARD
    if command in _COMMANDS:
        return StopOrigin.COMMAND
    if command == CALLER:
        return StopOrigin.CALLER
    return StopOrigin.SCHEDULER if _is_scheduler(_program(command)) else StopOrigin.PROGRAM


def is_own_stop(number: int | None, sender: Sender | None, uid: int | None) -> bool:
    """Return True if the user of a run, whose number is ``uid``, stopped it by hand."""
    match find_origin(number, sender):
        case StopOrigin.KEYBOARD | StopOrigin.CALLER:
            return True
        case StopOrigin.COMMAND:
            return uid is not None and (sender or {}).get("uid") == uid
        case _:
            return False


def is_own_decision(number: int | None, sender: Sender | None, limit: str | None) -> bool:
    """Return True if a person, an engine or a limit stopped the run through its supervisor."""
    origin = find_origin(number, sender, limit)
    return origin not in (None, StopOrigin.SCHEDULER, StopOrigin.PROGRAM)


def describe_sender(sender: Sender | None) -> str:
    """Return the sender in words, such as "bash (pid 71)"; empty if it is not known.

    Of ``gpualert stop`` it is the person: "alice at /dev/pts/3 on node7"; of a page of the web
    server "alice, on a page of gpualert web, on node7".
    """
    known: Sender = sender or {}
    command = known.get("command") or ""
    if command in _COMMANDS:
        who = known.get("user") or f"user {known.get('uid', 'unknown')}"
        at = f" at {known['terminal']}" if known.get("terminal") else ""
        at = ", on a page of gpualert web," if command == WEB_COMMAND else at
        return who + at + (f" on {known['host']}" if known.get("host") else "")
    pid = known.get("pid")
    return f"{_program(command)} (pid {pid})" if pid and command else command


def _program(command: str) -> str:
    words = command.split()
    return words[0].rpartition("/")[2].rstrip(":") if words else ""


def _is_scheduler(program: str) -> bool:
    return any(program == name or program.startswith(name + "-") for name in SCHEDULERS)
