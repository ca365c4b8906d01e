"""The task run and the flow run that a training belongs to, with their names in Prefect."""

from __future__ import annotations

import hashlib
import unicodedata
from uuid import UUID

from gpualert_common.structs import Struct
from prefect_gpualert.contexts import current

_MOST_NAME = 60


class RunIdentity(Struct, frozen=True):
    """A task run or a flow run.

    ``slug`` is the same for every run of a task in a flow; keys of artifacts end in it.
    """

    flow_run_id: UUID | None
    task_run_id: UUID | None
    name: str
    slug: str

    @property
    def resource_id(self) -> str:
        """The id of the resource in Prefect's events."""
        if self.task_run_id is not None:
            return f"prefect.task-run.{self.task_run_id}"
        return f"prefect.flow-run.{self.flow_run_id}"


def current_identity() -> RunIdentity | None:
    """Return the identity of the current run; None outside of any run."""
    task, flow = current()
    flow_run = None if flow is None else flow.flow_run
    names = []
    if flow is not None and flow.flow is not None:
        names.append(flow.flow.name)
    if task is not None:
        names.append(task.task.name)
        run = task.task_run
        flow_run_id = run.flow_run_id or (None if flow_run is None else flow_run.id)
        return RunIdentity(flow_run_id, run.id, run.name, _slug(names))
    if flow_run is not None:
        return RunIdentity(flow_run.id, None, flow_run.name, _slug(names))
    return None


def training_name() -> str | None:
    """Return a name that is the same for every run of this training.

    Prefect names runs at random.  If the author sets ``task_run_name``, that name is included.
    """
    task, _flow = current()
    identity = current_identity()
    if identity is None:
        return None
    is_named = task is not None and task.task.task_run_name
    return f"{identity.slug} {identity.name}" if is_named else identity.slug


def _slug(names: list[str]) -> str:
    return "-".join(map(_words, names)) or "run"


def _words(name: str) -> str:
    """Return the characters of *name* that a key may hold; a digest if there are none."""
    ascii_only = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    words = "".join(char if char.isalnum() else " " for char in ascii_only).split()
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return "-".join(words)[:_MOST_NAME].strip("-") or digest
