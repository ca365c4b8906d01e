"""Takes over, or ends, the run that an earlier attempt at the same task left."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from signal import SIGTERM

from gpualert_common import recover as recovery
from gpualert_common.errors import GPUAlertError, GuardianError, RecordError
from gpualert_common.guardian.attempt import Attempt, Predecessor, TakeoverAction, choose_action
from gpualert_common.guardian.follower import describe_follower
from gpualert_common.guardian.keys import Key
from gpualert_common.guardian.launch import resolve_spec
from gpualert_common.guardian.lease import LeaseRenewer
from gpualert_common.guardian.predecessor import PredecessorReader, has_live_processes
from gpualert_common.model import RunPlace
from gpualert_common.processes.marker import run_marker
from gpualert_common.processes.tree import ProcessTree
from gpualert_common.record import SPEC, SUCCESSOR, Record, RunState, make_directory
from gpualert_common.report.wording import describe_place
from gpualert_common.slurm.submissions.follower_command import submission_path
from gpualert_common.spec import SCHEMA, RunSpec
from gpualert_common.supervise.stop import Stop

Taken = tuple[Record, str, LeaseRenewer | None]
"""A run, how the attempt got it, and its lease."""

_POLL_S = 0.1
_ANSWER_S = 5.0
"""For a guardian to answer a request: it looks four times a second."""
_MOST_ENDINGS = 3


class Takeover:
    """One attempt at a key whose lock it holds: reads the earlier run, decides, acts, repeats."""

    def __init__(
        self,
        key: Key,
        spec: RunSpec,
        attempt: Attempt,
        log: Callable[[str], None],
        check: Callable[[], None],
    ) -> None:
        self._key = key
        self._spec = spec
        self._attempt = attempt
        self._log = log
        self._check = check
        agreed = resolve_spec(spec, attempt)["custody"]
        self._fingerprint = attempt.fingerprint or agreed["fingerprint"]
        self._reader = PredecessorReader(self._fingerprint)
        self._logged: set[str] = set()
        self._stopped: set[str] = set()
        self._endings = 0
        self._began = time.monotonic()

    def take_over(self) -> tuple[Record | None, str, LeaseRenewer | None]:
        """Return the run that is this attempt's now, how the attempt got it, and its lease.

        No record: nothing is left of earlier runs, and a new one may be launched.
        """
        before = self._attempt.before
        paths = self._key.runs()
        if before is not None and before.record not in paths:
            paths.insert(0, before.record)  # it may live; the runs known here are older
        for path in paths:
            taken = self._take_over(path)
            if taken is not None:
                return taken
        return None, "launched", None

    def _take_over(self, path: str) -> Taken | None:
        """Return the run at ``path`` once it is taken, None once nothing is left of it."""
        while True:
            record, before = self._read(path)
            if record is None:
                self._end_unrecorded(path)
                self._await_unseen_end(path)
                return None
            taken = None
            match choose_action(before, self._attempt.number):
                case TakeoverAction.LAUNCH if self._completes_job(record, before):
                    continue
                case TakeoverAction.LAUNCH:
                    self._mark_superseded(record)
                    return None
                case TakeoverAction.FENCE:
                    self._request_fence(record)
                    return None
                case TakeoverAction.CLAIM:
                    taken = self._claim(record)
                case TakeoverAction.ADOPT:
                    taken = self._adopt(record)
                case TakeoverAction.STOP:
                    self._request_stop(record)
                case TakeoverAction.END_PROCESSES:
                    self._end_processes(record)
                case TakeoverAction.WAIT:
                    self._wait(record.run_id, before)
            if taken is not None:
                return taken
            self._check()
            time.sleep(_POLL_S)

    def _read(self, path: str) -> tuple[Record | None, Predecessor]:
        """Return the run; without a record when that is unreadable and no guardian holds it."""
        record = None
        try:
            record = Record.open(path)
            return record, self._reader.read(record)
        except RecordError as error:
            if record is not None and record.is_held:
                raise
            self._log_once(f"{error}; its result is lost")
            return None, Predecessor(RunState.LOST)

    # -- taking it -------------------------------------------------------------------------

    def _claim(self, record: Record) -> Taken | None:
        if not record.claim(self._attempt.owner, self._attempt.number):
            return None
        self._log_once(f"run {record.run_id} ended while nobody followed it; its result is taken")
        return record, "claimed", None

    def _adopt(self, record: Record) -> Taken | None:
        """Adopt the run and keep its lease; None when the guardian refuses or does not answer."""
        guardian = record.spec.supervisor_pid
        is_remote = recovery.is_remote(record)
        lease = LeaseRenewer(record, self._attempt, 0 if is_remote else guardian)
        try:
            request = record.request(
                "adopt",
                owner=self._attempt.owner,
                number=self._attempt.number,
                fingerprint=self._fingerprint,
                adopt_within_s=self._attempt.adopt_within_s,
                lease_s=self._attempt.lease_s,
                follower=describe_follower(),
            )
            if self._await_adoption(record, request, is_remote=is_remote):
                self._log_once(f"adopted run {record.run_id}, which went on alone")
                return record, "adopted", lease
        except BaseException:
            lease.close()
            raise
        lease.close()
        return None

    def _await_adoption(self, record: Record, request: str, *, is_remote: bool) -> bool:
        deadline = time.monotonic() + _ANSWER_S
        while time.monotonic() < deadline and (record.is_held or is_remote):
            answer = _read_answer(record, request, self._attempt.owner)
            if answer is not None:
                return answer
            self._check()
            time.sleep(_POLL_S)
        return False

    # -- ending it -------------------------------------------------------------------------

    def _wait(self, name: str, before: Predecessor) -> None:
        """Raises GuardianError when the run belongs to an attempt that this one cannot replace."""
        self._log_once(f"run {name} is {before.state}; waiting for it")
        waited_s = time.monotonic() - self._began
        is_live = before.state is RunState.RUNNING and not before.is_remote
        is_too_late = self._attempt.number < before.number
        if is_live and (is_too_late or waited_s > self._attempt.lease_s + _ANSWER_S):
            raise GuardianError(
                f"run {name} belongs to a later attempt of the same task"
                if is_too_late
                else f"run {name} still belongs to another attempt of the same task"
            )

    def _request_stop(self, record: Record) -> None:
        if record.run_id not in self._stopped:
            self._stopped.add(record.run_id)
            self._log_once(f"run {record.run_id} is of another command; it is stopped first")
            because = "another attempt of the task runs another command"
            sender = {"pid": os.getpid(), "meant_as": "cancelled", "because": because}
            record.request("stop", sender=sender)

    def _request_fence(self, record: Record) -> None:
        spec = record.spec
        place = describe_place(recovery.locate(spec), spec.host)
        self._log_once(f"run {record.run_id} on {place} was silent for the length of its fence")
        record.request("fence", number=self._attempt.number)

    def _end_processes(self, record: Record) -> None:
        self._log_once(f"nobody supervises run {record.run_id}; ending its live processes")
        self._count_ending(record.run_id)
        self._complete(record)

    def _end_unrecorded(self, path: str) -> None:
        """End a run by its mark, with its result claimed first: its own attempt may be frozen."""
        name = os.path.basename(path)
        if has_live_processes(name) and os.path.isdir(os.path.dirname(path)):
            make_directory(path)  # where its guardian creates the record anew
            Record.open(path).claim(self._attempt.owner, self._attempt.number)
        while has_live_processes(name):
            self._log_once(f"run {name} has no record any more; ending its live processes")
            self._count_ending(name)
            tree = ProcessTree(None, run_marker(name))
            Stop(tree, SIGTERM, self._spec.grace_s, time.monotonic()).complete()

    def _await_unseen_end(self, path: str) -> None:
        """Wait until a run that cannot be seen from here has ended, as its host promised."""
        before = self._attempt.before
        if before is None or before.record != path or before.place is RunPlace.HERE:
            return
        place = describe_place(before.place, before.host)
        self._log_once(
            f"run {os.path.basename(path)} on {place} cannot be seen from here; it has "
            f"ended in {before.ends_within_s:.0f} s, waiting for that"
        )
        until = time.monotonic() + before.ends_within_s
        while time.monotonic() < until:
            self._check()
            time.sleep(_POLL_S)

    def _count_ending(self, name: str) -> None:
        self._endings += 1
        if self._endings > _MOST_ENDINGS:
            raise GuardianError(
                f"processes of run {name} cannot be ended, not even by SIGKILL (a stuck driver or "
                "disk?); nothing else was launched"
            )

    # -- its record ------------------------------------------------------------------------

    def _completes_job(self, record: Record, before: Predecessor) -> bool:
        """Complete a lost record; True for a job of Slurm whose status is known now.

        Its follower outlived the guardian.
        """
        if before.state is not RunState.LOST:
            return False
        self._complete(record)
        return _is_ended_job(record)

    def _complete(self, record: Record) -> None:
        try:
            recovery.finish_abandoned(record, self._spec.grace_s)
        except (GPUAlertError, OSError) as error:
            self._log_once(f"the record of run {record.run_id} cannot be completed: {error}")

    def _mark_superseded(self, record: Record) -> None:
        """Retire the held alerts of the earlier run: this attempt's alert replaces them."""
        if not record.has(SPEC):
            return  # it was never launched, or a damaged pointer names another directory
        value = {"number": self._attempt.number, "at": time.time()}
        try:
            record.write_json(SUCCESSOR, {"schema": SCHEMA, **value})
        except OSError as error:
            self._log_once(f"an alert of run {record.run_id} may come in addition to ours: {error}")

    def _log_once(self, text: str) -> None:
        if text not in self._logged:
            self._logged.add(text)
            self._log(text)


def _is_ended_job(record: Record) -> bool:
    """Return True for a job of Slurm whose exit status was recorded without a guardian."""
    if not record.has(SPEC) or submission_path(record.spec.command) is None:
        return False
    return record.ending is not None and record.ending.exit_code is not None


def _read_answer(record: Record, request: str, owner: str) -> bool | None:
    """Return the guardian's answer to a request to adopt, None before it answers."""
    for event in record.events():
        if event.name == "adopted" and event.fields.get("owner") == owner:
            return True
        if event.name == "request_refused":
            refused = event.fields.get("request")
            if isinstance(refused, dict) and refused.get("file") == request:
                return False
    return None
