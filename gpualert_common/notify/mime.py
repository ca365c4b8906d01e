"""A message as mail (RFC 5322 with MIME), no larger than its receiver accepts.

``multipart/mixed(multipart/alternative(text, html), files)``; a multipart with only one part is
replaced by that part.  Every line is ASCII and shorter than 998 octets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from email import headerregistry, policy
from email.message import EmailMessage
from email.utils import formatdate, parseaddr
from typing import Any

from gpualert_common.errors import DeliveryError
from gpualert_common.model import Attachment
from gpualert_common.notify.message import Budget, Message
from gpualert_common.processes.host import host_name
from gpualert_common.structs import replace

WIRE_COST = 1.37
"""Size of a file's byte in base64 with line ends, measured."""

_FEWEST_FILE_BYTES = 4096
"""Smallest size of a file that justifies its headers."""

_FEWEST_TEXT_BYTES = 512

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_NOT_FOR_7BIT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_MEDIA_TYPE = re.compile(r"(application|audio|font|image|text|video)/([\w.+-]+)", re.ASCII)

_HEADERS: Any = headerregistry.HeaderRegistry()
for _name in ("references", "in-reply-to"):
    # As free text a long id would be folded into encoded words, which readers do not recognise.
    _HEADERS.map_to_type(_name, headerregistry.MessageIDHeader)


def as_mail(
    message: Message,
    sender: str,
    recipients: Sequence[str],
    *,
    eol: str = "\r\n",
    utf8: bool = False,
) -> bytes:
    """The whole mail.  ``sender`` may have a name before ``<address>``; ``utf8`` is SMTPUTF8."""
    rules = policy.EmailPolicy(
        header_factory=_HEADERS, linesep=eol, utf8=utf8, cte_type="7bit", max_line_length=78
    )
    mail = EmailMessage(rules)
    mail["From"] = _address(sender)
    mail["To"] = [_address(recipient) for recipient in recipients]
    mail["Subject"] = one_line(message.subject)
    mail["Date"] = formatdate(message.at, localtime=True)
    mail["Message-ID"] = one_line(message.id)
    if message.thread is not None and message.thread != message.id:
        mail["In-Reply-To"] = one_line(message.thread)
        mail["References"] = one_line(message.thread)
    mail["Auto-Submitted"] = "auto-generated"  # RFC 3834: no robot shall answer it
    mail["X-Auto-Response-Suppress"] = "All"  # the same for Exchange
    text = _encodable(message.text)
    mail.set_content(text, cte=_transfer(text))
    if message.html is not None:
        html = _encodable(message.html)
        mail.add_alternative(html, subtype="html", cte=_transfer(html))
    for attachment in message.attachments:
        _attach(mail, attachment)
    return mail.as_bytes()


def local_address() -> str:
    """Return the address of sender and recipient for a mail that stays on the machine."""
    host = host_name()
    return f"gpualert@{host if re.fullmatch(r'[A-Za-z0-9.-]+', host) else 'localhost'}"


def one_line(text: str) -> str:
    """``text`` with its control characters and line ends as spaces: safe as a header."""
    return _CONTROL.sub(" ", _encodable(text)).strip()


def fit_message(
    compose: Callable[[Budget], Message],
    budget: Budget,
    limit: int,
    make: Callable[[Message], bytes],
) -> tuple[Message, bytes]:
    """Return the message, and the result of ``make`` for it, in at most ``limit`` bytes.

    First it has fewer bytes of files, then none, then no HTML, then less text.  Raises
    DeliveryError when nothing is left to leave out.
    """
    tried: Budget | None = budget
    while tried is not None:
        message = compose(tried)
        made = make(message)
        if len(made) <= limit:
            return message, made
        carried = sum(len(attachment.content) for attachment in message.attachments)
        tried = _smaller(tried, carried, len(made) - limit)
    raise DeliveryError(
        f"the message has {len(made)} bytes without any file; the limit is {limit}",
        transient=False,
    )


def fit_budget(budget: Budget, limit: int) -> Budget:
    """``budget`` with as many bytes of files as a mail of ``limit`` bytes has room for."""
    text = min(2 * (budget.text_bytes + budget.html_bytes), limit // 8)
    files_bytes = min(budget.files_bytes, int((limit - text) / WIRE_COST))
    return _with_files(budget, files_bytes)


def drop_files(budget: Budget) -> Budget:
    """``budget`` for a message that carries no file."""
    return replace(budget, files_bytes=0, file_bytes=0, files=0)


def _smaller(budget: Budget, carried: int, excess: int) -> Budget | None:
    """The next budget to try after a message was ``excess`` bytes too large; None: none is left."""
    if budget.files:
        left = min(carried - int(excess / WIRE_COST) - 1024, budget.files_bytes * 7 // 8)
        return _with_files(budget, left)
    if budget.html_bytes:
        return replace(budget, html_bytes=0)
    if budget.text_bytes >= 2 * _FEWEST_TEXT_BYTES:
        return replace(budget, text_bytes=budget.text_bytes // 2)
    return None


def _with_files(budget: Budget, files_bytes: int) -> Budget:
    if files_bytes < _FEWEST_FILE_BYTES:
        return drop_files(budget)
    return replace(budget, files_bytes=files_bytes, file_bytes=min(budget.file_bytes, files_bytes))


def _transfer(text: str) -> str | None:
    """Return the encoding that text with control characters needs; None for the best one."""
    return "quoted-printable" if _NOT_FOR_7BIT.search(text) else None


def _attach(mail: EmailMessage, attachment: Attachment) -> None:
    """Attach it in base64, so that every byte arrives as it is."""
    known = _MEDIA_TYPE.match(attachment.media_type)
    maintype, subtype = known.groups() if known else ("application", "octet-stream")
    params = {"charset": "utf-8"} if maintype == "text" and _is_utf8(attachment.content) else None
    name = one_line(attachment.name) or "file"
    mail.add_attachment(
        attachment.content, maintype=maintype, subtype=subtype, filename=name, params=params
    )


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _address(text: str) -> headerregistry.Address:
    name, address = parseaddr(text)
    user, _, domain = address.rpartition("@")
    return headerregistry.Address(one_line(name), user, domain)


def _encodable(text: str) -> str:
    """Return ``text`` with invalid characters (lone surrogates, undecodable bytes) as "?"."""
    return text.encode("utf-8", "replace").decode("utf-8")
