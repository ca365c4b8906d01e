"""End of a run on another machine, by Slurm's records of its job and step.

When Slurm has ended a job or step, none of its processes are left.  Two exceptions are respected: a
job that is still being ended, and a node that only lost its connection, whose processes go on until
it is back.
"""

from __future__ import annotations

import time

from gpualert_common.launch_record import SlurmPlace
from gpualert_common.slurm.accounting import SlurmStep
from gpualert_common.slurm.job_status import SlurmReport, ask_slurm
from gpualert_common.slurm.states import SlurmState, StateText
from gpualert_common.structs import Struct

QUIET_S = 60.0
"""A run whose files changed within this time goes on, and Slurm is not asked."""
_UNREACHABLE_S = 600.0
"""The processes of a lost node may go on; the files of such a run must rest longer."""
_UNSEEN_S = 300.0
"""Slurm ends a job within this time: ten times its KillWait.  For a queue that gives no answer."""
_LAST_OWN_CODE = 123
"""Exit statuses behind this one may be those of the supervisor itself, or of a shell."""


class SlurmEnd(Struct, frozen=True):
    """The end of a run: the time, the exit status if it can be believed, and the state in Slurm."""

    ended_at: float
    name: str
    status: str
    code: int | None = None


def find_slurm_end(
    place: SlurmPlace, started_at: float, changed_at: float, *, deadline_s: float = 5.0
) -> SlurmEnd | None:
    """Return the end of a run; None while Slurm does not prove it.

    A run that no node of Slurm started, as in the shell of ``salloc`` on a login node, is in the
    environment of a job, but does not end with it.

    ``changed_at`` is the time of the last change of the run's files.  Asks Slurm with commands that
    have the deadline each.  Never raises.
    """
    now = time.time()
    if not place.get("node") or now - changed_at < QUIET_S:
        return None
    report = ask_slurm(place, started_at, deadline_s=deadline_s)
    step = None if report.job is None else report.job.find_step(place.get("step"))
    job = place.get("job", "")
    if step is not None and step.status.has_ended and step.ended_at is not None:
        code = _read_code(step) if place.get("is_task") else None
        found = SlurmEnd(step.ended_at, f"{job}.{step.name}", step.status.text, code)
        is_gone = _is_reachable(report.status or step.status, now - changed_at)
        return found if is_gone else None
    status, ended_at = report.status, report.ended_at
    if status is None or not report.has_ended or ended_at is None:
        return None
    if not _has_let_go(report, now - ended_at) or not _is_reachable(status, now - changed_at):
        return None
    return SlurmEnd(ended_at, job, status.text)


def _has_let_go(report: SlurmReport, age_s: float) -> bool:
    """Return whether Slurm has ended all processes of the job."""
    if report.queued is not None:
        return not report.queued.may_have_processes
    is_queue_known = not any(one.startswith("queue:") for one in report.problems)
    return is_queue_known or age_s > _UNSEEN_S


def _is_reachable(status: StateText, quiet_s: float) -> bool:
    return status.state is not SlurmState.NODE_FAIL or quiet_s > _UNREACHABLE_S


def _read_code(step: SlurmStep) -> int | None:
    """Return the exit status of the only task of a step, which was the supervisor of the run.

    The supervisor passes on that of its command.  The status of several tasks is the highest of
    them; a signal, or a high status, may have been that of the supervisor.
    """
    if step.status.state is SlurmState.COMPLETED:
        return 0
    is_plain = step.tasks == 1 and step.status.state is SlurmState.FAILED and not step.signal
    if is_plain and step.code is not None and 0 < step.code <= _LAST_OWN_CODE:
        return step.code
    return None
