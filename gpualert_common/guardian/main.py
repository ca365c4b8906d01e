"""The guardian: the supervisor of one run in a small process of its own.

A program (:mod:`gpualert_common.processes.program`), started by an attempt that talks to it over
pipes that are its stdin and stdout:

1. one line of JSON in: the run and its owner;
2. the guardian leaves the attempt's session, prepares record and log, and answers with one line:
   the record's path, or the error;
3. ``go`` in: the child is launched.  If the attempt goes away before, nothing is.

When the run has ended, the guardian delivers its alerts.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

from gpualert_common.errors import GPUAlertError, NoDurableLogError
from gpualert_common.guardian.keys import write_pointer
from gpualert_common.guardian.ownership import Ownership, OwnershipTerms
from gpualert_common.guardian.policy import GuardianPolicy
from gpualert_common.processes.bootstrap import extend_import_path
from gpualert_common.processes.program import start_program
from gpualert_common.record import ALERTS_LOCK
from gpualert_common.run_hooks import RunHooks
from gpualert_common.spec import RunSpec
from gpualert_common.supervise import supervise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpualert_common.launch.preparation import PreparedRun
    from gpualert_common.record import Record


GO = b"go\n"
LOG = "guardian.log"
_CONTINUE_S = 60.0
_STDIN, _STDOUT, _STDERR = 0, 1, 2


class _AttemptGoneError(Exception):
    """The attempt that started the guardian exited before it confirmed the start."""


def main() -> None:
    """Serve one attempt; exits, never returns."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    message = json.loads(_read_line())
    if os.fork():
        os._exit(0)  # the attempt may reap this one; the guardian is nobody's child
    try:
        _supervise(message)
    except _AttemptGoneError:
        pass
    except GPUAlertError as error:
        _answer(
            {"error": type(error).__name__, "text": str(error), "tried": _list_tried_places(error)}
        )
    os._exit(0)


def _supervise(message: dict[str, Any]) -> None:
    extend_import_path(message["sys_path"])
    spec = RunSpec(**message["spec"])
    alerts_fd = -1

    def before_launch(prepared: PreparedRun) -> None:
        nonlocal alerts_fd
        alerts_fd = _lock_alerts(prepared.record)
        log = prepared.record.create_log(LOG)
        prepared.record.beat()
        if message["key_folder"]:
            write_pointer(message["key_folder"], prepared.record.path)
            os.close(message["lock_fd"])
        _answer({"run": prepared.record.path, "pid": os.getpid(), "tried": prepared.tried})
        if _read_line() != GO:
            raise _AttemptGoneError
        _release_pipes(log)

    done = supervise(
        spec,
        lambda prepared: RunHooks(spec, prepared),
        own_process=True,
        before_launch=before_launch,
        policy=_policy(spec, message["follower"]),
    )
    # Imported late: the child does not wait for it.
    from gpualert_common.guardian.alert_delivery import deliver_after_run

    if spec.custody is not None:
        _cancel_job(done.record)
    elif (done.ending.code or 0) < 0:
        _continue_job(done.record)
    deliver_after_run(done.record, spec.secrets, alerts_fd)


def _continue_job(record: Record) -> None:
    """Have a job of Slurm followed again whose follower was killed."""
    from gpualert_common.slurm.submissions.follower_command import CONTINUATION, submission_path

    path = submission_path(record.spec.command)
    if path is None:
        return
    from gpualert_common.slurm.submissions.submission import needs_follower

    if needs_follower(path):
        try:
            start_program(CONTINUATION, os.path.dirname(os.path.dirname(path))).wait(_CONTINUE_S)
        except (OSError, subprocess.TimeoutExpired):
            pass  # a later command starts it


def _cancel_job(record: Record) -> None:
    """Have the job of an attempt cancelled whose follower was killed in a stop."""
    from gpualert_common.slurm.submissions.follower_command import submission_path

    if submission_path(record.spec.command) is None:
        return
    from gpualert_common.guardian.job_cancellation import cancel_left_job, was_stopped

    try:
        if was_stopped(record):
            cancel_left_job(record)
    except GPUAlertError:
        pass  # a damaged record


def _lock_alerts(record: Record) -> int:
    """Return a descriptor that, until it is closed, says that a guardian delivers the alerts.

    -1 where it cannot be locked: the task that follows the run then sends them.
    """
    try:
        return record.try_lock(ALERTS_LOCK)
    except OSError:
        return -1


def _policy(spec: RunSpec, follower: object) -> GuardianPolicy | None:
    """Return the policy of a run that an attempt owns, None for one that nobody owns."""
    agreed = spec.custody
    if agreed is None:
        return None
    terms = OwnershipTerms(agreed["lease_s"], agreed["adopt_within_s"], agreed["across_hosts"])
    owner, number = agreed["owner"], agreed["number"]
    ownership = Ownership(terms, owner, number, agreed["fingerprint"], time.monotonic())
    policy = GuardianPolicy(ownership)
    policy.watch_follower(owner, follower)
    return policy


def _read_line() -> bytes:
    """Return one line from stdin, empty at its end; two never come without an answer between."""
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
        raise _AttemptGoneError from None


def _list_tried_places(error: GPUAlertError) -> list[tuple[str, str]]:
    return error.tried if isinstance(error, NoDurableLogError) else []


def _release_pipes(log: int) -> None:
    """Replace the attempt's pipes by /dev/null and the guardian's log."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for target, source in ((_STDIN, nothing), (_STDOUT, log), (_STDERR, log)):
        os.dup2(source, target)
    os.close(nothing)
    os.close(log)
