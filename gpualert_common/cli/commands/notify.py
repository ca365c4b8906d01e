"""Send a test alert, or print the message about a run."""

from __future__ import annotations

import argparse
import tempfile
import time

from gpualert_common.artifacts import encode_manifest
from gpualert_common.cli import printing
from gpualert_common.cli.arguments import RUN_HELP, add_json, add_options, add_state_dir
from gpualert_common.cli.records import find_record, list_places
from gpualert_common.errors import DeliveryError, UsageError
from gpualert_common.external_run import record_run
from gpualert_common.launch_record import AlertSettings, ChannelConfig
from gpualert_common.model import Bundle
from gpualert_common.notify import delivery
from gpualert_common.notify.channel_config import resolve_alerts
from gpualert_common.notify.compose import compose
from gpualert_common.notify.entry import EntryState
from gpualert_common.notify.message import Message
from gpualert_common.notify.outbox import Outbox
from gpualert_common.record import Record
from gpualert_common.settings import load_settings
from gpualert_common.spec import SCHEMA, Ending

_TEST_LOG = b"""\
This is a test of gpualert's alerts; no training has failed.
Had one failed, the end of its log would stand here.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions ``test`` and ``preview``."""
    actions = parser.add_subparsers(dest="notify_action", metavar="ACTION", required=True)
    test = actions.add_parser(
        "test",
        help="send a test message",
        description="Send a test message through every configured or named channel, once. Exit "
        "status 0 when all of them accepted it, else 1.",
    )
    add_options(test, "notify")
    add_json(test)
    preview = actions.add_parser(
        "preview",
        help="print the message about a run",
        description="Print the message about a run as a channel would get it, and send nothing.",
    )
    preview.add_argument("run", nargs="?", default="last", metavar="RUN", help=RUN_HELP)
    part = preview.add_mutually_exclusive_group()
    part.add_argument("--html", action="store_true", help="print the HTML part")
    add_json(part)
    preview.add_argument(
        "--channel",
        dest="notify",
        type=lambda channel: [channel],
        metavar="CHANNEL",
        help="as for run --notify; default: the first one configured",
    )
    for action in (test, preview):
        add_state_dir(action)


def execute(options: argparse.Namespace) -> int:
    """Test the channels or preview a message."""
    return _test(options) if options.notify_action == "test" else _preview(options)


def _test(options: argparse.Namespace) -> int:
    """Send a test message through every channel, once; 1 if one did not accept it."""
    alerts, secrets = _alerts(options)
    results = []
    with tempfile.TemporaryDirectory(prefix="gpualert-") as place:
        record = _test_record(place, alerts)
        outbox = Outbox(record)
        for channel in alerts["channels"]:
            entry = outbox.add(outbox.draft(_with_mailbox(channel, options), EntryState.PENDING))
            row: dict[str, str | bool] = {"channel": channel["name"], "kind": channel["kind"]}
            try:
                accepted = delivery.send_once(record, entry, secrets.get(channel["name"], {}))
                row |= {"accepted": True, "status": accepted}
            except DeliveryError as error:
                row |= {"accepted": False, "status": str(error)}
            results.append(row)
    if options.json:
        printing.print_json({"schema": SCHEMA, "channels": results})
    for row in () if options.json else results:
        state = "accepted" if row["accepted"] else "FAILED"
        printing.print_lines(f"{row['channel']:16} {state}: {row['status']}")
    return 0 if all(row["accepted"] for row in results) else 1


def _preview(options: argparse.Namespace) -> int:
    """Print the message about a run as one channel would get it; nothing is sent."""
    record = find_record(options.run, options)
    if record.ending is None:
        raise UsageError(f"{record.run_id} has not ended: there is no message yet")
    alerts, secrets = _alerts(options)
    channel = alerts["channels"][0]
    try:
        sender, known = delivery.open_channel(record, channel, secrets.get(channel["name"], {}))
    except DeliveryError as error:
        raise UsageError(str(error)) from None
    message, bundle = compose(record, sender.budget, known)
    if options.json:
        to = {"name": channel["name"], "kind": channel["kind"], "address": sender.address}
        printing.print_json(_encode_message(record, to, message, bundle))
        return 0
    if options.html:
        html = message.html if message.html is not None else "(this channel takes no HTML)"
        printing.print_lines(*html.rstrip("\n").split("\n"))
        return 0
    head = (f"To:      {sender.address}", f"Subject: {message.subject}", "")
    printing.print_lines(*head, *message.text.split("\n"))
    for attachment in message.attachments:
        size = len(attachment.content)
        printing.print_lines(
            f"[attached: {attachment.name}, {attachment.media_type}, {size} bytes]"
        )
    for note in bundle.notes:
        printing.print_notes(f"gpualert: {note}")
    return 0


def _encode_message(
    record: Record, channel: dict[str, str], message: Message, bundle: Bundle
) -> dict[str, object]:
    """Return a message as JSON has it, with the size of each attachment and the manifest."""
    return {
        **encode_manifest(bundle),
        "run_id": record.run_id,
        "channel": channel,
        "message_id": message.id,
        "thread": message.thread,
        "subject": message.subject,
        "text": message.text,
        "html": message.html,
        "attachments": [
            {"name": one.name, "media_type": one.media_type, "bytes": len(one.content)}
            for one in message.attachments
        ],
    }


def _alerts(options: argparse.Namespace) -> tuple[AlertSettings, dict[str, dict[str, str]]]:
    given = options.notify or None
    settings = load_settings({"notify": given, "state_dir": options.state_dir})
    settings["notify_on"].value = "always"
    alerts, secrets = resolve_alerts(settings)
    if alerts is None:
        raise UsageError("no channel is named: give one with --notify, or in the configuration")
    return alerts, secrets


def _with_mailbox(channel: ChannelConfig, options: argparse.Namespace) -> ChannelConfig:
    """Return *channel* with the path of the default mailbox.

    The record of the test is in a temporary place, and its default mailbox would be there.
    """
    if channel["kind"] != "mailbox" or "path" in channel["settings"]:
        return channel
    place = list_places(options)[0]
    return {**channel, "settings": {**channel["settings"], "path": f"{place}/mailbox"}}


def _test_record(place: str, alerts: AlertSettings) -> Record:
    ending = Ending(time.time(), time.time())
    ending.code = 0
    return record_run(
        ending,
        state_dir=place,
        log=_TEST_LOG,
        name="test message",
        command=["gpualert", "notify", "test"],
        alerts={**alerts, "artifacts": [], "on": "always"},
    )
