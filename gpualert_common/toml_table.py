"""TOML tables that are read key by key, so that every error names its file and key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from gpualert_common.errors import RuleError
from gpualert_common.suggestions import suggest

REQUIRED: Final[Any] = object()
"""As a default: the key is required."""


class Table:
    """A TOML table whose keys are taken one by one; a key that is left at the end is unknown.

    Every method raises :class:`RuleError` naming file and key when the key is missing (and has no
    default) or its value is of another type.
    """

    def __init__(self, data: object, file: str, path: str) -> None:
        if not isinstance(data, dict):
            raise RuleError(file, path.rstrip("."), "must be a table")
        self._left: dict[str, Any] = dict(data)
        self._asked: set[str] = set()
        self.file = file
        self.path = path

    def left(self) -> list[str]:
        """Return the keys that are not taken yet."""
        return list(self._left)

    def done(self) -> None:
        """Raise for the first key that is not taken."""
        for key in self._left:
            raise self._error(key, f"unknown key{suggest(key, self._asked)}")

    def text(self, key: str, default: Any = REQUIRED) -> Any:
        """Return a string that is not empty."""
        value = self._take(key, str, "a string", default)
        if value == "":
            raise self._error(key, "is empty")
        return value

    def choice(self, key: str, choices: Sequence[str], default: Any = REQUIRED) -> Any:
        """Return a string that is one of *choices*."""
        value = self.text(key, default)
        if value is not default and value not in choices:
            hint = suggest(value, choices)
            raise self._error(key, f"{value!r} is none of {', '.join(choices)}{hint}")
        return value

    def integer(self, key: str, default: Any = REQUIRED) -> Any:
        """Return an integer; a boolean is an error."""
        value = self._take(key, int, "an integer", default)
        if isinstance(value, bool):
            raise self._error(key, "must be an integer")
        return value

    def texts(self, key: str, default: Any = REQUIRED) -> tuple[str, ...]:
        """Return the strings of a list, or of a single string."""
        value = self._take(key, (list, str, tuple), "a string or a list of strings", default)
        entries = (value,) if isinstance(value, str) else tuple(value)
        if not all(isinstance(entry, str) and entry for entry in entries):
            raise self._error(key, "must be a list of strings that are not empty")
        return entries

    def integers(self, key: str) -> tuple[int, ...]:
        """Return the integers of a list; none when the key is absent."""
        entries = tuple(self._take(key, list, "a list of integers", []))
        if not all(type(entry) is int for entry in entries):
            raise self._error(key, "must be a list of integers")
        return entries

    def table(self, key: str, default: Any = REQUIRED) -> Table:
        """Return the table under *key*."""
        value = self._take(key, dict, "a table", default)
        return Table(value, self.file, f"{self.path}{key}.")

    def tables(self, key: str) -> list[Table]:
        """Return the array of tables under *key*; none when the key is absent."""
        entries = self._take(key, list, "an array of tables", [])
        return [
            Table(entry, self.file, f"{self.path}{key}[{index}].")
            for index, entry in enumerate(entries)
        ]

    def _take(self, key: str, kind: type | tuple[type, ...], described: str, default: Any) -> Any:
        self._asked.add(key)
        if key not in self._left:
            if default is REQUIRED:
                raise self._error(key, "is missing")
            return default
        value = self._left.pop(key)
        if not isinstance(value, kind):
            raise self._error(key, f"must be {described}")
        return value

    def _error(self, key: str, problem: str) -> RuleError:
        return RuleError(self.file, self.path + key, problem)
