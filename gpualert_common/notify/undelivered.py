"""Markers in the state directory that name the records with open alerts."""

from __future__ import annotations

import os

from gpualert_common.record.private_directory import open_folder

FOLDER = "undelivered"


def find_state_dir(record_path: str) -> str:
    """Return the state directory that a record lies in."""
    return os.path.dirname(os.path.dirname(record_path))


def mark_undelivered(record_path: str) -> None:
    """Mark a record.  Raises OSError."""
    name = os.path.basename(record_path)
    folder = open_folder(find_state_dir(record_path), FOLDER, create=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        os.close(os.open(name, flags, 0o600, dir_fd=folder))
    except FileExistsError:
        pass
    finally:
        os.close(folder)


def remove_mark(record_path: str) -> None:
    """Remove the marker of a record.  Raises OSError."""
    folder = open_folder(find_state_dir(record_path), FOLDER)
    try:
        os.unlink(os.path.basename(record_path), dir_fd=folder)
    finally:
        os.close(folder)


def list_undelivered(record_path: str) -> list[str]:
    """Return the paths of the marked records in the same state directory, oldest first."""
    try:
        folder = open_folder(find_state_dir(record_path), FOLDER)
    except OSError:
        return []
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    finally:
        os.close(folder)
    return [os.path.join(os.path.dirname(record_path), name) for name in sorted(names)]
