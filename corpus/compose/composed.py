"""What a generator yields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Composed:
    """One composed log and its label.

    ``basis`` names the documents and sources whose message formats the text follows.
    ``paper_class`` is given only where it does not follow from the cause: the class of the
    exception that carried the root error, None where there is none.  Bytes that are not UTF-8
    stand in ``text`` as surrogate escapes.
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
