"""Reports of watchdogs: how far each rank came in each process group, as a log has it.

A watchdog prints the number of the last collective that its rank enqueued and completed when one
of them times out, or when it learns that one of another rank did.  It also names the operation that
timed out, in another line without the group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpualert_common.classify.observations import Observation
from gpualert_common.structs import Struct

_MOST = 4096
_DEFAULT_GROUP = "0"
"""Name that PyTorch gives to the first group, which all ranks form."""


class WatchdogReport(Struct, frozen=True):
    """The newest numbers of one rank in one group.

    ``sequence`` is the number of the collective that it waits in, and ``operation`` its name, ""
    where no line has it.
    """

    rank: int
    group: str
    group_name: str
    enqueued: int
    completed: int
    sequence: int
    operation: str = ""


class WatchdogReports:
    """Collects the reports of one log, the newest of each rank and group."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, str], WatchdogReport] = {}
        self._operations: dict[tuple[int, int], str] = {}

    def add(self, observations: Iterable[Observation]) -> None:
        """Take the observations of a line."""
        for one in observations:
            if "last_enqueued" in one.details:
                self._add_numbers(one.rank, one.details)
            elif {"operation", "sequence", "reporting_rank"} <= one.details.keys():
                rank = one.rank if one.rank is not None else int(one.details["reporting_rank"])
                if len(self._operations) < _MOST:
                    place = (rank, int(one.details["sequence"]))
                    self._operations.setdefault(place, one.details["operation"].lower())

    def list_reports(self) -> tuple[WatchdogReport, ...]:
        """Return the reports, with the operations that timed out."""
        return tuple(
            WatchdogReport(
                one.rank,
                one.group,
                one.group_name,
                one.enqueued,
                one.completed,
                one.sequence,
                self._operations.get((one.rank, one.sequence), ""),
            )
            for one in self._found.values()
        )

    def _add_numbers(self, rank: int | None, details: Mapping[str, str]) -> None:
        group = details.get("process_group", _DEFAULT_GROUP)
        if rank is None and group == _DEFAULT_GROUP and "group_rank" in details:
            rank = int(details["group_rank"])  # in other groups it is not the rank in the job
        if rank is None or ((rank, group) not in self._found and len(self._found) >= _MOST):
            return
        self._found[rank, group] = WatchdogReport(
            rank,
            group,
            details.get("group_name", ""),
            int(details["last_enqueued"]),
            int(details["last_completed"]),
            int(details.get("sequence", int(details["last_completed"]) + 1)),
        )
