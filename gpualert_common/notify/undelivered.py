"""Markers in the state directory that name the records with open alerts."""

from __future__ import annotations

import os

FOLDER = "undelivered"


def find_state_dir(record_path: str) -> str:
    """Return the state directory that a record lies in."""
    return os.path.dirname(os.path.dirname(record_path))


def undelivered_folder(record_path: str) -> str:
    """Return the folder of markers, next to the one that holds the records."""
    return os.path.join(find_state_dir(record_path), FOLDER)


def is_undelivered(record_path: str) -> bool:
    """True when an alert of this run is open."""
    name = os.path.basename(record_path)
    return os.path.lexists(os.path.join(undelivered_folder(record_path), name))


def has_undelivered(record_path: str) -> bool:
    """True when an alert of some run in the same state directory is open."""
    try:
        return bool(os.listdir(undelivered_folder(record_path)))
    except OSError:
        return False
