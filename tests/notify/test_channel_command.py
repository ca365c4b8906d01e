"""A program gets the mail on its stdin, and its exit status is the result."""

from __future__ import annotations

import os
import sys
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.errors import DeliveryError
from gpualert_common.notify.channels.command import CommandChannel
from tests.notify import messages
from tests.notify.messages import Arrived, alarm, attachment, composer
from tests.supervised import until

TIMEOUT_S = 30.0


def shell(code: str, **settings: Any) -> CommandChannel:
    """Return a channel to a shell that runs this code."""
    return CommandChannel({"command": ["sh", "-c", code], **settings})


def failure(code: str, timeout_s: float = TIMEOUT_S) -> DeliveryError:
    """Return the error of a delivery by this shell code."""
    arrived = Arrived()
    with pytest.raises(DeliveryError) as caught:
        shell(code).send(composer(attachment()), arrived, timeout_s)
    assert not arrived.parts
    return caught.value


def test_the_whole_mail_is_on_its_stdin(tmp_path: Path) -> None:
    """The program reads a mail with text, HTML and files."""
    arrived = Arrived()
    shell(f"cat > {tmp_path}/mail").send(composer(attachment()), arrived, TIMEOUT_S)
    mail = message_from_bytes((tmp_path / "mail").read_bytes(), policy=policy.default)
    body = mail.get_body(("plain",))
    assert body is not None
    assert body.get_content() == messages.TEXT
    (file,) = mail.iter_attachments()
    assert file.get_payload(decode=True) == messages.LOG
    assert arrived.parts == ["mail"]


def test_environment_names_the_alert(tmp_path: Path) -> None:
    """Subject, Message-ID and thread are variables, on one line each."""
    shown = '"$GPUALERT_SUBJECT" "$GPUALERT_MESSAGE_ID" "$GPUALERT_THREAD_ID"'
    code = f'printf "%s\\n" {shown} > {tmp_path}/variables'
    shell(code).send(composer(subject="failed:\n\x00 Größe"), Arrived(), TIMEOUT_S)
    assert (tmp_path / "variables").read_text().splitlines() == [
        "failed:  Größe",
        messages.IDENTITY,
        messages.THREAD,
    ]


def test_delivered_alert_is_not_sent_again(tmp_path: Path) -> None:
    """A program that has taken an alert is not called for it again."""
    arrived = Arrived()
    for _ in range(2):
        shell(f"echo called >> {tmp_path}/calls").send(composer(), arrived, TIMEOUT_S)
    assert (tmp_path / "calls").read_text() == "called\n"


def test_a_program_that_does_not_read_its_stdin() -> None:
    """Exit status 0 is a success, even if the program read nothing."""
    large = composer(attachment(content=bytes(600_000)))
    assert "exited with 0" in shell("exec <&-; exit 0").send(large, Arrived(), TIMEOUT_S)


@pytest.mark.parametrize(
    ("code", "transient", "reason"),
    [
        ("echo try later >&2; exit 75", True, "sh exited with 75: try later"),
        ("echo no; echo way >&2; exit 1", False, "sh exited with 1: no way"),
        ("no-such-program-anywhere", False, "127 (a command was not found)"),
        ("exit 126", False, "126 (it cannot be executed)"),
        ("kill -9 $$", True, "killed by signal 9"),
    ],
)
def test_exit_status(code: str, transient: bool, reason: str) -> None:
    """Status 75 and a signal are transient, other statuses permanent; the last output is the
    reason."""
    error = failure(code)
    assert reason in str(error)
    assert error.transient is transient


def test_a_flood_of_output_is_bounded() -> None:
    """Of endless output only the end is kept."""
    flood = f'{sys.executable} -c \'print("x" * 5_000_000); print("the reason")\'; exit 1'
    error = failure(flood)
    assert len(str(error)) < 2200
    assert str(error).endswith("the reason")


def test_a_program_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    """At the timeout the program and its children are killed, and the error is transient."""
    error = failure(f"sleep 600 & echo $! > {tmp_path}/child; echo begun; wait", 1.0)
    assert "sh was killed after 1 s: begun" in str(error)
    assert error.transient
    child = int((tmp_path / "child").read_text())
    until(lambda: not alive(child), "the child is gone")


def test_the_alarm_of_the_caller_ends_the_program(tmp_path: Path) -> None:
    """The caller's exception at its deadline is passed on, and no program is left."""
    program = shell(f"echo $$ > {tmp_path}/pid; exec sleep 600")
    with alarm(0.5) as out_of_time, pytest.raises(out_of_time):
        program.send(composer(), Arrived(), TIMEOUT_S)
    assert not alive(int((tmp_path / "pid").read_text()))


def alive(pid: int) -> bool:
    """True for a live process that is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_background_children_are_not_waited_for(tmp_path: Path) -> None:
    """A program is done when it exits, even if a child still holds its output."""
    code = f"sleep 600 & echo $! > {tmp_path}/child"
    try:
        reason = shell(code).send(composer(), Arrived(), TIMEOUT_S)
        assert "exited with 0" in reason
    finally:
        os.kill(int((tmp_path / "child").read_text()), 9)


@pytest.mark.parametrize("command", [["/no/such/program"], ["/"], ["/etc/passwd"]])
def test_a_program_that_cannot_be_started(command: list[str]) -> None:
    """A command that cannot be executed is named, and not tried again."""
    with pytest.raises(DeliveryError) as caught:
        CommandChannel({"command": command}).send(composer(), Arrived(), TIMEOUT_S)
    assert command[0] in str(caught.value)
    assert not caught.value.transient


def test_a_mail_is_no_larger_than_its_setting(tmp_path: Path) -> None:
    """size_bytes bounds the mail for the program."""
    bounded = shell(f"cat > {tmp_path}/mail", size_bytes=20_000)
    bounded.send(composer(attachment(content=bytes(50_000))), Arrived(), TIMEOUT_S)
    assert (tmp_path / "mail").stat().st_size <= 20_000


def test_command_is_quoted_as_for_a_shell() -> None:
    """A text is split into words; a list is used unchanged."""
    parse = CommandChannel.KEYS["command"][0]
    assert parse("sendmail -f 'a b' me@example.org") == ["sendmail", "-f", "a b", "me@example.org"]
    assert parse(["sendmail", "-t"]) == ["sendmail", "-t"]


@pytest.mark.parametrize("command", ["", "'", [], [""], ["a", 1], None, 7])
def test_invalid_command(command: Any) -> None:
    """An invalid command is refused before the launch."""
    with pytest.raises(ValueError, match=r"."):
        CommandChannel.KEYS["command"][0](command)
