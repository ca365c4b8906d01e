"""The source of a rank's trace: its file, and the process that wrote it."""

from __future__ import annotations

from gpualert_common.structs import Struct


class TraceSource(Struct, frozen=True):
    """The trace file of one process: ``rank`` is its label, as ``rank:0`` or ``leader``.

    ``pid`` is 0 where it is not known.
    """

    rank: str
    pid: int
    path: str
