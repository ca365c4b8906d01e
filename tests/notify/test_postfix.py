"""A widely used mail server accepts our mail, and delivers it unchanged."""

from __future__ import annotations

from typing import Any

import pytest

from gpualert_common.errors import DeliveryError
from gpualert_common.notify.channels.smtp import SmtpChannel
from tests.notify import messages
from tests.notify.messages import Arrived, attachment, composer
from tests.notify.postfix import DOMAIN, Postfix, postfix

pytestmark = pytest.mark.e2e

TIMEOUT_S = 30.0


def channel(server: Postfix, **settings: Any) -> SmtpChannel:
    """Return a channel to that server by STARTTLS."""
    given = {
        "host": server.host,
        "port": server.port,
        "ca_file": str(server.ca_file),
        "from": "GPUAlert <gpualert@example.org>",
        "to": [f"me@{DOMAIN}"],
        **settings,
    }
    return SmtpChannel(given)


def test_mail_arrives_unchanged() -> None:
    """Text, HTML, headers and every byte of the files arrive unchanged in the mailbox."""
    files = attachment(), attachment("Größe in GiB.bin", bytes(range(256)) * 4_000)
    with postfix() as server:
        answer = channel(server).send(composer(*files), Arrived(), TIMEOUT_S)
        (mail,) = server.mails()
        assert "TLSv1.3" in server.log or "queued as" in answer
    body, html = mail.get_body(("plain",)), mail.get_body(("html",))
    assert body is not None
    assert html is not None
    assert body.get_content() == messages.TEXT
    assert html.get_content() == messages.HTML
    got = [(file.get_filename(), file.get_payload(decode=True)) for file in mail.iter_attachments()]
    assert got == [(file.name, file.content) for file in files]
    assert mail["Message-ID"] == messages.IDENTITY
    assert mail["References"] == messages.THREAD
    assert mail["Subject"] == "[failed] train.py on node1"
    assert mail["Date"].datetime.timestamp() == messages.AT


def test_a_long_text_in_every_script_is_whole() -> None:
    """Lines of any length, control characters and all of Unicode arrive unchanged."""
    text = "x" * 5_000 + "\n.\n..\nFrom here\n\x1b[31m\x00 \t\n" + "損失 ∇ 🧨 " * 3_000 + "\n"
    with postfix() as server:
        channel(server).send(composer(text=text), Arrived(), TIMEOUT_S)
        (mail,) = server.mails()
    body = mail.get_body(("plain",))
    assert body is not None
    assert body.get_content() == text


def test_size_limit_of_the_server() -> None:
    """Of files beyond the server's limit those that fit arrive, in one mail."""
    files = [attachment(f"{number}.bin", bytes(30_000)) for number in range(10)]
    with postfix(size=150_000) as server:
        channel(server).send(composer(*files), Arrived(), TIMEOUT_S)
        (mail,) = server.mails()
    names = [file.get_filename() for file in mail.iter_attachments()]
    assert names == ["0.bin", "1.bin", "2.bin"]


def test_one_of_two_recipients_is_not_known() -> None:
    """The known recipient gets the mail; the other is named with the server's reason."""
    arrived = Arrived()
    with postfix() as server:
        both = channel(server, to=[f"nobody@{DOMAIN}", f"me@{DOMAIN}"])
        with pytest.raises(DeliveryError, match=f"550 to RCPT TO:<nobody@{DOMAIN}>") as caught:
            both.send(composer(), arrived, TIMEOUT_S)
        assert len(server.mails()) == 1
    assert not caught.value.transient
    assert arrived.parts == [f"to:me@{DOMAIN}"]
