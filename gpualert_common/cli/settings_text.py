"""Settings as the text of a settings file: those in force, and the commented file to start with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpualert_common.notify.channel_config import channel_class, channel_kinds
from gpualert_common.notify.targets import format_target, is_reference
from gpualert_common.report.formatting import wrap
from gpualert_common.settings import OPTIONS, Option, Setting
from gpualert_common.toml_text import format_key, format_toml

MASK = "****"
_ORIGIN_COLUMNS = 34
_COLUMNS = 90

_STARTER_HEAD = """\
# Settings of gpualert {scope}.
#
# A line that begins with "#" and no space is a setting with its default. To change the setting,
# remove the "#".
# A flag of gpualert run wins over a variable such as GPUALERT_GRACE, and both win over this file.
# gpualert config show prints the settings in force, and where each comes from.
"""
_STARTER_CHANNELS = """\

# Channels: give each a table with a name of yours, and list the names in notify.
# In place of a secret write "env:NAME" (a variable) or "file:PATH".
"""


def mask_channel(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a channel without its secrets; all are secret if it does not load."""
    try:
        secret = tuple(channel_class(str(table["kind"])).SECRET)
    except (Exception, SystemExit):  # noqa: BLE001 - a module of the user may raise anything
        secret = tuple(key for key in table if key != "kind")
    return {
        key: MASK if key in secret and not is_reference(value) else value
        for key, value in table.items()
    }


def mask_target(target: str | Mapping[str, Any]) -> str | dict[str, Any]:
    """Return a target of alerts without its secrets."""
    if not isinstance(target, str):
        return mask_channel(target)
    return format_target(target) if "://" in target else target


def format_settings(settings: Mapping[str, Setting]) -> Iterator[str]:
    """Yield the lines of a settings file that has the same effect, each with its origin.

    A setting without a value, or with a secret, is a comment: secrets are not shown.
    """
    for name, setting in settings.items():
        if name != "channels":
            yield _format_setting(OPTIONS[name], setting)
    channels = settings["channels"]
    for name, table in channels.value.items():
        yield ""
        yield _with_origin(f"[channels.{format_key(name)}]", channels.channel_origins[name])
        for key, value in mask_channel(table).items():
            is_hidden = value == MASK != table[key]
            line = _assign(key, value)
            yield f"# {line}  # secret, not shown" if is_hidden else line


def _format_setting(option: Option, setting: Setting) -> str:
    value = setting.value
    if option.default is None and setting.origin == "default" and not option.unit:
        return _with_origin(f"# {_assign(option.name, value or option.metavar)}", "default")
    if option.name == "notify":
        value = [mask_target(target) for target in value]
        if value != setting.value:
            line = f"# {_assign(option.name, value)}"
            return _with_origin(line, f"{setting.origin}; has a secret, not shown")
    try:
        return _with_origin(_assign(option.name, option.write(value)), setting.origin)
    except ValueError:
        return _with_origin(f"# {option.name}", f"{setting.origin}; not Unicode")


def _assign(key: str, value: object) -> str:
    return f"{format_key(key)} = {format_toml(value)}"


def _with_origin(line: str, origin: str) -> str:
    return f"{line:{_ORIGIN_COLUMNS}}  # {origin}"


def make_starter(*, is_user: bool) -> str:
    """Return a settings file with every setting and channel, each explained and commented out."""
    scope = "for all runs of yours" if is_user else "for runs that start in this directory"
    lines = [_STARTER_HEAD.format(scope=scope)]
    for option in OPTIONS.values():
        if option.name != "channels":
            lines += [*_comment(_describe(option)), f"#{_default_line(option)}\n"]
    lines.append(_STARTER_CHANNELS.strip("\n"))
    for kind in channel_kinds():
        lines += ["", *_starter_channel(kind)]
    return "\n".join(lines) + "\n"


def _describe(option: Option) -> str:
    choices = f" One of: {', '.join(option.choices)}." if option.choices else ""
    return option.sentence + choices


def _default_line(option: Option) -> str:
    if option.default is None and not option.unit:
        return _assign(option.name, option.metavar)
    return _assign(option.name, option.write(option.default))


def _starter_channel(kind: str) -> Iterator[str]:
    """Yield the table of a kind of channel: what it requires first."""
    channel = channel_class(kind)
    yield f"#[channels.my_{kind}]"
    yield f"#{_assign('kind', kind)}"
    optional = [key for key in channel.KEYS if key not in channel.REQUIRED]
    for key in (*channel.REQUIRED, *optional):
        note = "required: " if key in channel.REQUIRED else ""
        example = "env:NAME" if key in channel.SECRET else ""
        line = f"#{_assign(key, example)}"
        yield f"{line:22}  # {note}{channel.KEYS[key][1]}"


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in wrap(text, _COLUMNS - 2).split("\n")]
