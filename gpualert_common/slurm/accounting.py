"""Accounting of Slurm: its records of jobs and their steps, by ``sacct``.

A job that was requeued has a record for each start.  The records of a start arrive in parts, some
seconds late: at first the user and the partition are missing, so only state and times are read.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpualert_common.quantities import MOST_SECONDS
from gpualert_common.slurm.commands import DEADLINE_S, run_command
from gpualert_common.slurm.controller import select_cluster
from gpualert_common.slurm.fields import (
    clean_text,
    format_time,
    parse_exit_code,
    parse_number,
    parse_time,
)
from gpualert_common.slurm.states import StateText, parse_state
from gpualert_common.structs import Struct, replace

_FIELDS = "JobIDRaw,State,ExitCode,Start,End,TimelimitRaw,NTasks,NodeList"
"""Fields that all releases from 20.11 on have, none with the text of a user."""
_MOST_LINES = 20_000
_CLOCK_S = 600.0
"""Difference of the clocks of a node and of the controller that is allowed for."""
_EXACT_S = 5.0
_BEFORE_S = 3600.0
"""Records from this time before a run on are asked for."""


class SlurmStep(Struct, frozen=True):
    """One step of a job: ``name`` is "batch", "extern" or a number.

    ``code`` and ``signal`` are its exit code as Slurm has it: the highest of its tasks.  Times are
    in seconds since the epoch, None where they are not known.
    """

    name: str
    status: StateText
    code: int | None = None
    signal: int | None = None
    started_at: float | None = None
    ended_at: float | None = None
    tasks: int | None = None
    nodes: str = ""


class SlurmJob(Struct, frozen=True):
    """One start of a job; a job that was requeued has several.

    ``nodes`` is Slurm's list of them, such as "node[1-4]".
    """

    job_id: str
    status: StateText
    code: int | None = None
    signal: int | None = None
    started_at: float | None = None
    ended_at: float | None = None
    time_limit_s: float | None = None
    nodes: str = ""
    steps: tuple[SlurmStep, ...] = ()

    def find_step(self, name: str | None) -> SlurmStep | None:
        """Return the step of that name."""
        return next((one for one in self.steps if one.name == name), None)


def read_job(
    job_id: str,
    *,
    cluster: str | None = None,
    since: float | None = None,
    deadline_s: float = DEADLINE_S,
) -> list[SlurmJob]:
    """Return the starts of a job in their order, each with its steps; empty for an unknown job.

    Raises SlurmError.
    """
    options = [f"--jobs={job_id}", *select_cluster(cluster)]
    if since is not None:
        options.append(f"--starttime={format_time(since - _BEFORE_S)}")
    listed = ("--duplicates", "--noheader", "--parsable2", f"--format={_FIELDS}")
    output = run_command("sacct", *listed, *options, deadline_s=deadline_s)
    return parse_jobs(output.splitlines(), job_id)


def parse_jobs(lines: Iterable[str], job_id: str) -> list[SlurmJob]:
    """Return the starts of one job from the lines of ``sacct``; other jobs and damage are left
    out."""
    found: list[SlurmJob] = []
    is_ours = False
    for line in list(lines)[:_MOST_LINES]:
        words = line.split("|")
        if len(words) != _FIELDS.count(",") + 1:
            continue
        raw, state, exit_code, start, end, limit, tasks, nodes = words
        number, _dot, step = raw.partition(".")
        code, signal = parse_exit_code(exit_code)
        times = parse_time(start), parse_time(end)
        nodes = clean_text(nodes)
        if not step:
            is_ours = number == job_id
        if not is_ours or number != job_id:
            continue
        if not step:
            minutes = parse_number(limit)
            limit_s = None if minutes is None else min(minutes * 60.0, MOST_SECONDS)
            status = parse_state(state)
            found.append(SlurmJob(job_id, status, code, signal, *times, limit_s, nodes))
        else:
            one = SlurmStep(
                step, parse_state(state), code, signal, *times, parse_number(tasks), nodes
            )
            found[-1] = replace(found[-1], steps=(*found[-1].steps, one))
    return found


def choose_start(jobs: Iterable[SlurmJob], at: float) -> SlurmJob | None:
    """Return the start of a job in which something began *at* that time; None without one.

    Slurm uses the ids of jobs again, and a job that was requeued keeps its own.
    """
    dated = [(one.started_at, one) for one in jobs if one.started_at is not None]
    before = [one for started_at, one in dated if started_at <= at + _EXACT_S]
    later = [one for started_at, one in dated if at + _EXACT_S < started_at <= at + _CLOCK_S]
    chosen = before[-1] if before else next(iter(later), None)
    if chosen is None or (chosen.ended_at is not None and chosen.ended_at < at - _CLOCK_S):
        return None
    return chosen


def find_next_start(jobs: Iterable[SlurmJob], chosen: SlurmJob) -> SlurmJob | None:
    """Return the newest start of the job after the *chosen* one; None without one."""
    listed = list(jobs)
    after = listed[listed.index(chosen) + 1 :]
    return after[-1] if after else None
