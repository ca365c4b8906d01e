"""Store in memory whose stamps are those of its own clock, or of the writer's."""

from __future__ import annotations

from collections.abc import Callable

from gpualert_common.job_store.store import StoredFile


class SharedFiles:
    """The files that all nodes see, by path: content and stamp."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[bytes, float]] = {}


class StampingStore:
    """A store as one node sees it; ``stamp`` returns the time that a written file gets.

    ``elapse`` is called before and after each request takes effect: a request takes time.
    """

    def __init__(
        self, shared: SharedFiles, stamp: Callable[[], float], elapse: Callable[[], None]
    ) -> None:
        self._shared = shared
        self._stamp = stamp
        self._elapse = elapse
        self.requests = 0

    def list_files(self, folder: str) -> list[StoredFile]:
        """Return the files in a folder."""
        self._begin()
        found = [
            StoredFile(path.rpartition("/")[2], len(data), stamp)
            for path, (data, stamp) in self._shared.files.items()
            if path.rpartition("/")[0] == folder
        ]
        self._elapse()
        return found

    def list_folders(self, folder: str) -> list[str]:
        """Return the names of the folders in a folder."""
        self._begin()
        start = f"{folder}/" if folder else ""
        rests = [path[len(start) :] for path in self._shared.files if path.startswith(start)]
        return sorted({rest.partition("/")[0] for rest in rests if "/" in rest})

    def find_file(self, path: str) -> StoredFile | None:
        """Return one file; None where it does not exist."""
        self._begin()
        found = self._shared.files.get(path)
        self._elapse()
        return None if found is None else StoredFile(path.rpartition("/")[2], 1, found[1])

    def read(self, path: str, most_bytes: int) -> bytes | None:
        """Return a file, cut; None where it does not exist."""
        self._begin()
        found = self._shared.files.get(path)
        self._elapse()
        return None if found is None else found[0][:most_bytes]

    def write(self, path: str, data: bytes) -> None:
        """Write or replace a file."""
        self._begin()
        self._shared.files[path] = (data, self._stamp())
        self._elapse()

    def create(self, path: str, data: bytes) -> bool:
        """Write a file that does not exist yet; False where it does."""
        if path in self._shared.files:
            return False
        self.write(path, data)
        return True

    def _begin(self) -> None:
        self.requests += 1
        self._elapse()
