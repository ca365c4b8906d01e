"""A run's output and the messages around it, on descriptors of our own."""

from __future__ import annotations

import os
import select
import time

from gpualert_common.printable_text import format_messages
from gpualert_common.supervise.forwarder import Forwarder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gpualert_common.launch.log_file import LogFile
    from gpualert_common.model import Verdict
    from gpualert_common.spec import Ending

    ClosingText = Callable[[Verdict | None, Ending, bool], str]
    """Makes the closing message of the verdict, the ending, and True for a late verdict."""

READER_STALL_S = 10.0
"""A reader that takes nothing for so long after the end of the run is given up."""
_DRAIN_POLL_S = 0.002
_STDERR = 2


class TerminalOutput:
    """Copies logs to descriptors, with a message before and after them; by default shows nothing.

    ``targets`` maps log names to descriptors.  ``greeting`` is printed on stderr at the start,
    and a closing message at the end; ``make_closing_text`` is called once, and may import heavy
    modules.  ``offsets`` holds how far each log was copied, in memory that a replacement recorder
    shares with the one that died.
    """

    def __init__(
        self,
        targets: Mapping[str, int] | None = None,
        *,
        greeting: str = "",
        make_closing_text: Callable[[], ClosingText] | None = None,
        offsets: memoryview | None = None,
    ) -> None:
        self._targets = targets or {}
        self._greeting = greeting
        self._make_closing_text = make_closing_text
        self._closing_text: ClosingText | None = None
        self._offsets = memoryview(bytearray(16)).cast("Q") if offsets is None else offsets
        self._forwarders: list[Forwarder] = []

    def start(self, logs: Sequence[LogFile]) -> None:
        """Start to copy the logs, and print the greeting."""
        self._forwarders = [
            Forwarder(log, self._targets[log.name], self._offsets, slot)
            for slot, log in enumerate(logs)
            if log.name in self._targets
        ]
        for forwarder in self._forwarders:
            forwarder.start()
        _print(self._greeting)

    def prepare(self) -> None:
        """Do the slow work for the closing message that needs no verdict, once."""
        if self._closing_text is None and self._make_closing_text is not None:
            self._closing_text = self._make_closing_text()

    def finish(self) -> None:
        """Copy the logs up to their present end, then stop; returns at once."""
        for forwarder in self._forwarders:
            forwarder.finish()

    def drain(self, on_wait: Callable[[], None]) -> int | None:
        """Wait until the readers have taken everything, for as long as they take anything.

        Calls ``on_wait`` again and again.  Returns the number of bytes left when the readers
        stall, None when nothing is left.
        """
        while pending := [one for one in self._forwarders if not one.finished]:
            last_progress = max(forwarder.progress_at for forwarder in pending)
            if time.monotonic() - last_progress > READER_STALL_S:
                return sum(forwarder.left_bytes for forwarder in pending)
            on_wait()
            time.sleep(_DRAIN_POLL_S)
        return None

    @property
    def problems(self) -> list[str]:
        """Errors that ended the copying of a log."""
        return [str(one.problem) for one in self._forwarders if one.problem is not None]

    def print_closing(self, verdict: Verdict | None, ending: Ending, *, is_late: bool) -> None:
        """Print the message about the end of the run, on a line of its own."""
        self.prepare()
        if self._closing_text is None:
            return
        text = self._closing_text(verdict, ending, is_late)
        text += format_messages(*(f"output not passed on: {one}" for one in self.problems))
        is_cut = any(forwarder.in_mid_line for forwarder in self._forwarders)
        _print("\n" * is_cut + text)


def print_if_ready(text: str) -> None:
    """Print a short message on stderr, unless its reader has stalled; never blocks."""
    poll = select.poll()
    poll.register(_STDERR, select.POLLOUT)
    try:
        if any(event == select.POLLOUT for _fd, event in poll.poll(0)):
            _print(text)
    except OSError:
        pass


def _print(text: str) -> None:
    if text:
        try:
            os.write(_STDERR, text.encode("utf-8", "replace"))
        except OSError:
            pass  # nobody reads it
