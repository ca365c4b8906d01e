"""The artifacts of each training of this process: their keys, and their ids once they exist.

Prefect shows the artifacts of one key as versions of each other, and a mapped task run has no index
in it.  So the trainings of one task in one flow run are numbered in the order of their submission:
that of the ids of their task runs, which begin with the time.
"""

from __future__ import annotations

import threading
from collections import Counter
from enum import StrEnum
from uuid import UUID

from gpualert_common.structs import Struct, field
from prefect_gpualert.contexts import current
from prefect_gpualert.run_identity import RunIdentity

_MOST_GROUPS = 1000
_lock = threading.Lock()


class ArtifactKind(StrEnum):
    """An artifact of a training; the value is the end of its key."""

    VERDICT = ""
    """The page of the progress, and then of the verdict."""
    EVIDENCE = "-evidence"
    PROGRESS = "-progress"
    TIMELINE = "-timeline"
    REPORT = "-report"


class _Group(Struct):
    """The trainings of one task in one attempt of a flow run."""

    places: dict[tuple[str, int], ArtifactPlace] = field(default_factory=dict)
    """By the id of the task run, and the number of the training in it."""
    launches: Counter[tuple[str, int]] = field(default_factory=Counter)
    """By the id of the task run, and the number of its attempt."""


_groups: dict[tuple[UUID | None, int, str], _Group] = {}


class ArtifactPlace:
    """The artifacts of one training; all of its attempts in this process share them."""

    def __init__(self, slug: str, group: _Group, order: tuple[str, int]) -> None:
        self.ids: dict[ArtifactKind, UUID] = {}
        self._slug = slug
        self._group = group
        self._order = order
        self.number = 0
        """Its number in the group; 0 until something asks for its key."""

    @property
    def key(self) -> str:
        """The key of its verdict, which ends in its number from the second training on.

        It is asked for when something is published.  The trainings that were submitted before this
        one have begun by then, except on a busy machine: then their numbers follow.
        """
        with _lock:
            if not self.number:
                taken = {place.number for place in self._group.places.values()}
                self.number = sorted(self._group.places).index(self._order) + 1
                while self.number in taken:
                    self.number += 1
            number = f"-{self.number}" if self.number > 1 else ""
        return f"gpualert-{self._slug}{number}"

    def key_of(self, kind: ArtifactKind) -> str:
        """Return the key of one of its artifacts."""
        return f"{self.key}{kind}"


def take_place(identity: RunIdentity) -> ArtifactPlace:
    """Return the place of a training that the current run launches."""
    task, flow = current()
    attempt = 0 if flow is None or flow.flow_run is None else flow.flow_run.run_count
    run, run_attempt = str(identity.task_run_id or ""), task.task_run.run_count if task else 0
    with _lock:
        group = _groups.setdefault((identity.flow_run_id, attempt, identity.slug), _Group())
        order = run, group.launches[run, run_attempt]
        group.launches[run, run_attempt] += 1
        place = group.places.setdefault(order, ArtifactPlace(identity.slug, group, order))
        while len(_groups) > _MOST_GROUPS:
            del _groups[next(iter(_groups))]
    return place
