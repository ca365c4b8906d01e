"""Runs that wait to be taken into the history: one file each, written whole and without a lock."""

from __future__ import annotations

import os
from collections.abc import Iterable

from gpualert_common.codec import encode
from gpualert_common.errors import DamagedFileError, RecordError
from gpualert_common.history.past_run import PastRun
from gpualert_common.record import make_directory
from gpualert_common.record.directory import Directory
from gpualert_common.record.files import open_directory
from gpualert_common.spec import SCHEMA

FOLDER = "history.waiting"
MOST = 1000
"""More wait only where nobody can take them in; the records still have them."""
_MOST_BYTES = 64 << 10


def queue_run(place: str, run: PastRun) -> None:
    """Have ``run`` wait in the state directory ``place``, whoever has the file.  Takes 0.1 ms.

    Raises OSError, also where too many wait.
    """
    folder = os.path.join(place, FOLDER)
    make_directory(folder)
    directory = Directory(folder, open_directory(folder))
    try:
        if len(os.listdir(folder)) >= MOST:
            raise OSError(f"{MOST} runs wait in {folder} and are not taken in")
        directory.write_json(f"{run.run_id}.json", {"schema": SCHEMA, **encode(run)})
    finally:
        directory.close()


def has_pending(place: str) -> bool:
    """True where runs wait, or something that is in their place."""
    try:
        return bool(os.listdir(os.path.join(place, FOLDER)))
    except FileNotFoundError:
        return False
    except OSError:
        return True


def read_pending(place: str) -> dict[str, PastRun | None]:
    """The runs that wait there, by the names of their files; None for what is none.

    What a later release left is not among them.  Raises OSError.
    """
    folder = os.path.join(place, FOLDER)
    try:
        directory = Directory(folder, open_directory(folder))
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
    """Remove files of runs that were taken in; one that stays is taken in again, as the same."""
    for name in names:
        try:
            os.unlink(os.path.join(place, FOLDER, name))
        except OSError:
            continue


def _read(directory: Directory, name: str) -> PastRun | None:
    try:
        return PastRun.from_fields(directory.read_json(name, _MOST_BYTES) or {})
    except (DamagedFileError, ValueError):
        return None
