"""State of a job that is followed, as its follower saw it last: ``state.json`` of the submission.

It is for readers of the run: nothing that has to survive a crash depends on it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from gpualert_common.codec import decode_valid, encode
from gpualert_common.errors import RecordError
from gpualert_common.quantities import Time
from gpualert_common.record.directory import Directory
from gpualert_common.slurm.submissions.follower_command import submission_path
from gpualert_common.spec import SCHEMA
from gpualert_common.structs import Struct

_FILE = "state.json"
_MOST_BYTES = 64 << 10
_HOLDS = frozenset(("JobHeldUser", "JobHeldAdmin"))
ENDLESS = frozenset(
    (
        "DependencyNeverSatisfied",
        "PartitionDown",
        "PartitionInactive",
        "BadConstraints",
        *_HOLDS,
    )
)
"""Reasons for which a job may wait for ever."""


class FollowedState(Struct, frozen=True):
    """A job, or the tasks of an array together.

    ``reason`` is that for which it waits for ever, or, of a job that Slurm cancelled, waited.
    ``ends_at`` is the time at which the limit of a job that runs is reached; it is not known of an
    array, whose tasks differ.
    """

    job: str = ""
    state: str = ""
    reason: str = ""
    ends_at: Time | None = None
    schema: int = SCHEMA

    @property
    def waits_for_ever(self) -> bool:
        """True for a wait that ends only if somebody ends it, except for one that a person ordered
        by holding the job."""
        return self.state == "PENDING" and self.reason in ENDLESS.difference(_HOLDS)


def store_followed_state(path: str, state: FollowedState) -> None:
    """Store the state in the submission at *path*; a full disk costs only the state."""
    with contextlib.suppress(OSError, RecordError):
        directory = Directory.open(path)
        try:
            directory.write_json(_FILE, encode(state))
        finally:
            directory.close()


def read_followed_state(command: Sequence[str]) -> FollowedState | None:
    """Return the state of the job that the follower with this command follows; None for any other
    command, and where nothing is known yet or the file is damaged."""
    path = submission_path(command)
    if path is None:
        return None
    try:
        directory = Directory.open(path)
        try:
            fields = directory.read_json(_FILE, _MOST_BYTES)
        finally:
            directory.close()
        return None if fields is None else decode_valid(FollowedState, fields, path)
    except (RecordError, OSError):
        return None
