"""Whatever is in a message, the mail made of it is valid, whole, and within its limit."""

from __future__ import annotations

from dataclasses import replace
from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualert_common.errors import DeliveryError
from gpualert_common.model import Attachment
from gpualert_common.notify.message import Budget, Message
from gpualert_common.notify.mime import as_mail, fitted, local_address, within
from tests.notify import messages
from tests.notify.messages import attachment, composer

ROOMY = Budget(1 << 20, 1 << 20, 1 << 24, 1 << 24, 100)
PLAIN = composer()(ROOMY)
ME = "me@example.org"

ANY_TEXT = st.text(st.characters(), max_size=2000)
"""Every character there is, halves of one too."""


def mail_of(message: Message) -> bytes:
    """The mail as it goes over the wire."""
    return as_mail(message, f"GPUAlert <{ME}>", [ME])


def parsed(mail: bytes) -> EmailMessage:
    """What a reader on this system makes of it."""
    return message_from_bytes(mail.replace(b"\r\n", b"\n"), policy=policy.default)


def content(mail: EmailMessage, kind: str) -> str:
    """The text or the HTML of a mail."""
    part = mail.get_body((kind,))
    assert part is not None
    found: str = part.get_content()
    return found.replace("\r\n", "\n")  # RFC 2045: that is how text is in base64


def lines(text: str) -> str:
    """``text`` as mail can carry it: its lines end with a line feed, the last one too."""
    readable = text.encode("utf-8", "replace").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return (readable if readable.endswith(b"\n") else readable + b"\n").decode()


@settings(deadline=None)
@given(subject=ANY_TEXT, text=ANY_TEXT, html=ANY_TEXT, name=ANY_TEXT)
def test_every_line_is_short_and_ascii(subject: str, text: str, html: str, name: str) -> None:
    """No server has to refuse or to rewrite a line of ours."""
    message = replace(PLAIN, subject=subject, text=text, html=html)
    mail = mail_of(replace(message, attachments=(attachment(name),)))
    assert max(len(line) for line in mail.split(b"\r\n")) <= 998
    assert not set(mail) - set(range(32, 127)) - {9, 10, 13}
    assert b"\n" not in mail.replace(b"\r\n", b"")
    assert b"\r" not in mail.replace(b"\r\n", b"")


@settings(deadline=None)
@given(text=ANY_TEXT, html=ANY_TEXT)
def test_text_and_html_come_out_as_they_went_in(text: str, html: str) -> None:
    """A reader gets every character, apart from the form of the line ends."""
    mail = parsed(mail_of(replace(PLAIN, text=text, html=html)))
    assert content(mail, "plain") == lines(text)
    assert content(mail, "html") == lines(html)


@settings(deadline=None)
@given(subject=ANY_TEXT)
def test_subject_is_one_header(subject: str) -> None:
    """No subject makes a header of its own, and no recipient."""
    mail = parsed(mail_of(replace(PLAIN, subject=subject)))
    assert mail.keys() == parsed(mail_of(PLAIN)).keys()
    assert content(mail, "plain") == messages.TEXT


@settings(deadline=None)
@given(files=st.lists(st.binary(max_size=5000), max_size=4), media_type=ANY_TEXT)
def test_files_come_out_as_they_went_in(files: list[bytes], media_type: str) -> None:
    """Every byte of a file is there, whatever its media type says."""
    attachments = tuple(Attachment("a.bin", file, media_type) for file in files)
    mail = parsed(mail_of(replace(PLAIN, attachments=attachments)))
    assert [file.get_payload(decode=True) for file in mail.iter_attachments()] == files


@pytest.mark.parametrize("media_type", ["message/rfc822", "multipart/mixed", "text", "", "a/b/c"])
def test_media_type_that_would_change_the_mail(media_type: str) -> None:
    """A file that claims to be a mail, or nothing known, is a file of bytes."""
    mail = parsed(mail_of(replace(PLAIN, attachments=(Attachment("a", b"\n\r\n", media_type),))))
    (file,) = mail.iter_attachments()
    assert file.get_content_type() == "application/octet-stream"
    assert file.get_payload(decode=True) == b"\n\r\n"


@pytest.mark.parametrize(("content", "charset"), [("Größe\n".encode(), "utf-8"), (b"\xff", None)])
def test_charset_of_a_text_file(content: bytes, charset: str | None) -> None:
    """A text file is called UTF-8 only where it is."""
    mail = parsed(mail_of(replace(PLAIN, attachments=(attachment(content=content),))))
    (file,) = mail.iter_attachments()
    assert file.get_content_type() == "text/plain"
    assert file.get_content_charset() == charset
    assert file.get_payload(decode=True) == content


def test_long_ids_are_not_folded_apart() -> None:
    """Message-ID and References stay as they are at any length, so that threads hold."""
    identity, thread = (f"<{'a' * 150}.{which}@{'b' * 60}.example.org>" for which in "it")
    mail = mail_of(replace(PLAIN, id=identity, thread=thread))
    assert parsed(mail)["Message-ID"] == identity
    assert f"References: {thread}\r\n".encode() in mail
    assert f"In-Reply-To: {thread}\r\n".encode() in mail


@pytest.mark.parametrize("thread", [None, PLAIN.id])
def test_first_of_its_thread_answers_nothing(thread: str | None) -> None:
    """A mail that is a thread of its own has no References."""
    mail = parsed(mail_of(replace(PLAIN, thread=thread)))
    assert mail["References"] is None
    assert mail["In-Reply-To"] is None


def test_text_alone_is_not_wrapped() -> None:
    """A message of text alone is a mail of text alone."""
    mail = parsed(mail_of(replace(PLAIN, html=None)))
    assert mail.get_content_type() == "text/plain"


def test_plain_text_can_be_read_in_the_raw_mail() -> None:
    """Text in ASCII stands in the mail as it is."""
    assert b"Training failed\r\n" in mail_of(replace(PLAIN, text="Training failed\n"))


def test_ten_megabytes_of_files_cost_what_was_measured() -> None:
    """A file costs 1.37 bytes in the mail for each of its own."""
    mail = mail_of(replace(PLAIN, attachments=(attachment(content=bytes(10_000_000)),)))
    assert 1.36 < len(mail) / 10_000_000 < 1.37


@settings(deadline=None, max_examples=40)
@given(
    limit=st.integers(1_500, 200_000),
    sizes=st.lists(st.integers(0, 60_000), max_size=4),
    words=st.integers(0, 1_000),
)
def test_no_mail_is_larger_than_its_limit(limit: int, sizes: list[int], words: int) -> None:
    """What is made fits, with the text at its head."""
    files = [attachment(f"{number}.bin", bytes(size)) for number, size in enumerate(sizes)]
    compose = composer(*files, text="Größe " * words, html="<p>ä</p>" * words)
    message, mail = fitted(compose, within(ROOMY, limit), limit, mail_of)
    assert len(mail) <= limit
    assert ("Größe " * words).startswith(message.text)
    assert content(parsed(mail), "plain") == lines(message.text)


def test_files_are_fewer_before_the_text_is_shorter() -> None:
    """The whole text is there while a file is left to leave out."""
    files = [attachment(f"{number}.bin", bytes(10_000)) for number in range(10)]
    message, _ = fitted(composer(*files, text="line\n" * 1_000), ROOMY, 40_000, mail_of)
    assert len(message.text) == 5_000
    assert len(message.attachments) == 2


def test_a_composer_that_ignores_its_budget_does_not_hold_us() -> None:
    """After a bounded number of tries the error names both numbers."""
    calls = []

    def stubborn(budget: Budget) -> Message:
        calls.append(budget)
        return replace(PLAIN, attachments=(attachment(content=bytes(100_000)),))

    with pytest.raises(DeliveryError, match=r"has \d+ bytes .* no more than 50000 are") as caught:
        fitted(stubborn, ROOMY, 50_000, mail_of)
    assert not caught.value.transient
    assert len(calls) < 100


def test_local_address_is_one() -> None:
    """Whatever this host is called, mail from it has an address."""
    assert parsed(as_mail(PLAIN, local_address(), [local_address()]))["To"] == local_address()
