"""Page of the configuration, and the tables of options on the pages of the engines."""

from __future__ import annotations

from gpualert_common.settings import OPTIONS, Interface, Option

HEAD = """\
# Configuration

Made from `gpualert_common/settings/options.py` by `make docs`; do not edit.

The first of these that sets an option wins:

1. a flag of `gpualert run`, or an argument in Python: of `gpualert_common.run()`, of Airflow's
   `GPUAlertOperator` and `@task.gpualert`, or of Prefect's `gpualert_run` and `TrainingOperation`
2. the environment variable
3. `gpualert.toml` in the working directory
4. `$XDG_CONFIG_HOME/gpualert/config.toml`, else `~/.config/gpualert/config.toml`
5. the default

`gpualert config init` writes a `gpualert.toml` that explains every option, or the file of 4 with
`--user`; an existing file is never changed. `gpualert config show` prints the settings in force as
a settings file, each with its origin and without secrets.

An unknown key in a file is an error that names the file and the key. So is a variable whose name is
almost that of an option, such as `GPUALERT_TIMEOUT_S`. A duration is a number of seconds or text
such as `30s`, `90m` or `12h`; a size is a number of bytes or text such as `500KB` or `1MiB`. In the
environment a list is text with spaces between its entries.

A settings file can name programs that gpualert runs. So every command refuses a file that another
user could have written, with one line that names the reason, and nothing is run:

- The file, and the link if it is one, must belong to you or to root.
- Only its owner can write to it. Its group may if it is the private group of its owner.
- Not everybody can replace it: its directory is not writable for all, or has the sticky bit.
- It is a regular file of at most 256 KiB.

In a container, or on a volume, files can have other owners. If you trust everyone who can write
there, name the directories in the environment variable `GPUALERT_SAFE_DIRECTORY`, with colons
between them: files in them and below are used whoever owns them. The directories of your rules and
templates, and the file of a secret, are used as you name them.

```toml
# gpualert.toml
grace = "2m"
notify = ["mail"]
warn = true

[channels.mail]
kind = "smtp"
host = "mail.example.org"
to = ["me@example.org"]
```

| key | flag | environment | default | argument of | meaning |
|---|---|---|---|---|---|
"""


def make_configuration_page() -> str:
    """Return the page of all options."""
    return HEAD + "".join(_row(option) for option in OPTIONS.values())


def format_options(interface: str) -> str:
    """Return the table of the options that may be given at *interface*."""
    rows = (
        f"| `{option.name}` | `{option.default_text}` | {_meaning(option)} |"
        for option in OPTIONS.values()
        if interface in option.interfaces
    )
    return "\n".join(["| option | default | meaning |", "|---|---|---|", *rows])


def _row(option: Option) -> str:
    """Return the row of an option: where it may be given, its default and its meaning."""
    places = [interface for interface in option.interfaces if interface != Interface.CLI]
    flag = f"`{option.flag}`" if Interface.CLI in option.interfaces else "-"
    variable = f"`{option.variable}`" if option.interfaces else "-"
    return (
        f"| `{option.name}` | {flag} | {variable} | `{option.default_text}` "
        f"| {', '.join(places) or '-'} | {_meaning(option)} |\n"
    )


def _meaning(option: Option) -> str:
    return f"{option.sentence} {option.details}".strip()
