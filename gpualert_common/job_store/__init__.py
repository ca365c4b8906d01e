"""Stores that the nodes of a job share: a directory, or an object store by fsspec."""

from gpualert_common.job_store.opening import open_store
from gpualert_common.job_store.store import JobStore, PrunableStore, StoredFile

__all__ = ["JobStore", "PrunableStore", "StoredFile", "open_store"]
