"""A message as a channel gets it, and its budget.  Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from gpualert_common.model import Attachment, ReportForm
from gpualert_common.structs import Struct

AttributeValue = str | int | float


class Severity(StrEnum):
    """Severity of an alert, by the names of OpenTelemetry."""

    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"


class AlertEvent(Struct, frozen=True):
    """The event that an alert is about, for programs; everything in it is redacted."""

    name: str
    severity: Severity
    host: str
    attributes: Mapping[str, AttributeValue]


class Budget(Struct, frozen=True):
    """The size limits of one message of a channel, in bytes.

    ``text_bytes`` bounds the text, and ``html_bytes`` the HTML (0: none), in UTF-8; ``files_bytes``
    bounds all attachments together, ``file_bytes`` each one, before any encoding; ``files`` is how
    many there may be (0: none).  ``brief`` asks for the short form that chats take; ``report`` is
    the form in which the report of the run is attached.
    """

    text_bytes: int
    html_bytes: int = 0
    files_bytes: int = 0
    file_bytes: int = 0
    files: int = 0
    brief: bool = False
    report: ReportForm = ReportForm.NONE


class Message(Struct, frozen=True):
    """One alert, composed for one budget; everything in it is redacted.

    ``id`` is the stable Message-ID of (run, event), with its angle brackets, ``thread`` that of the
    thread that all attempts at the same task share (None: it is a thread of its own), ``at`` the
    time of the event in seconds since the epoch, ``event`` the same alert for programs (None: it
    could not be made).
    """

    id: str
    thread: str | None
    at: float
    subject: str
    text: str
    html: str | None = None
    attachments: tuple[Attachment, ...] = ()
    event: AlertEvent | None = None
