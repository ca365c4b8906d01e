"""Mail by SMTP: encrypted unless configured otherwise, never larger than the server accepts.

The certificate of the server is always verified. A server without STARTTLS gets nothing unless
`security` is `none`, and a password never leaves the machine in clear. Each accepted recipient
is recorded; a later attempt omits it.
"""

from __future__ import annotations

from gpualert_common.errors import DeliveryError
from gpualert_common.notify.channels import _settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, ClassVar

    from gpualert_common.notify.channels._interface import Channel as _Channel
    from gpualert_common.notify.channels._interface import DeliveredParts
    from gpualert_common.notify.channels._smtp_session import Server, Session
    from gpualert_common.notify.message import Budget, Message

_PORTS = {"starttls": 587, "ssl": 465, "none": 25}

_SIZE_UNKNOWN_BYTES = 10_000_000
"""Default of Exchange, the smallest among large servers; used if a server announces no limit."""

_SIZE_BYTES = 25_000_000
"""Limit of Gmail: a relay often announces more than the mailboxes behind it accept."""

_TEXT_BYTES = 64 << 10
_HTML_BYTES = 90_000
"""Gmail clips a page at some 102 KB."""


class SmtpChannel:
    """Mail.  See :mod:`gpualert_common.notify.channels._interface` for the names."""

    KEYS: ClassVar[Mapping[str, tuple[Callable[[Any], Any], str]]] = {
        "host": (_settings.text, "the mail server"),
        "port": (_settings.port, "its port; 587 with starttls, 465 with ssl, 25 with none"),
        "security": (
            _settings.one_of("starttls", "ssl", "none"),
            "starttls (the default), ssl, or none: then the mail is sent unencrypted",
        ),
        "user": (_settings.text, "login name; without it there is no login"),
        "password": (_settings.text, "better env:NAME or file:PATH than the password itself"),
        "from": (_settings.address, "the sender; by default the user, or gpualert at this host"),
        "to": (_settings.addresses, "recipients: addresses in a list, or with commas"),
        "ca_file": (_settings.path, "certificates to trust in addition to those of the system"),
        "size_bytes": (_settings.size, "largest mail; by default the server's SIZE up to 25MB"),
        "ehlo_name": (_settings.text, "the name of this host in EHLO"),
        "report": (_settings.report, "attach the report as HTML: attach (default) or none"),
    }
    REQUIRED: ClassVar[tuple[str, ...]] = ("host", "to")
    SECRET: ClassVar[tuple[str, ...]] = ("password",)

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._to: list[str] = list(settings["to"])

    @staticmethod
    def find_obstacle(settings: Mapping[str, Any]) -> str:  # noqa: ARG004 - only the server knows
        """Return nothing: only the server can tell."""
        return ""

    @property
    def address(self) -> str:
        """The recipients and the server."""
        security = self._settings.get("security", "starttls")
        port = self._settings.get("port", _PORTS[security])
        return f"smtp://{self._settings['host']}:{port} to {', '.join(self._to)}"

    @property
    def budget(self) -> Budget:
        """The budget for a server that has not announced its limit."""
        return self._budget(None)

    def send(
        self, compose: Callable[[Budget], Message], progress: DeliveredParts, timeout_s: float
    ) -> str:
        """Send the mail to every recipient who does not have it yet."""
        from gpualert_common.notify.channels._smtp_session import combine_refusals, session

        left = [address for address in self._to if not progress.has(f"to:{address}")]
        if not left:
            return "every recipient has it already"
        server = self._server()
        with session(server, timeout_s) as opened:
            answer, refused = self._largest(opened, compose, left)
            accepted = [address for address in left if address not in refused]
            for address in accepted:
                progress.mark(f"to:{address}")
        if refused:
            error = combine_refusals(refused)
            raise DeliveryError(
                f"delivered to {', '.join(accepted)} only: {error}", transient=error.transient
            )
        return f"{server.shown} accepted it for {', '.join(accepted)}: {answer}"

    def probe(self, timeout_s: float) -> str:
        """Greet the server and log in without sending a mail; return the result in one line.

        ``timeout_s`` bounds each wait.  Raises DeliveryError.
        """
        from gpualert_common.notify.channels._smtp_session import session

        server = self._server()
        with session(server, timeout_s):
            allowed = f"let {server.user} log in" if server.user else "answers, without a login"
            return f"{server.shown} {allowed}"

    def _largest(
        self, opened: Session, compose: Callable[[Budget], Message], recipients: list[str]
    ) -> tuple[str, dict[str, DeliveryError]]:
        """Send as much as the server accepts, even if it rejects a mail only after receiving it."""
        from email.utils import parseaddr

        from gpualert_common.notify.channels._smtp_session import TooLargeError
        from gpualert_common.notify.mime import as_mail, drop_files, fit_budget, fit_message

        sender = self._sender()
        utf8 = self._needs_utf8(opened, sender)

        def make(message: Message) -> bytes:
            return as_mail(message, sender, self._to, utf8=utf8)

        limit = self._limit(opened.size_limit)
        budget = self._budget(opened.size_limit)
        while True:
            message, mail = fit_message(compose, budget, limit, make)
            try:
                return opened.send(parseaddr(sender)[1], recipients, mail, utf8=utf8)
            except TooLargeError:
                if not message.attachments or not budget.files:
                    raise
            # Half of it, then none of the files: the text matters more than all of them.
            halved = limit < self._limit(opened.size_limit)
            limit = len(mail) // 2
            budget = drop_files(budget) if halved else fit_budget(budget, limit)

    def _needs_utf8(self, opened: Session, sender: str) -> bool:
        """True if an address has more than ASCII.  Raises where the server does not take that."""
        for address in (sender, *self._to):
            if not address.rpartition("<")[2].isascii():
                if opened.takes_utf8:
                    return True
                raise DeliveryError(
                    f"{self.address}: the server offers no SMTPUTF8, which {address} needs",
                    transient=False,
                )
        return False

    def _sender(self) -> str:
        from gpualert_common.notify.mime import local_address

        user: str = self._settings.get("user") or ""
        return self._settings.get("from") or (user if "@" in user else local_address())

    def _limit(self, server_says: int | None) -> int:
        own = self._settings.get("size_bytes")
        if server_says is None:
            return own or _SIZE_UNKNOWN_BYTES
        return min(server_says, own or _SIZE_BYTES)

    def _budget(self, server_says: int | None) -> Budget:
        from gpualert_common.notify.message import Budget
        from gpualert_common.notify.mime import fit_budget

        limit = self._limit(server_says)
        report = _settings.choose_report(self._settings, "page")
        budget = Budget(_TEXT_BYTES, _HTML_BYTES, limit, limit, 50, report=report)
        return fit_budget(budget, limit)

    def _server(self) -> Server:
        """Raises DeliveryError where a password would be sent in clear."""
        from gpualert_common.notify.channels._smtp_session import Server

        given = self._settings
        security = given.get("security", "starttls")
        user, password = given.get("user"), given.get("password")
        if (user is None) != (password is None):
            raise DeliveryError(f"{self.address}: user and password go together", transient=False)
        if user is not None and security == "none" and not _is_loopback(given["host"]):
            raise DeliveryError(
                f"{self.address}: no password is sent in clear; set security to starttls or ssl",
                transient=False,
            )
        return Server(
            given["host"],
            given.get("port", _PORTS[security]),
            security,
            user,
            password,
            given.get("ca_file"),
            given.get("ehlo_name"),
        )


def _is_loopback(host: str) -> bool:
    from ipaddress import ip_address

    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


Channel: type[_Channel] = SmtpChannel
