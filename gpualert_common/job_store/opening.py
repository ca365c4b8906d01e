"""Opening of the store that an address names."""

from __future__ import annotations

from gpualert_common.errors import StoreError
from gpualert_common.job_store.directory_store import DirectoryStore
from gpualert_common.job_store.store import PrunableStore
from gpualert_common.store_addresses import find_missing_package, is_path, parse_address

DEADLINE_S = 20.0
"""Time in which a call may be repeated; digests are renewed less often."""


def open_store(address: str, *, deadline_s: float = DEADLINE_S) -> PrunableStore:
    """Return the store at a path or URL, without a request to it.

    A call that meets transient errors is repeated for ``deadline_s``.  A store belongs to the
    process that opened it: open it after a fork.  Raises StoreError for an address of another kind,
    and where the package for it is missing.
    """
    try:
        place = parse_address(address)
    except ValueError as error:
        raise StoreError(f"job directory: {error}") from None
    if is_path(place):
        return DirectoryStore(place, deadline_s=deadline_s)
    missing = find_missing_package(place)
    if missing is not None:
        raise StoreError(f"{place}: the package {missing} is not installed: pip install {missing}")
    from gpualert_common.job_store.fsspec_store import FsspecStore  # takes 300 ms with s3fs

    return FsspecStore(place, deadline_s=deadline_s)
