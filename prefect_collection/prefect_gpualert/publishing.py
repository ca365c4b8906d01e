"""The schedule of a training's artifacts and events in Prefect, and how long a task waits for them.

They are made and posted in threads that end with the process.  None of them is essential, since the
record has all of it: no fault of Prefect's API reaches the task, and an API that does not answer
delays it for at most DEADLINE_S.
"""

from __future__ import annotations

import contextlib
import contextvars
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from prefect_gpualert.artifact_places import take_place
from prefect_gpualert.run_identity import RunIdentity, current_identity

if TYPE_CHECKING:
    from gpualert_common.record import Record
    from prefect_gpualert.api_posts import Poster

DEADLINE_S = 5.0
"""Time for which the end of a task waits for all posts together."""
PROGRESS_S = 10.0
"""Time between two updates of a training's progress."""
TIMELINE_S = 60.0
"""Time between two pictures of a training's timeline."""
_DRAWN_SHARE = 0.05
"""Most of the time that is spent on pictures: those of a training of a month take seconds."""
_POLL_S = 0.25
_MOST_PROBLEM = 300

Log = Callable[[str, int], None]
Secrets = Mapping[str, Mapping[str, str]]


class Publication:
    """The artifacts and the events of one training; see :func:`begin`.

    Use it in the thread of the task, whose context identifies the run.  Raises nothing except the
    errors of a caller's ``check``.
    """

    def __init__(
        self, record: Record, identity: RunIdentity | None, log: Log, secrets: Secrets
    ) -> None:
        self._record = record
        self._identity = identity
        self._place = None if identity is None else take_place(identity)
        self._log = log
        self._known = [secret for channel in secrets.values() for secret in channel.values()]
        self._poster: Poster | None = None
        self._making = threading.Lock()
        self._progress = _Updates(PROGRESS_S)
        self._timeline = _Updates(TIMELINE_S)
        self._within_s = 0.0
        self._deadline = 0.0
        self._end_done: list[threading.Event] = []
        self._has_reported = False

    def publish_progress(self) -> None:
        """Begin to publish the progress and the timeline of the training, if an update is due."""
        if self._identity is None:
            return
        if self._progress.is_due():
            self._progress.begin(self._start(lambda poster: poster.post_progress()))
        if self._timeline.is_due():
            self._timeline.begin(self._start(self._post_timeline))

    def _post_timeline(self, poster: Poster) -> None:
        began = time.monotonic()
        try:
            poster.post_timeline()
        finally:
            self._timeline.put_off((time.monotonic() - began) / _DRAWN_SHARE)

    def publish_end(self, within_s: float | None = None) -> None:
        """Begin to publish the verdict of the training, after it is in the record.

        ``within_s`` is the longest time that :meth:`wait` may take.
        """
        if self._identity is None or self._deadline:
            return
        within_s = DEADLINE_S if within_s is None else min(within_s, DEADLINE_S)
        self._within_s = within_s
        self._deadline = time.monotonic() + within_s
        progress, timeline = self._progress.done, self._timeline.done

        def post_timeline(poster: Poster) -> None:
            timeline.wait(DEADLINE_S)
            poster.post_timeline()

        self._end_done = [
            self._start(lambda poster: poster.post_end(lambda: progress.wait(DEADLINE_S))),
            self._start(post_timeline),
        ]

    def wait(self, check: Callable[[], None] = lambda: None) -> None:
        """Wait until all is published, or until the deadline; publishing then continues.

        ``check`` is called several times a second, and may raise to stop the wait.
        """
        for done in self._end_done:
            while not done.wait(min(_POLL_S, max(0.0, self._deadline - time.monotonic()))):
                check()
                if time.monotonic() >= self._deadline:
                    self._report(f"it was not posted within {self._within_s:.3g} s")
                    return

    def _start(self, work: Callable[[Poster], None]) -> threading.Event:
        """Start the work in a daemon thread; return an event that is set at its end."""
        done = threading.Event()

        def run() -> None:
            try:
                context.run(lambda: work(self._obtain_poster()))
            except BaseException as error:  # noqa: BLE001 - the top of a thread
                self._report(error)
            finally:
                done.set()

        try:
            context = contextvars.copy_context()  # with the API and the run
            threading.Thread(target=run, name="gpualert-publish", daemon=True).start()
        except Exception as error:  # noqa: BLE001 - no thread can start
            self._report(error)
            done.set()
        return done

    def _obtain_poster(self) -> Poster:
        from prefect_gpualert.api_posts import Poster  # slow to import

        with self._making:
            if self._poster is None:
                assert self._identity is not None, "without an identity nothing is started"
                assert self._place is not None, "as above"
                self._poster = Poster(self._record, self._identity, self._place, self._known)
            return self._poster

    def _report(self, problem: str | BaseException) -> None:
        """Log once that something is missing in Prefect."""
        if self._has_reported:
            return
        self._has_reported = True
        with contextlib.suppress(Exception, SystemExit):
            if isinstance(problem, BaseException):
                from gpualert_common.redact import Redactor

                problem = " ".join(f"{type(problem).__name__}: {problem}".split())
                problem = Redactor(self._known).mask_text(problem)[:_MOST_PROBLEM]
            run_id = self._record.run_id
            message = f"Prefect does not show all of training {run_id} yet: {problem}"
            self._log(message, logging.WARNING)


def begin(record: Record, log: Log, secrets: Secrets | None = None) -> Publication:
    """Return the publication of a training that has just been launched or adopted.

    ``log`` logs a line at a level if something cannot be published.  ``secrets``, those of its
    channels, are masked.  Outside of task runs and flow runs nothing is published.
    """
    identity = None
    with contextlib.suppress(Exception):  # another Prefect may have other contexts
        identity = current_identity()
    return Publication(record, identity, log, secrets or {})


class _Updates:
    """Updates that are made now and then, one at a time."""

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._due_at = time.monotonic() + every_s
        self.done = threading.Event()
        """Set while no update is being made."""
        self.done.set()

    def is_due(self) -> bool:
        """Return True if the time for an update has come, and the last one is done."""
        return time.monotonic() >= self._due_at and self.done.is_set()

    def begin(self, done: threading.Event) -> None:
        """Note that an update has begun, and the event of its end."""
        self.done = done
        self._due_at = max(self._due_at, time.monotonic() + self._every_s)

    def put_off(self, least_s: float) -> None:
        """Make no update for so many seconds."""
        self._due_at = max(self._due_at, time.monotonic() + least_s)
