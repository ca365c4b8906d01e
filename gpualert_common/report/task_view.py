"""The task of an engine that a run belongs to, prepared for display."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpualert_common.launch_record import Owner
from gpualert_common.quantities import is_number
from gpualert_common.report.text_sanitizer import TextSanitizer
from gpualert_common.structs import Struct

_ENGINES = {"airflow": ("Airflow", "DAG run"), "prefect": ("Prefect", "Flow run")}
"""Name of an engine, and its term for the run of a workflow."""


class TaskView(Struct, frozen=True, kw_only=True):
    """A task, which prints as its name, such as "dag.train[3]"; unknown texts are empty.

    ``workflow`` is its DAG or flow and ``workflow_run`` the run of it; ``map_index`` is None for a
    task that is not mapped; ``url`` is the engine's page of the attempt, by HTTP or HTTPS.
    """

    name: str
    engine: str = ""
    workflow: str = ""
    workflow_run: str = ""
    map_index: int | None = None
    owner: str = ""
    url: str = ""

    def __str__(self) -> str:
        return self.name

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Labels and values that the name does not contain, those that are known."""
        run = next((term for name, term in _ENGINES.values() if name == self.engine), "Task run")
        rows = ((run, self.workflow_run), ("Owner", self.owner), ("Page", self.url))
        return tuple((label, value) for label, value in rows if value)


def view_task(
    owner: Owner, outcome: Mapping[str, Any] | None, text: TextSanitizer
) -> TaskView | None:
    """Return the task of a run; None for a run without an engine.

    The attempt that reported the ``outcome`` names itself there, since it may not be the one that
    launched the run.
    """
    fields = next((one for one in _list_fields(owner, outcome) if one.get("task")), {})
    name = text.line(_join_name(fields) if fields else _name_from_key(owner))
    if not name:
        return None
    url, index = text.prose(fields.get("url")), fields.get("map_index")
    return TaskView(
        name=name,
        engine=_ENGINES.get(str(fields.get("engine")), ("", ""))[0],
        workflow=text.line(fields.get("workflow")),
        workflow_run=text.line(fields.get("workflow_run")),
        map_index=index if is_number(index) else None,
        owner=text.line(fields.get("owner")),
        url=url if url.startswith(("http://", "https://")) else "",
    )


def _list_fields(owner: Owner, outcome: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
    for part in ((outcome or {}).get("task"), owner.get("task")):
        if isinstance(part, Mapping):
            yield part


def _join_name(fields: Mapping[str, Any]) -> str:
    parts = (fields.get(name) for name in ("workflow", "task"))
    name = ".".join(part for part in parts if isinstance(part, str) and part)
    index = fields.get("map_index")
    return f"{name}[{index}]" if is_number(index) else name


def _name_from_key(owner: Owner) -> str:
    """Return the task from the key of the run; an engine that does not name its task has this."""
    match owner.get("key"):
        case ["airflow", str(dag), str(), str(task), str(index)]:
            return f"{dag}.{task}" + (f"[{index}]" if index != "-1" else "")
        case ["prefect", str(), str(task), *_]:
            return task
        case [*parts]:
            return ".".join(parts)
        case _:
            return ""
