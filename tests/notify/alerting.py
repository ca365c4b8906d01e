"""Runs that alert, and the state of their alerts."""

from __future__ import annotations

import json
import mailbox
import os
import signal
import time
from collections.abc import Mapping
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from gpualert_common.external_run import record_run
from gpualert_common.launch_record import ChannelConfig
from gpualert_common.notify.entry import EntryFields, OutboxEntry
from gpualert_common.notify.outbox import Outbox
from gpualert_common.notify.sender_launch import dispatch
from gpualert_common.record import Record
from gpualert_common.spec import Ending
from tests.supervised import Lab, until

MAILBOX: ChannelConfig = {"name": "mailbox", "kind": "mailbox", "settings": {}}


def alerts(*channels: Mapping[str, Any], on: str = "failure", deadline_s: float = 15.0) -> Any:
    """The alert settings of a launch record; without a channel the mailbox."""
    return {
        "channels": list(channels) or [MAILBOX],
        "on": on,
        "deadline_s": deadline_s,
        "artifacts": [],
        "templates": None,
    }


def ended_run(lab: Lab, *, code: int = 1, log: bytes = b"it said so\n", **facts: Any) -> Record:
    """Return the record of a run that has just ended."""
    ending = Ending(time.time() - 5.0, time.time())
    ending.code = code
    facts.setdefault("alerts", alerts())
    return record_run(ending, state_dir=str(lab.state), log=log, **facts)


def send(record: Record, *, deadline_s: float = 15.0, **how: Any) -> list[EntryFields]:
    """Send a run's alerts and wait for that; return the fields of each."""
    return dispatch(record.path, deadline_s=deadline_s, **how)


def entries(record: Record) -> list[OutboxEntry]:
    """Return the alerts in the outbox."""
    return Outbox(record).entries()


def queued(record: Record) -> list[OutboxEntry]:
    """Wait for alerts in the outbox, and return them."""
    return until(lambda: entries(record), "an alert in the outbox")


def states(record: Record) -> dict[str, str]:
    """Return the state of the alert by channel."""
    return {entry.channel: entry.state for entry in entries(record)}


def mails(lab: Lab) -> list[EmailMessage]:
    """Return the mails of the default mailbox, oldest first."""
    place = lab.state / "mailbox"
    if not (place / "cur").exists():  # the last folder that is made
        return []
    found = sorted(place.glob("new/*"), key=lambda path: path.stat().st_mtime_ns)
    # One that arrives just now is in the mailbox, and not among those found.
    assert {path.name for path in found} <= set(mailbox.Maildir(str(place), create=False).keys())
    return [message_from_bytes(path.read_bytes(), policy=policy.default) for path in found]


def body(mail: EmailMessage) -> str:
    """The plain text of a mail."""
    part = mail.get_body(("plain",))
    assert part is not None
    return str(part.get_content())


def outbox(lab: Lab, *arguments: str) -> list[dict[str, Any]]:
    """Return the output of ``gpualert outbox list --json``."""
    done = lab.gpualert("outbox", "list", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["alerts"]
    return found


def write_config(lab: Lab, text: str) -> None:
    """Make ``text`` the user's configuration."""
    path = lab.home / "xdg-config" / "gpualert" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def script(path: Path, code: str) -> str:
    """Write a program of one shell script; return its path."""
    path.write_text(f"#!/bin/sh\n{code}\n")
    path.chmod(0o755)
    return str(path)


def kill_senders(lab: Lab) -> None:
    """Kill every process that sends an alert of this lab."""
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            sends = b"gpualert_common.notify.sender" in Path(f"/proc/{name}/cmdline").read_bytes()
            ours = lab.mark.encode() in Path(f"/proc/{name}/environ").read_bytes()
            if sends and ours:
                os.kill(int(name), signal.SIGKILL)
        except OSError:
            continue
