"""Delivery of one alert: attempts in separate processes, with growing pauses between them."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import tenacity

from gpualert_common import artifacts
from gpualert_common.errors import DeliveryError, GPUAlertError, MissingSecretError
from gpualert_common.launch_record import ChannelConfig
from gpualert_common.notify.alert_facts import has_ended
from gpualert_common.notify.channel_config import channel_class, check_settings
from gpualert_common.notify.channel_secrets import resolve_secrets
from gpualert_common.notify.compose import compose, compose_warning
from gpualert_common.notify.entry import DeliveryAttempt, EntryState, OutboxEntry
from gpualert_common.notify.isolation import run_isolated
from gpualert_common.notify.message import Budget, Message
from gpualert_common.notify.outbox import bundle_file
from gpualert_common.notify.reconciliation import TOO_LATE
from gpualert_common.notify.report_maker import ReportMaker
from gpualert_common.notify.targets import MAILBOX
from gpualert_common.record import Record
from gpualert_common.record.events import ALERT_SENT
from gpualert_common.record.marks import find_state_dir
from gpualert_common.redact import Redactor
from gpualert_common.spec import ENDED

if TYPE_CHECKING:
    from gpualert_common.notify.channels._interface import Channel

ATTEMPT_S = 60.0
"""Limit for one attempt, from the search for artifacts to the answer of the server."""
TIMEOUT_S = 10.0
"""Limit for one wait for the server."""
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 300.0
GIVE_UP_S = 5 * 86400.0
"""Limit of mail servers: an alert that was not accepted for five days is marked as failed."""
_MOST_PROBLEM = 600


class DeliveryProgress:
    """Parts of a message that have arrived, kept in the entry."""

    def __init__(self, entry: OutboxEntry) -> None:
        self._entry = entry

    def has(self, part: str) -> bool:
        """True when that part arrived in this attempt or an earlier one."""
        return part in self._entry.fields["arrived"]

    def mark(self, part: str) -> None:
        """Record that the part has arrived; it is on the disk when this returns."""
        self._entry.save(arrived=[*self._entry.fields["arrived"], part])


def deliver_entry(
    record: Record, entry: OutboxEntry, given: Mapping[str, str], *, retry_for_s: float
) -> None:
    """Attempt the delivery until it succeeds, fails for good, or ``retry_for_s`` has passed.

    The entry records the result.  Raises only exceptions that end this process.
    """
    pauses = tenacity.Retrying(
        retry=tenacity.retry_if_result(bool),
        wait=tenacity.wait_exponential_jitter(initial=FIRST_PAUSE_S, max=LONGEST_PAUSE_S),
        stop=tenacity.stop_after_delay(retry_for_s),
        retry_error_callback=lambda _state: None,
    )
    pauses(_attempt, record, entry, given)


def send_once(record: Record, entry: OutboxEntry, given: Mapping[str, str]) -> str:
    """Attempt it once, in a process of its own; return what was accepted.  Raises DeliveryError."""
    try:
        return run_isolated(lambda: _send(record, entry, given), ATTEMPT_S)
    except DeliveryError:
        raise
    except Exception as error:  # the process was killed, or could not be started
        raise DeliveryError(_describe(error), transient=True) from error


def _attempt(record: Record, entry: OutboxEntry, given: Mapping[str, str]) -> bool:
    """Attempt it once and record that in the entry; True when another attempt may succeed."""
    now = time.time()
    if entry.about != ENDED and has_ended(record):
        entry.save(state=EntryState.SUPERSEDED, because=TOO_LATE)
        return False
    try:
        accepted = send_once(record, entry, given)
    except DeliveryError as error:
        entry.reload()  # the attempt's process marked what has arrived
        young = now - entry.fields["queued_at"] < GIVE_UP_S
        state = EntryState.PENDING if error.transient and young else EntryState.FAILED
        problem = str(error)[:_MOST_PROBLEM]
        last: DeliveryAttempt = {"at": now, "problem": problem, "transient": error.transient}
        attempts = entry.fields["attempts"] + 1
        due = now + min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(attempts, 30))
        entry.save(state=state, attempts=attempts, last=last, due=due)
        _note(record, entry, problem=problem)
        return state is EntryState.PENDING and not isinstance(error, MissingSecretError)
    entry.reload()
    last = {"at": now, "accepted": accepted}
    entry.save(state=EntryState.SENT, attempts=entry.fields["attempts"] + 1, last=last, due=0.0)
    _note(record, entry, accepted=accepted)
    return False


def open_channel(
    record: Record, channel: ChannelConfig, given: Mapping[str, str]
) -> tuple[Channel, list[str]]:
    """Return the channel with all its settings, and the secrets among them.

    Raises DeliveryError without a secret in it, whatever the channel's module raises.
    """
    settings, secrets = resolve_secrets(channel, given)
    if channel["kind"] == MAILBOX:
        settings.setdefault("path", os.path.join(find_state_dir(record.path), MAILBOX))
    with _convert_errors(secrets):
        found = channel_class(channel["kind"])
        opened: Channel = found(check_settings(found, settings, f"channel {channel['name']}"))
    return opened, secrets


def _send(record: Record, entry: OutboxEntry, given: Mapping[str, str]) -> str:
    sender, secrets = open_channel(record, entry.fields["channel"], given)
    reports = ReportMaker(record, secrets)

    def compose_message(budget: Budget) -> Message:
        if entry.about != ENDED:
            return compose_warning(record, entry.fields, budget, secrets)
        message, bundle = compose(record, budget, secrets, reports)
        manifest = artifacts.encode_manifest(bundle)
        with contextlib.suppress(OSError, GPUAlertError):  # it is in the message, too
            record.write_json(bundle_file(entry.channel), manifest)
        return message

    with _convert_errors(secrets):
        answer = str(sender.send(compose_message, DeliveryProgress(entry), TIMEOUT_S))
    return Redactor(secrets).mask_text(answer)


@contextlib.contextmanager
def _convert_errors(secrets: list[str]) -> Iterator[None]:
    """Turn every exception of a channel into a DeliveryError without its secrets."""
    try:
        yield
    except GPUAlertError as error:  # a setting, a record: the same next time
        problem, transient = str(error), getattr(error, "transient", False)
    except (ImportError, SystemExit) as error:
        problem, transient = f"the channel cannot be loaded: {_describe(error)}", False
    except Exception as error:  # noqa: BLE001 - a user's module may raise anything
        problem, transient = f"the channel failed: {_describe(error)}", True
    else:
        return
    raise DeliveryError(Redactor(secrets).mask_text(problem), transient)


def _note(record: Record, entry: OutboxEntry, **facts: Any) -> None:
    if entry.about != ENDED:
        facts["about"] = entry.about
    with contextlib.suppress(OSError):
        record.append_event(ALERT_SENT, channel=entry.channel, state=entry.state, **facts)


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
