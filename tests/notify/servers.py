"""Mail servers on loopback: one that works, and one for every fault.

In a test they are context managers.  In another environment, where Airflow or Prefect are tested,
they are a program of their own, which prints its port and runs until its stdin ends::

    .venv/bin/python -m tests.notify.servers good --folder MAILS --ca CA.pem --size 50000
    .venv/bin/python -m tests.notify.servers black_hole
"""

from __future__ import annotations

import argparse
import socket
import ssl
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

LOOPBACK = "127.0.0.1"
UNRESOLVABLE = "name.invalid"
"""RFC 6761: this name never resolves."""

DRIP_S = 0.5


@dataclass
class Server:
    """Address of a server, and the commands that it received, over all connections."""

    port: int
    host: str = LOOPBACK
    commands: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Received:
    """A mail that was accepted, with its envelope."""

    sender: str
    recipients: list[str]
    content: bytes

    @property
    def mail(self) -> EmailMessage:
        """The mail, parsed, with the line ends of this system."""
        return message_from_bytes(self.content.replace(b"\r\n", b"\n"), policy=policy.default)


@dataclass
class MailServer(Server):
    """A working server, and the mails that it accepted."""

    received: list[Received] = field(default_factory=list)


# Answers of a scripted server to the greeting (""), a command, or the message (".").
ANSWERS: dict[str, dict[str, str]] = {
    "421": {"": "421 4.3.2 closing down"},
    "452_mail": {"MAIL": "452 4.3.1 insufficient system storage"},
    "452_data": {".": "452 4.3.1 insufficient system storage"},
    "550_rcpt": {"RCPT": "550 5.1.1 no such user here"},
    "552_data": {".": "552 5.3.4 message too big"},
    "bad_login": {"AUTH": "535 5.7.8 authentication failed"},
    "login_later": {"AUTH": "454 4.7.0 temporary authentication failure"},
    "bad_certificate": {},
    "no_starttls": {},
    "cut_in_data": {"DATA": "354 go on"},
    "cut_after_data": {},
    "garbage": {"": "HTTP/1.1 400 Bad Request"},
    "cut_at_quit": {},
    "echo": {"AUTH": "535 I do not know {}"},
}

KINDS = ("refused", "black_hole", "silent", "slow_drip", *ANSWERS)
"""Every fault; cut_at_quit comes when the mail is accepted already.

A host whose name is not found is ``UNRESOLVABLE``.
"""


@contextmanager
def faulty_smtp(kind: str) -> Iterator[Server]:
    """Run a server with that fault, until the block ends."""
    match kind:
        case "refused":
            with _listening(0) as listener:
                port = listener.getsockname()[1]
            yield Server(port)  # no listener any more
        case "black_hole":
            with _full() as port:
                yield Server(port)
        case "silent":
            with _serving(lambda _server, _conn, stopped: stopped.wait()) as server:
                yield server
        case "slow_drip":
            with _serving(_drip) as server:
                yield server
        case _:
            with _scripted(kind) as server:
                yield server


def _scripted(kind: str) -> Any:
    answers = ANSWERS[kind]
    context = None
    if kind == "bad_certificate":
        context, _authority = _certified()

    def converse(server: Server, connection: socket.socket, _stopped: threading.Event) -> None:
        _Conversation(kind, answers, context, server).run(connection)

    return _serving(converse)


class _Conversation:
    """One client of a scripted server."""

    def __init__(
        self,
        kind: str,
        answers: Mapping[str, str],
        context: ssl.SSLContext | None,
        server: Server,
    ) -> None:
        self._kind = kind
        self._answers = answers
        self._context = context
        self._server = server

    def run(self, connection: socket.socket) -> None:
        """Answer until the client leaves or the fault ends the conversation."""
        self._say(connection, self._answers.get("", "220 scripted.test ESMTP"))
        if "" in self._answers:
            return
        reader = connection.makefile("rb")
        for line in reader:
            command = line.decode("utf-8", "replace").strip()
            self._server.commands.append(command)
            verb = command.split(" ")[0].upper()
            if verb == "STARTTLS" and self._context is not None:
                self._say(connection, "220 go ahead")
                with self._context.wrap_socket(connection, server_side=True):
                    return  # the client has not trusted us
            if verb == "DATA" and "DATA" not in self._answers:
                self._say(connection, "354 go on")
                if not self._read_message(reader, connection):
                    return
            elif verb == "QUIT" and self._kind == "cut_at_quit":
                return
            else:
                answer = self._answers.get(verb) or self._usual(verb)
                self._say(connection, answer.replace("{}", command))
            if verb == "QUIT" or (verb == "DATA" and self._kind == "cut_in_data"):
                return

    def _read_message(self, reader: Any, connection: socket.socket) -> bool:
        for line in reader:
            if line == b".\r\n":
                break
        if self._kind == "cut_after_data":
            return False
        self._say(connection, self._answers.get(".", "250 2.0.0 accepted"))
        return True

    def _usual(self, verb: str) -> str:
        if verb != "EHLO":
            return {"QUIT": "221 bye"}.get(verb, "250 2.0.0 ok")
        offers = ["250-scripted.test", "250-PIPELINING"]
        if self._context is not None:
            offers.append("250-STARTTLS")
        if "AUTH" in self._answers:
            offers.append("250-AUTH PLAIN LOGIN")
        return "\r\n".join([*offers, "250 HELP"])

    def _say(self, connection: socket.socket, answer: str) -> None:
        connection.sendall(answer.encode() + b"\r\n")


def _drip(_server: Server, connection: socket.socket, stopped: threading.Event) -> None:
    """A banner that never ends."""
    connection.sendall(b"220-")
    while not stopped.wait(DRIP_S):
        connection.sendall(b"x")


@contextmanager
def _listening(backlog: int) -> Iterator[socket.socket]:
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        listener.listen(backlog)
        yield listener


@contextmanager
def _full() -> Iterator[int]:
    """A port that does not answer: nothing accepts, and the queue is full."""
    with ExitStack() as stack:
        listener = stack.enter_context(_listening(0))
        port = listener.getsockname()[1]
        for _ in range(64):
            client = stack.enter_context(socket.socket())
            client.settimeout(0.2)
            try:
                client.connect((LOOPBACK, port))
            except TimeoutError:
                break
        else:
            raise AssertionError("this kernel queues any number of connections")
        yield port


@contextmanager
def _serving(
    converse: Callable[[Server, socket.socket, threading.Event], object],
) -> Iterator[Server]:
    """Accept and answer, one thread for each client, until the block ends."""
    stopped = threading.Event()
    threads: list[threading.Thread] = []
    connections: list[socket.socket] = []

    def talk(connection: socket.socket) -> None:
        with connection:
            try:
                converse(server, connection, stopped)
            except OSError:  # the client left first
                pass

    def accept() -> None:
        while not stopped.is_set():
            try:
                connection, _peer = listener.accept()
            except OSError:  # shut down
                return
            connections.append(connection)
            threads.append(threading.Thread(target=talk, args=(connection,)))
            threads[-1].start()

    with _listening(16) as listener:
        server = Server(listener.getsockname()[1])
        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield server
        finally:
            stopped.set()
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for connection in connections:
                _shut(connection)
            for thread in threads:
                thread.join()


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:  # gone already
        pass


def _certified() -> tuple[ssl.SSLContext, Any]:
    """A context for a server on loopback, and the authority of its certificate."""
    import trustme

    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(LOOPBACK, "localhost").configure_cert(context)
    return context, authority


@contextmanager
def mail_server(
    *,
    folder: Path | None = None,
    ca_file: Path | None = None,
    implicit_tls: bool = False,
    login: tuple[str, str] | None = None,
    size: int | None = None,
    silent_size: int | None = None,
    refuse: Mapping[str, str] | None = None,
    utf8: bool = False,
) -> Iterator[MailServer]:
    """Run a server that accepts mail and stores it; also in ``folder``, as 0.eml, 1.eml and so on.

    With ``ca_file`` it has TLS, and its authority is written there: by STARTTLS, which it requires,
    or from the start with ``implicit_tls``.  ``login`` is the required user and password.  ``size``
    is the SIZE that it announces, ``silent_size`` one that it does not announce.  ``refuse`` has
    its answers to single recipients.
    """
    from aiosmtpd.controller import Controller
    from aiosmtpd.smtp import AuthResult

    context = None
    if ca_file is not None:
        context, authority = _certified()
        authority.cert_pem.write_to_path(str(ca_file))

    def authenticate(*arguments: Any) -> AuthResult:
        given = arguments[-1]
        pair = (given.login.decode(), given.password.decode())
        return AuthResult(success=pair == login, handled=False)

    class OnAnyPort(Controller):
        def _trigger_server(self) -> None:
            listening: Any = self.server
            self.port = listening.sockets[0].getsockname()[1]
            super()._trigger_server()  # type: ignore[no-untyped-call]  # aiosmtpd's

    kept = MailServer(0)
    controller = OnAnyPort(
        _MailHandler(kept, folder, silent_size, dict(refuse or {})),
        hostname=LOOPBACK,
        port=0,
        ssl_context=context if implicit_tls else None,
        tls_context=context if context is not None and not implicit_tls else None,
        require_starttls=context is not None and not implicit_tls,
        authenticator=authenticate if login else None,
        auth_required=login is not None,
        auth_require_tls=False,
        data_size_limit=size or 0,
        enable_SMTPUTF8=utf8,
        ident="mail.test",
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Requiring AUTH while not requiring TLS")
        controller.start()
        kept.port = controller.port
        try:
            yield kept
        finally:
            controller.stop()


class _MailHandler:
    """Handler of aiosmtpd, which stores accepted mail."""

    def __init__(
        self,
        kept: MailServer,
        folder: Path | None,
        silent_size: int | None,
        refuse: dict[str, str],
    ) -> None:
        self._kept = kept
        self._folder = folder
        self._silent_size = silent_size
        self._refuse = refuse

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's name
        self, _server: Any, _session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        """Accept the recipient, or give the configured answer."""
        if address in self._refuse:
            return self._refuse[address]
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 2.1.5 ok"

    async def handle_DATA(  # noqa: N802 - aiosmtpd's name
        self, _server: Any, _session: Any, envelope: Any
    ) -> str:
        """Store the mail."""
        content: bytes = envelope.content
        if self._silent_size is not None and len(content) > self._silent_size:
            return "552 5.3.4 message too big"
        if self._folder is not None:
            number = len(self._kept.received)
            draft = self._folder / f"{number}.draft"
            draft.write_bytes(content)
            draft.rename(self._folder / f"{number}.eml")
        self._kept.received.append(Received(envelope.mail_from, envelope.rcpt_tos, content))
        return "250 2.0.0 ok, queued as test"


def main() -> None:
    """Run one server; print its port; run until stdin ends."""
    parser = argparse.ArgumentParser(description="A mail server on loopback for tests.")
    parser.add_argument("kind", choices=("good", *KINDS))
    parser.add_argument("--folder", type=Path, help="where accepted mails are put")
    parser.add_argument("--ca", type=Path, help="offer STARTTLS; the authority is written there")
    parser.add_argument("--login", help="USER:PASSWORD that is asked for")
    parser.add_argument("--size", type=int, help="the SIZE that it announces")
    given = parser.parse_args()
    user, _, password = (given.login or "").partition(":")
    login = (user, password) if user else None
    server = (
        mail_server(folder=given.folder, ca_file=given.ca, login=login, size=given.size)
        if given.kind == "good"
        else faulty_smtp(given.kind)
    )
    with server as running:
        print(running.port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
