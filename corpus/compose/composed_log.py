"""The log that a generator yields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class ComposedLog:
    """One composed log and its label.

    ``basis`` names the documents and sources whose message formats the text follows.
    ``paper_class`` is given only if it does not follow from the cause: the class of the exception
    of the root error, None without one.  ``text`` has bytes that are not UTF-8 as surrogate escapes.
    """

    FOLLOWS: ClassVar[str] = "follows from the cause"

    name: str
    cause: str
    exit_code: int | None
    text: str
    basis: str
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    paper_class: str | None = FOLLOWS
    why: str = ""
