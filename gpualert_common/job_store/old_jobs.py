"""Old jobs of a store: their folders, by the time of their last change."""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.errors import StoreError
from gpualert_common.job_store.store import JobStore
from gpualert_common.structs import Struct

_DIGESTS = "digests"
_FOLDERS = frozenset((_DIGESTS, "alerts", "clocks"))


class StoredJob(Struct, frozen=True):
    """The folder of a job, its size, and the time of its last change by the clock of the store.

    ``problem`` is "" unless the folder cannot be read.
    """

    key: str
    size: int = 0
    modified_at: float = 0.0
    problem: str = ""


def list_old_jobs(store: JobStore, before: float) -> Iterator[StoredJob]:
    """Yield each job that last changed before a time, and those that cannot be read.

    Folders that hold anything else than a job are left out.  Raises StoreError.
    """
    for key in sorted(store.list_folders("")):
        try:
            found = _find_job(store, key)
        except StoreError as error:
            found = StoredJob(key, problem=str(error))
        if found is not None and found.modified_at < before:
            yield found


def _find_job(store: JobStore, key: str) -> StoredJob | None:
    folders = set(store.list_folders(key))
    if _DIGESTS not in folders or folders - _FOLDERS or store.list_files(key):
        return None
    files = [file for folder in folders for file in store.list_files(f"{key}/{folder}")]
    if not files:
        return None
    newest = max(file.modified_at for file in files)
    if newest <= 0:
        return StoredJob(key, problem="the store gives no time of its last change")
    return StoredJob(key, sum(file.size for file in files), newest)
