"""Alerts of real runs through a real mail server, read back from the mailbox."""

from __future__ import annotations

import os
import re
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.guardian import Attempt, RunHandle
from gpualert_common.spec import RunSpec
from tests.notify.alerting import alerts, body, send, states, write_config
from tests.notify.postfix import DOMAIN, Postfix, postfix
from tests.supervised import Lab, python, shell

pytestmark = pytest.mark.e2e

TRAINS = """
import json, os, sys
for step in range(200):
    print(f"step {step} loss {1 / (step + 1):.4f}")
print("export WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567")
json.dump({"accuracy": 0.5}, open("metrics.json", "w"))
open("picture.png", "wb").write(b"\\x89PNG\\r\\n\\x1a\\n" + bytes(range(256)) * 40)
open("model.pt", "wb").write(os.urandom(50_000))
import module_that_is_nowhere
"""


def channel(server: Postfix) -> dict[str, Any]:
    """Return mail to me through that server, encrypted."""
    settings = {
        "host": server.host,
        "port": server.port,
        "ca_file": str(server.ca_file),
        "from": "GPUAlert <gpualert@example.org>",
        "to": [f"me@{DOMAIN}"],
    }
    return {"name": "mail", "kind": "smtp", "settings": settings}


def files(mail: EmailMessage) -> dict[str, Any]:
    """Return the attachments by name."""
    return {str(part.get_filename()): part.get_payload(decode=True) for part in mail.walk()}


def test_alert_of_a_failed_training(lab: Lab) -> None:
    """Text, HTML and files of a failed training's alert are complete; its secret is in none."""
    with postfix() as server:
        write_config(
            lab,
            f'notify = ["team"]\n[channels.team]\nkind = "smtp"\nhost = "{server.host}"\n'
            f'port = {server.port}\nca_file = "{server.ca_file}"\nto = "me@{DOMAIN}"\n'
            'from = "gpualert@example.org"\n',
        )
        (lab.home / "work").mkdir()
        env = {name: value for name, value in os.environ.items() if name != "GPUALERT_NOTIFY"}
        command = ("run", "--name", "tiny", "--cwd", str(lab.home / "work"), "--", *python(TRAINS))
        done = lab.gpualert(*command, env=env)
        assert done.returncode == 1
        (mail,) = server.mails()
    text, html = body(mail), mail.get_body(("html",))
    assert html is not None
    assert re.search(r"\[gpualert\] tiny failed: missing_module after [\d.]+ s", mail["Subject"])
    for part in ("module_that_is_nowhere", "step 199 loss", "metrics.json", "model.pt"):
        assert part in text
        assert part in html.get_content()
    assert html.get_content().rstrip().endswith("</html>")
    attached = files(mail)
    assert attached["metrics.json"] == (lab.home / "work" / "metrics.json").read_bytes()
    assert attached["picture.png"] == (lab.home / "work" / "picture.png").read_bytes()
    assert b"step 0 loss" in attached["stdout.log"]
    assert "model.pt" not in attached
    assert b"0123456789abcdef01234567" not in mail.as_bytes()
    assert not any(b"89abcdef01234567" in (one or b"") for one in attached.values())


def test_attempts_and_callbacks_add_nothing(lab: Lab) -> None:
    """Two failed attempts with callbacks are one mail; the next task's mail is another."""
    with postfix() as server:
        settings = alerts(channel(server))
        for number, last in ((1, False), (2, True)):
            attempt = Attempt(("task",), number, 60.0 * (not last), is_last=last)
            spec = RunSpec(
                shell("exit 3"), cwd=str(lab.home), state_dir=str(lab.state), alerts=settings
            )
            with RunHandle.launch(spec, attempt) as handle:
                handle.wait()
                handle.record_outcome("failed" if last else "up_for_retry", final=last)
                handle.await_alerts()
            if last:
                send(handle.record, send_now=True)
                send(handle.record, extra_channels=[channel(server)], send_now=True)
            assert states(handle.record) == {"mail": "sent" if last else "held"}
        (mail,) = server.mails()
        assert "attempt 2" in mail["Subject"]


@pytest.mark.parametrize("size", [60_000, 200_000])
def test_server_that_takes_little(lab: Lab, size: int) -> None:
    """A mail fits into the server's limit, and names the omitted files."""
    work = lab.home / "work"
    work.mkdir()
    code = "".join(
        f"open('{number}.csv', 'w').write({str(number)!r} * {number * 4000})\n"
        f"open('{number}.png', 'wb').write(__import__('os').urandom({number * 3000}))\n"
        for number in range(1, 20)
    )
    with postfix(size) as server:
        spec = RunSpec(
            python(code + "1/0"),
            cwd=str(work),
            state_dir=str(lab.state),
            alerts=alerts(channel(server)),
        )
        with RunHandle.launch(spec, Attempt(("task",), is_last=True)) as handle:
            handle.wait()
            handle.record_outcome("failed", final=True)
            handle.await_alerts()
        (mail,) = server.mails()
    text = body(mail)
    assert "left in place" in text
    manifest = (Path(handle.record.path) / "bundle.mail.json").read_text()
    for number in range(1, 20):
        assert f'"{number}.csv"' in manifest
        assert f'"{number}.png"' in manifest
