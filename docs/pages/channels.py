"""Page of the channels: every kind with its settings."""

from __future__ import annotations

from typing import Any

from docs.pages.markdown import read_docstring
from gpualert_common.notify.channel_config import channel_class, channel_kinds

HEAD = """\
# Channels

Made from `gpualert_common/notify/channels/*.py` by `make docs`; do not edit. A channel is a way to
send [alerts](alerts.md). It is a table in a configuration file, and `notify` lists the channels to
use:

```toml
notify = ["mail", "mailbox"]

[channels.mail]
kind = "smtp"
host = "mail.example.org"
user = "training@example.org"
password = "file:~/.config/gpualert/mail-password"
to = ["me@example.org"]
```

A size is a number of bytes, or text such as `500KB` or `10MB`. For any setting, `env:NAME` means
the value of an environment variable, and `file:PATH` the content of a file. A secret that is given
directly (in a URL, or by a connection of an engine) is never written to disk: only the process
that sends the alert holds it.

"""


def make_channels_page() -> str:
    """Return the page of all kinds of channels."""
    return HEAD + "\n".join(_channel_section(kind) for kind in channel_kinds())


def _channel_section(kind: str) -> str:
    """Return the section of one kind of channel, from the docstring of its module."""
    channel = channel_class(kind)
    rows = "\n".join(
        f"| `{key}` | {_note(channel, key)} | {help_text} |"
        for key, (_parse, help_text) in channel.KEYS.items()
    )
    summary = read_docstring(channel.__module__)
    return f"## {kind}\n\n{summary}\n\n| setting | | meaning |\n|---|---|---|\n{rows}\n"


def _note(channel: Any, key: str) -> str:
    """Return whether a setting is required or secret."""
    notes = ("required", key in channel.REQUIRED), ("secret", key in channel.SECRET)
    return ", ".join(note for note, holds in notes if holds)
