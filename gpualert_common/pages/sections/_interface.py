"""The interface of a section of a report.

A section is a module in this folder, whose ``SECTION`` is a :class:`Section`, and a template of the
same name in ``templates/sections``.  Its name is its anchor in the page.
"""

from __future__ import annotations

from collections.abc import Callable

from gpualert_common.pages.reported_run import ReportedRun
from gpualert_common.structs import Struct

SHARES = (1.0, 0.5, 0.25, 0.1, 0.03)
"""Room of each attempt to make a section."""


class Room(Struct, frozen=True):
    """The share of its usual number of items that a section may show, from 1 down.

    A section that turns out larger than its limit is made again with less room.
    """

    share: float = 1.0

    @property
    def is_full(self) -> bool:
        """True the first time that a section is made."""
        return self.share >= 1.0

    def limit(self, most: int) -> int:
        """Return the number of items that may be shown where ``most`` is the usual limit."""
        return max(1, int(most * self.share))


class Section(Struct, frozen=True):
    """One section of a report, in ascending ``order``.

    ``collect`` returns the content that its template shows as ``content``: texts that have passed
    the sanitizer of the run, or None where the record has nothing for the section.  Its HTML never
    has more than ``most_bytes``.
    """

    title: str
    order: int
    most_bytes: int
    collect: Callable[[ReportedRun, Room], Struct | None]
