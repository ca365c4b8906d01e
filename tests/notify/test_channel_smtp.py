"""Mail arrives at a real server complete and within its limit; each fault has its reason."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.errors import DeliveryError
from gpualert_common.notify.channels.smtp import SmtpChannel
from gpualert_common.notify.message import Budget
from tests.notify import messages
from tests.notify.messages import Arrived, alarm, attachment, composer
from tests.notify.servers import UNRESOLVABLE, Server, faulty_smtp, mail_server

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 10.0
SHORT_S = 0.3


def channel(server: Server, **settings: Any) -> SmtpChannel:
    """Return a channel to that server, by default without TLS."""
    given = {
        "host": server.host,
        "port": server.port,
        "security": "none",
        "from": "GPUAlert <gpualert@example.org>",
        "to": ["me@example.org"],
        **settings,
    }
    return SmtpChannel({key: SmtpChannel.KEYS[key][0](value) for key, value in given.items()})


def refusal(
    of: SmtpChannel, timeout_s: float = TIMEOUT_S, *, arrived: Arrived | None = None
) -> Any:
    """Return the error of a delivery."""
    with pytest.raises(DeliveryError) as caught:
        of.send(composer(attachment()), arrived or Arrived(), timeout_s)
    return caught.value


def test_text_html_and_files_arrive_as_they_were_sent() -> None:
    """The server gets the text, the HTML and every byte of the files."""
    with mail_server() as server:
        channel(server).send(composer(attachment()), Arrived(), TIMEOUT_S)
    mail = server.received[0].mail
    body, html = mail.get_body(("plain",)), mail.get_body(("html",))
    assert body is not None
    assert html is not None
    assert body.get_content() == messages.TEXT
    assert html.get_content() == messages.HTML
    (file,) = mail.iter_attachments()
    assert file.get_filename() == "output.log"
    assert file.get_payload(decode=True) == messages.LOG


def test_headers_name_the_event_and_its_thread() -> None:
    """A mail has the Message-ID of its event, its time, its thread, and the mark of a program."""
    with mail_server() as server:
        channel(server).send(composer(), Arrived(), TIMEOUT_S)
    mail = server.received[0].mail
    assert mail["Message-ID"] == messages.IDENTITY
    assert mail["In-Reply-To"] == mail["References"] == messages.THREAD
    assert mail["Date"].datetime.timestamp() == messages.AT
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["From"] == "GPUAlert <gpualert@example.org>"
    assert mail["To"] == "me@example.org"
    assert server.received[0].sender == "gpualert@example.org"


def test_starttls_and_login(tmp_path: Path) -> None:
    """With a known authority the mail goes over STARTTLS, with user and password."""
    ca_file = tmp_path / "ca.pem"
    with mail_server(ca_file=ca_file, login=("me", "s3cret")) as server:
        secure = channel(
            server, security="starttls", ca_file=str(ca_file), user="me", password="s3cret"
        )
        reason = secure.send(composer(), Arrived(), TIMEOUT_S)
    assert len(server.received) == 1
    assert "queued as test" in reason


def test_probe_sends_nothing(tmp_path: Path) -> None:
    """A probe connects and logs in as a delivery does, and reports that; no mail is begun."""
    ca_file = tmp_path / "ca.pem"
    with mail_server(ca_file=ca_file, login=("me", "s3cret")) as server:
        secure = channel(
            server, security="starttls", ca_file=str(ca_file), user="me", password="s3cret"
        )
        reason = secure.probe(TIMEOUT_S)
    assert reason == f"{server.host}:{server.port} let me log in"
    assert not [command for command in server.commands if command.startswith("MAIL")]
    assert server.received == []


def test_probe_of_a_wrong_password() -> None:
    """The server's answer is the error of a probe, too."""
    with faulty_smtp("bad_login") as server, pytest.raises(DeliveryError, match="535"):
        channel(server, user="me", password="s3cret").probe(TIMEOUT_S)


def test_tls_from_the_start(tmp_path: Path) -> None:
    """With security = "ssl" the mail goes over TLS from the first byte."""
    ca_file = tmp_path / "ca.pem"
    with mail_server(ca_file=ca_file, implicit_tls=True) as server:
        secure = channel(server, security="ssl", ca_file=str(ca_file))
        secure.send(composer(), Arrived(), TIMEOUT_S)
    assert len(server.received) == 1


def test_password_beyond_ascii() -> None:
    """A password with more than ASCII logs in too."""
    with mail_server(login=("me", "pässwörd")) as server:
        channel(server, user="me", password="pässwörd").send(composer(), Arrived(), TIMEOUT_S)
    assert len(server.received) == 1


@pytest.mark.parametrize(
    ("kind", "transient", "reason"),
    [
        ("refused", True, "Connection refused"),
        ("black_hole", True, "the connection: no answer in time"),
        ("silent", True, "no answer in time"),
        ("421", True, "421 to the connection: 4.3.2 closing down"),
        ("452_mail", True, "452 to MAIL FROM:<gpualert@example.org>"),
        ("452_data", True, "insufficient system storage"),
        ("550_rcpt", False, "550 to RCPT TO:<me@example.org>: 5.1.1 no such user here"),
        ("552_data", False, "552 to the message"),
        ("cut_in_data", True, "the connection was closed"),
        ("cut_after_data", True, "the connection was closed"),
        ("garbage", False, "the connection"),
    ],
)
def test_fault_without_tls(kind: str, transient: bool, reason: str) -> None:
    """Each fault is reported with server, command and answer, and as transient or permanent."""
    arrived = Arrived()
    with faulty_smtp(kind) as server:
        error = refusal(channel(server), SHORT_S, arrived=arrived)
    assert reason in str(error)
    assert f"127.0.0.1:{server.port}" in str(error)
    assert error.transient is transient
    assert not arrived.parts


@pytest.mark.parametrize(
    ("kind", "transient", "reason"),
    [
        ("bad_login", False, "535 to AUTH"),
        ("login_later", True, "454 to AUTH"),
        ("452_mail", False, "AUTH"),  # a server without any login
    ],
)
def test_fault_of_the_login(kind: str, transient: bool, reason: str) -> None:
    """A wrong password is permanent, a login that is out of order is transient."""
    with faulty_smtp(kind) as server:
        error = refusal(channel(server, user="me", password="s3cret"))
    assert reason in str(error)
    assert error.transient is transient


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("no_starttls", "does not offer STARTTLS, and nothing is sent in clear"),
        ("bad_certificate", "certificate not trusted"),
    ],
)
def test_fault_of_the_encryption(kind: str, reason: str) -> None:
    """Without trusted TLS nothing is sent, not even the sender's name."""
    with faulty_smtp(kind) as server:
        error = refusal(channel(server, security="starttls", user="me", password="s3cret"))
    assert reason in str(error)
    assert not error.transient
    assert not [command for command in server.commands if command.startswith(("MAIL", "AUTH"))]


def test_tls_from_the_start_to_a_server_without_it() -> None:
    """A server without TLS where TLS is expected is an error of the settings."""
    with faulty_smtp("no_starttls") as server:
        error = refusal(channel(server, security="ssl"))
    assert not error.transient


def test_host_that_is_not_found() -> None:
    """A name that does not resolve is transient, since the network may be down."""
    error = refusal(channel(Server(25, UNRESOLVABLE)))
    assert f"{UNRESOLVABLE}:25" in str(error)
    assert "not resolved" in str(error)
    assert error.transient


def test_invalid_host_name() -> None:
    """An invalid host name is an error of the settings."""
    assert not refusal(channel(Server(25, "a..example.org"))).transient


def test_authority_file_that_is_no_certificate(tmp_path: Path) -> None:
    """A ca_file without certificates is named."""
    wrong = tmp_path / "ca.pem"
    wrong.write_text("nothing")
    with mail_server(ca_file=tmp_path / "real.pem") as server:
        error = refusal(channel(server, security="starttls", ca_file=str(wrong)))
    assert str(wrong) in str(error)
    assert not error.transient


def test_password_needs_tls_to_another_host() -> None:
    """A password is never sent to another machine without TLS; no connection is made."""
    elsewhere = channel(Server(25, UNRESOLVABLE), user="me", password="s3cret")
    error = refusal(elsewhere)
    assert "no password is sent in clear" in str(error)
    assert not error.transient


def test_password_without_user() -> None:
    """A password without a user is an error of the settings."""
    assert "go together" in str(refusal(channel(Server(25), password="s3cret")))


@pytest.mark.parametrize("password", ["s3cret", "pässwörd"])
def test_errors_hold_no_credentials(password: str) -> None:
    """A password that the server repeats is not in the error."""
    with faulty_smtp("echo") as server:
        error = refusal(channel(server, user="me", password=password))
    assert "I do not know AUTH" in str(error)
    assert str(error).endswith(" ...")


def test_server_for_tests_in_other_environments(tmp_path: Path) -> None:
    """The server also runs as a program, which writes each mail to a file and exits with stdin."""
    command = [sys.executable, "-m", "tests.notify.servers", "good"]
    options = ["--folder", str(tmp_path), "--ca", f"{tmp_path}/ca.pem", "--login", "me:s3cret"]
    running = subprocess.Popen(
        [*command, *options], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with running:
        assert running.stdout is not None
        server = Server(int(running.stdout.readline()))
        ca_file = str(tmp_path / "ca.pem")
        login = {"user": "me", "password": "s3cret"}
        secure = channel(server, security="starttls", ca_file=ca_file, **login)
        secure.send(composer(), Arrived(), TIMEOUT_S)
        running.communicate()
    assert running.returncode == 0
    assert messages.IDENTITY.encode() in (tmp_path / "0.eml").read_bytes()


def test_connection_without_quit() -> None:
    """A connection that breaks after the mail was accepted is no error."""
    arrived = Arrived()
    with faulty_smtp("cut_at_quit") as server:
        channel(server).send(composer(), arrived, TIMEOUT_S)
    assert arrived.parts == ["to:me@example.org"]


def test_slow_drip_ends_by_the_alarm_of_the_caller() -> None:
    """A very slow server is bounded by the caller, whose exception is passed on."""
    with faulty_smtp("slow_drip") as server, alarm(1.0) as out_of_time, pytest.raises(out_of_time):
        channel(server).send(composer(), Arrived(), TIMEOUT_S)


def test_size_of_the_server_is_respected() -> None:
    """Of two files the one that fits into a server's 50,000 bytes is sent."""
    files = attachment("small.log", b"s" * 20_000), attachment("large.log", b"l" * 200_000)
    with mail_server(size=50_000) as server:
        channel(server).send(composer(*files), Arrived(), TIMEOUT_S)
    (received,) = server.received
    assert [file.get_filename() for file in received.mail.iter_attachments()] == ["small.log"]
    assert len(received.content) <= 50_000


@pytest.mark.parametrize("size", range(2_000, 60_000, 4_567))
def test_no_mail_is_larger_than_what_the_server_takes(size: int) -> None:
    """For any SIZE of a server the mail is smaller; the text is dropped last."""
    files = [attachment(f"{number}.bin", bytes(7_000)) for number in range(6)]
    with mail_server(size=size) as server:
        channel(server).send(composer(*files, text=messages.TEXT * 20), Arrived(), TIMEOUT_S)
    (received,) = server.received
    assert len(received.content) <= size


def test_server_that_takes_less_than_the_shortest_text() -> None:
    """If not even a short text fits, the error has both numbers."""
    with mail_server(size=300) as server:
        error = refusal(channel(server))
    assert not error.transient
    assert "the limit is 300" in str(error)
    assert not server.received


def test_own_limit_is_respected() -> None:
    """size_bytes bounds the mail below the limit of the server."""
    with mail_server(size=1_000_000) as server:
        bounded = channel(server, size_bytes="30KB")
        bounded.send(composer(attachment(content=bytes(100_000))), Arrived(), TIMEOUT_S)
    assert len(server.received[0].content) < 30_000


def test_limit_that_the_server_reports_late() -> None:
    """A server that reports its limit only afterwards gets a smaller mail at once."""
    budgets: list[Budget] = []
    files = [attachment(f"{number}.bin", bytes(40_000)) for number in range(4)]
    with mail_server(silent_size=150_000) as server:
        channel(server).send(composer(*files, budgets=budgets), Arrived(), TIMEOUT_S)
    (received,) = server.received
    assert 0 < len(list(received.mail.iter_attachments())) < 4
    assert budgets[0].files_bytes > budgets[1].files_bytes > 0


def test_late_limit_below_all_files() -> None:
    """The text arrives at a server that accepts no file and reports that late."""
    with mail_server(silent_size=20_000) as server:
        channel(server).send(composer(attachment(content=bytes(900_000))), Arrived(), TIMEOUT_S)
    body = server.received[0].mail.get_body(("plain",))
    assert body is not None
    assert body.get_content() == messages.TEXT


def test_limit_without_size() -> None:
    """A server without SIZE gets at most 10 MB."""
    budgets: list[Budget] = []
    with mail_server() as server:
        files = [attachment(f"{number}.bin", bytes(1_000_000)) for number in range(12)]
        channel(server).send(composer(*files, budgets=budgets), Arrived(), TIMEOUT_S)
    assert 7_000_000 < budgets[0].files_bytes < 7_300_000
    assert 9_000_000 < len(server.received[0].content) <= 10_000_000


def test_one_of_two_recipients_is_refused() -> None:
    """One of two recipients gets the mail, and the error names the other."""
    refused = {"gone@example.org": "550 5.1.1 no such user"}
    arrived = Arrived()
    with mail_server(refuse=refused) as server:
        both = channel(server, to="gone@example.org, me@example.org")
        error = refusal(both, arrived=arrived)
    assert server.received[0].recipients == ["me@example.org"]
    assert arrived.parts == ["to:me@example.org"]
    assert "gone@example.org" in str(error)
    assert not error.transient


def test_later_attempt_omits_accepted_recipients() -> None:
    """A recipient who was accepted in the first attempt is omitted in the second."""
    refused = {"busy@example.org": "450 4.2.1 mailbox busy"}
    arrived = Arrived()
    with mail_server(refuse=refused) as server:
        error = refusal(channel(server, to="busy@example.org,me@example.org"), arrived=arrived)
    assert error.transient
    with mail_server() as server:
        both = channel(server, to="busy@example.org,me@example.org")
        both.send(composer(), arrived, TIMEOUT_S)
        assert "already" in both.send(composer(), arrived, TIMEOUT_S)
    assert [received.recipients for received in server.received] == [["busy@example.org"]]


def test_subject_cannot_add_headers() -> None:
    """Line breaks in a subject are spaces in the mail."""
    subject = "[failed] a\r\nBcc: all@example.org\n\nbody\x00\x1b[31m Größe \ud800"
    with mail_server() as server:
        channel(server).send(composer(subject=subject), Arrived(), TIMEOUT_S)
    mail = server.received[0].mail
    assert mail["Subject"] == "[failed] a Bcc: all@example.org body [31m Größe ?"
    assert mail["Bcc"] is None


def test_addresses_beyond_ascii() -> None:
    """An address that needs SMTPUTF8 is used if the server supports that, otherwise it is named."""
    with mail_server(utf8=True) as server:
        channel(server, to="jürgen@example.org").send(composer(), Arrived(), TIMEOUT_S)
    assert server.received[0].recipients == ["jürgen@example.org"]
    with mail_server() as server:
        error = refusal(channel(server, to="jürgen@example.org"))
    assert "SMTPUTF8, which jürgen@example.org needs" in str(error)
    assert not error.transient


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("port", "0"),
        ("port", 70_000),
        ("port", "smtp"),
        ("security", "tls"),
        ("to", ""),
        ("to", "me"),
        ("to", ["me@example.org\nRCPT TO:<all@example.org>"]),
        ("to", [["me@example.org"]]),
        ("from", "a <b"),
        ("from", "a\r\nBcc: x@example.org <b@example.org>"),
        ("host", "mail\r\nexample"),
        ("size_bytes", "many"),
    ],
)
def test_invalid_setting(key: str, value: Any) -> None:
    """An invalid setting is refused before anything is sent."""
    with pytest.raises(ValueError, match=r"."):
        SmtpChannel.KEYS[key][0](value)


def test_checking_twice_changes_nothing() -> None:
    """Checked settings may be checked again."""
    for key, value in (("to", "a@example.org, b@example.org"), ("port", "25"), ("ca_file", "x")):
        once = SmtpChannel.KEYS[key][0](value)
        assert SmtpChannel.KEYS[key][0](once) == once
