"""Session with a mail server; each of its errors names the server and the command."""

from __future__ import annotations

import base64
import re
import smtplib
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gpualert_common.errors import DeliveryError
from gpualert_common.processes.host import host_name
from gpualert_common.structs import Struct
from gpualert_common.whole_words import cut_words

_CHUNK_BYTES = 1 << 16
_ANSWER_CHARS = 300
_QUIT_S = 2.0
"""For the answer to QUIT; the message is accepted by then."""

_CONTROL = re.compile(r"[^\x20-\x7e\xa0-\U0010ffff]+")
_TOO_LARGE = re.compile(r"\b5\.(?:3\.4|2\.3)\b")
"""Too big for the system, and for the mailbox (RFC 3463)."""


class TooLargeError(DeliveryError):
    """The server does not take a message of that size."""


class Server(Struct, frozen=True):
    """The mail server and the login; ``security`` is starttls, ssl or none."""

    host: str
    port: int
    security: str
    user: str | None
    password: str | None
    ca_file: str | None
    ehlo_name: str | None

    @property
    def shown(self) -> str:
        """Host and port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class _Client(smtplib.SMTP):
    """SMTP client that leaves no open socket when a deadline ends the wait for the greeting."""

    def connect(self, *arguments: Any, **options: Any) -> tuple[int, bytes]:
        try:
            return super().connect(*arguments, **options)
        except BaseException:
            self.close()
            raise


class _EncryptedClient(smtplib.SMTP_SSL, _Client):
    """The same with TLS from the start."""


@contextmanager
def session(server: Server, timeout_s: float) -> Iterator[Session]:
    """A server that has been greeted, with TLS and logged in as asked, until the block ends.

    ``timeout_s`` bounds each wait.  Raises DeliveryError.
    """
    opened = Session(server, timeout_s)
    try:
        opened.greet()
        yield opened
        opened.quit()
    finally:
        opened.close()


class Session:
    """An open connection.  Every method raises DeliveryError."""

    def __init__(self, server: Server, timeout_s: float) -> None:
        self._server = server
        self._secrets = _secrets(server)
        name = server.ehlo_name or _ehlo_name()
        with self._convert_errors("the connection"):
            self._client = (
                _EncryptedClient(
                    server.host, server.port, name, timeout=timeout_s, context=self._context()
                )
                if server.security == "ssl"
                else _Client(server.host, server.port, name, timeout=timeout_s)
            )

    @property
    def size_limit(self) -> int | None:
        """The largest mail that the server announces (RFC 1870); None if it announces none."""
        size = self._client.esmtp_features.get("size", "").strip()
        return int(size) if size.isdecimal() and int(size) > 0 else None

    @property
    def takes_utf8(self) -> bool:
        """True where addresses may have more than ASCII (RFC 6531)."""
        return self._client.has_extn("smtputf8")

    def greet(self) -> None:
        """EHLO, then STARTTLS and the login, where asked for."""
        with self._convert_errors("EHLO"):
            self._client.ehlo_or_helo_if_needed()
        if self._server.security == "starttls":
            self._start_tls()
        if self._server.user is not None:
            self._login(self._server.user, self._server.password or "")

    def send(
        self, sender: str, recipients: Sequence[str], mail: bytes, *, utf8: bool
    ) -> tuple[str, dict[str, DeliveryError]]:
        """Send it to all recipients that the server accepts.

        Returns its last answer and why it refused the others.  Raises TooLargeError, after which
        the session goes on; and DeliveryError, among others when no recipient was taken.
        """
        options = ["SMTPUTF8", "BODY=8BITMIME"] if utf8 else []
        if self._client.has_extn("size"):
            options.append(f"size={len(mail)}")
        self._ask(f"MAIL FROM:<{sender}>", lambda: self._client.mail(sender, options))
        refused: dict[str, DeliveryError] = {}
        for recipient in recipients:
            what = f"RCPT TO:<{recipient}>"
            with self._convert_errors(what):
                code, answer = self._client.rcpt(recipient)
            if code == 421:  # it hangs up, also on the recipients that it accepted
                raise self._refusal(what, code, answer)
            if not 200 <= code < 300:
                refused[recipient] = self._refusal(what, code, answer)
        if len(refused) == len(recipients):
            raise combine_refusals(refused)
        self._ask("DATA", lambda: self._client.docmd("DATA"), expected=354)
        return self._ask(f"the message of {len(mail)} bytes", lambda: self._data(mail)), refused

    def quit(self) -> None:
        """Send QUIT; the message is accepted whatever the answer is."""
        try:
            if self._client.sock is not None:
                self._client.sock.settimeout(_QUIT_S)
            self._client.quit()
        except OSError:  # smtplib's errors are OSErrors too
            pass

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _start_tls(self) -> None:
        if not self._client.has_extn("starttls"):
            raise DeliveryError(
                f"{self._server.shown} does not offer STARTTLS, and nothing is sent in clear; "
                'with security = "ssl" it would be TLS from the start, mostly on port 465',
                transient=False,
            )
        with self._convert_errors("STARTTLS"):
            self._client.starttls(context=self._context())
        with self._convert_errors("EHLO"):
            self._client.ehlo_or_helo_if_needed()

    def _login(self, user: str, password: str) -> None:
        with self._convert_errors("AUTH"):
            if (user + password).isascii():
                self._client.login(user, password)
                return
            # smtplib's login takes ASCII only; PLAIN is UTF-8 (RFC 4616).
            code, answer = self._client.docmd("AUTH", f"PLAIN {_plain(user, password)}")
        if code != 235:
            raise self._refusal("AUTH", code, answer)

    def _data(self, mail: bytes) -> tuple[int, bytes]:
        """Send the mail; in pieces, because a socket's timeout bounds each sendall as a whole."""
        stuffed = mail.replace(b"\r\n.", b"\r\n..")
        for start in range(0, len(stuffed), _CHUNK_BYTES):
            self._client.send(stuffed[start : start + _CHUNK_BYTES])
        self._client.send(b".\r\n" if stuffed.endswith(b"\r\n") else b"\r\n.\r\n")
        return self._client.getreply()

    def _ask(self, command: str, ask: Callable[[], tuple[int, bytes]], expected: int = 250) -> str:
        with self._convert_errors(command):
            code, answer = ask()
        if code != expected:
            refusal = self._refusal(command, code, answer)
            if isinstance(refusal, TooLargeError):  # the next one is smaller
                with self._convert_errors("RSET"):
                    self._client.rset()
            raise refusal
        return self._clean_answer(answer)

    @contextmanager
    def _convert_errors(self, command: str) -> Iterator[None]:
        """Turn the exceptions of smtplib, ssl and sockets into DeliveryError."""
        where = f"{self._server.shown}: {command}"
        try:
            yield
        except smtplib.SMTPResponseException as error:
            raise self._refusal(command, error.smtp_code, error.smtp_error) from None
        except (smtplib.SMTPNotSupportedError, UnicodeError) as error:
            raise DeliveryError(
                f"{where}: {self._clean_answer(str(error))}", transient=False
            ) from None
        except ssl.SSLError as error:
            cut = isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError)
            raise DeliveryError(f"{where}: {_why(error)}", transient=cut) from None
        except OSError as error:
            raise DeliveryError(f"{where}: {_why(error)}", transient=True) from None

    def _refusal(self, command: str, code: int, answer: bytes | str) -> DeliveryError:
        text = self._clean_answer(answer)
        too_large = code == 552 or (500 <= code < 600 and _TOO_LARGE.search(text) is not None)
        kind = TooLargeError if too_large and not command.startswith("RCPT") else DeliveryError
        # A code of 4xx says: not now (RFC 5321, 4.2.1).
        return kind(
            f"{self._server.shown} answered {code} to {command}: {text}",
            transient=400 <= code < 500,
        )

    def _clean_answer(self, answer: bytes | str) -> str:
        """Return the server's answer, in one line without our credentials."""
        text = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
        for secret in self._secrets:
            text = text.replace(secret, "...")
        return cut_words(_CONTROL.sub(" ", text).strip(), _ANSWER_CHARS)

    def _context(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if self._server.ca_file is not None:
            try:
                context.load_verify_locations(self._server.ca_file)
            except OSError as error:  # ssl.SSLError is one
                raise DeliveryError(
                    f"ca_file {self._server.ca_file}: {_why(error)}", transient=False
                ) from None
        return context


def combine_refusals(refused: dict[str, DeliveryError]) -> DeliveryError:
    """Return one error for all refused recipients; transient if one of the refusals is."""
    return DeliveryError(
        "; ".join(str(error) for error in refused.values()),
        transient=any(error.transient for error in refused.values()),
    )


def _why(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate not trusted: {error.verify_message}"
    if isinstance(error, socket.gaierror):
        return f"the host's name was not resolved: {error.strerror}"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, smtplib.SMTPServerDisconnected):
        return "no answer in time" if "timed out" in str(error) else "the connection was closed"
    return error.strerror or str(error) or type(error).__name__


def _ehlo_name() -> str:
    """Return the machine's name where it is a full one; a DNS query may take minutes."""
    name = host_name()
    return name if "." in name.strip(".") and name.isascii() else "[127.0.0.1]"


def _secrets(server: Server) -> list[str]:
    """Return every form in which the login is on the wire, longest first."""
    if not server.password:
        return []
    user, password = server.user or "", server.password
    coded = [base64.b64encode(each.encode()).decode() for each in (user, password) if each]
    return sorted([password, *coded, _plain(user, password)], key=len, reverse=True)


def _plain(user: str, password: str) -> str:
    return base64.b64encode(f"\0{user}\0{password}".encode()).decode()
