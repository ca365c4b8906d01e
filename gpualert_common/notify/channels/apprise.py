"""Chats and webhooks, over a hundred kinds, by [apprise](https://github.com/caronc/apprise).

One URL is one channel. The text goes first and the files in a second call, so that files which
are not taken never cost the text. Needs `pip install 'gpualert-common[apprise]'`.
"""

from __future__ import annotations

from gpualert_common.errors import DeliveryError
from gpualert_common.notify.channels import _settings
from gpualert_common.whole_words import cut_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, ClassVar, Self

    from gpualert_common.model import Attachment
    from gpualert_common.notify.channels._interface import Channel as _Channel
    from gpualert_common.notify.channels._interface import DeliveredParts
    from gpualert_common.notify.message import Budget, Message

_TEXT_BYTES = 10_000
"""Slack rejects blocks near 13,200 characters; more does not belong in a chat."""

_TEXT_BYTES_OF = {"ntfy": 3_800, "ntfys": 3_800}
"""Less than apprise's limit: a server of ntfy turns a text above 4,096 bytes into a file."""

_TITLE_CHARS = 250
_FILES_BYTES = 8_000_000
"""Limit of Discord according to most sources, which do not agree."""
_FILES = 10
_LEAST_RETRY_BYTES = 64 << 10

_PAUSE_S = 1.0
"""Pause between two requests of one call: chats need this; the 5.5 s of apprise are too long."""

_LATER = {408, 425, 429}
"""Status codes 4xx that are transient."""
_TOO_LARGE = 413


class AppriseChannel:
    """One service of apprise."""

    KEYS: ClassVar[Mapping[str, tuple[Callable[[Any], Any], str]]] = {
        "url": (_settings.text, "apprise's URL; better env:NAME or file:PATH than the URL itself"),
        "text_bytes": (
            _settings.size,
            "largest text; by default the limit of the service",
        ),
        "files_bytes": (_settings.size, "all files of one message together; 8MB by default"),
        "report": (
            _settings.report,
            "send losses and timeline as a picture with the files: attach (default) or none",
        ),
    }
    REQUIRED: ClassVar[tuple[str, ...]] = ("url",)
    SECRET: ClassVar[tuple[str, ...]] = ("url",)

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._url: str = settings["url"]

    @staticmethod
    def find_obstacle(settings: Mapping[str, Any]) -> str:  # noqa: ARG004 - any URL needs it
        """Return how to install apprise, if it is not."""
        from importlib.util import find_spec

        if find_spec("apprise") is not None:
            return ""
        return 'apprise is not installed: pip install "gpualert-common[apprise]"'

    @property
    def address(self) -> str:
        """The URL with its secrets masked, as far as apprise and gpualert recognise them."""
        try:
            with _LogCapture() as overheard:
                return _address(self._service(overheard))
        except DeliveryError:  # not installed, or not a URL of apprise: only the scheme is known
            return f"{self._url.partition('://')[0]}://..."

    @property
    def budget(self) -> Budget:
        """The limits of the service by apprise, or smaller ones."""
        try:
            with _LogCapture() as overheard:
                return self._budget(self._service(overheard))
        except (
            DeliveryError
        ):  # sending reports the reason; until then the smallest limit of all services
            return self._budget(None)

    def send(
        self, compose: Callable[[Budget], Message], progress: DeliveredParts, timeout_s: float
    ) -> str:
        """Send the text, then the files."""
        with _LogCapture() as overheard:
            budget = self._budget(self._service(overheard))
            message = None
            if not progress.has("text"):
                for_text = _without_report(budget)  # no text waits for a picture
                text = compose(for_text)
                self._notify(text, None, timeout_s, overheard)
                progress.mark("text")
                message = text if for_text == budget else None
            message = message or compose(budget)
            while message.attachments and not progress.has("files"):
                try:
                    self._notify_files(message, timeout_s, overheard)
                except _TooLargeError as error:
                    carried = sum(len(one.content) for one in message.attachments)
                    if carried < _LEAST_RETRY_BYTES:
                        raise DeliveryError(str(error), transient=False) from None
                    message = compose(_with_files(budget, carried // 2))
                else:
                    progress.mark("files")
        carried = len(message.attachments)
        return f"{self.address} took the text" + (f" and {carried} files" if carried else "")

    def probe(self) -> str:
        """Check, without network access, that apprise knows the URL; return its address in a line.

        Raises DeliveryError.
        """
        with _LogCapture() as overheard:
            return f"apprise knows it, and did not call it: {_address(self._service(overheard))}"

    def _notify_files(self, message: Message, timeout_s: float, overheard: _LogCapture) -> None:
        import tempfile

        try:
            with tempfile.TemporaryDirectory(prefix="gpualert-") as folder:
                files = _on_disk(message.attachments, folder)
                self._notify(message, files, timeout_s, overheard)
        except OSError as error:
            raise DeliveryError(
                f"the text has arrived, the files have not: {error}", transient=True
            ) from None
        except DeliveryError as error:
            kind = type(error)
            raise kind(
                f"the text has arrived, the files have not: {error}", transient=error.transient
            ) from None

    def _notify(
        self, message: Message, files: Any, timeout_s: float, overheard: _LogCapture
    ) -> None:
        """One call of apprise.  Raises DeliveryError with the reason that apprise logged."""
        import apprise

        from gpualert_common.report.mentions import make_inert_in_chat

        # A service of its own for each call: one that was used waits before it is used again.
        service = self._service(overheard)
        service.socket_connect_timeout = service.socket_read_timeout = timeout_s
        service.request_rate_per_sec = min(service.request_rate_per_sec, _PAUSE_S)
        sender = apprise.Apprise(asset=service.asset)
        sender.add(service)
        body = message.text
        if files is not None:
            names = ", ".join(attachment.name for attachment in message.attachments)
            body = make_inert_in_chat(names)
        done = sender.notify(
            body=body, title=message.subject, body_format=apprise.NotifyFormat.TEXT, attach=files
        )
        if not done:  # False or None before 2.0, a result since
            raise overheard.failure(_address(service), self._url)

    def _service(self, overheard: _LogCapture) -> Any:
        try:
            import apprise
        except ImportError as error:
            raise DeliveryError(
                f"apprise cannot be imported ({error}); "
                "pip install 'gpualert-common[apprise]' where gpualert runs",
                transient=False,
            ) from None
        options: dict[str, Any] = {"async_mode": False, "storage_mode": "memory"}
        if hasattr(apprise.AppriseAsset, "_service_timeout"):
            # Since 2.0: in this thread, where the caller's deadline reaches it.
            options |= {"service_timeout": 0, "allow_templates": False}
        service = apprise.Apprise.instantiate(self._url, asset=apprise.AppriseAsset(**options))
        if service is None:
            scheme = self._url.partition("://")[0]
            reason = overheard.failure(f"{scheme}://...", self._url)
            raise DeliveryError(f"not a URL that apprise knows: {reason}", transient=False)
        return service

    def _budget(self, service: Any) -> Budget:
        from gpualert_common.notify.message import Budget

        scheme = self._url.partition("://")[0].lower()
        most = 1_000 if service is None else max(service.body_maxlen - _TITLE_CHARS, 200)
        text_bytes = min(most, _TEXT_BYTES_OF.get(scheme, _TEXT_BYTES))
        text_bytes = self._settings.get("text_bytes", text_bytes)
        files_bytes = self._settings.get("files_bytes", _FILES_BYTES)
        if not (service and service.attachment_support and files_bytes):
            return Budget(text_bytes, brief=True)
        report = _settings.choose_report(self._settings, "picture")
        return Budget(text_bytes, 0, files_bytes, files_bytes, _FILES, brief=True, report=report)


class _TooLargeError(DeliveryError):
    """The service accepts files, but not a message of that size."""


class _LogCapture:
    """Collects the log of apprise, the only place where it reports the reason of a failure."""

    def __enter__(self) -> Self:
        import logging

        self._lines: list[str] = []
        lines = self._lines

        class Listener(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                lines.append(record.getMessage())

        self._listener = Listener(logging.WARNING)
        self._logger = logging.getLogger("apprise")
        self._logger.addHandler(self._listener)
        return self

    def __exit__(self, *_: object) -> None:
        self._logger.removeHandler(self._listener)

    def failure(self, address: str, url: str) -> DeliveryError:
        """Return the error for what was logged since the last one."""
        import re

        text = " ".join(dict.fromkeys(self._lines)) or "apprise did not say why"
        self._lines.clear()
        codes = [int(code) for code in re.findall(r"\berror=(\d{3})\b", text)]
        for secret in _secrets(url, address):
            text = text.replace(secret, "...")
        text = cut_words(re.sub(r"[\x00-\x1f\x7f]+", " ", text), 500)
        kind = _TooLargeError if _TOO_LARGE in codes else DeliveryError
        lasting = any(400 <= code < 500 and code not in _LATER for code in codes)
        return kind(f"{address}: {text}", transient=not lasting)


def _with_files(budget: Budget, files_bytes: int) -> Budget:
    from gpualert_common.structs import replace

    return replace(budget, files_bytes=files_bytes, file_bytes=files_bytes)


def _without_report(budget: Budget) -> Budget:
    from gpualert_common.model import ReportForm
    from gpualert_common.structs import replace

    return replace(budget, report=ReportForm.NONE)


def _on_disk(attachments: Sequence[Attachment], folder: str) -> Any:
    """Write the files for apprise below ``folder``; files of the same name stay separate."""
    import os

    import apprise
    from apprise.attachment import file as files

    attach_file: Any = files.AttachFile
    found = apprise.AppriseAttachment()
    for number, attachment in enumerate(attachments):
        path = os.path.join(folder, str(number))
        with open(path, "wb") as file:
            file.write(attachment.content)
        media_type = attachment.media_type.partition(";")[0].strip()
        found.add(attach_file(path, name=attachment.name, mimetype=media_type))
    return found


def _address(service: Any) -> str:
    """Return apprise's masked URL without parameters and other parts that may be tokens."""
    import re

    shown = str(service.url(privacy=True)).partition("?")[0].rstrip("/")
    scheme, _, rest = shown.partition("://")
    # apprise shows the path of a webhook, but its long parts are usually secret.
    return f"{scheme}://" + re.sub(r"(?<=/)[^/]{12,}", "...", rest)


def _secrets(url: str, address: str) -> list[str]:
    """Return the parts of the URL that are not in the masked address, longest first."""
    return sorted(set(_parts(url)) - set(_parts(address)), key=len, reverse=True)


def _parts(url: str) -> Iterator[str]:
    import re
    from urllib.parse import unquote_plus

    for part in re.split(r"[/?&=@:#]+", url.partition("://")[2]):
        for form in (part, unquote_plus(part)):
            if len(form) > 3:
                yield form


Channel: type[_Channel] = AppriseChannel
