"""The handle that an engine's task holds of its run: launch or take over, follow, wait, stop."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from signal import SIGTERM
from typing import TYPE_CHECKING, Literal, Self

from gpualert_common.abandoned_runs import finish_abandoned_runs
from gpualert_common.api import RunResult
from gpualert_common.errors import GuardianError
from gpualert_common.guardian import result
from gpualert_common.guardian.alert_waiter import AlertWaiter, alert_deadline
from gpualert_common.guardian.attempt import Attempt
from gpualert_common.guardian.launcher import ObtainedRun, Prepare, obtain_run
from gpualert_common.guardian.lease import LeaseRenewer
from gpualert_common.guardian.run_follower import RunFollower
from gpualert_common.listing.lookup import find_record
from gpualert_common.processes.marker import run_marker
from gpualert_common.processes.tree import ProcessTree
from gpualert_common.record import Record
from gpualert_common.record_locations import list_places
from gpualert_common.spec import RunSpec
from gpualert_common.supervise.stop import Stop

if TYPE_CHECKING:
    from gpualert_common.end_record import Sender
    from gpualert_common.notify.entry import EntryFields

StopKind = Literal["cancelled", "preempted", "timeout"]


class RunHandle:
    """A run that lives in a guardian, as one attempt at a task holds it.

    ``origin`` is how this attempt got it: "launched", "adopted" (the attempt before it died, and
    the training did not), "claimed" (it ended while nobody followed), or "attached" (another
    attempt's: it can be watched, and stopped as a person would).  Use as a context manager, or call
    :meth:`close`: that ends the lease, and the guardian does what was agreed for a run without a
    follower.
    """

    def __init__(
        self, record: Record, origin: str, attempt: Attempt | None, lease: LeaseRenewer | None
    ) -> None:
        self.origin = origin
        self._attempt = attempt
        self._lease = lease
        self._follower = RunFollower(record, attempt, lease, is_new=origin == "launched")
        self.tried: list[tuple[str, str]] = []
        """Places that had no room for the record, as (place, error)."""

    # -- getting one -----------------------------------------------------------------------

    @classmethod
    def launch(
        cls,
        spec: RunSpec,
        attempt: Attempt | None = None,
        *,
        log: Callable[[str], None] = lambda _text: None,
        check: Callable[[], None] = lambda: None,
        on_handle: Callable[[Self], None] = lambda _handle: None,
        prepare: Prepare | None = None,
    ) -> Self:
        """Launch the run, or take over the run that an earlier attempt of the same key left.

        A live run of the same command is adopted, a result that nobody has taken is claimed; a run
        that is stopping, or of another command, is waited for first, and ``log`` gets a message.
        Without an ``attempt`` the run belongs to nobody and goes on until it ends or is stopped.
        ``check`` is called ten times a second while it waits, and may raise to give up;
        ``on_handle`` gets the handle before anything is launched, for a signal handler that stops
        the run; ``prepare`` replaces ``spec`` by the run to launch, where no run is taken over.

        Raises UsageError and NoDurableLogError when nothing could be launched, GuardianError when
        no guardian started or the earlier run stands in the way, RecordError when that one cannot
        be read.  Any other exception that lands in here (a time-out, KeyboardInterrupt) ends the
        new run before it gets out.
        """
        begun: list[Self] = []

        def take(run: ObtainedRun) -> None:
            handle = cls(run.record, run.origin, attempt, run.lease)
            handle.tried = list(run.tried)
            begun.append(handle)
            on_handle(handle)

        try:
            obtain_run(spec, attempt, take, log=log, check=check, prepare=prepare)
            if begun[0].origin != "launched":  # the recorder of a new run does it
                finish_abandoned_runs(list_places(spec.state_dir))
            return begun[0]
        except BaseException as error:
            for handle in begun:
                handle.stop("its launch was interrupted")
                handle.close()
            if isinstance(error, OSError) and error.errno is not None:
                raise GuardianError(f"no run was launched or taken over: {error}") from error
            raise  # also an engine's time-out that is a TimeoutError, which is an OSError

    @classmethod
    def attach(cls, run: str, state_dir: str | None = None) -> Self:
        """Watch any run: a run id, the start of one, a name, a path, or "last".

        Raises UsageError when there is no such run, RecordError when it cannot be trusted.
        """
        return cls(
            find_record(run, list_places(state_dir)),
            "attached",
            None,
            None,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    # -- following -------------------------------------------------------------------------

    @property
    def record(self) -> Record:
        """The run's record."""
        return self._follower.record

    @property
    def run_id(self) -> str:
        """The run's name."""
        return self.record.run_id

    @property
    def log_path(self) -> str:
        """Path of the log, or stderr's where the streams are apart."""
        return self.log_paths[-1]

    @property
    def log_paths(self) -> tuple[str, ...]:
        """Paths of all logs; stdout comes before stderr."""
        return self.record.log_paths

    def wait_for_pid(self) -> int | None:
        """Wait for the launch; return the command's process, None where none was started."""
        return self._follower.wait_for_pid()

    def follow(self) -> Iterator[list[str]]:
        """Yield new lines of the log, decoded, without their ends, until the run has ended.

        Yields at least every 0.25 s, an empty list when there is nothing new, so that the caller
        can do other things in between.  The lines are bounded and rate-limited
        (:mod:`.log_view`); the child never waits for them.  Raises as :meth:`wait` does.
        """
        for new in self.follow_logs():
            yield [line for lines in new.values() for line in lines]

    def follow_logs(self) -> Iterator[dict[str, list[str]]]:
        """Yield as :meth:`follow` does, with the new lines of each log under its name, and those of
        stacks under "stacks"."""
        return self._follower.follow_logs()

    def wait(self, timeout_s: float | None = None) -> RunResult:
        """Return how the run ended; the result then belongs to this attempt and to no other.

        Raises TimeoutError when it still runs after ``timeout_s``, SupersededError when a later
        attempt took it over.  A run whose guardian died has no known status: its live processes are
        ended, gracefully, and its ``exit_code`` is None unless it was recorded.
        """
        return self._follower.wait(timeout_s)

    # -- stopping --------------------------------------------------------------------------

    def stop(
        self, reason: str, *, meant_as: StopKind = "cancelled", grace_s: float | None = None
    ) -> None:
        """Ask the guardian for a graceful end, and return at once.

        ``reason`` completes "it was stopped because ..."; ``meant_as`` becomes the disposition.

        Safe in a signal handler, from any thread, and any number of times: the caller touches no
        disk.  The run is not adopted any more, and its result not claimed by a later attempt.
        """
        sender: Sender = {
            "pid": os.getpid(),
            "uid": os.getuid(),
            "because": reason,
            "meant_as": meant_as,
        }
        lease = self._lease
        if lease is not None:
            lease.stop(sender, grace_s)
        elif self._follower.result is None and self.record.is_held:
            own = {} if self._attempt is None else {"owner": self._attempt.owner}
            self.record.request("stop", sender=sender, grace_s=grace_s, **own)

    def end_survivors(self, grace_s: float) -> None:
        """End the processes that a run left behind; they get so long to exit by themselves."""
        Stop(
            ProcessTree(None, run_marker(self.run_id)), SIGTERM, grace_s, time.monotonic()
        ).complete()

    # -- after the end ---------------------------------------------------------------------

    def record_outcome(
        self, state: str, *, final: bool, next_within_s: float | None = None
    ) -> bool:
        """Record what the task became: ``final`` when no further attempt follows.

        ``next_within_s`` is how long after the end of the run the next attempt begins at the
        latest; its alert is held so long.  False when that could not be written.
        """
        assert self._attempt is not None, "an attached run belongs to somebody else"
        return result.write_outcome(
            self.record, self._attempt, state, final=final, next_within_s=next_within_s
        )

    def await_alerts(
        self,
        *,
        within_s: float | None = None,
        secrets: Mapping[str, Mapping[str, str]] | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> list[EntryFields]:
        """Wait until the alerts of the run are sent, held or given up; return their fields.

        Call it after :meth:`record_outcome`.  The guardian sends them; when it has died this
        process does, with the spec's ``secrets``.  Waits no longer than the run's
        ``notify_deadline`` and ``within_s``, and raises only what the caller's signal handlers or
        ``check``, which is called many times a second, raise.
        """
        deadline = alert_deadline(self.record, within_s)
        return AlertWaiter(self.record, secrets).wait(deadline, check)

    def hand_over(self, within_s: float) -> None:
        """Leave the run alone for so long, for the next attempt to adopt, and close.

        Raises OSError when the request cannot be written.
        """
        assert self._attempt is not None, "an attached run belongs to somebody else"
        self.record.request("handover", owner=self._attempt.owner, within_s=within_s)
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_lease"):
            self.close()

    def close(self) -> None:
        """End the lease, once the requests to the guardian are on their way.

        With a run that still goes on, the guardian then does what was agreed for a run without a
        follower.
        """
        lease = self._lease
        if lease is not None:
            lease.close()
            self._lease = self._follower.lease = None
