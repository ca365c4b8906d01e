"""The job that an alert is about, prepared for display: its culprit, and one table of its nodes."""

from __future__ import annotations

from gpualert_common.structs import Struct


class JobRow(Struct, frozen=True, kw_only=True):
    """One node of a job, or ``count`` that say the same, such as "gpu[001-748]".

    ``part`` is "culprit", "same cause", "cascade", "healthy" or "unknown".  ``since_root`` is the
    time from the root cause to the failure in words, such as "+3s"; empty if it is not known.
    """

    nodes: str
    count: int
    ranks: str
    state: str
    part: str
    cause: str
    since_root: str
    last_step: str
    is_culprit: bool


class AlertedJob(Struct, frozen=True, kw_only=True):
    """A job: the variable ``job`` of the users' templates (docs/templates.md).

    ``culprit`` is the node with the root cause, ``rank`` its rank; both empty where the cause is
    one of the whole job.  ``culprit_record`` is the place of its record.  ``sender`` is the node
    that sends the alert, with its own log and files; ``is_here`` says that it is the culprit.
    ``number`` is more than 1 for an addition to an alert that named another cause.  ``table`` has
    the rows as lines of text.
    """

    key: str
    name: str
    attempt: int
    number: int
    culprit: str
    rank: str
    culprit_record: str
    is_here: bool
    sender: str
    node_count: int
    expected_nodes: int | None
    rows: tuple[JobRow, ...]
    rows_left: int = 0
    table: tuple[str, ...] = ()

    @property
    def is_addition(self) -> bool:
        """True for an alert that corrects the cause that an earlier one named."""
        return self.number > 1

    @property
    def place(self) -> str:
        """The culprit in words, such as "gpu7 (rank 13)"; empty where there is none."""
        return f"{self.culprit} (rank {self.rank})" if self.culprit and self.rank else self.culprit
