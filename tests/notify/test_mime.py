"""The mail of any message is valid, complete, and within its limit."""

from __future__ import annotations

from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualert_common.errors import DeliveryError
from gpualert_common.model import Attachment
from gpualert_common.notify.message import Budget, Message
from gpualert_common.notify.mime import as_mail, fit_budget, fit_message, local_address
from gpualert_common.structs import replace
from tests.notify import messages
from tests.notify.messages import attachment, composer

ROOMY = Budget(1 << 20, 1 << 20, 1 << 24, 1 << 24, 100)
PLAIN = composer()(ROOMY)
ME = "me@example.org"

ANY_TEXT = st.text(st.characters(), max_size=2000)
"""Every character, also single surrogates."""


def mail_of(message: Message) -> bytes:
    """Return the mail as it is sent."""
    return as_mail(message, f"GPUAlert <{ME}>", [ME])


def parsed(mail: bytes) -> EmailMessage:
    """Return the mail as a reader on this system parses it."""
    return message_from_bytes(mail.replace(b"\r\n", b"\n"), policy=policy.default)


def content(mail: EmailMessage, kind: str) -> str:
    """Return the text or the HTML of a mail."""
    part = mail.get_body((kind,))
    assert part is not None
    found: str = part.get_content()
    return found.replace("\r\n", "\n")  # RFC 2045: that is how text is in base64


def lines(text: str) -> str:
    """Return ``text`` with the line ends of a mail: a line feed after each line."""
    readable = text.encode("utf-8", "replace").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return (readable if readable.endswith(b"\n") else readable + b"\n").decode()


@settings(deadline=None)
@given(subject=ANY_TEXT, text=ANY_TEXT, html=ANY_TEXT, name=ANY_TEXT)
def test_every_line_is_short_and_ascii(subject: str, text: str, html: str, name: str) -> None:
    """All lines are short and ASCII, so that no server has to refuse or rewrite one."""
    message = replace(PLAIN, subject=subject, text=text, html=html)
    mail = mail_of(replace(message, attachments=(attachment(name),)))
    assert max(len(line) for line in mail.split(b"\r\n")) <= 998
    assert not set(mail) - set(range(32, 127)) - {9, 10, 13}
    assert b"\n" not in mail.replace(b"\r\n", b"")
    assert b"\r" not in mail.replace(b"\r\n", b"")


@settings(deadline=None)
@given(text=ANY_TEXT, html=ANY_TEXT)
def test_text_and_html_survive(text: str, html: str) -> None:
    """A reader gets every character; only line ends may change."""
    mail = parsed(mail_of(replace(PLAIN, text=text, html=html)))
    assert content(mail, "plain") == lines(text)
    assert content(mail, "html") == lines(html)


@settings(deadline=None)
@given(subject=ANY_TEXT)
def test_subject_is_one_header(subject: str) -> None:
    """No subject adds a header or a recipient."""
    mail = parsed(mail_of(replace(PLAIN, subject=subject)))
    assert mail.keys() == parsed(mail_of(PLAIN)).keys()
    assert content(mail, "plain") == messages.TEXT


@settings(deadline=None)
@given(files=st.lists(st.binary(max_size=5000), max_size=4), media_type=ANY_TEXT)
def test_files_survive(files: list[bytes], media_type: str) -> None:
    """Every byte of a file arrives, with any media type."""
    attachments = tuple(Attachment("a.bin", file, media_type) for file in files)
    mail = parsed(mail_of(replace(PLAIN, attachments=attachments)))
    assert [file.get_payload(decode=True) for file in mail.iter_attachments()] == files


@pytest.mark.parametrize("media_type", ["message/rfc822", "multipart/mixed", "text", "", "a/b/c"])
def test_media_type_that_would_change_the_mail(media_type: str) -> None:
    """A file with the type of a mail, or an unknown type, is sent as bytes."""
    mail = parsed(mail_of(replace(PLAIN, attachments=(Attachment("a", b"\n\r\n", media_type),))))
    (file,) = mail.iter_attachments()
    assert file.get_content_type() == "application/octet-stream"
    assert file.get_payload(decode=True) == b"\n\r\n"


@pytest.mark.parametrize(("content", "charset"), [("Größe\n".encode(), "utf-8"), (b"\xff", None)])
def test_charset_of_a_text_file(content: bytes, charset: str | None) -> None:
    """A text file has the charset UTF-8 only if it is valid."""
    mail = parsed(mail_of(replace(PLAIN, attachments=(attachment(content=content),))))
    (file,) = mail.iter_attachments()
    assert file.get_content_type() == "text/plain"
    assert file.get_content_charset() == charset
    assert file.get_payload(decode=True) == content


def test_long_ids_are_not_folded() -> None:
    """Message-ID and References of any length are not folded, so that threads work."""
    identity, thread = (f"<{'a' * 150}.{which}@{'b' * 60}.example.org>" for which in "it")
    mail = mail_of(replace(PLAIN, id=identity, thread=thread))
    assert parsed(mail)["Message-ID"] == identity
    assert f"References: {thread}\r\n".encode() in mail
    assert f"In-Reply-To: {thread}\r\n".encode() in mail


@pytest.mark.parametrize("thread", [None, PLAIN.id])
def test_first_mail_of_a_thread(thread: str | None) -> None:
    """The first mail of a thread has no References."""
    mail = parsed(mail_of(replace(PLAIN, thread=thread)))
    assert mail["References"] is None
    assert mail["In-Reply-To"] is None


def test_message_with_only_a_text() -> None:
    """A message with only a text is a mail with only a text."""
    mail = parsed(mail_of(replace(PLAIN, html=None)))
    assert mail.get_content_type() == "text/plain"


def test_ascii_text_is_not_encoded() -> None:
    """ASCII text is not encoded in the mail."""
    assert b"Training failed\r\n" in mail_of(replace(PLAIN, text="Training failed\n"))


def test_size_of_encoded_files() -> None:
    """A file takes 1.37 bytes in the mail for each of its own."""
    mail = mail_of(replace(PLAIN, attachments=(attachment(content=bytes(10_000_000)),)))
    assert 1.36 < len(mail) / 10_000_000 < 1.37


@settings(deadline=None, max_examples=40)
@given(
    limit=st.integers(1_500, 200_000),
    sizes=st.lists(st.integers(0, 60_000), max_size=4),
    words=st.integers(0, 1_000),
)
def test_no_mail_is_larger_than_its_limit(limit: int, sizes: list[int], words: int) -> None:
    """Every mail fits, and begins with the text."""
    files = [attachment(f"{number}.bin", bytes(size)) for number, size in enumerate(sizes)]
    compose = composer(*files, text="Größe " * words, html="<p>ä</p>" * words)
    message, mail = fit_message(compose, fit_budget(ROOMY, limit), limit, mail_of)
    assert len(mail) <= limit
    assert ("Größe " * words).startswith(message.text)
    assert content(parsed(mail), "plain") == lines(message.text)


def test_files_are_omitted_before_the_text_is_cut() -> None:
    """The text is complete as long as a file can be omitted."""
    files = [attachment(f"{number}.bin", bytes(10_000)) for number in range(10)]
    message, _ = fit_message(composer(*files, text="line\n" * 1_000), ROOMY, 40_000, mail_of)
    assert len(message.text) == 5_000
    assert len(message.attachments) == 2


def test_composer_that_ignores_its_budget() -> None:
    """After a bounded number of attempts the error has both numbers."""
    calls = []

    def stubborn(budget: Budget) -> Message:
        calls.append(budget)
        return replace(PLAIN, attachments=(attachment(content=bytes(100_000)),))

    with pytest.raises(DeliveryError, match=r"has \d+ bytes .*; the limit is 50000") as caught:
        fit_message(stubborn, ROOMY, 50_000, mail_of)
    assert not caught.value.transient
    assert len(calls) < 100


def test_local_address_is_valid() -> None:
    """Mail from a host of any name has a valid address."""
    assert parsed(as_mail(PLAIN, local_address(), [local_address()]))["To"] == local_address()
