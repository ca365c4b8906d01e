"""Messages to send, and a record of the arrived parts, for tests of single channels."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from gpualert_common.model import Attachment
from gpualert_common.notify.message import Budget, Message

TEXT = (
    "Training failed: CUDA out of memory.\n\nZeile mit Ümlaut, and one\n.that begins with a dot\n"
)
HTML = "<p>Training failed: <b>CUDA out of memory</b>, größer</p>\n"
LOG = bytes(range(256)) * 8 + b"\r\nlast line without an end"
IDENTITY = "<20261121-093000-abc.failed@gpualert.example.org>"
THREAD = "<task-1234@gpualert.example.org>"
AT = 1_795_253_400.0


@dataclass
class Arrived:
    """Parts that have arrived."""

    parts: list[str] = field(default_factory=list)

    def has(self, part: str) -> bool:
        """True when the part was marked."""
        return part in self.parts

    def mark(self, part: str) -> None:
        """Mark the part."""
        self.parts.append(part)


def attachment(name: str = "output.log", content: bytes = LOG) -> Attachment:
    """Return a file that is not text."""
    return Attachment(name, content, "text/plain")


def composer(
    *files: Attachment,
    subject: str = "[failed] train.py on node1",
    text: str = TEXT,
    html: str | None = HTML,
    budgets: list[Budget] | None = None,
) -> Callable[[Budget], Message]:
    """Return a composer that stays in its budget by cutting the text and omitting the last files.

    Each budget that it is called with is added to ``budgets``.
    """

    def compose(budget: Budget) -> Message:
        if budgets is not None:
            budgets.append(budget)
        return Message(
            id=IDENTITY,
            thread=THREAD,
            at=AT,
            subject=subject,
            text=text.encode()[: budget.text_bytes].decode(errors="ignore"),
            html=html if html is not None and len(html.encode()) <= budget.html_bytes else None,
            attachments=tuple(_within(files, budget)),
        )

    return compose


def _within(files: Sequence[Attachment], budget: Budget) -> list[Attachment]:
    taken: list[Attachment] = []
    left = budget.files_bytes
    for file in files[: budget.files]:
        if len(file.content) <= min(left, budget.file_bytes):
            taken.append(file)
            left -= len(file.content)
    return taken


@contextmanager
def alarm(after_s: float) -> Iterator[type[BaseException]]:
    """Raise the yielded exception in the main thread after that time."""

    class OutOfTimeError(BaseException):
        pass

    def ring(_number: int, _frame: object) -> None:
        raise OutOfTimeError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, after_s)
    try:
        yield OutOfTimeError
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
