"""The page of the rooms of the core, from their floors and docstrings."""

from __future__ import annotations

from tests.structure.floors import format_floors

_HEADER = """# Rooms of the core

Made from `tests/structure/floors.py` and the docstrings of the rooms by `make docs`; do not edit.

A room of `gpualert_common/` is a folder or a module. It imports only from rooms on floors below its
own; rooms on one floor do not import each other.

"""


def make_rooms_page() -> str:
    """Return docs/rooms.md."""
    return f"{_HEADER}{format_floors()}\n"
