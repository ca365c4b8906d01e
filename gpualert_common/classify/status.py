"""What the end of a run says by itself: exit status, signals, limits, whether it started."""

from __future__ import annotations

import errno
import signal
from dataclasses import dataclass

from gpualert_common.classify.rules import RuleSet
from gpualert_common.model import Disposition, ExitFacts

_STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_CRASHES = (
    *(signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL),
    *(signal.SIGFPE, signal.SIGTRAP, signal.SIGSYS),
)

SCHEDULERS = (
    *("slurmstepd", "slurmd", "slurmctld", "srun", "systemd", "systemd-logind", "kubelet"),
    *("containerd", "containerd-shim", "crio", "conmon", "dockerd", "tini", "pbs_mom", "sge_execd"),
    *("condor_starter", "lsf", "sbatchd", "res"),
)
"""Programs that stop a job on a scheduler's behalf, not on a person's."""

_MEANINGS = {
    "cancelled": (Disposition.CANCELLED, "cancelled"),
    "preempted": (Disposition.PREEMPTED, "preempted"),
    "timeout": (Disposition.TIMEOUT, "time_limit"),
}
"""What a stop may be meant as: disposition and cause."""

_START_ERRORS = {
    errno.EACCES: "permission",
    errno.EPERM: "permission",
    errno.ENOMEM: "host_oom",
    errno.EAGAIN: "too_many_files",
    errno.EMFILE: "too_many_files",
    errno.ENFILE: "too_many_files",
}


@dataclass(frozen=True, slots=True)
class Status:
    """What the end says.  ``cause`` is what it means when no log says better, None for nothing.

    ``decides`` is True when no log can say better (never started, stopped on request, time
    limit).  ``probable`` is True when a signal is inferred from 128+n or a launcher's report.
    ``said`` is the claim for the verdict.
    """

    disposition: Disposition
    cause: str | None
    said: str
    signal: int | None = None
    probable: bool = False
    decides: bool = False


def signal_name(number: int) -> str:
    """ "SIGKILL" for 9; "signal 99" for what has no name here."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def read_status(
    facts: ExitFacts, rules: RuleSet, child_code: int | None = None, *, running: bool = False
) -> Status:
    """The reading of *facts*.  *child_code* is a worker's status as a launcher reported it."""
    if running:
        return Status(Disposition.RUNNING, None, "the run has not ended", decides=True)
    if not facts.started:
        return _not_started(facts)
    if facts.limit == "time":
        return Status(
            Disposition.TIMEOUT,
            "time_limit",
            f"our own time limit ended the run{_lasting(facts)}; {_ended(facts.code)}",
            signal=facts.signal,
            decides=True,
        )
    if facts.signal is not None:
        return _stopped(facts, facts.signal)
    if facts.code is None and child_code is None:
        return Status(Disposition.UNKNOWN, None, "the exit status is not known")
    if facts.code is None:
        return _reported(child_code or 0, rules, "the exit status is not known")
    if facts.code == 0:
        return Status(Disposition.COMPLETED, None, _ended(0))
    if facts.code < 0:
        return _signalled(-facts.code, rules, _ended(facts.code), probable=False)
    if 128 < facts.code <= 128 + signal.SIGRTMAX:
        said = f"{_ended(facts.code)}: 128+{facts.code - 128}, probably "
        return _signalled(
            facts.code - 128, rules, said + signal_name(facts.code - 128), probable=True
        )
    if child_code is not None:
        return _reported(child_code, rules, _ended(facts.code))
    cause = next((rule.id for rule in rules if facts.code in rule.exit_codes), None)
    return Status(Disposition.FAILED, cause, _ended(facts.code))


def _reported(child_code: int, rules: RuleSet, said: str) -> Status:
    """The status of a worker as its launcher reports it."""
    if child_code < 0:
        said = f"{said}; the launcher reports {signal_name(-child_code)} of a worker"
        return _signalled(-child_code, rules, said, probable=True)
    said = f"{said}; the launcher reports status {child_code} of a worker"
    return Status(Disposition.FAILED, "runtime_error", said)


def _not_started(facts: ExitFacts) -> Status:
    number, text = facts.start_error or (0, "no reason is recorded")
    cause = _START_ERRORS.get(number, "command_not_found")
    if "is a directory" in text.lower():
        cause = "command_not_found"
    said = f"the command could not be started: {text}"
    return Status(Disposition.NOT_STARTED, cause, said, decides=True)


def _stopped(facts: ExitFacts, number: int) -> Status:
    """A signal was passed on to the run: whatever its status, it did not end by itself.

    An attempt of an engine, and a guardian that nobody follows, say themselves what it means.
    """
    sender = facts.sender or {}
    if str(sender.get("meant_as")) in _MEANINGS:
        disposition, cause = _MEANINGS[str(sender["meant_as"])]
        because = f"it was stopped because {sender.get('because') or 'its engine asked for it'}"
        said = f"{because}; {signal_name(number)} was passed on, and {_ended(facts.code)}"
        return Status(disposition, cause, said, signal=number, decides=True)
    command = str(sender.get("command") or "")
    program = command.split()[0].rpartition("/")[2].rstrip(":") if command.split() else ""
    by_scheduler = any(program == name or program.startswith(name + "-") for name in SCHEDULERS)
    who = f"{program} (pid {sender.get('pid')})" if program else "an unknown sender"
    if sender.get("pid") == 0:
        who = "the terminal"
    disposition = Disposition.PREEMPTED if by_scheduler else Disposition.CANCELLED
    said = f"{signal_name(number)} from {who} was passed on to the run; {_ended(facts.code)}"
    return Status(disposition, disposition.value, said, signal=number, decides=True)


def _signalled(number: int, rules: RuleSet, said: str, *, probable: bool) -> Status:
    cause = next((rule.id for rule in rules if number in rule.signals), "killed_unknown")
    if number in _STOPS:
        disposition = Disposition.CANCELLED
    elif number in _CRASHES:
        disposition = Disposition.FAILED
    else:
        disposition = Disposition.KILLED
    return Status(disposition, cause, said, signal=number, probable=probable)


def _ended(code: int | None) -> str:
    if code is None:
        return "its exit status is not known"
    if code < 0:
        return f"{signal_name(-code)} ended it"
    return f"it ended with exit status {code}"


def _lasting(facts: ExitFacts) -> str:
    return f" after {facts.duration_s:.0f} s" if facts.duration_s is not None else ""
