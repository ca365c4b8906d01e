"""A log record by [OTLP](https://opentelemetry.io/docs/specs/otlp/) over HTTP, as JSON.

An OpenTelemetry Collector takes it, and each backend with an OTLP endpoint. The event is named
`gpualert.run.ended` or `gpualert.run.warning`; the body is the text of the alert. Attributes are
those of OpenTelemetry's semantic conventions where one fits (`error.type` is the cause, `host.name`
that of the run, `log.record.uid` the same each time that an alert is sent again); the others begin
with `gpualert.`. It needs no package of OpenTelemetry.
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
    from gpualert_common.notify.message import AttributeValue, Budget, Message

_PATH = "/v1/logs"
_TEXT_BYTES = 16 << 10
_MOST_ANSWER_BYTES = 64 << 10
_LATER = {408, 429, 502, 503, 504}
"""Status codes after which the specification has the same request sent again, and 408."""
_SEVERITIES = {"INFO": 9, "WARN": 13, "ERROR": 17}
_HIDDEN = "..."


def _endpoint(value: Any) -> str:
    """Return the base URL of a receiver, without a slash at its end."""
    url = _settings.text(value).rstrip("/")
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in ("http", "https") or not rest.split("/")[0]:
        raise ValueError("an address such as http://collector:4318 is needed")
    if any(char in url for char in "@?# "):
        raise ValueError("the address has no user, query or blank; use headers for secrets")
    return url.removesuffix(_PATH)


def _headers(value: Any) -> str:
    """Return headers in the form of OpenTelemetry's variables: NAME=VALUE, NAME=VALUE.

    Values are percent-encoded.
    """
    text = _settings.text(value)
    for part in text.split(","):
        name, equals, _value = part.partition("=")
        name = name.strip().replace("-", "").replace("_", "")
        if not equals or not (name.isascii() and name.isalnum()):
            raise ValueError("headers have the form NAME=VALUE,NAME=VALUE")
    if not all(header.isprintable() for header in _decode(text).values()):
        raise ValueError("headers have no control characters, percent-encoded neither")
    return text


def _decode(headers: str) -> dict[str, str]:
    """Return the values of headers by their names."""
    from urllib.parse import unquote

    parts = [part.partition("=") for part in headers.split(",") if part]
    return {name.strip(): unquote(value.strip()) for name, _equals, value in parts}


class OTLPChannel:
    """One receiver of OTLP."""

    KEYS: ClassVar[Mapping[str, tuple[Callable[[Any], Any], str]]] = {
        "endpoint": (_endpoint, f"base URL, such as http://collector:4318; {_PATH} is appended"),
        "headers": (_headers, "headers for the receiver, such as authorization=Bearer%20TOKEN"),
        "text_bytes": (_settings.size, "largest text; 16KB by default"),
    }
    REQUIRED: ClassVar[tuple[str, ...]] = ("endpoint",)
    SECRET: ClassVar[tuple[str, ...]] = ("headers",)

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._endpoint: str = settings["endpoint"]
        self._headers: str = settings.get("headers", "")
        self._text_bytes: int = settings.get("text_bytes", _TEXT_BYTES)

    @staticmethod
    def find_obstacle(settings: Mapping[str, Any]) -> str:  # noqa: ARG004 - it needs nothing
        """Return nothing: the Python library is enough."""
        return ""

    @property
    def address(self) -> str:
        """The URL that gets the records; it has no secrets."""
        return f"{self._endpoint}{_PATH}"

    @property
    def budget(self) -> Budget:
        """The budget of a text; a log record carries no files."""
        from gpualert_common.notify.message import Budget

        return Budget(self._text_bytes, brief=True)

    def send(
        self, compose: Callable[[Budget], Message], progress: DeliveredParts, timeout_s: float
    ) -> str:
        """Send one log record."""
        if progress.has("record"):
            return f"{self.address} has taken it already"
        import json

        body = json.dumps(make_request(compose(self.budget))).encode()
        answer = self._post(body, timeout_s)
        refusal = _find_refusal(answer)
        if refusal:
            raise DeliveryError(f"{self.address}: {self._hide(refusal)}", transient=False)
        progress.mark("record")
        return f"{self.address} took the log record"

    def _post(self, body: bytes, timeout_s: float) -> bytes:
        """Return the answer to the request.  Raises DeliveryError."""
        import http.client
        import urllib.error
        import urllib.request

        class NoRedirect(urllib.request.HTTPRedirectHandler):
            """A redirected POST would become a GET, and the alert would be lost."""

            def redirect_request(self, *_: Any) -> None:
                return None

        headers = {"Content-Type": "application/json", "User-Agent": "gpualert"}
        headers |= _decode(self._headers)
        request = urllib.request.Request(self.address, body, headers)
        try:
            opener = urllib.request.build_opener(NoRedirect)
            with opener.open(request, timeout=timeout_s) as answer:
                return bytes(answer.read(_MOST_ANSWER_BYTES))
        except urllib.error.HTTPError as error:
            with error:
                reason = error.read(_MOST_ANSWER_BYTES).decode("utf-8", "replace")
            text = f"{self.address} answered {error.code} {error.reason}: {reason}"
            raise DeliveryError(self._hide(text), transient=error.code in _LATER) from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = str(getattr(error, "reason", None) or error) or type(error).__name__
            text = f"{self.address} cannot be reached: {reason}"
            raise DeliveryError(
                self._hide(text), transient=not isinstance(error, ValueError)
            ) from None

    def _hide(self, text: str) -> str:
        """Return a text on one line, without the values of the headers."""
        from gpualert_common.notify.mime import one_line
        from gpualert_common.whole_words import cut_words

        encoded = (part.partition("=")[2] for part in self._headers.split(","))
        for word in " ".join((*encoded, *_decode(self._headers).values())).split():
            text = text.replace(word, _HIDDEN) if len(word) > 3 else text
        return cut_words(one_line(text), 500)


def make_request(message: Message) -> dict[str, object]:
    """Return the request with one log record, in the JSON form of its protocol buffer."""
    import time

    from gpualert_common._version import __version__

    event = message.event
    severity = "INFO" if event is None else event.severity
    attributes: dict[str, AttributeValue] = {} if event is None else dict(event.attributes)
    resource: dict[str, AttributeValue] = {
        "service.name": "gpualert",
        "service.version": __version__,
    }
    if event is not None:
        resource["host.name"] = event.host
    attributes["log.record.uid"] = message.id.strip("<>")
    attributes["gpualert.subject"] = message.subject
    record = {
        "timeUnixNano": str(max(0, int(message.at * 1e9))),
        "observedTimeUnixNano": str(time.time_ns()),
        "severityNumber": _SEVERITIES[severity],
        "severityText": str(severity),
        "eventName": "gpualert.test" if event is None else event.name,
        "body": {"stringValue": message.text},
        "attributes": _encode(attributes),
    }
    scope = {"scope": {"name": "gpualert", "version": __version__}, "logRecords": [record]}
    return {"resourceLogs": [{"resource": {"attributes": _encode(resource)}, "scopeLogs": [scope]}]}


def _encode(attributes: Mapping[str, AttributeValue]) -> list[dict[str, object]]:
    return [{"key": key, "value": _encode_value(value)} for key, value in attributes.items()]


def _encode_value(value: AttributeValue) -> dict[str, object]:
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value}


def _find_refusal(answer: bytes) -> str:
    """Return why a receiver that answered with success did not take the record; "" if it did."""
    import json

    try:
        found = json.loads(answer or b"{}").get("partialSuccess") or {}
        rejected = int(found.get("rejectedLogRecords") or 0)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return ""  # an answer in another form is a success, too
    return f"it rejected the log record: {found.get('errorMessage')}" if rejected else ""


Channel: type[_Channel] = OTLPChannel
