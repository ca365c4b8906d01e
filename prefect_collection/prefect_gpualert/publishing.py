"""When people get to see something of a training in Prefect, and for how long a task waits for it.

What they see is made and posted in threads that end with the process.  None of it is needed, since
the record has it all: no fault of Prefect's API reaches the task, and one that never answers holds
it for no longer than DEADLINE_S.
"""

from __future__ import annotations

import contextlib
import contextvars
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from prefect_gpualert.owner import Owner, current_owner

if TYPE_CHECKING:
    from gpualert_common.record import Record
    from prefect_gpualert.api_posts import Poster

DEADLINE_S = 5.0
"""How long the end of a task waits for all of it."""
PROGRESS_S = 15.0
"""Between two looks at how far a training has come."""
_LOOK_S = 0.25
_MOST_SAID = 300

Tell = Callable[[str, int], None]
Secrets = Mapping[str, Mapping[str, str]]


class Publication:
    """What is published of one training; see :func:`begin`.

    To be used in the thread of the task, whose context says what the artifacts belong to.  Nothing
    here raises, but for the ``check`` of others.
    """

    def __init__(self, record: Record, owner: Owner | None, tell: Tell, secrets: Secrets) -> None:
        self._record = record
        self._owner = owner
        self._tell = tell
        self._known = [secret for channel in secrets.values() for secret in channel.values()]
        self._poster: Poster | None = None
        self._making = threading.Lock()
        self._look_at = time.monotonic() + PROGRESS_S
        self._within_s = 0.0
        self._deadline = 0.0
        self._shown = _over()
        self._ended = _over()
        self._is_told = False

    def look(self) -> None:
        """Show how far the training has come, when it is time to; to be called at leisure."""
        if self._owner is None or time.monotonic() < self._look_at or not self._shown.is_set():
            return
        self._look_at = time.monotonic() + PROGRESS_S
        self._shown = self._start(lambda poster: poster.show_progress())

    def end(self, within_s: float | None = None) -> None:
        """Begin to publish how the training ended, once the record says so.

        ``within_s`` is how long :meth:`wait` may take at most.
        """
        if self._owner is None or self._deadline:
            return
        within_s = DEADLINE_S if within_s is None else min(within_s, DEADLINE_S)
        self._within_s = within_s
        self._deadline = time.monotonic() + within_s
        shown = self._shown
        self._ended = self._start(lambda poster: poster.show_end(lambda: shown.wait(DEADLINE_S)))

    def wait(self, check: Callable[[], None] = lambda: None) -> None:
        """Until all is published, or the time for it is over; then it may still be, later.

        ``check`` is called several times a second, and may raise to give up.
        """
        while not self._ended.wait(min(_LOOK_S, max(0.0, self._deadline - time.monotonic()))):
            check()
            if time.monotonic() >= self._deadline:
                self._trouble(f"the API has not taken it within {self._within_s:.3g} s")
                return

    def _start(self, work: Callable[[Poster], None]) -> threading.Event:
        """Work in a thread that nobody has to wait for; the event is set when it is over."""
        over = threading.Event()

        def run() -> None:
            try:
                context.run(lambda: work(self._its_poster()))
            except BaseException as error:  # noqa: BLE001 - above is nobody but the interpreter
                self._trouble(error)
            finally:
                over.set()

        try:
            context = contextvars.copy_context()  # where the API is, and who runs here
            threading.Thread(target=run, name="gpualert-publish", daemon=True).start()
        except Exception as error:  # noqa: BLE001 - there is no thread to be had
            self._trouble(error)
            over.set()
        return over

    def _its_poster(self) -> Poster:
        from prefect_gpualert.api_posts import Poster  # what it needs takes a moment to import

        with self._making:
            if self._poster is None:
                assert self._owner is not None, "without one nothing is started"
                self._poster = Poster(self._record, self._owner, self._known)
            return self._poster

    def _trouble(self, what: str | BaseException) -> None:
        """Say once that something is missing."""
        if self._is_told:
            return
        self._is_told = True
        with contextlib.suppress(Exception, SystemExit):
            if isinstance(what, BaseException):
                from gpualert_common.redact import Redactor

                what = " ".join(f"{type(what).__name__}: {what}".split())
                what = Redactor(self._known).mask_text(what)[:_MOST_SAID]
            told = f"Prefect does not show all of training {self._record.run_id} yet: {what}"
            self._tell(told, logging.WARNING)


def begin(record: Record, tell: Tell, secrets: Secrets | None = None) -> Publication:
    """The publication of a training that has just begun, or been adopted.

    ``tell`` logs a line at a level, if something cannot be published.  ``secrets``, those of its
    channels, are masked.  Outside of a task run and a flow run nothing is published.
    """
    owner = None
    with contextlib.suppress(Exception):  # Prefect's contexts are not what they were
        owner = current_owner()
    return Publication(record, owner, tell, secrets or {})


def _over() -> threading.Event:
    over = threading.Event()
    over.set()
    return over
