"""What an attempt does about the run before it: looks, decides, acts, and looks again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from signal import SIGTERM
from typing import Any

from gpualert_common import recover as recovery
from gpualert_common.errors import GPUAlertError, GuardianError, RecordError
from gpualert_common.guardian.attempt import Attempt, Predecessor, TakeoverAction, decide
from gpualert_common.guardian.keys import Key
from gpualert_common.guardian.launch import follower, settle
from gpualert_common.guardian.lease import LeaseRenewer
from gpualert_common.guardian.run_location import fence_s
from gpualert_common.processes.marker import run_marker
from gpualert_common.processes.tree import ProcessTree
from gpualert_common.record import EXIT, SPEC, SUCCESSOR, Record, make_directory
from gpualert_common.spec import SCHEMA, Ending, RunSpec
from gpualert_common.supervise.stop import Stop

_POLL_S = 0.1
_ANSWER_S = 5.0
"""For a guardian to answer a request: it looks four times a second."""
_MOST_ENDINGS = 3


class Takeover:
    """One attempt at a key whose lock it holds."""

    def __init__(
        self,
        key: Key,
        spec: RunSpec,
        attempt: Attempt,
        tell: Callable[[str], None],
        check: Callable[[], None],
    ) -> None:
        self._key = key
        self._spec = spec
        self._attempt = attempt
        self._tell = tell
        self._check = check
        self._told: set[str] = set()
        self._fingerprint = attempt.fingerprint or settle(spec, attempt)["custody"]["fingerprint"]
        self._beat = (-1, time.monotonic())
        self._asked: set[str] = set()
        self._endings = 0
        self._began = time.monotonic()

    def settle(self) -> tuple[Record | None, str, LeaseRenewer | None]:
        """The run that is this attempt's now, how it came by it, and its lease.

        No record: nothing is left of earlier runs, and a new one may be launched.
        """
        before = self._attempt.before
        paths = self._key.runs()
        if before is not None and before.record not in paths:
            paths.insert(0, before.record)  # it may live, and what is known here is older
        for path in paths:
            found = self._settle_one(path)
            if found is not None:
                return found
        return None, "launched", None

    def _settle_one(self, path: str) -> tuple[Record, str, LeaseRenewer | None] | None:
        while True:
            record, before = self._look(path)
            if record is None:
                self._end_unrecorded(path)
                self._outwait(path)
                return None
            step = decide(before, self._attempt.number)
            if step is TakeoverAction.LAUNCH:
                if before.state == "lost":
                    self._complete(record)
                self._supersede(record)
                return None
            if step is TakeoverAction.FENCE:
                self._fence(record)
                return None
            taken = self._take(record, step)
            if taken is not None:
                return taken
            self._make_way(record, step, before)
            self._check()
            time.sleep(_POLL_S)

    def _take(
        self, record: Record, step: TakeoverAction
    ) -> tuple[Record, str, LeaseRenewer | None] | None:
        if step is TakeoverAction.CLAIM and record.claim(self._attempt.owner, self._attempt.number):
            self._say(f"run {record.run_id} ended unseen; its result is taken")
            return record, "claimed", None
        if step is TakeoverAction.ADOPT:
            keeper = self._adopt(record)
            if keeper is not None:
                return record, "adopted", keeper
        return None

    def _make_way(self, record: Record, step: TakeoverAction, before: Predecessor) -> None:
        if step is TakeoverAction.STOP:
            self._ask_to_stop(record)
        elif step is TakeoverAction.END_REMAINS:
            self._end_remains(record)
        elif step is TakeoverAction.WAIT:
            self._wait(record.run_id, before)

    def _wait(self, name: str, before: Predecessor) -> None:
        self._say(f"run {name} is {before.state}; waiting for it")
        waited_s = time.monotonic() - self._began
        live = before.state == "running" and not before.far
        too_late = self._attempt.number < before.number
        if live and (too_late or waited_s > self._attempt.lease_s + _ANSWER_S):
            raise GuardianError(
                f"run {name} is followed by attempt {before.number} of the same task, and this is "
                f"attempt {self._attempt.number}: a later one may take it over, this one may not"
            )

    # -- looking ---------------------------------------------------------------------------

    def _look(self, path: str) -> tuple[Record | None, Predecessor]:
        """The run as its record tells; no record when that cannot be read and nobody holds it."""
        record = None
        try:
            record = Record.open(path)
            return record, self._read(record)
        except RecordError as error:
            if record is not None and record.held:
                raise
            self._say(f"{error}; no result can be had of it")
            return None, Predecessor("lost")

    def _read(self, record: Record) -> Predecessor:
        spec = record.read_json(SPEC)
        if spec is None:  # its guardian died, or has yet to begin
            return Predecessor("starting" if record.held else "lost")
        agreed = spec.get("custody") or {}
        far = bool(recovery.elsewhere(record))
        state = record.state
        ending = record.ending  # after the state: an end that comes between is then known, too
        events = list(record.events())
        if far and state == "lost":
            state = record.told_state  # its lock cannot be seen from here
        numbers = [event["number"] for event in events if event.get("event") == "adopted"]
        return Predecessor(
            state,
            number=numbers[-1] if numbers else agreed.get("number", 0),
            same=agreed.get("fingerprint") == self._fingerprint,
            known=ending is not None and ending.exit_code is not None,
            claimed=record.claimed_by is not None,
            stopped=_was_stopped(ending, events),
            remains=not far and _leaves_remains(record, state),
            far=far,
            silent=far and self._is_silent(record),
        )

    def _is_silent(self, record: Record) -> bool:
        """True when no beat was seen for as long as the fence, by our own clock."""
        agreed = record.spec.get("custody") or {}
        beat, since = self._beat
        if record.last_beat() != beat:
            self._beat = (record.last_beat(), time.monotonic())
            return False
        limit_s = fence_s(agreed.get("lease_s", 0.0), record.spec.get("grace_s"))
        return bool(time.monotonic() - since > limit_s)

    # -- acting ----------------------------------------------------------------------------

    def _adopt(self, record: Record) -> LeaseRenewer | None:
        """Ask to adopt it and keep its lease; None when the answer was no, or none came."""
        guardian = record.spec.get("supervisor_pid", 0)
        far = bool(recovery.elsewhere(record))
        keeper = LeaseRenewer(record, self._attempt, 0 if far else guardian)
        try:
            request = record.request(
                "adopt",
                owner=self._attempt.owner,
                number=self._attempt.number,
                fingerprint=self._fingerprint,
                adopt_within_s=self._attempt.adopt_within_s,
                lease_s=self._attempt.lease_s,
                follower=follower(),
            )
            deadline = time.monotonic() + _ANSWER_S
            while time.monotonic() < deadline and (record.held or far):
                answer = _answer(record, request, self._attempt.owner)
                if answer is not None:
                    if answer:
                        self._say(f"adopted run {record.run_id}, which went on alone")
                        return keeper
                    break
                self._check()
                time.sleep(_POLL_S)
        except BaseException:
            keeper.close()
            raise
        keeper.close()
        return None

    def _ask_to_stop(self, record: Record) -> None:
        if record.run_id not in self._asked:
            self._asked.add(record.run_id)
            self._say(f"run {record.run_id} is of another command; it is ended first")
            because = "another attempt of the task runs another command"
            sender = {"pid": os.getpid(), "meant_as": "cancelled", "because": because}
            record.request("stop", sender=sender)

    def _end_remains(self, record: Record) -> None:
        self._say(f"nobody supervises run {record.run_id}; ending what lives of it")
        self._count_ending(record.run_id)
        self._complete(record)

    def _end_unrecorded(self, path: str) -> None:
        """End a run by its mark, its result taken before: a frozen attempt may yet come for it."""
        name = os.path.basename(path)
        if _is_marked(name) and os.path.isdir(os.path.dirname(path)):
            make_directory(path)  # where its guardian will make the record anew
            Record.open(path).claim(self._attempt.owner, self._attempt.number)
        while _is_marked(name):
            self._say(f"run {name} has no record any more; ending what lives of it")
            self._count_ending(name)
            Stop(
                ProcessTree(None, run_marker(name)), SIGTERM, self._spec.grace_s, time.monotonic()
            ).complete()

    def _outwait(self, path: str) -> None:
        """Wait until a run that nothing here can see has ended, as its host promised."""
        before = self._attempt.before
        if before is None or before.record != path or not before.elsewhere:
            return
        self._say(
            f"run {os.path.basename(path)} on {before.elsewhere} cannot be seen from here; it has "
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
                "disk?); nothing was launched beside them"
            )

    def _complete(self, record: Record) -> None:
        try:
            recovery.end_abandoned(record, self._spec.grace_s)
        except (GPUAlertError, OSError) as error:
            self._say(f"the record of run {record.run_id} cannot be completed: {error}")

    def _supersede(self, record: Record) -> None:
        """What is held of its alerts is not needed any more: ours will tell."""
        value = {"number": self._attempt.number, "at": time.time()}
        try:
            record.write_json(SUCCESSOR, {"schema": SCHEMA, **value})
        except OSError as error:
            self._say(f"an alert of run {record.run_id} may come beside ours: {error}")

    def _fence(self, record: Record) -> None:
        place = recovery.elsewhere(record)
        self._say(f"run {record.run_id} on {place} was silent for the length of its fence")
        record.request("fence", number=self._attempt.number)

    def _say(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._tell(text)


def _answer(record: Record, request: str, owner: str) -> bool | None:
    for event in record.events():
        if event.get("event") == "adopted" and event.get("owner") == owner:
            return True
        if event.get("event") == "request_refused":
            refused = event.get("request")
            if isinstance(refused, dict) and refused.get("file") == request:
                return False
    return None


def _was_stopped(ending: Ending | None, events: list[dict[str, Any]]) -> bool:
    """By either: on a full disk the event may be missing, and before the end the ending is."""
    told = ending is not None and (ending.signal is not None or ending.limit is not None)
    return told or any(event.get("event") == "stopping" for event in events)


def _leaves_remains(record: Record, state: str) -> bool:
    """True when processes live that nobody ends any more; what outlives a normal end may."""
    if state == "ended":
        survivors = (record.read_json(EXIT) or {}).get("survivors")
        return bool(survivors) and record.told_state == "stopping" and recovery.is_alive(record)
    return state == "lost" and recovery.is_alive(record)


def _is_marked(run_id: str) -> bool:
    members = ProcessTree(None, run_marker(run_id)).members()
    for process in members:
        process.close()
    return bool(members)
