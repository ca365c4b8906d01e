"""The task run and the flow run that a training belongs to, as Prefect's pages name them."""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass
from uuid import UUID

from prefect_gpualert.contexts import current

_MOST_NAME = 60


@dataclass(frozen=True, slots=True)
class Owner:
    """``slug`` is the same for every run of a task in a flow: the ends of keys of artifacts."""

    flow_run_id: UUID | None
    task_run_id: UUID | None
    name: str
    slug: str

    @property
    def resource_id(self) -> str:
        """What events name it."""
        if self.task_run_id is not None:
            return f"prefect.task-run.{self.task_run_id}"
        return f"prefect.flow-run.{self.flow_run_id}"


def current_owner() -> Owner | None:
    """Who runs here; None outside of any run."""
    task, flow = current()
    flow_run = None if flow is None else flow.flow_run
    names = []
    if flow is not None and flow.flow is not None:
        names.append(flow.flow.name)
    if task is not None:
        names.append(task.task.name)
        run = task.task_run
        flow_run_id = run.flow_run_id or (None if flow_run is None else flow_run.id)
        return Owner(flow_run_id, run.id, run.name, _slug(names))
    if flow_run is not None:
        return Owner(flow_run.id, None, flow_run.name, _slug(names))
    return None


def training() -> str | None:
    """What every run of this training is called: Prefect names task runs and flow runs at random.

    A task run whose author says how it is named has that name, too.
    """
    task, _flow = current()
    owner = current_owner()
    if owner is None:
        return None
    is_named = task is not None and task.task.task_run_name
    return f"{owner.slug} {owner.name}" if is_named else owner.slug


def _slug(names: list[str]) -> str:
    return "-".join(map(_words, names)) or "run"


def _words(name: str) -> str:
    """Of *name* what a key may hold; a digest where that is nothing."""
    ascii_only = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    words = "".join(char if char.isalnum() else " " for char in ascii_only).split()
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return "-".join(words)[:_MOST_NAME].strip("-") or digest
