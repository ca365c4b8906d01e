"""Connection of a client, within limits: none waits for ever, and there are not too many."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 200
REQUEST_S = 10.0
"""Time for the head of a request; a client that sends it byte by byte is disconnected."""
_LATE_S = 1.0
"""A deadline that is noticed so much later: this server, or the whole machine, stood still."""
STALL_S = 60.0
"""Time for which a client may read nothing of an answer."""


class BoundedConnection(H11Protocol):
    """HTTP connection that is closed when its client is too slow, or one of too many."""

    _request_deadline: asyncio.TimerHandle | None = None
    _stall_deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time for the first request."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
            return
        self._begin_wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadlines."""
        self._cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Pass on bytes; the first bytes of the next request start its time."""
        before = self.cycle
        is_idle = getattr(before, "response_complete", True)  # None before the first request
        if is_idle and self._request_deadline is None:
            self._begin_wait()
        super().data_received(data)
        if self.cycle is not before:  # the head is complete
            self._end_wait()

    def on_response_complete(self) -> None:
        """End the time that a client has for reading."""
        self._end_wait()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Start the time that a client has for reading."""
        super().pause_writing()
        if self._stall_deadline is None:
            self._stall_deadline = self.loop.call_later(STALL_S, self.transport.abort)

    def resume_writing(self) -> None:
        """End the time that a client has for reading."""
        super().resume_writing()
        if self._stall_deadline is not None:
            self._stall_deadline.cancel()
            self._stall_deadline = None

    def _begin_wait(self) -> None:
        due = self.loop.time() + REQUEST_S
        self._request_deadline = self.loop.call_at(due, self._end_late_request, due)

    def _end_late_request(self, due: float) -> None:
        """Close the connection, unless the client could not have been served in that time."""
        if self.loop.time() > due + _LATE_S:
            self._begin_wait()
        else:
            self.transport.abort()

    def _end_wait(self) -> None:
        if self._request_deadline is not None:
            self._request_deadline.cancel()
            self._request_deadline = None

    def _cancel(self) -> None:
        self._end_wait()
        if self._stall_deadline is not None:
            self._stall_deadline.cancel()
            self._stall_deadline = None
