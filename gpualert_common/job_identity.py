"""The job that a run belongs to: by an option, the engine, or the variables of a scheduler.

Plain functions, because the child waits for this import.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpualert_common.launch_record import JobMembership, Owner


def find_job(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    name: str | None = None,
    owner: Owner | None = None,
    directory: str | None = None,
) -> JobMembership | None:
    """Return the job of a run, None if it belongs to none."""
    raise NotImplementedError
