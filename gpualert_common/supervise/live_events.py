"""Events of the classifier while the run is in progress: warnings, and captures to take."""

from __future__ import annotations

import time

from gpualert_common.record import CAPTURE_TAKEN, CAPTURE_WANTED, STACKS_TAKEN, STACKS_WANTED
from gpualert_common.supervise.captures import (
    DUMP_DEADLINE_S,
    PROFILE_DEADLINE_S,
    STACKS,
    CaptureRequest,
    Captures,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from subprocess import Popen
    from typing import Protocol

    from gpualert_common.record import Event
    from gpualert_common.supervise.record_writer import RecordWriter

    class LiveHooks(Protocol):
        """Programs that such events start.  Each may raise OSError and RuntimeError."""

        def start_capture(self, wanted: CaptureRequest) -> Popen[bytes]:
            """Return the program that takes a capture into the record."""

        def send_warnings(self) -> None:
            """Send the warnings that were raised so far; returns at once."""


STACKS_DELAY_S = 10.0
"""A warning waits so long for the stacks that belong to it."""
_ENDED = "the run ended"


class LiveEvents:
    """Appends the events of a classifier to the record, and does what they ask for.

    ``on_warning`` gets each event that is about a warning; ``on_stacks`` is called when a dump for
    which somebody waits is complete.
    """

    def __init__(
        self,
        writer: RecordWriter,
        hooks: LiveHooks,
        on_warning: Callable[[Event], None],
        on_stacks: Callable[[], None] = lambda: None,
    ) -> None:
        self._writer = writer
        self._hooks = hooks
        self._on_warning = on_warning
        self._on_stacks = on_stacks
        self._dumps = Captures(hooks.start_capture, DUMP_DEADLINE_S)
        self._profiles = Captures(hooks.start_capture, PROFILE_DEADLINE_S)  # no dump waits for one
        self._send_by = 0.0

    @property
    def fds(self) -> list[int]:
        """Descriptors that are readable when :meth:`update` has something to do."""
        return [one.fd for one in (self._dumps, self._profiles) if one.fd >= 0]

    def request_stacks(self, reason: str) -> None:
        """Take the stacks, for which somebody waits."""
        self._dumps.request(CaptureRequest(reason, is_awaited=True))

    def update(self, events: Iterable[Event]) -> None:
        """Append new events; take the captures, and send the warnings, that are due."""
        is_news = self.append(events)
        self._take_captures()
        now = time.monotonic()
        if is_news and not self._send_by:
            self._send_by = now + STACKS_DELAY_S
        if self._send_by and (now >= self._send_by or not self._dumps.is_busy):
            self._send_by = 0.0
            self._hooks.send_warnings()

    def append(self, events: Iterable[Event]) -> bool:
        """Append the warnings that were raised and withdrawn; True when people want one now."""
        is_news = False
        for event in events:
            if event.name == STACKS_WANTED:
                pauses = bool(event.fields.get("pause"))
                self._dumps.request(CaptureRequest(event.fields["reason"], is_pausing=pauses))
            elif event.name == CAPTURE_WANTED:
                kind, reason = event.fields["kind"], event.fields["reason"]
                self._profiles.request(CaptureRequest(reason, kind=kind))
            else:
                self._writer.append_event(event.name, event.at, **event.fields)
                is_news = is_news or bool(event.fields.get("news"))
                self._on_warning(event)
        return is_news

    def end(self) -> None:
        """Abandon the captures in progress, since the run has ended, and note that."""
        for wanted, problem in (*self._profiles.stop(_ENDED), *self._dumps.stop(_ENDED)):
            self._note_capture(wanted, problem)

    def stop(self) -> None:
        """Abandon the captures in progress."""
        self._dumps.stop("")
        self._profiles.stop("")

    def _take_captures(self) -> None:
        """Take the captures that are wanted; report the dumps for which somebody waits."""
        for wanted, problem in (*self._profiles.update(), *self._dumps.update()):
            self._note_capture(wanted, problem)
            if wanted.is_awaited:
                self._on_stacks()

    def _note_capture(self, wanted: CaptureRequest, problem: str) -> None:
        if wanted.kind == STACKS:
            self._writer.append_event(STACKS_TAKEN, reason=wanted.reason, problem=problem)
        else:
            self._writer.append_event(
                CAPTURE_TAKEN, kind=wanted.kind, reason=wanted.reason, problem=problem
            )
