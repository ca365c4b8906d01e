"""Processes that send alerts: they end with what they started, and keep no pipe of their parent."""

from __future__ import annotations

import os
import select
from collections.abc import Generator
from pathlib import Path

from gpualert_common.launch_record import ChannelConfig
from gpualert_common.notify.alert_processes import send_all
from gpualert_common.notify.reconciliation import reconcile
from tests.notify.alerting import alerts, ended_run
from tests.supervised import Lab, is_alive, until


def start_attempt(lab: Lab, *private_fds: int) -> tuple[Generator[None], int]:
    """Return the sending of an alert by a program that goes on, and the number of its process."""
    program = "cat > /dev/null; sh -c 'echo $$ > started.part; mv started.part started; sleep 600'"
    slow: ChannelConfig = {
        "name": "slow",
        "kind": "command",
        "settings": {"command": ["sh", "-c", f"cd {lab.home}; {program}"]},
    }
    record = ended_run(lab, alerts=alerts(slow))
    _decision, found = reconcile(record)
    sending = send_all(record, found, {}, 60.0, private_fds)
    next(sending)
    started = Path(lab.home, "started")
    until(started.exists, "the program of the channel")
    return sending, int(started.read_text())


def test_attempt_ends_with_all_its_processes(lab: Lab) -> None:
    """An alert that another node has taken over is not sent here: its attempt ends as a whole."""
    sending, program = start_attempt(lab)
    assert is_alive(program)
    sending.close()
    until(lambda: not is_alive(program), "the end of the program", deadline_s=5.0)


def test_private_descriptors(lab: Lab) -> None:
    """A process that sends keeps no pipe that has to end with its parent."""
    reading, writing = os.pipe()
    sending, program = start_attempt(lab, writing)
    os.close(writing)
    assert select.select([reading], [], [], 5.0)[0]
    assert os.read(reading, 1) == b""
    assert is_alive(program)
    sending.close()
    os.close(reading)
