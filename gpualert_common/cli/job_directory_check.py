"""Check of the job directory for ``gpualert doctor``, and the job that a run here belongs to."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gpualert_common.errors import ConfigError
from gpualert_common.job_identity import find_job
from gpualert_common.launch_record import JobMembership
from gpualert_common.notify.isolation import NoAnswerError, run_isolated
from gpualert_common.settings import load_settings
from gpualert_common.structs import Struct

DEADLINE_S = 20.0
_RETRY_S = 5.0
"""Less than in a run: a person waits."""


class JobCheck(Struct, frozen=True):
    """The job of a run that starts here, and the trial of the job directory.

    ``seconds`` are those of each operation; ``why`` is "" if the directory works.  Without a job
    directory ``address`` is None, and nothing was tried.
    """

    job: JobMembership | None = None
    address: str | None = None
    seconds: dict[str, float] | None = None
    clock_offset_s: float | None = None
    clock_error_s: float | None = None
    why: str = ""


def check_job() -> JobCheck:
    """Return the check with the settings of this user and directory; it raises nothing of ours."""
    try:
        settings = load_settings()
    except ConfigError as error:
        return JobCheck(find_job((), os.environ), why=str(error))
    address: str | None = settings["job_dir"].value
    job = find_job((), os.environ, name=settings["job"].value, directory=address)
    if address is None:
        return JobCheck(job)
    from gpualert_common.job_store.trial import try_store  # takes 40 ms

    try:
        trial = run_isolated(lambda: try_store(address, _RETRY_S), DEADLINE_S)
    except NoAnswerError as error:
        return JobCheck(job, address, why=str(error))
    clock = trial.clock
    return JobCheck(
        job,
        address,
        trial.seconds,
        None if clock is None else clock.offset_s,
        None if clock is None else clock.error_s,
        trial.problem,
    )


def format_check(check: JobCheck) -> Iterator[str]:
    """Yield lines about the job directory, if there is one or its setting is wrong, and the job."""
    if check.address is not None:
        yield f"job directory: {check.address}: {'no' if check.why else 'works'}"
    elif check.why:
        yield "job directory: not known"
    if check.why:
        yield f"  why: {check.why}"
    if check.seconds is not None:
        parts = [f"{name} {seconds * 1e3:.1f} ms" for name, seconds in check.seconds.items()]
        yield f"  {', '.join(parts)}"
    if check.clock_offset_s is not None:
        offset, error = check.clock_offset_s, check.clock_error_s or 0.0
        side = "behind" if offset < 0 else "ahead of"
        yield f"  the clock here is {abs(offset):.2f} s (± {error:.2f} s) {side} that of the store"
    if check.job is not None:
        yield f"job of a run that starts here: {format_job(check.job)}"


def format_job(job: JobMembership) -> str:
    """Return name, folder and place of a job in one line."""
    place = ""
    if "node" in job:
        number = f" of {job['nodes']}" if "nodes" in job else ""
        place = f", node {job['node']}{number}"
    return f"{job['name']} (by {job['origin']}, folder {job['key']}{place})"
