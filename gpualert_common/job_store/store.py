"""Interface of a store that the nodes of a job share."""

from __future__ import annotations

from typing import Protocol

from gpualert_common.structs import Struct


class StoredFile(Struct, frozen=True):
    """A file in a store: its name in its folder, its size, and the time of its last change by the
    clock of the store, in seconds since the epoch."""

    name: str
    size: int
    modified_at: float


class JobStore(Protocol):
    """Small files, each written whole, in folders of a shared place.

    Paths are relative, as "slurm-17/digests/RUN.json".  Every call may block as long as the place
    does, and raises :class:`~gpualert_common.errors.StoreError` where it fails; a call that may
    succeed later was tried again within the deadline of the store.
    """

    @property
    def requests(self) -> int:
        """Number of requests to the place so far."""

    def list_files(self, folder: str) -> list[StoredFile]:
        """Return the files in a folder, in any order; none where it does not exist."""

    def list_folders(self, folder: str) -> list[str]:
        """Return the names of the folders in a folder."""

    def find_file(self, path: str) -> StoredFile | None:
        """Return one file, by one request; None where it does not exist."""

    def read(self, path: str, most_bytes: int) -> bytes | None:
        """Return a file, cut after *most_bytes*; None where it does not exist."""

    def write(self, path: str, data: bytes) -> None:
        """Write or replace a file, whole or not at all."""

    def create(self, path: str, data: bytes) -> bool:
        """Write a file that does not exist yet; False where it does.

        Of all processes on all nodes, one gets True.  Their data must differ: where an answer was
        lost, the data in the store say whose it is.
        """


class PrunableStore(JobStore, Protocol):
    """A store from which files can be removed."""

    def remove_file(self, path: str) -> None:
        """Remove a file, if it exists."""

    def remove_folder(self, folder: str) -> None:
        """Remove a folder with all that is in it, if it exists."""
