"""Events of the classifier while the run is in progress: warnings, captures to take, a hang."""

from __future__ import annotations

import time

from gpualert_common.record import (
    CAPTURE_TAKEN,
    CAPTURE_WANTED,
    STACKS_TAKEN,
    STACKS_WANTED,
    WARNING_RAISED,
)
from gpualert_common.supervise.captures import CaptureRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import deque

    from gpualert_common.record import Event
    from gpualert_common.supervise.captures import Captures
    from gpualert_common.supervise.record_writer import RecordWriter
    from gpualert_common.supervise.recorder_hooks import RecorderHooks
    from gpualert_common.supervise.recorder_link import RecorderLink

HUNG = "hung"
"""Kind of the warning after which a run may be stopped."""
STACKS_DELAY_S = 10.0
"""A warning waits so long for the stacks that belong to it."""


class LiveEvents:
    """Appends the events that the classifier puts into ``events``, and does what they ask for.

    ``stops_hung`` says that a run that hangs is to be stopped.
    """

    def __init__(
        self,
        events: deque[Event],
        writer: RecordWriter,
        dumps: Captures,
        profiles: Captures,
        link: RecorderLink,
        hooks: RecorderHooks,
        *,
        stops_hung: bool,
    ) -> None:
        self._events = events
        self._writer = writer
        self._dumps = dumps
        self._profiles = profiles
        self._link = link
        self._hooks = hooks
        self._stops_hung = stops_hung
        self._send_by = 0.0

    def update(self) -> None:
        """Append new events; take the captures, and send the warnings, that are due."""
        self._take_captures()
        now = time.monotonic()
        if self.append() and not self._send_by:
            self._send_by = now + STACKS_DELAY_S
        if self._send_by and (now >= self._send_by or not self._dumps.is_busy):
            self._send_by = 0.0
            self._hooks.send_warnings()

    def append(self) -> bool:
        """Append the warnings that were raised and withdrawn; True when people want one now."""
        is_news = False
        while self._events:
            event = self._events.popleft()
            if event.name == STACKS_WANTED:
                pauses = bool(event.fields.get("pause"))
                self._dumps.request(CaptureRequest(event.fields["reason"], is_pausing=pauses))
                continue
            if event.name == CAPTURE_WANTED:
                kind, reason = event.fields["kind"], event.fields["reason"]
                self._profiles.request(CaptureRequest(reason, kind=kind))
                continue
            self._writer.append_event(event.name, event.at, **event.fields)
            is_news = is_news or bool(event.fields.get("news"))
            is_hang = event.name == WARNING_RAISED and event.fields.get("kind") == HUNG
            if is_hang and self._stops_hung:
                self._link.send({"kind": "hang"})
        return is_news

    def _take_captures(self) -> None:
        """Take the captures that are wanted; report the dumps for which a stop waits."""
        for wanted, problem in self._profiles.update():
            self._writer.append_event(
                CAPTURE_TAKEN, kind=wanted.kind, reason=wanted.reason, problem=problem
            )
        for wanted, problem in self._dumps.update():
            self._writer.append_event(STACKS_TAKEN, reason=wanted.reason, problem=problem)
            if wanted.is_awaited:
                self._link.send({"kind": "stacks_taken"})
