"""Parsers for the value of one setting: durations, sizes, switches, paths, lists.

Each function takes a value as TOML, a flag, an environment variable or an argument gives it, and
raises ValueError for any other value.
"""

from __future__ import annotations

import os

from gpualert_common.quantities import MOST_SECONDS
from gpualert_common.store_addresses import parse_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_MOST_NAME_CHARS = 200
_DURATION_UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE_UNITS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
}


def parse_duration(value: object) -> float | None:
    """Return seconds from a number, a timedelta or text such as "90", "30s", "1.5h".

    "none" and "" give None.  No duration is longer than a record can keep.
    """
    if hasattr(value, "total_seconds"):  # a timedelta, checked without an import of datetime
        value = value.total_seconds()
    if isinstance(value, str) and value.lower() in ("none", ""):
        return None
    seconds = _parse_quantity(value, _DURATION_UNITS, "a duration such as 30s, 10m or 2h")
    if seconds > MOST_SECONDS:
        raise ValueError(f"{value!r} is longer than ten years")
    return seconds


def parse_size(value: object) -> int:
    """Return bytes from a number or from text such as "1MiB"."""
    return int(_parse_quantity(value, _SIZE_UNITS, "a size such as 1MiB or 500KB"))


def format_duration(seconds: float | None) -> str:
    """Return a duration as a user writes it: "30s", "90m", "2h", "none"."""
    if seconds is None:
        return "none"
    for unit in ("h", "m"):
        count = seconds / _DURATION_UNITS[unit]
        if count >= 1 and count.is_integer():
            return f"{count:.0f}{unit}"
    return f"{repr(float(seconds)).removesuffix('.0')}s"


def format_size(count: int) -> str:
    """Return a number of bytes as a user writes it: "1MiB", "500KiB", "1234b"."""
    for unit in ("GiB", "MiB", "KiB"):
        size = _SIZE_UNITS[unit.lower()]
        if count and count % size == 0:
            return f"{count // size}{unit}"
    return f"{count}b"


def _parse_quantity(value: object, units: Mapping[str, float], expected: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{value!r} is not {expected}")
    text = str(value).strip().lower()
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    try:
        quantity = float(number) * units[text[len(number) :].strip()]
    except (KeyError, ValueError):
        raise ValueError(f"{value!r} is not {expected}") from None
    if not 0 <= quantity < float("inf"):
        raise ValueError(f"{value!r} is negative or not finite")
    return quantity


def parse_grace(value: object) -> float:
    """Return the grace period in seconds; "none" is an error."""
    seconds = parse_duration(value)
    if seconds is None:
        raise ValueError("a grace period is required; 0 kills the run at once")
    return seconds


def parse_hang_timeout(value: object) -> float | None:
    """Return the time without output in seconds, or None; 0 is an error."""
    seconds = parse_duration(value)
    if seconds == 0:
        raise ValueError(
            "every run prints nothing for a moment; none switches the hang timeout off"
        )
    return seconds


def parse_deadline(value: object) -> float:
    """Return the deadline of alerts in seconds; "none" is an error."""
    seconds = parse_duration(value)
    if seconds is None:
        raise ValueError("a deadline is required; 0 sends the alerts and does not wait")
    return seconds


def parse_switch(value: object) -> bool:
    """Return a boolean from itself or from text such as "true", "yes", "on" or "1"."""
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text in ("1", "true", "yes", "on"):
        return True
    if text in ("0", "false", "no", "off", ""):
        return False
    raise ValueError(f"{value!r} is neither true nor false")


def parse_path(value: object) -> str:
    """Return a path as text, which must not be empty."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value!r} is not a path")
    return value


def parse_home_path(value: object) -> str:
    """Return a path with a leading ~ replaced by the home directory."""
    return os.path.expanduser(parse_path(value))


def parse_job(value: object) -> str | None:
    """Return the name of a job, "none" for a run that belongs to none; "" gives None."""
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"{value!r} is not a name")
    name = value.strip()
    if len(name) > _MOST_NAME_CHARS:
        raise ValueError(f"a name has at most {_MOST_NAME_CHARS} characters")
    return name or None


def parse_job_dir(value: object) -> str | None:
    """Return an absolute path or a URL; "none" and "" give None."""
    if value in ("", "none"):
        return None
    return parse_address(parse_path(value))


def one_of(*choices: str) -> Callable[[object], str]:
    """Return a function that accepts only the given texts."""

    def parse(value: object) -> str:
        if value not in choices:
            raise ValueError(f"{value!r} is not one of {', '.join(choices)}")
        return str(value)

    return parse


def parse_texts(value: object) -> list[Any]:
    """Return the entries of a list, or of text that separates them by spaces.

    Entries in text are quoted as for a shell.  A table in a list is a channel's settings.
    """
    entries = value
    if isinstance(value, str):
        if len(value.split()) > 1:
            import shlex

            entries = shlex.split(value)
        else:
            entries = value.split()
    if not isinstance(entries, list | tuple):
        raise ValueError(f"{value!r} is not a list")
    if not all(isinstance(entry, str | dict) and entry for entry in entries):
        raise ValueError(f"{value!r} has an entry that is neither a name nor an address")
    return list(entries)


def parse_arguments(value: object) -> list[str]:
    """Return the arguments of a list, or of text in which they are quoted as for a shell."""
    if isinstance(value, str):
        import shlex

        value = shlex.split(value)
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"{value!r} is not a list of arguments")
    if any("\0" in one for one in value):
        raise ValueError("an argument has a NUL")
    return list(value)


def parse_globs(value: object) -> list[str]:
    """Return the glob patterns of a list, or of text that holds one."""
    globs = [value] if isinstance(value, str) else value
    if not isinstance(globs, list | tuple) or not all(isinstance(one, str) for one in globs):
        raise ValueError(f"{value!r} is not a list of glob patterns")
    for glob in globs:
        if "\0" in glob:
            raise ValueError(f"{glob!r} names no file: it has a NUL")
    return [glob for glob in globs if glob]


def parse_channels(value: object) -> dict[str, dict[str, Any]]:
    """Return the settings of channels by name, each with its kind."""
    if not isinstance(value, dict):
        raise ValueError("channels are tables in a file, such as [channels.mail]")
    for name, table in value.items():
        if not isinstance(table, dict) or not isinstance(table.get("kind"), str):
            raise ValueError(f'[channels.{name}] needs a kind, such as kind = "smtp"')
    return value
