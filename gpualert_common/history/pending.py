"""Runs that wait for import into the history: one file each, written atomically without a lock."""

from __future__ import annotations

import os
from collections.abc import Iterable

from gpualert_common.codec import encode
from gpualert_common.errors import DamagedFileError, RecordError
from gpualert_common.history.past_run import PastRun
from gpualert_common.record.directory import Directory
from gpualert_common.record.private_directory import open_folder
from gpualert_common.spec import SCHEMA

FOLDER = "history.waiting"
MOST = 1000
"""More runs wait only if nobody can import them; the records still exist."""
_MOST_BYTES = 64 << 10


def queue_run(place: str, run: PastRun) -> None:
    """Queue ``run`` in the state directory ``place``, without a lock.  Takes 0.1 ms.

    Raises OSError, also if too many runs wait.
    """
    folder = os.path.join(place, FOLDER)
    directory = Directory(folder, open_folder(place, FOLDER, create=True))
    try:
        if len(os.listdir(folder)) >= MOST:
            raise OSError(f"{MOST} runs wait in {folder} and are not imported")
        directory.write_json(f"{run.run_id}.json", {"schema": SCHEMA, **encode(run)})
    finally:
        directory.close()


def has_pending(place: str) -> bool:
    """Return whether runs wait, or the folder cannot be read."""
    try:
        folder = open_folder(place, FOLDER)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        return bool(os.listdir(folder))
    except OSError:
        return True
    finally:
        os.close(folder)


def read_pending(place: str) -> dict[str, PastRun | None]:
    """Return the waiting runs by file name; None for a file that holds no run.

    Files of a later release are left out.  Raises OSError.
    """
    folder = os.path.join(place, FOLDER)
    try:
        directory = Directory(folder, open_folder(place, FOLDER))
    except FileNotFoundError:
        return {}
    found: dict[str, PastRun | None] = {}
    try:
        for name in sorted(os.listdir(folder)):
            if not name.startswith("."):
                try:
                    found[name] = _read(directory, name)
                except RecordError:
                    continue
    finally:
        directory.close()
    return found


def remove_pending(place: str, names: Iterable[str]) -> None:
    """Remove the files of imported runs; a file that stays is imported again, as the same run."""
    try:
        folder = open_folder(place, FOLDER)
    except OSError:
        return
    try:
        for name in names:
            try:
                os.unlink(name, dir_fd=folder)
            except OSError:
                continue
    finally:
        os.close(folder)


def _read(directory: Directory, name: str) -> PastRun | None:
    try:
        return PastRun.from_fields(directory.read_json(name, _MOST_BYTES) or {})
    except (DamagedFileError, ValueError):
        return None
