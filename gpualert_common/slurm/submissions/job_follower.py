"""Following of a job to its end: its states, its output, and a stop."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from gpualert_common.errors import SlurmError
from gpualert_common.slurm.invocation import is_transient
from gpualert_common.slurm.live_jobs import BatchTask, read_accounted_tasks, read_tasks
from gpualert_common.slurm.submissions.cancellation import cancel, terminate
from gpualert_common.slurm.submissions.followed_state import ENDLESS, FollowedState
from gpualert_common.slurm.submissions.output_copy import OutputCopy
from gpualert_common.slurm.submissions.submission import SubmittedJob
from gpualert_common.structs import Struct, replace

_STDOUT, _STDERR = 1, 2
_COPY_S = 0.25
_FIRST_INTERVAL_S = 1.0
_LATE_OUTPUT_S = 10.0
"""After the end of a job, for an output file that another node wrote to appear here."""
_QUIET_S = 1.0
"""After the end of a job, output that came so late is still copied."""
_FORGOTTEN_S = 600.0
"""A job that the controller forgot is looked for in the accounting for so long."""
_UNSEEN_S = 60.0
"""The same for a job that this follower has never seen."""
_SEVERAL_STOPS = 2
_MOST_FILES = 500


class JobEnd(Struct, frozen=True):
    """The end of a job; of an array that of the task with the highest exit status.

    ``exit_status`` is None if nobody knows it any more.
    """

    state: str
    exit_status: int | None


class JobFollower:
    """Follows one job; ``stops`` returns how often a stop was requested so far.

    ``report`` is called with each new state.
    """

    def __init__(
        self,
        job: SubmittedJob,
        *,
        grace_s: float,
        interval_s: float,
        stops: Callable[[], int],
        note: Callable[[str], None],
        report: Callable[[FollowedState], None] | None = None,
    ) -> None:
        self._job = job
        self._grace_s = grace_s
        self._interval_s = interval_s
        self._stops = stops
        self._note = note
        self._report = report
        self._reported = FollowedState()
        self._asker = ThreadPoolExecutor(1)
        self._tasks: dict[str, BatchTask] = {}
        self._copies: dict[tuple[str, int], OutputCopy] = {}
        self._noted: dict[str, str] = {}
        self._wait_s = _FIRST_INTERVAL_S
        self._forgotten_since: float | None = None
        self._cancel_at: float | None = None
        self._stops_served = 0

    def follow(self) -> JobEnd:
        """Return the end of the job, once it is known twice and the output is copied."""
        question: Future[list[BatchTask]] | None = None
        end: JobEnd | None = None
        due = 0.0
        while True:
            now = time.monotonic()
            if question is None and now >= due:
                question = self._asker.submit(self._ask)
            if question is not None and question.done():
                end, before = self._take(question), end
                question = None
                due = time.monotonic() + self._next_interval()
                if end is not None and end == before:
                    self._copy(is_last=True)
                    return end
                if end is not None:  # a requeued job has an end for a moment
                    self._copy_rest()
                    due = 0.0
            if self._stops() > self._stops_served:
                due = 0.0
            self._copy()
            time.sleep(_COPY_S)

    # -- states ----------------------------------------------------------------------------

    def _ask(self) -> list[BatchTask]:
        """Serve a stop, and return the tasks.  Runs in a thread, since Slurm may not answer.

        Raises SlurmError.
        """
        tasks = read_tasks(self._job.job_id, self._job.cluster)
        self._serve_stop(tasks)
        if all(task.is_over for task in tasks):
            tasks += self._read_forgotten(tasks)
        return tasks

    def _read_forgotten(self, tasks: list[BatchTask]) -> list[BatchTask]:
        """Return the ended tasks that the accounting has, and the controller not any more.

        The controller forgets the tasks of an array one by one; where there is no accounting, those
        that it still has are the answer.  Raises SlurmError.
        """
        known = {task.shown_id for task in tasks}
        is_array = any("_" in name for name in (*known, *self._tasks))
        if known and not is_array:
            return []
        try:
            accounted = read_accounted_tasks(self._job.job_id, self._job.cluster)
        except SlurmError as error:
            if is_transient(error) or not known:
                raise
            return []
        found = [task for task in accounted if task.is_over and task.shown_id not in known]
        return [task for task in found if not is_array or "_" in task.shown_id]

    def _take(self, question: Future[list[BatchTask]]) -> JobEnd | None:
        try:
            tasks = question.result()
        except SlurmError as error:
            self._note_once("", f"Slurm does not answer: {error}")
            if is_transient(error):
                return None
            tasks = []
        else:
            self._noted.pop("", None)
        before = self._tasks
        self._tasks = {name: task for name, task in before.items() if task.is_over or not tasks}
        for task in tasks:
            self._tasks[task.shown_id] = _with_paths(task, before.get(task.shown_id))
            self._note_state(task)
            self._start_copies(self._tasks[task.shown_id])
        if not tasks:
            return self._give_up()
        self._forgotten_since = None
        now = list(self._tasks.values())
        self._report_state(now)
        return _end_of(now) if all(task.is_over for task in now) else None

    def _report_state(self, tasks: list[BatchTask]) -> None:
        state = _state_of(self._job.job_id, tasks)
        if self._report is not None and state != self._reported:
            self._reported = state
            self._report(state)

    def _give_up(self) -> JobEnd | None:
        """Return the unknown end of a job that neither controller nor accounting has for long."""
        now = time.monotonic()
        self._forgotten_since = self._forgotten_since or now
        over = [task for task in self._tasks.values() if task.is_over]
        if over and len(over) == len(self._tasks):
            return _end_of(over)
        limit_s = _FORGOTTEN_S if self._tasks else _UNSEEN_S
        if now - self._forgotten_since < limit_s:
            return None
        return JobEnd("UNKNOWN", None)

    def _next_interval(self) -> float:
        """Return the time to the next question: short at first, and while a stop is under way."""
        if self._stops_served:
            return _FIRST_INTERVAL_S
        wait_s = self._wait_s
        self._wait_s = min(self._interval_s, wait_s * 1.5)
        return min(wait_s, self._interval_s)

    def _note_state(self, task: BatchTask) -> None:
        text = f"job {task.shown_id} is {task.state}"
        if task.is_unstarted:
            text += (
                ": Slurm could not start its script; check that the folder of its output exists on "
                "the nodes, and that its user may write there"
            )
        elif task.is_waiting:
            waits = ", and may wait for ever" if task.reason in ENDLESS else ""
            text += f" ({task.reason}){waits}" if task.reason != "None" else ""
        elif task.is_over and task.reason in ENDLESS:
            text += f" ({task.reason})"
        elif not task.is_over and task.nodes:
            text += f" on {task.nodes}"
        self._note_once(task.shown_id, text)

    def _note_once(self, key: str, text: str) -> None:
        if self._noted.get(key) != text:
            self._noted[key] = text
            self._wait_s = _FIRST_INTERVAL_S
            self._note(text)

    # -- a stop ----------------------------------------------------------------------------

    def _serve_stop(self, tasks: list[BatchTask]) -> None:
        """Send the next signal of a stop that is requested to a job with these tasks.

        A request that Slurm refuses, as for a job that ended or was requeued meanwhile, counts as
        sent: it is followed by the next one.  Raises SlurmError if Slurm does not answer.
        """
        stops = self._stops()
        if not stops:
            return
        if self._cancel_at is None:
            runs = any(not task.is_over and not task.is_waiting for task in tasks)
            is_first = runs and self._grace_s > 0 and stops < _SEVERAL_STOPS
            self._request(terminate if is_first else cancel)
            self._cancel_at = time.monotonic() + self._grace_s
            self._stops_served = stops
        elif time.monotonic() >= self._cancel_at or stops >= _SEVERAL_STOPS > self._stops_served:
            self._request(cancel)
            self._cancel_at = time.monotonic() + self._grace_s
            self._stops_served = stops

    def _request(self, send: Callable[[str, str], None]) -> None:
        try:
            send(self._job.job_id, self._job.cluster)
        except SlurmError as error:
            if is_transient(error):
                raise
            self._note_once("stop", str(error))

    # -- output ----------------------------------------------------------------------------

    def _start_copies(self, task: BatchTask) -> None:
        """Follow the files of a task that has started; a waiting one may not have its paths."""
        is_never_started = task.is_over and not task.nodes
        if task.is_waiting or is_never_started or len(self._copies) >= _MOST_FILES:
            return
        targets = [(task.stdout, _STDOUT)]
        if task.stderr != task.stdout:
            targets.append((task.stderr, _STDERR))
        for path, target in targets:
            if path and (path, target) not in self._copies:
                by_lines = len(self._tasks) > 1
                full = os.path.join(task.work_directory, path)
                self._copies[path, target] = OutputCopy(full, target, task.uid, by_lines=by_lines)

    def _copy(self, *, is_last: bool = False) -> int:
        copied = 0
        for (path, _target), copy in self._copies.items():
            try:
                copied += copy.copy(is_last=is_last)
            except OSError as error:  # a full disk: the output is still there, and copied later
                self._note_once("log", f"the output cannot be copied: {error.strerror}")
            if copy.problem:
                self._note_once(path, f"the output {path} cannot be read: {copy.problem}")
        return copied

    def _copy_rest(self) -> None:
        """Copy until no output comes any more."""
        began = quiet_since = time.monotonic()
        while True:
            now = time.monotonic()
            if self._copy():
                quiet_since = now
            missing = self._list_missing()
            limit_s = _LATE_OUTPUT_S if missing else _QUIET_S
            if now - quiet_since >= limit_s or (missing and now - began >= _LATE_OUTPUT_S):
                break
            time.sleep(_COPY_S)
        for path in missing:
            self._note_once(path, f"the output {path} did not appear on this machine")

    def _list_missing(self) -> list[str]:
        """Return the outputs that never appeared; a script that did not start has none."""
        if all(task.is_unstarted for task in self._tasks.values()):
            return []
        return [
            path
            for (path, _target), copy in self._copies.items()
            if not copy.is_found and not copy.problem
        ]


def _with_paths(task: BatchTask, before: BatchTask | None) -> BatchTask:
    """Return a task of the accounting with the paths that the controller named before."""
    if task.stdout or before is None:
        return task
    return replace(task, uid=before.uid, stdout=before.stdout, stderr=before.stderr)


def _end_of(tasks: list[BatchTask]) -> JobEnd:
    worst = max(tasks, key=lambda task: task.exit_status)
    return JobEnd(worst.state, worst.exit_status)


def _state_of(job: str, tasks: list[BatchTask]) -> FollowedState:
    """Return the state for readers of the run; of several tasks one that waits for ever counts."""
    endless = next((one for one in tasks if one.reason in ENDLESS), None)
    shown = endless or tasks[0]
    runs_alone = len(tasks) == 1 and not shown.is_over and not shown.is_waiting
    return FollowedState(
        job,
        shown.state,
        reason="" if endless is None else endless.reason,
        ends_at=shown.ended_at if runs_alone else None,
    )
