"""Exit status of a run: its meaning without the log, by an ordered list of rules."""

from __future__ import annotations

import errno
import signal
from collections.abc import Callable

from gpualert_common.classify.rules import RuleSet
from gpualert_common.model import Disposition, ExitFacts, StopOrigin
from gpualert_common.signal_names import signal_name
from gpualert_common.stop_origin import (
    STOP_COMMAND,
    describe_sender,
    find_origin,
    is_own_decision,
)
from gpualert_common.structs import Struct

_STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_CRASHES = (
    *(signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL),
    *(signal.SIGFPE, signal.SIGTRAP, signal.SIGSYS),
)

_MEANINGS = {
    "cancelled": (Disposition.CANCELLED, "cancelled"),
    "preempted": (Disposition.PREEMPTED, "preempted"),
    "timeout": (Disposition.TIMEOUT, "time_limit"),
}
"""Disposition and cause by the meaning that the sender of a stop gives."""

_LEAST_OF_SIGNAL = 128
_DISPOSITIONS = {cause: disposition for disposition, cause in _MEANINGS.values()}

_CERTAIN = (
    *(StopOrigin.KEYBOARD, StopOrigin.HANGUP, StopOrigin.COMMAND, StopOrigin.CALLER),
    *(StopOrigin.TIME_LIMIT, StopOrigin.HANG),
)
"""Origins that leave no doubt about the reason of a stop."""

_START_ERRORS = {
    errno.EACCES: "permission",
    errno.EPERM: "permission",
    errno.ENOMEM: "host_oom",
    errno.EAGAIN: "too_many_files",
    errno.EMFILE: "too_many_files",
    errno.ENFILE: "too_many_files",
}


class ExitStatus(Struct, frozen=True):
    """Meaning of the end of a run.

    ``cause`` counts when the log names no better one; None for no cause.  ``is_final`` is True
    when no log can name a better one: the run never started, was stopped on request, or reached
    the time limit.  ``is_inferred`` is True when a signal is inferred from 128+n or from a
    launcher's report.  ``claim`` states the status in the verdict.  ``origin`` is who stopped the
    run; None if nothing did, as far as is known.  ``is_recorded`` is True if a scheduler has it in
    its records.
    """

    disposition: Disposition
    cause: str | None
    claim: str
    signal: int | None = None
    is_inferred: bool = False
    is_final: bool = False
    origin: StopOrigin | None = None
    is_recorded: bool = False

    @property
    def is_stop_certain(self) -> bool:
        """True when the run was stopped, and there is a record of who did it."""
        return self.is_recorded or self.origin in _CERTAIN


def read_status(
    facts: ExitFacts, rules: RuleSet, child_code: int | None = None, *, running: bool = False
) -> ExitStatus:
    """Return the meaning of *facts*.

    *child_code* is the status of a worker process as its launcher reported it.
    """
    if running:
        claim = "the run has not ended"
        return ExitStatus(Disposition.RUNNING, None, claim, is_final=True)
    for rule in STATUS_RULES:
        status = rule(facts, rules, child_code)
        if status is not None:
            return status
    return ExitStatus(Disposition.UNKNOWN, None, facts.no_status or "the exit status is not known")


def _read_missing_start(facts: ExitFacts, _rules: RuleSet, _child: int | None) -> ExitStatus | None:
    if facts.started:
        return None
    number, text = facts.start_error or (0, "no reason is recorded")
    cause = _START_ERRORS.get(number, "command_not_found")
    if "is a directory" in text.lower():
        cause = "command_not_found"
    claim = f"the command could not be started: {text}"
    return ExitStatus(Disposition.NOT_STARTED, cause, claim, is_final=True)


def _read_time_limit(facts: ExitFacts, _rules: RuleSet, _child: int | None) -> ExitStatus | None:
    if facts.limit != "time":
        return None
    after = f" after {facts.duration_s:.0f} s" if facts.duration_s is not None else ""
    return ExitStatus(
        Disposition.TIMEOUT,
        "time_limit",
        f"our own time limit ended the run{after}; {_describe(facts.code)}",
        signal=facts.signal,
        is_final=True,
        origin=StopOrigin.TIME_LIMIT,
    )


def _read_hang_limit(facts: ExitFacts, _rules: RuleSet, _child: int | None) -> ExitStatus | None:
    if facts.limit != "hang":
        return None
    return ExitStatus(
        Disposition.TIMEOUT,
        "idle_hang",
        f"it was stopped because it made no progress; {_describe(facts.code)}",
        signal=facts.signal,
        is_final=True,
        origin=StopOrigin.HANG,
    )


def _read_scheduler(facts: ExitFacts, _rules: RuleSet, _child: int | None) -> ExitStatus | None:
    """A scheduler stopped the run, according to its records, whatever the status is.

    A run with a small status that got no signal may have failed by itself, and its job may have
    been cancelled because of that; then its log counts.
    """
    stop = facts.scheduler
    if stop is None or is_own_decision(facts.signal, facts.sender, facts.limit):
        return None
    number = facts.signal
    if number is None and facts.code is not None and facts.code < 0:
        number = -facts.code
    is_own_status = number is None and facts.code is not None and facts.code < _LEAST_OF_SIGNAL
    return ExitStatus(
        _DISPOSITIONS.get(stop["cause"], Disposition.KILLED),
        stop["cause"],
        f"{stop['claim']}; {_describe(facts.code)}",
        signal=number,
        is_final=not (is_own_status and stop["cause"] == "cancelled"),
        origin=StopOrigin.SCHEDULER,
        is_recorded=True,
    )


def _read_stop(facts: ExitFacts, _rules: RuleSet, _child: int | None) -> ExitStatus | None:
    """A signal was passed on to the run, so it did not end by itself, whatever its status.

    A workflow engine, and a guardian without a follower, say themselves what the stop means.
    """
    number, sender = facts.signal, facts.sender or {}
    if number is None:
        return None
    origin = find_origin(number, facts.sender)
    if origin is StopOrigin.ENGINE:
        meaning = _MEANINGS[sender["meant_as"]]
        because = f"it was stopped because {sender.get('because') or 'its engine asked for it'}"
        claim = f"{because}; {signal_name(number)} was passed on, and {_describe(facts.code)}"
        return ExitStatus(*meaning, claim, signal=number, is_final=True, origin=origin)
    is_preempted = origin is StopOrigin.SCHEDULER
    disposition = Disposition.PREEMPTED if is_preempted else Disposition.CANCELLED
    who = describe_sender(facts.sender) or "an unknown sender"
    by = "gpualert stop by " if sender.get("command") == STOP_COMMAND else ""
    claim = f"{signal_name(number)} from {by}{who} was passed on to the run"
    return ExitStatus(
        disposition,
        disposition.value,
        f"{claim}; {_describe(facts.code)}",
        signal=number,
        is_final=True,
        origin=origin,
    )


def _read_success(facts: ExitFacts, _rules: RuleSet, _child: int | None) -> ExitStatus | None:
    if facts.code != 0:
        return None
    return ExitStatus(Disposition.COMPLETED, None, _describe(0))


def _read_signal(facts: ExitFacts, rules: RuleSet, _child: int | None) -> ExitStatus | None:
    if facts.code is None or facts.code >= 0:
        return None
    return _explain_signal(-facts.code, rules, _describe(facts.code), is_inferred=False)


def _read_shell_status(facts: ExitFacts, rules: RuleSet, _child: int | None) -> ExitStatus | None:
    """A shell reports 128+n for a command that signal n ended."""
    if facts.code is None or not 128 < facts.code <= 128 + signal.SIGRTMAX:
        return None
    number = facts.code - 128
    claim = f"{_describe(facts.code)}: 128+{number}, probably {signal_name(number)}"
    return _explain_signal(number, rules, claim, is_inferred=True)


def _read_worker_status(facts: ExitFacts, rules: RuleSet, child: int | None) -> ExitStatus | None:
    """The status of a worker process, as its launcher reports it."""
    if child is None:
        return None
    own = "the exit status is not known" if facts.code is None else _describe(facts.code)
    if child < 0:
        claim = f"{own}; the launcher reports {signal_name(-child)} of a worker"
        return _explain_signal(-child, rules, claim, is_inferred=True)
    claim = f"{own}; the launcher reports status {child} of a worker"
    return ExitStatus(Disposition.FAILED, "runtime_error", claim)


def _read_failure(facts: ExitFacts, rules: RuleSet, _child: int | None) -> ExitStatus | None:
    if facts.code is None:
        return None
    cause = next((rule.id for rule in rules if facts.code in rule.exit_codes), None)
    return ExitStatus(Disposition.FAILED, cause, _describe(facts.code))


STATUS_RULES: tuple[Callable[[ExitFacts, RuleSet, int | None], ExitStatus | None], ...] = (
    _read_missing_start,
    _read_time_limit,
    _read_hang_limit,
    _read_scheduler,
    _read_stop,
    _read_success,
    _read_signal,
    _read_shell_status,
    _read_worker_status,
    _read_failure,
)
"""Rules for the end of a run; the first one that applies decides its meaning."""


def _explain_signal(number: int, rules: RuleSet, claim: str, *, is_inferred: bool) -> ExitStatus:
    cause = next((rule.id for rule in rules if number in rule.signals), "killed_unknown")
    if number in _STOPS:
        disposition = Disposition.CANCELLED
    elif number in _CRASHES:
        disposition = Disposition.FAILED
    else:
        disposition = Disposition.KILLED
    return ExitStatus(disposition, cause, claim, signal=number, is_inferred=is_inferred)


def _describe(code: int | None) -> str:
    if code is None:
        return "its exit status is not known"
    if code < 0:
        return f"{signal_name(-code)} ended it"
    return f"it ended with exit status {code}"
