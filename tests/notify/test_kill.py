"""A sender that is killed between acceptance and bookkeeping: at most one more copy, none lost."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

from gpualert_common.spec import message_id
from tests.notify.alerting import alerts, ended_run, entries, kill_senders, send, states
from tests.notify.servers import MailServer, mail_server
from tests.supervised import Lab, until

DELAYS_MS = (None, 0, 1, 2, 3, 5, 8, 13, 21, 34)
"""Delay after the server has the mail; None: before it accepts the mail."""


class Deadly(list[Any]):
    """Received mails; storing one kills its sender, after a while."""

    def __init__(self, lab: Lab, delay_ms: int | None) -> None:
        super().__init__()
        self._lab = lab
        self._delay_ms = delay_ms
        self.armed = True

    def append(self, mail: Any) -> None:
        """Store the mail."""
        super().append(mail)
        if not self.armed:
            return
        self.armed = False
        if self._delay_ms is None:
            kill_senders(self._lab)
        else:
            threading.Timer(self._delay_ms / 1000, kill_senders, (self._lab,)).start()


@pytest.mark.parametrize("turn", [1, pytest.param(2, marks=pytest.mark.e2e)])
@pytest.mark.parametrize("delay_ms", DELAYS_MS, ids=lambda ms: f"{ms}ms")
def test_kill_between_acceptance_and_bookkeeping(lab: Lab, delay_ms: int | None, turn: int) -> None:
    """The next sender sends the alert; the server has it once or twice, as one message."""
    with mail_server() as server:
        record = _record(lab, server)
        server.received = Deadly(lab, delay_ms)
        send(record)
        until(
            lambda: not any(entry.is_locked for entry in entries(record)), "the senders to be gone"
        )
        until(lambda: send(record) and states(record) == {"mail": "sent"}, "the next to send")
        sent = [received.mail["Message-ID"] for received in server.received]
    assert set(sent) == {message_id(record.run_id)}
    assert len(sent) <= 2
    assert not os.listdir(lab.state / "undelivered")


def _record(lab: Lab, server: MailServer) -> Any:
    settings = {"host": server.host, "port": server.port, "security": "none"}
    settings |= {"to": ["team@example.org"], "from": "gpualert@example.org"}
    channel = {"name": "mail", "kind": "smtp", "settings": settings}
    return ended_run(lab, alerts=alerts(channel))
