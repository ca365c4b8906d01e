"""The guardian: the supervisor of one run in a small process of its own.

A program (:mod:`gpualert_common.processes.program`), started by an attempt that talks to it over
pipes that are its stdin and stdout:

1. one line of JSON in: what to run, and who may follow it;
2. the guardian leaves the attempt's session, prepares record and log, and answers with one line:
   where the record is, or why there is none;
3. ``go`` in: the child is launched.  If the attempt goes away before, nothing is.

When the run has ended, the guardian sees to its alerts.
"""

from __future__ import annotations

import json
import os
import signal

from gpualert_common.api import beside, judge_for, tell_early, tell_late
from gpualert_common.errors import GPUAlertError, NoDurableLogError
from gpualert_common.guardian.alert_wait import attend, watch
from gpualert_common.guardian.keys import point
from gpualert_common.guardian.ownership import Ownership, OwnershipTerms
from gpualert_common.processes.bootstrap import extend_import_path
from gpualert_common.processes.host import boot_id, pid_namespace
from gpualert_common.processes.pidfd import is_ready, open_pidfd
from gpualert_common.processes.procfs import read_stat
from gpualert_common.spec import RunSpec, is_number
from gpualert_common.supervise import RecorderHooks, supervise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpualert_common.guardian.ownership import Told
    from gpualert_common.launch.preparation import PreparedRun

GO = b"go\n"
LOG = "guardian.log"
_MOST_PID = 1 << 22
_STDIN, _STDOUT, _STDERR = 0, 1, 2


class _NobodyThereError(Exception):
    """The attempt that started us has gone before it said go."""


class GuardianPolicy:
    """Custody of a run, with the eyes that it needs: a pidfd of whoever follows."""

    def __init__(self, custody: Ownership) -> None:
        self._custody = custody
        self._owner = ""
        self._pid = 0
        self._superseded: set[int] = set()
        self.fd = -1
        """Readable when the follower's process has ended; -1 while there is none to see."""

    def watch_follower(self, owner: str, follower: Any) -> None:
        """Look at the process that ``follower`` names, if that can be done from here."""
        self.close()
        if self._pid:
            self._superseded.add(self._pid)
        self._pid = pid = _pid_of(follower)
        self._superseded.discard(pid)
        if not pid:
            return
        fd = open_pidfd(pid)
        status = read_stat(pid)
        if fd >= 0 and (status is None or status.start_ticks != follower.get("start_ticks")):
            os.close(fd)
            fd = _read_end_of_nothing()  # it has ended, and its number may be another's
        self.fd, self._owner = fd, owner

    def follower_died(self) -> Told:
        """What follows from the descriptor being readable."""
        owner = self._owner
        self.close()
        return self._custody.follower_died(owner)

    def looked(self, leases: dict[str, int] | None, now: float) -> Told:
        """The scribe could read the record, and these were its leases; None: it was removed."""
        alive = self.fd >= 0 and not is_ready(self.fd)
        if leases is None:
            self._custody.record_is_gone(now, alive=alive)
            return []
        return self._custody.looked(leases, now, alive=alive)

    def asked(self, request: dict[str, Any]) -> Told:
        """Answer a request of another kind than a stop."""
        told = self._custody.asked(request)
        if told and told[0][0] == "adopted":
            self.watch_follower(str(request["owner"]), request.get("follower"))
        return told

    def may_stop(self, request: dict[str, Any]) -> bool:
        """False for an attempt that was superseded."""
        return self._custody.may_stop(request)

    def may_signal(self, pid: int) -> bool:
        """False for a process that followed the run and was superseded."""
        return pid not in self._superseded

    def why_end(self, now: float) -> str | None:
        """Why the run must be ended now, or None."""
        self._custody.time_passed(now)
        return self._custody.ends_because

    def stopping(self) -> None:
        """A stop has begun; from now on nobody adopts the run."""
        self._custody.stopping = True

    def close(self) -> None:
        """Stop looking at the follower."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def main() -> None:
    """Serve one attempt; exits, never returns."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    message = json.loads(_read_line())
    if os.fork():
        os._exit(0)  # whoever started us may reap this one; we are nobody's child
    try:
        _guard(message)
    except _NobodyThereError:
        pass
    except GPUAlertError as error:
        _answer({"error": type(error).__name__, "text": str(error), "tried": _tried(error)})
    os._exit(0)


def _guard(message: dict[str, Any]) -> None:
    extend_import_path(message["sys_path"])
    spec = RunSpec(**message["spec"])
    guard = _custody_of(spec, message)

    watch_fd = -1

    def before_launch(prepared: PreparedRun) -> None:
        nonlocal watch_fd
        watch_fd = watch(prepared.record)
        log = prepared.record.create_log(LOG)
        prepared.record.beat()
        if message["key_folder"]:
            point(message["key_folder"], prepared.record.path)
            os.close(message["lock_fd"])
        _answer({"run": prepared.record.path, "pid": os.getpid(), "tried": prepared.tried})
        if _read_line() != GO:
            raise _NobodyThereError
        _let_go_of_pipes(log)

    def plan(prepared: PreparedRun) -> RecorderHooks:
        return RecorderHooks(
            lambda: judge_for(prepared),
            looks=guard is not None,
            beside=beside(prepared),
            late=lambda: tell_late(spec, prepared.record.path),
            warn=lambda: tell_early(spec, prepared.record.path),
        )

    done = supervise(spec, plan, own_process=True, before_launch=before_launch, guard=guard)
    attend(done.record, spec.secrets, watch_fd)


def _custody_of(spec: RunSpec, message: dict[str, Any]) -> GuardianPolicy | None:
    agreed = spec.custody
    if agreed is None:
        return None
    import time

    terms = OwnershipTerms(agreed["lease_s"], agreed["adopt_within_s"], agreed["across_hosts"])
    owner, number = agreed["owner"], agreed["number"]
    guard = GuardianPolicy(Ownership(terms, owner, number, agreed["fingerprint"], time.monotonic()))
    guard.watch_follower(owner, message["follower"])
    return guard


def _read_line() -> bytes:
    """One line from stdin, empty when there is nobody; never two come without an answer between."""
    line = b""
    while not line.endswith(b"\n"):
        data = os.read(_STDIN, 1 << 16)
        if not data:
            return b""
        line += data
    return line


def _answer(value: dict[str, Any]) -> None:
    try:
        os.write(_STDOUT, json.dumps(value).encode() + b"\n")
    except BrokenPipeError:
        raise _NobodyThereError from None


def _tried(error: GPUAlertError) -> list[tuple[str, str]]:
    return error.tried if isinstance(error, NoDurableLogError) else []


def _let_go_of_pipes(log: int) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    for target, source in ((_STDIN, nothing), (_STDOUT, log), (_STDERR, log)):
        os.dup2(source, target)
    os.close(nothing)
    os.close(log)


def _pid_of(follower: Any) -> int:
    """The process that follows, by its number here; 0 when it cannot be seen from here."""
    if not isinstance(follower, dict):
        return 0
    here = (boot_id(), pid_namespace())
    if (follower.get("boot"), follower.get("pids")) != here or not is_number(follower.get("pid")):
        return 0
    pid = int(follower["pid"])
    return pid if 0 < pid < _MOST_PID else 0


def _read_end_of_nothing() -> int:
    """A descriptor that is readable at once."""
    fd, other = os.pipe2(os.O_CLOEXEC)
    os.close(other)
    return fd
