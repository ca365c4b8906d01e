"""Names of a run: that of its request, and for a mapped task of an engine also with the index."""

from __future__ import annotations

from gpualert_common.launch_record import LaunchRecord
from gpualert_common.quantities import is_number


def list_names(launch_record: LaunchRecord) -> list[str]:
    """Return the names of a run, the one to show first; none for a run without a name."""
    name = launch_record.name
    if not name:
        return []
    index = find_map_index(launch_record)
    suffix = "" if index is None else f"[{index}]"
    return [name] if name.endswith(suffix) else [f"{name}{suffix}", name]


def find_map_index(launch_record: LaunchRecord) -> int | None:
    """Return the map index of the run's task; None for a task that is not mapped."""
    owner = launch_record.owner
    found = owner.get("task", {}).get("map_index")
    if is_number(found):
        return int(found)
    match owner.get("key"):
        case ("airflow", _, _, _, index) if index.isdecimal():
            return int(index)
        case _:
            return None
