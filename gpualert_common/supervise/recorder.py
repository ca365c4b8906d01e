"""The scribe: everything a run needs of a disk, a classifier or a terminal once it is launched.

The supervisor may not wait for any of these, so the scribe does: a forked process under the CLI (a
process stuck in a disk's uninterruptible sleep cannot be reaped, and would take the status with
it), a thread inside a caller's process.  Both speak over a :class:`~.recorder_link.RecorderLink`:

=====================  ======================================================
to the scribe          event (to be written down), ended (with the ending)
to the supervisor      request and look (from ``control/``), recorded, done
=====================  ======================================================
"""

from __future__ import annotations

import errno
import os
import select
import time

from gpualert_common.codec import encode
from gpualert_common.record import EXIT, INDEX, SPEC, VERDICT
from gpualert_common.spec import SCHEMA, Ending
from gpualert_common.supervise.forwarder import Forwarder
from gpualert_common.supervise.helper_process import HelperProcess
from gpualert_common.supervise.live_classifier import LiveClassifier
from gpualert_common.supervise.log_finalization import settle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from subprocess import Popen
    from typing import Any

    from gpualert_common.launch.log_file import LogFile
    from gpualert_common.model import Verdict
    from gpualert_common.record import Record
    from gpualert_common.supervise.live_classifier import LogClassifier
    from gpualert_common.supervise.recorder_link import RecorderLink

TICK_S = 0.25
VERDICT_DEADLINE_S = 5.0
READER_STALL_S = 10.0
"""A reader of our output that took nothing for so long after the end is given up."""
LAST_LOOK_S = 0.2
"""So long a run that failed waits for a last look at its machine."""
BEAT_S = 5.0
REMEMBERED_S = 1.0
"""A shorter run trained nothing; a caller that makes many of them would feel it."""
_INDEX_LEAST_S = 1.0
_INDEX_SHARE = 1 / 1000
"""Entries of the index are at least this part of the run's age apart: some 9,000 in 30 days."""


class RecorderHooks:
    """What a scribe is given besides the record: how to judge, where to show, what to say.

    ``evidence`` makes the classifier (None: no classification); ``forwards`` maps log names to
    descriptors; ``say`` turns the verdict into words for a person, printed on ``say_fd`` after the
    ``greeting``.  ``looks`` says that somebody has to know whether the run is followed.  ``beside``
    starts processes that look at something else once the run has lasted for a moment; they are
    ended with the run.  ``sender_for`` says by the verdict what a sender of alerts is needed for,
    if any; ``late`` is called when the supervisor could not wait for that.  ``warn`` has people
    told of what cannot wait for the end; it returns at once.  ``shared`` holds how
    far each log was forwarded, in memory that a second scribe shares with one that died.
    """

    __slots__ = (
        "beside",
        "evidence",
        "forwards",
        "greeting",
        "late",
        "looks",
        "say",
        "say_fd",
        "sender_for",
        "shared",
        "warn",
    )

    def __init__(
        self,
        evidence: Callable[[], LogClassifier] | None = None,
        *,
        forwards: dict[str, int] | None = None,
        say: Callable[[Verdict | None, Ending], str] | None = None,
        say_fd: int = 2,
        greeting: str = "",
        looks: bool = False,
        beside: Mapping[str, Callable[[], Popen[bytes]]] | None = None,
        sender_for: Callable[[Verdict | None], str] = lambda _verdict: "",
        late: Callable[[], None] = lambda: None,
        warn: Callable[[], None] = lambda: None,
        shared: memoryview | None = None,
    ) -> None:
        self.shared = memoryview(bytearray(16)).cast("Q") if shared is None else shared
        self.evidence = evidence
        self.forwards = forwards or {}
        self.say = say
        self.say_fd = say_fd
        self.greeting = greeting
        self.looks = looks
        self.beside = beside or {}
        self.sender_for = sender_for
        self.late = late
        self.warn = warn


class Recorder:
    """Writes the record of one run.  :meth:`run` returns when the run is told or the link ends."""

    def __init__(
        self,
        record: Record,
        launch_record: dict[str, Any],
        logs: list[LogFile],
        plan: RecorderHooks,
        link: RecorderLink,
    ) -> None:
        self._record = record
        self._launch_record = launch_record
        self._logs = logs
        self._plan = plan
        self._link = link
        self._ended: dict[str, Any] | None = None
        self._disk_full = False
        self._dropped = 0
        self._index_due = 0.0
        self._beat_due = 0.0
        self._index_sizes: list[int] = []
        self._beside = [HelperProcess(name, start) for name, start in plan.beside.items()]
        self._analyst = LiveClassifier(logs, plan.evidence) if plan.evidence else None
        self._forwarders = [
            Forwarder(log, plan.forwards[log.name], plan.shared, slot)
            for slot, log in enumerate(logs)
            if log.name in plan.forwards
        ]
        self.verdict: Verdict | None = None

    def run(self) -> None:
        """Follow the run to its end.  Never raises."""
        try:
            self._run()
        except Exception:  # noqa: BLE001 - the boundary: no fault of ours reaches the supervisor
            import traceback

            self._note("scribe_failed", problem=traceback.format_exc(limit=-3))
        finally:
            self._link.close()

    def _run(self) -> None:
        for forwarder in self._forwarders:
            forwarder.start()
        self._print(self._plan.greeting)
        self._read_link()
        if self._ended is None:
            if self._analyst is not None:
                self._analyst.start()
            self._follow()
        if self._ended is not None:
            self._finish(Ending.from_json(self._ended["ending"]))

    # -- while it runs ---------------------------------------------------------------------

    def _follow(self) -> None:
        poll = select.poll()
        poll.register(self._link.read_fd, select.POLLIN)
        while self._ended is None and not self._link.closed:
            poll.poll(TICK_S * 1000)
            self._read_link()
            self._link.flush()
            self._pass_on_requests()
            if self._plan.looks:
                self._look_at_leases()
            self._look_at_logs()
            if self._write_warnings():
                self._plan.warn()
            for beside in self._beside:
                problem = beside.see_to(self._age_s)
                if problem:
                    self._note("not_started", what=beside.name, problem=problem)

    def _read_link(self) -> None:
        for message in self._link.receive():
            if message["kind"] == "ended":
                self._ended = message
            else:
                self._note(message["event"], at=message["at"], **message["fields"])

    def _pass_on_requests(self) -> None:
        try:
            for request in self._record.requests():
                self._note("request", request=request)
                self._link.send({"kind": "request", "request": request})
                self._record.forget(request)  # last: one that comes twice is known by its name
        except OSError:
            pass  # on a full or failing disk; what is pending is seen again

    def _look_at_leases(self) -> None:
        """A look counts only when those who cannot see our lock can see that it was taken."""
        try:
            if self._record.removed:
                self._link.send({"kind": "look", "leases": None})
                return
            now = time.monotonic()
            if now >= self._beat_due:
                self._record.beat()
                self._beat_due = now + BEAT_S
            self._link.send({"kind": "look", "leases": self._record.leases()})
        except OSError:
            pass  # and no look: the record is gone, or its disk is full

    def _look_at_logs(self) -> None:
        for log in self._logs:
            change = log.tampering()
            if change is not None:
                self._note(**change)
            if log.disk_full:
                self._note_full_disk()
        self._add_to_index()

    def _write_warnings(self) -> bool:
        """Write down what the analyst saw come and go; True where people should hear of it."""
        news = False
        while self._analyst is not None and self._analyst.events:
            event = self._analyst.events.popleft()
            self._note(**event)
            news = news or bool(event.get("news"))
        return news

    def _note_full_disk(self) -> None:
        if not self._disk_full:
            self._disk_full = True
            self._note("log_disk_full", sizes_bytes={log.name: log.size for log in self._logs})

    @property
    def _age_s(self) -> float:
        """Of the run, in seconds."""
        return float(time.time() - self._launch_record["created_at"])

    def _add_to_index(self) -> None:
        age_s = self._age_s
        sizes = [log.size for log in self._logs]
        if age_s < self._index_due or sizes == self._index_sizes:
            return
        self._index_due = age_s + max(_INDEX_LEAST_S, age_s * _INDEX_SHARE)
        self._index_sizes = sizes
        try:
            self._record.append(INDEX, f"{age_s:.3f} " + " ".join(map(str, sizes)))
        except OSError:
            pass  # the index only helps to find a place by time

    # -- at the end ------------------------------------------------------------------------

    def _finish(self, ending: Ending) -> None:
        for forwarder in self._forwarders:
            forwarder.finish()
        self._record_exit(ending)
        self._link.send({"kind": "recorded"})
        for beside in self._beside:
            beside.end(LAST_LOOK_S if ending.code != 0 else 0.0)
        if ending.code != 0:
            self._look_at_logs()
        self._settle_logs()
        self.verdict = self._conclude(ending)
        self._drain()
        self._say(ending)
        for beside in self._beside:
            beside.reap()
        remembered = (ending.ended_at or 0.0) - ending.started_at >= REMEMBERED_S
        if remembered:
            self._leave_for_history(ending)
        sender = self._plan.sender_for(self.verdict)
        self._link.send({"kind": "done", "sender": sender})
        if self._link.unheard:  # the supervisor went without us, and knew of no end to tell
            self._plan.late()
        self._release_reserve()
        if remembered:
            self._settle_history()

    def _record_exit(self, ending: Ending) -> None:
        assert self._ended is not None
        fields = {**ending.to_json(), "survivors": self._ended["survivors"]}
        self._store(EXIT, fields, sync=True)
        if not self._record.has(SPEC):  # whoever removed it was met by what we wrote meanwhile
            self._store(SPEC, self._launch_record)
            self._note("record_removed")

    def _store(self, name: str, value: dict[str, Any], *, sync: bool = False) -> None:
        """Write one of the last files of the record, which is made anew if it was removed."""
        try:
            try:
                full = self._record.store(name, value, sync=sync)
            except FileNotFoundError:
                self._record.restore(self._launch_record)
                self._note("record_removed")
                full = self._record.store(name, value, sync=sync)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            self._note("not_recorded", file=name, problem=error.strerror)
        if full:
            self._note_full_disk()

    def _conclude(self, ending: Ending) -> Verdict | None:
        if self._analyst is None or self._ended is None:
            return None
        facts = {
            "survivors": self._ended["survivors"],
            "log_disk_full": self._disk_full or bool(self._dropped),
            "log_dropped_bytes": self._dropped,
            "log_path": self._logs[-1].current_path,
        }
        verdict = self._analyst.conclude(ending, facts, VERDICT_DEADLINE_S)
        self._write_warnings()
        if verdict is None:
            import traceback

            error = self._analyst.problem
            lines = traceback.format_exception(error, limit=-3) if error else []
            self._note("classifier_failed", problem="".join(lines))
            return None
        self._store(VERDICT, encode(verdict))
        return verdict

    def _settle_logs(self) -> None:
        for event, fields in settle(self._logs, self._record):
            self._dropped += fields["size_bytes"] if event == "log_dropped" else 0
            self._note(event, **fields)

    def _release_reserve(self) -> None:
        """Last, since nobody waits for it; not while survivors may still write."""
        assert self._ended is not None
        self._record.release_spare()
        if self._launch_record["reserved_bytes"] and not self._ended["survivors"]:
            for log in self._logs:
                log.release_reserve()

    @property
    def _place(self) -> str:
        """The state directory."""
        return os.path.dirname(os.path.dirname(self._record.path))

    def _leave_for_history(self, ending: Ending) -> None:
        """Have the run wait for the history: whoever waits for us may end the process we are in."""
        try:
            from gpualert_common.history import leave, past_run

            run = past_run(self._launch_record, ending.to_json(), self.verdict)
            if run is not None:
                leave(self._place, run)
        except Exception as error:  # noqa: BLE001 - the boundary: what comes next is waited for
            self._note("history", problem=str(error) or type(error).__name__)

    def _settle_history(self) -> None:
        """Last, since nobody waits for it."""
        from gpualert_common.history import settle

        problem = settle(self._place)
        if problem:
            self._note("history", problem=problem)

    def _drain(self) -> None:
        """Give the reader of our output what it is still due, for as long as it takes any."""
        while True:
            pending = [forwarder for forwarder in self._forwarders if not forwarder.finished]
            if not pending:
                return
            last_progress = max(forwarder.progress_at for forwarder in pending)
            if time.monotonic() - last_progress > READER_STALL_S:
                left = sum(forwarder.left_bytes for forwarder in pending)
                self._note("reader_stalled", left_bytes=left)
                return
            self._link.send({"kind": "draining"})
            time.sleep(0.002)

    # -- saying things ---------------------------------------------------------------------

    def _say(self, ending: Ending) -> None:
        lost = [str(one.problem) for one in self._forwarders if one.problem is not None]
        if lost:
            self._note("output_lost", problems=lost)
        if self._plan.say is None:
            return
        words = self._plan.say(self.verdict, ending)
        words += "".join(f"gpualert: output not passed on: {problem}\n" for problem in lost)
        cut = any(forwarder.in_mid_line for forwarder in self._forwarders)
        self._print("\n" * cut + words)

    def _note(self, event: str, at: float | None = None, **fields: Any) -> None:
        try:
            self._record.append_event(event, at, **fields)
        except OSError:
            pass  # the disk is full or gone; exit.json is tried all the same

    def _print(self, text: str) -> None:
        if text:
            try:
                os.write(self._plan.say_fd, text.encode("utf-8", "replace"))
            except OSError:
                pass


def note(event: str, **fields: Any) -> dict[str, Any]:
    """The message that has the scribe write an event down."""
    return {"kind": "event", "event": event, "at": time.time(), "fields": fields}


def ended(ending: Ending, survivors: list[dict[str, Any]]) -> dict[str, Any]:
    """The message that ends a run."""
    return {"kind": "ended", "ending": ending.to_json(), "survivors": survivors, "schema": SCHEMA}
