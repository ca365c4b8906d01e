"""The mailbox is a Maildir for any reader, and each alert is in it once."""

from __future__ import annotations

import mailbox
import os
import resource
import stat
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import pytest

from gpualert_common.errors import DeliveryError
from gpualert_common.notify.channels.mailbox import MailboxChannel
from tests.notify import messages
from tests.notify.messages import Arrived, attachment, composer

TIMEOUT_S = 10.0


def read(path: Path) -> list[EmailMessage]:
    """Return every mail in the Maildir, by Python's own reader."""

    maildir = mailbox.Maildir(str(path), create=False)
    return [
        message_from_bytes(maildir.get_bytes(key), policy=policy.default)
        for key in maildir.keys()  # noqa: SIM118 - a Maildir iterates over its messages
    ]


def test_a_mail_can_be_read_from_it(tmp_path: Path) -> None:
    """Python's reader of Maildirs finds the mail, with its text and its files whole."""
    MailboxChannel({"path": str(tmp_path / "deep" / "box")}).send(
        composer(attachment()), Arrived(), TIMEOUT_S
    )
    (mail,) = read(tmp_path / "deep" / "box")
    assert mail["Message-ID"] == messages.IDENTITY
    body = mail.get_body(("plain",))
    assert body is not None
    assert body.get_content() == messages.TEXT
    (file,) = mail.iter_attachments()
    assert file.get_payload(decode=True) == messages.LOG


def test_only_its_owner_reads_it(tmp_path: Path) -> None:
    """Folders and files are accessible to their owner only."""
    box = tmp_path / "box"
    MailboxChannel({"path": str(box)}).send(composer(), Arrived(), TIMEOUT_S)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (box, *box.iterdir())} == {0o700}
    (mail,) = (box / "new").iterdir()
    assert stat.S_IMODE(mail.stat().st_mode) == 0o600


@pytest.mark.parametrize("moved_to", [None, "cur/{}:2,S", "cur/{}"])
def test_the_same_alert_is_there_once(tmp_path: Path, moved_to: str | None) -> None:
    """A second attempt adds nothing, also if the mail was read meanwhile."""
    channel = MailboxChannel({"path": str(tmp_path)})
    channel.send(composer(), Arrived(), TIMEOUT_S)
    (mail,) = (tmp_path / "new").iterdir()
    if moved_to is not None:
        mail.rename(tmp_path / moved_to.format(mail.name))
    assert "already" in channel.send(composer(), Arrived(), TIMEOUT_S)
    assert len(read(tmp_path)) == 1


def test_deleted_mail_does_not_come_back(tmp_path: Path) -> None:
    """A mail that arrived and was deleted is not delivered by a later attempt."""
    arrived = Arrived()
    channel = MailboxChannel({"path": str(tmp_path)})
    channel.send(composer(), arrived, TIMEOUT_S)
    (mail,) = (tmp_path / "new").iterdir()
    mail.unlink()
    channel.send(composer(), arrived, TIMEOUT_S)
    assert not read(tmp_path)


def test_many_senders_at_once_leave_one_mail(tmp_path: Path) -> None:
    """Of many simultaneous senders of one alert one delivers it, and none fails."""

    def deliver(_number: int) -> str:
        return MailboxChannel({"path": str(tmp_path)}).send(composer(), Arrived(), TIMEOUT_S)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(deliver, range(40)))
    assert len([line for line in results if "already" not in line]) == 1
    assert len(read(tmp_path)) == 1
    assert not list((tmp_path / "tmp").iterdir())


@contextmanager
def largest_file(size_bytes: int) -> Iterator[None]:
    """Limit the size of files: the kernel cuts the write, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_no_partial_mail_on_a_full_disk(tmp_path: Path) -> None:
    """A write that fails halfway leaves no file, names the place, and can be tried again."""
    channel = MailboxChannel({"path": str(tmp_path)})
    with largest_file(1000), pytest.raises(DeliveryError) as caught:
        channel.send(composer(attachment()), Arrived(), TIMEOUT_S)
    assert caught.value.transient
    assert f"{tmp_path}/tmp/" in str(caught.value)
    assert "File too large" in str(caught.value)
    assert not list((tmp_path / "tmp").iterdir())
    assert not read(tmp_path)
    channel.send(composer(attachment()), Arrived(), TIMEOUT_S)
    assert len(read(tmp_path)) == 1


@pytest.mark.e2e
def test_full_disk(tmp_path: Path) -> None:
    """On a full disk nothing is left behind, and the error names the cause."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", tmp_path], check=True)
    try:
        channel = MailboxChannel({"path": str(tmp_path / "box")})
        with pytest.raises(DeliveryError, match="No space left on device") as caught:
            channel.send(composer(attachment(content=bytes(200_000))), Arrived(), TIMEOUT_S)
        assert caught.value.transient
        assert not list((tmp_path / "box" / "tmp").iterdir())
        assert not read(tmp_path / "box")
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def test_a_place_that_is_no_folder(tmp_path: Path) -> None:
    """A file in place of the folder is named in the error."""
    (tmp_path / "box").write_text("")
    with pytest.raises(DeliveryError) as caught:
        MailboxChannel({"path": str(tmp_path / "box")}).send(composer(), Arrived(), TIMEOUT_S)
    assert str(tmp_path / "box") in str(caught.value)
    assert caught.value.transient


def test_linked_path(tmp_path: Path) -> None:
    """A link of the user's own is followed: a mailbox is often on another disk."""
    (tmp_path / "data").mkdir()
    (tmp_path / "home").symlink_to("data")
    (tmp_path / "data" / "Maildir").symlink_to(tmp_path / "data" / "box")
    channel = MailboxChannel({"path": str(tmp_path / "home" / "Maildir")})
    channel.send(composer(), Arrived(), TIMEOUT_S)
    assert len(read(tmp_path / "data" / "box")) == 1


@pytest.mark.parametrize("folder", ["", "box", "box/new"])
def test_place_that_others_can_change(tmp_path: Path, folder: str) -> None:
    """A mailbox that another user could change or replace is an error that no attempt heals."""
    (tmp_path / "box" / "new").mkdir(parents=True)
    (tmp_path / folder).chmod(0o777)
    with pytest.raises(DeliveryError, match="is writable by") as caught:
        MailboxChannel({"path": str(tmp_path / "box")}).send(composer(), Arrived(), TIMEOUT_S)
    assert str(tmp_path / folder) in str(caught.value)
    assert not caught.value.transient


@pytest.mark.e2e
def test_link_of_another_user(tmp_path: Path) -> None:
    """A link of another user is not followed."""
    (tmp_path / "link").symlink_to("box")
    os.lchown(tmp_path / "link", 4242, 4242)
    with pytest.raises(DeliveryError, match="belongs to user 4242") as caught:
        MailboxChannel({"path": str(tmp_path / "link")}).send(composer(), Arrived(), TIMEOUT_S)
    assert not caught.value.transient
    assert not (tmp_path / "box").exists()


def test_files_beyond_its_budget_are_left_out(tmp_path: Path) -> None:
    """A mail in the mailbox has at most 1 MB of files, or the size of the setting."""
    files = attachment("small", bytes(1000)), attachment("large", bytes(900_000))
    MailboxChannel({"path": str(tmp_path), "files_bytes": 5000}).send(
        composer(*files), Arrived(), TIMEOUT_S
    )
    (mail,) = read(tmp_path)
    assert [file.get_filename() for file in mail.iter_attachments()] == ["small"]


def test_path_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path starts where it is set, a tilde is the user's home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    parse = MailboxChannel.KEYS["path"][0]
    assert parse("~/box") == str(tmp_path / "box")
    assert parse("box") == os.path.abspath("box")
