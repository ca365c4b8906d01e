"""Paths in a store: a few plain names, so that none leads out of it."""

from __future__ import annotations

from gpualert_common.errors import StoreError

_MOST_NAME_CHARS = 200
_MOST_PARTS = 8


def split_path(place: str, path: str) -> list[str]:
    """Return the names of a path in the store at *place*.  Raises StoreError for any other path."""
    names = path.split("/") if path else []
    if len(names) > _MOST_PARTS or not all(map(is_plain_name, names)):
        raise StoreError(f"{place}: {path[:_MOST_NAME_CHARS]!r} is not a path in a job directory")
    return names


def split_named(place: str, path: str) -> list[str]:
    """As :func:`split_path`, for the path of a file or folder, not of the store itself."""
    names = split_path(place, path)
    if not names:
        raise StoreError(f"{place}: a file or a folder in a job directory has a name")
    return names


def is_plain_name(name: str) -> bool:
    """True for a name that is visible, and no path."""
    is_safe = bool(name) and name.isprintable() and not name.startswith(".") and "/" not in name
    return is_safe and len(name) <= _MOST_NAME_CHARS
