"""Settings and where each came from: flag > environment > project file > user file > default.

The project file is ``gpualert.toml`` in the working directory, the user file
``$XDG_CONFIG_HOME/gpualert/config.toml``; the variable of key ``grace`` is ``GPUALERT_GRACE``.
"""

from __future__ import annotations

import os

from gpualert_common.errors import ConfigError
from gpualert_common.spec import (
    DEFAULT_GRACE_S,
    DEFAULT_LOG_RESERVE_BYTES,
    DEFAULT_NOTIFY_DEADLINE_S,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

PROJECT_FILE = "gpualert.toml"

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
    """Seconds from a number or from text such as "90", "30s", "1.5h"; None from "none".

    Raises ValueError.
    """
    if isinstance(value, str) and value.lower() in ("none", ""):
        return None
    return _parse_quantity(value, _DURATION_UNITS, "a duration such as 30s, 10m or 2h")


def parse_size(value: object) -> int:
    """Bytes from a number or from text such as "1MiB".  Raises ValueError."""
    return int(_parse_quantity(value, _SIZE_UNITS, "a size such as 1MiB or 500KB"))


def _parse_quantity(value: object, units: Mapping[str, float], what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{value!r} is not {what}")
    text = str(value).strip().lower()
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    try:
        quantity = float(number) * units[text[len(number) :].strip()]
    except (KeyError, ValueError):
        raise ValueError(f"{value!r} is not {what}") from None
    if not 0 <= quantity < float("inf"):
        raise ValueError(f"{value!r} is negative or not finite")
    return quantity


def _parse_grace(value: object) -> float:
    seconds = parse_duration(value)
    if seconds is None:
        raise ValueError("a grace is needed; 0 ends a run by force at once")
    return seconds


def _parse_deadline(value: object) -> float:
    seconds = parse_duration(value)
    if seconds is None:
        raise ValueError("a deadline is needed; 0 waits for no alert, which is sent all the same")
    return seconds


def _parse_flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text in ("1", "true", "yes", "on"):
        return True
    if text in ("0", "false", "no", "off", ""):
        return False
    raise ValueError(f"{value!r} is neither true nor false")


def _parse_path(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value!r} is not a path")
    return value


def _parse_users_path(value: object) -> str:
    """A path in which ~ stands for the home directory."""
    return os.path.expanduser(_parse_path(value))


def _one_of(*choices: str) -> Callable[[object], str]:
    def parse(value: object) -> str:
        if value not in choices:
            raise ValueError(f"{value!r} is not one of {', '.join(choices)}")
        return str(value)

    return parse


def _parse_texts(value: object) -> list[Any]:
    """A list, or text with spaces between its entries, quoted as for a shell; tables are channels
    given in place."""
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
        raise ValueError(f"{value!r} holds something that is no name or address")
    return list(entries)


def _parse_globs(value: object) -> list[str]:
    globs = [value] if isinstance(value, str) else value
    if not isinstance(globs, list | tuple) or not all(isinstance(one, str) for one in globs):
        raise ValueError(f"{value!r} is not a list of patterns for file names")
    return [glob for glob in globs if glob]


def _parse_channels(value: object) -> dict[str, dict[str, Any]]:
    if not isinstance(value, dict):
        raise ValueError("channels are tables in a file, such as [channels.mail]")
    for name, table in value.items():
        if not isinstance(table, dict) or not isinstance(table.get("kind"), str):
            raise ValueError(f'[channels.{name}] needs a kind, such as kind = "smtp"')
    return value


class Key:
    """One setting: how its value is read, what it is without one, and what it means."""

    __slots__ = ("default", "help", "parse")

    def __init__(self, parse: Callable[[object], Any], default: Any, text: str) -> None:
        self.parse = parse
        self.default = default
        self.help = text


KEYS = {
    "state_dir": Key(_parse_path, None, "where run records are kept"),
    "timeout": Key(parse_duration, None, "wall-clock limit of the run"),
    "grace": Key(
        _parse_grace, DEFAULT_GRACE_S, "time between the first signal and the end by force"
    ),
    "streams": Key(
        _one_of("auto", "merged", "apart"), "auto", "one log for stdout and stderr, or two"
    ),
    "log_full": Key(
        _one_of("fail", "drop"), "fail", "on a full disk: the child sees it, or the log is cut"
    ),
    "log_reserve": Key(
        parse_size, DEFAULT_LOG_RESERVE_BYTES, "disk space reserved for the log before launch"
    ),
    "end_survivors": Key(
        _parse_flag, False, "end processes that outlive a run which ended by itself"
    ),
    "notify": Key(
        _parse_texts, ["mailbox"], "where alerts go: names of channels, addresses, or none"
    ),
    "notify_on": Key(
        _one_of("failure", "always", "never"), "failure", "which ends of a run are told"
    ),
    "notify_deadline": Key(
        _parse_deadline, DEFAULT_NOTIFY_DEADLINE_S, "how long the end of a run waits for its alerts"
    ),
    "warn": Key(_parse_flag, False, "tell of trouble while the run goes on, too"),
    "artifact": Key(_parse_globs, [], "files that an alert shall carry, as patterns"),
    "templates": Key(_parse_path, None, "directory of your own templates for alerts"),
    "rules": Key(_parse_users_path, None, "directory of your own rules for causes, beside ours"),
    "channels": Key(_parse_channels, {}, "settings of channels, by name, in a file only"),
    "observe": Key(
        _parse_flag, True, "look at GPUs, kernel, memory and disks while the run goes on"
    ),
    "quiet": Key(_parse_flag, False, "say nothing of our own"),
    "sync": Key(_parse_flag, True, "sync the log, its directory and the exit record"),
}


class Setting:
    """A value and where it came from (a flag, a variable, a file, or the default)."""

    __slots__ = ("origin", "value")

    def __init__(self, value: Any, origin: str) -> None:
        self.value = value
        self.origin = origin


def load(given: Mapping[str, object], *, given_as: str = "flag") -> dict[str, Setting]:
    """Every setting, by key.  ``given`` holds what the caller set (None: not set).

    Raises ConfigError that names the file or variable and the key.
    """
    settings = {name: Setting(key.default, "default") for name, key in KEYS.items()}
    for path in (user_file(), PROJECT_FILE):
        for name, value in _read_file(path).items():
            setting = _setting(name, value, os.path.abspath(path))
            if name == "channels":  # one of a project stands beside those of its user
                setting.value = {**settings[name].value, **setting.value}
            settings[name] = setting
    for name in KEYS:
        variable = f"GPUALERT_{name.upper()}"
        if variable in os.environ:
            settings[name] = _setting(name, os.environ[variable], variable)
    for name, value in given.items():
        if value is not None:
            settings[name] = _setting(name, value, given_as)
    return settings


def user_file() -> str:
    """Path of the user's own configuration file."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(base, "gpualert", "config.toml")


def _setting(name: str, value: object, origin: str) -> Setting:
    try:
        return Setting(KEYS[name].parse(value), origin)
    except ValueError as error:
        where = f"--{name.replace('_', '-')}" if origin == "flag" else f"{origin}: {name}"
        raise ConfigError(f"{where}: {error}") from None


def _read_file(path: str) -> dict[str, object]:
    try:
        with open(path, "rb") as file:
            import tomllib

            content = tomllib.load(file)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{os.path.abspath(path)}: not valid TOML: {error}") from None
    for name in content:
        if name not in KEYS:
            known = ", ".join(KEYS)
            raise ConfigError(f"{os.path.abspath(path)}: {name}: unknown key; known are {known}")
    return content
