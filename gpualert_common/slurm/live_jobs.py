"""Jobs as the controller has them, or the accounting once the controller forgets them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator

from gpualert_common.errors import SlurmError
from gpualert_common.slurm.controller import UNKNOWN_JOB, read_setting, select_cluster
from gpualert_common.slurm.fields import format_time, parse_exit_code, parse_number, parse_time
from gpualert_common.slurm.invocation import QUERY_S, ask
from gpualert_common.slurm.states import FINAL
from gpualert_common.structs import Struct

MOST_TASKS = 5000
"""Tasks of an array that are read; Slurm's own limit is 1,001 unless it is raised."""
_WAITING = frozenset(("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED"))
_BEFORE_S = 3600.0
"""Clocks of this machine and of the controller may differ by that."""
_SIGNAL = 128
_TIME_LIMIT = 124
_KILLED = 137
_TERMINATED = 143
_MOST_STATUS = 255
_LAUNCH_SIGNAL = 53
"""Slurm's stand-in where the node could not start the script: it could not open its output."""


class BatchTask(Struct, frozen=True):
    """A job, or one task of an array, as Slurm has it now.

    ``shown_id`` is its id for people ("5", "5_2").  ``exit_code`` and ``exit_signal`` are those of
    the batch script.  Paths are empty where they are not known.  ``batch_host`` is the node that
    runs the script, empty before it starts.
    """

    job_id: str
    shown_id: str
    state: str
    reason: str = ""
    name: str = ""
    user: str = ""
    uid: int | None = None
    comment: str = ""
    exit_code: int = 0
    exit_signal: int = 0
    stdout: str = ""
    stderr: str = ""
    batch_host: str = ""
    nodes: str = ""
    work_directory: str = ""
    command: str = ""
    restarts: int = 0
    started_at: float | None = None
    ended_at: float | None = None

    @property
    def is_over(self) -> bool:
        """True if it has ended for good; a job that is requeued has not."""
        return is_over(self.state)

    @property
    def is_waiting(self) -> bool:
        """True before it starts, and again after a requeue."""
        return self.state in _WAITING

    @property
    def is_unstarted(self) -> bool:
        """True if Slurm could not start the script, as where its output cannot be created."""
        return self.state == "FAILED" and self.exit_signal == _LAUNCH_SIGNAL

    @property
    def exit_status(self) -> int:
        """The status for a shell: of the script, or a stand-in where Slurm ended the job.

        124 for a time limit, 137 for want of memory, 143 for a cancellation or a preemption; 1 for
        the loss of a node, and for a script that could not start, which have none.
        """
        match self.state:
            case "COMPLETED":
                return 0
            case "TIMEOUT" | "DEADLINE":
                return _TIME_LIMIT
            case "OUT_OF_MEMORY":
                return _KILLED
            case "CANCELLED" | "PREEMPTED":
                return _TERMINATED
            case "FAILED" if self.exit_signal and not self.is_unstarted:
                return min(_SIGNAL + self.exit_signal, _MOST_STATUS)
            case _:
                return min(self.exit_code, _MOST_STATUS) or 1


def read_tasks(job_id: str, cluster: str = "") -> list[BatchTask]:
    """Return the job, or the tasks of the array, as the controller has them; none if it forgot.

    Raises SlurmError.
    """
    try:
        text = ask("scontrol", *select_cluster(cluster), "--details", "show", "job", job_id)
    except SlurmError as error:
        if UNKNOWN_JOB in str(error):
            return []
        raise
    return list(_parse_shown(text))


def read_accounted_tasks(job_id: str, cluster: str = "") -> list[BatchTask]:
    """Return the job, or the tasks of the array, as the accounting has their last run.

    Raises SlurmError, also where there is no accounting.
    """
    names = "JobID,JobIDRaw,State,ExitCode,Start,End,User,NodeList,JobName"
    listed = ("--parsable2", "--noheader", "--allocations", f"--format={names}")
    found: dict[str, BatchTask] = {}
    for line in ask("sacct", *select_cluster(cluster), *listed, f"--jobs={job_id}").splitlines():
        words = line.split("|", 8)
        if len(words) < 9:
            continue
        shown, raw, state, status, start, end, user, nodes, name = words
        states = state.split()
        if not states or not is_slurm_id(shown) or len(found) >= MOST_TASKS:
            continue
        code, signal = parse_exit_code(status)
        found[shown] = BatchTask(
            raw,
            shown,
            states[0],
            name=name,
            user=user,
            exit_code=code or 0,
            exit_signal=signal or 0,
            nodes=nodes,
            started_at=parse_time(start),
            ended_at=parse_time(end),
        )
    return list(found.values())


def find_job(mark: str, since: float, cluster: str = "") -> str | None:
    """Return the id of the job of this user whose comment has *mark*; the first of several.

    Asks the controller, and the accounting, which keeps the jobs that the controller forgets.
    None only if no such job was submitted since the time *since*; raises SlurmError where that
    cannot be known, as without accounting once the controller may have forgotten the job.
    """
    user = f"--user={os.getuid()}"
    shown = ("--all", "--noheader", "--states=all", user, "--format=%F|%k")
    listed = ask("squeue", *select_cluster(cluster), *shown)
    found = list(_select_marked(listed, mark))
    if found:
        return min(found, key=_order)
    try:
        found = list(_select_marked(_list_accounted(user, since, cluster), mark))
    except SlurmError as error:
        if not cluster and time.time() - since < _read_least_job_age() / 2:
            return None
        raise SlurmError(
            f"cannot decide if the job was submitted: the controller does not have it, and {error}",
            is_late=True,
        ) from None
    return min(found, key=_order) if found else None


def list_states(user: str) -> dict[str, tuple[str, str]]:
    """Return the state and the comment of each job of a user that the controller knows.

    Arrays are listed by task, except for tasks that wait.  Raises SlurmError.
    """
    options = ("--all", "--noheader", "--states=all", f"--user={user}", "--format=%i|%T|%k")
    lines = (line.split("|", 2) for line in ask("squeue", *options).splitlines())
    found = (words for words in lines if len(words) == 3 and is_slurm_id(words[0]))
    return {job: (state, comment) for job, state, comment in found}


def is_over(state: str) -> bool:
    """True for the state of a job that has ended for good."""
    return state in FINAL


def is_slurm_id(text: str) -> bool:
    """True for the id of a job, or of a task of an array."""
    parts = text.split("_", 1)
    return all(part.isascii() and part.isdigit() and len(part) < 12 for part in parts)


def _list_accounted(user: str, since: float, cluster: str) -> str:
    start = f"--starttime={format_time(since - _BEFORE_S)}"
    shown = ("--parsable2", "--noheader", "--allocations", user, start)
    listed = (*select_cluster(cluster), *shown)
    try:
        return ask("sacct", *listed, "--format=JobID,Comment,SubmitLine")
    except SlurmError as error:
        if "Invalid field" not in str(error):
            raise
        return ask("sacct", *listed, "--format=JobID,Comment")


def _select_marked(text: str, mark: str) -> Iterator[str]:
    """Yield the jobs with the mark; a comment or a command may have several lines."""
    job_id = ""
    for line in text.splitlines():
        begin, bar, _rest = line.partition("|")
        begin = begin.partition("_")[0].partition("+")[0]
        if bar and is_slurm_id(begin):
            job_id = begin
        if mark in line and job_id:
            yield job_id


def _order(job_id: str) -> int:
    return int(job_id)


def _read_least_job_age() -> float:
    """Return for how many seconds the controller keeps an ended job."""
    number = read_setting("MinJobAge", deadline_s=QUERY_S).partition(" ")[0]
    return float(parse_number(number) or 0)


def _parse_shown(text: str) -> Iterator[BatchTask]:
    for index, block in enumerate(text.split("\n\n")):
        fields = _parse_block(block.splitlines())
        job_id = fields.get("JobId", "")
        if is_slurm_id(job_id) and index < MOST_TASKS:
            yield _make_task(job_id, fields)


def _parse_block(lines: Iterable[str]) -> dict[str, str]:
    """Return the fields of a job; those that may hold blanks have a line of their own."""
    fields: dict[str, str] = {}
    for line in lines:
        text = line.strip()
        if text.startswith("JobId="):  # the name is the rest of the line, and may be any text
            text, _name, fields["JobName"] = text.partition("JobName=")
        name, equals, value = text.partition("=")
        if name in _WHOLE_LINES and equals:
            fields.setdefault(name, value.strip())
            continue
        for word in text.split():
            key, equals, value = word.partition("=")
            if equals:
                fields.setdefault(key, "" if value == "(null)" else value)
    return fields


_WHOLE_LINES = frozenset(("Command", "WorkDir", "Comment", "StdErr", "StdIn", "StdOut"))


def _make_task(job_id: str, fields: dict[str, str]) -> BatchTask:
    code, signal = parse_exit_code(fields.get("ExitCode", ""))
    array, task = fields.get("ArrayJobId", ""), fields.get("ArrayTaskId", "")
    restarts = fields.get("Restarts", "0")
    host = fields.get("BatchHost", "")
    return BatchTask(
        job_id,
        f"{array}_{task}" if array and task else job_id,
        fields.get("JobState", "UNKNOWN"),
        reason=fields.get("Reason", ""),
        name=fields.get("JobName", ""),
        user=fields.get("UserId", "").partition("(")[0],
        uid=parse_number(fields.get("UserId", "").rpartition("(")[2].removesuffix(")")),
        comment=fields.get("Comment", ""),
        exit_code=code or 0,
        exit_signal=signal or 0,
        stdout=_complete_path(fields.get("StdOut", ""), host),
        stderr=_complete_path(fields.get("StdErr", ""), host),
        batch_host=host,
        nodes=fields.get("NodeList", ""),
        work_directory=fields.get("WorkDir", ""),
        command=fields.get("Command", ""),
        restarts=int(restarts) if restarts.isdigit() and len(restarts) < 9 else 0,
        started_at=parse_time(fields.get("StartTime", "")),
        ended_at=parse_time(fields.get("EndTime", "")),
    )


def _complete_path(path: str, host: str) -> str:
    """Return a path with the patterns that only the node resolves: those of the first task."""
    patterns = {"%N": host.partition(".")[0], "%n": "0", "%t": "0", "%s": "batch"}
    for pattern, value in patterns.items():
        path = path.replace(pattern, value)
    return path
