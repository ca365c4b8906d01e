"""Settings and their origin: flag > environment > project file > user file > default.

The project file is ``gpualert.toml`` in the working directory, the user file
``$XDG_CONFIG_HOME/gpualert/config.toml``.  They name programs that gpualert runs, so a file that
another user could have written is an error.
"""

from __future__ import annotations

import os

from gpualert_common.errors import ConfigError
from gpualert_common.settings.option import VARIABLE_PREFIX
from gpualert_common.settings.options import OPTIONS
from gpualert_common.suggestions import ALMOST_EQUAL, find_similar, suggest_or_list
from gpualert_common.toml_text import MOST_BYTES, parse_toml
from gpualert_common.trusted_files import read_trusted_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PROJECT_FILE = "gpualert.toml"


class Setting:
    """A value and its origin: a flag, an argument, an environment variable, a file, or default.

    ``channel_origins`` has the origin of each channel, since a project adds to those of its user.
    """

    __slots__ = ("channel_origins", "origin", "value")

    def __init__(self, value: Any, origin: str) -> None:
        self.value = value
        self.origin = origin
        self.channel_origins: dict[str, str] = {}


def load_settings(
    given: Mapping[str, object] | None = None, *, given_as: str = "flag"
) -> dict[str, Setting]:
    """Return every setting, by name.

    ``given`` has the values of the caller, None for one that is not set; ``given_as`` says in
    errors where they come from.  Raises ConfigError that names the file or variable and the key.
    """
    settings = {name: Setting(option.default, "default") for name, option in OPTIONS.items()}
    for path in (user_file(), PROJECT_FILE):
        for name, value in _read_file(path).items():
            setting = _setting(name, value, os.path.abspath(path))
            if name == "channels":  # a project adds to the channels of its user
                earlier = settings[name]
                origins = dict.fromkeys(setting.value, setting.origin)
                setting.channel_origins = {**earlier.channel_origins, **origins}
                setting.value = {**earlier.value, **setting.value}
            settings[name] = setting
    _check_variables()
    for name, option in OPTIONS.items():
        if option.variable in os.environ:
            settings[name] = _setting(name, os.environ[option.variable], option.variable)
    for name, value in (given or {}).items():
        if value is not None:
            settings[name] = _setting(name, value, given_as)
    return settings


def user_file() -> str:
    """Return the path of the user's own configuration file."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(base, "gpualert", "config.toml")


def _setting(name: str, value: object, origin: str) -> Setting:
    try:
        return Setting(OPTIONS[name].parse(value), origin)
    except ValueError as error:
        raise ConfigError(f"{name_origin(name, origin)}: {error}") from None


def name_origin(name: str, origin: str) -> str:
    """Return a setting as errors name it: its flag, or its name and where it comes from."""
    return OPTIONS[name].flag if origin == "flag" else f"{origin}: {name}"


def _check_variables() -> None:
    """Raise ConfigError for a variable whose name is almost that of a setting.

    Other variables are left alone: Kubernetes makes some for a service named gpualert.
    """
    known = {option.variable for option in OPTIONS.values()}
    for variable in os.environ:
        if variable.startswith(VARIABLE_PREFIX) and variable not in known:
            name = find_similar(variable.removeprefix(VARIABLE_PREFIX), OPTIONS, ALMOST_EQUAL)
            if name is not None:
                hint = OPTIONS[name].variable
                raise ConfigError(f"{variable}: unknown variable; did you mean {hint}?")


def _read_file(path: str) -> dict[str, object]:
    """Return the content of a file that this user or root wrote; empty if there is none."""
    try:
        content = parse_toml(read_trusted_file(path, MOST_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigError(f"{os.path.abspath(path)}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{os.path.abspath(path)}: {error}") from None
    for name in content:
        if name not in OPTIONS:
            hint = suggest_or_list(name, OPTIONS)
            raise ConfigError(f"{os.path.abspath(path)}: {name}: unknown key{hint}")
    return content
