"""TOML text as a table, within limits that every reader of it can rely on, and values as text."""

from __future__ import annotations

from gpualert_common.printable_text import REPLACEMENTS

MOST_BYTES = 256 << 10
"""Size of a file; the largest rule that we ship has 46 KB."""
_MOST_DEPTH = 32
_INTEGERS = range(-(1 << 63), 1 << 63)


def parse_toml(data: bytes) -> dict[str, object]:
    """Return the table of a file: no times, no NUL, and no deep nesting.

    Raises ValueError with the reason.
    """
    import tomli

    try:
        table = tomli.loads(data.decode())
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"not valid TOML: {error}") from None
    _check(table, "")
    return table


def format_toml(value: object) -> str:
    """Return a value as TOML on one line; :func:`parse_toml` reads it as the same value.

    It has only characters that a terminal shows.  Raises ValueError for text that is not Unicode.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{"".join(map(_escape, value))}"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(format_toml, value))}]"
    if isinstance(value, dict):
        entries = (f"{format_key(key)} = {format_toml(below)}" for key, below in value.items())
        return f"{{{', '.join(entries)}}}"
    return repr(value)


def format_key(key: str) -> str:
    """Return a key as TOML: in quotes where it needs them."""
    is_bare = key.isascii() and key.replace("_", "a").replace("-", "a").isalnum()
    return key if is_bare else format_toml(key)


def _escape(char: str) -> str:
    if "\ud800" <= char <= "\udfff":
        raise ValueError("not Unicode")
    if char in '"\\':
        return f"\\{char}"
    return f"\\u{ord(char):04X}" if ord(char) in REPLACEMENTS else char


def _check(value: object, path: str, depth: int = 0) -> None:
    """Raise ValueError for a value that JSON, a path or a recursive reader cannot hold."""
    problem = ""
    if isinstance(value, str):
        problem = "has a NUL character" if "\0" in value else ""
    elif isinstance(value, dict | list) and depth == _MOST_DEPTH:
        problem = "nested too deeply"
    elif isinstance(value, dict):
        for key, below in value.items():
            _check(key, path, depth)
            _check(below, f"{path}.{key}" if path else key, depth + 1)
    elif isinstance(value, list):
        for below in value:
            _check(below, path, depth + 1)
    elif isinstance(value, int):
        problem = "" if value in _INTEGERS else "does not fit into 64 bits"
    elif not isinstance(value, float):
        problem = f"{value} is a date or time; put it in quotes"
    if problem:
        raise ValueError(f"{path}: {problem}")
