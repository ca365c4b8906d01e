"""Alerts as log records by OTLP, read with the official protocol buffers of OpenTelemetry."""

from __future__ import annotations

import time
from typing import Any

import pytest
from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from gpualert_common._version import __version__
from gpualert_common.errors import DeliveryError
from gpualert_common.notify.channel_config import channel_class
from gpualert_common.notify.channels.otlp import OTLPChannel
from gpualert_common.notify.compose import compose_warning
from gpualert_common.notify.entry import EntryFields
from gpualert_common.notify.message import Budget
from gpualert_common.notify.targets import parse_target
from tests.notify import messages
from tests.notify.messages import Arrived, composer
from tests.notify.webhooks import Request, web_server
from tests.supervised import Lab, free_port, python

TIMEOUT_S = 10.0
TOKEN = "s3cretWord"
OOM = python("raise RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB')")


def read_record(request: Request) -> tuple[LogRecord, dict[str, Any], dict[str, Any]]:
    """Return the only log record of a request, its attributes and those of its resource.

    Fields that the protocol does not have are errors.
    """
    assert (request.method, request.path) == ("POST", "/v1/logs")
    assert request.headers["content-type"] == "application/json"
    parsed = Parse(request.body, ExportLogsServiceRequest())
    (logs,) = parsed.resource_logs
    (scope,) = logs.scope_logs
    assert (scope.scope.name, scope.scope.version) == ("gpualert", __version__)
    (record,) = scope.log_records
    return record, read_attributes(record.attributes), read_attributes(logs.resource.attributes)


def read_attributes(pairs: Any) -> dict[str, Any]:
    """Return attributes with their values."""
    return {pair.key: read_value(pair) for pair in pairs}


def read_value(pair: KeyValue) -> Any:
    """Return the value of an attribute."""
    return getattr(pair.value, str(pair.value.WhichOneof("value")))


def channel(port: int, **settings: str) -> OTLPChannel:
    """Return a channel to a server of a test."""
    given = {"endpoint": f"http://127.0.0.1:{port}", **settings}
    return OTLPChannel({key: OTLPChannel.KEYS[key][0](value) for key, value in given.items()})


def test_end_of_a_run(lab: Lab) -> None:
    """The end of a run is one record with the verdict in its attributes, and no secrets."""
    secret = "ghp_" + "a1B2" * 9
    with web_server() as server:
        target = f"otlp+http://127.0.0.1:{server.port}"
        lab.gpualert("run", "--name", f"llama {secret}", "--notify", target, "--", *OOM)
        (request,) = server.requests
    assert secret.encode() not in request.body
    record, attributes, resource = read_record(request)
    assert record.event_name == "gpualert.run.ended"
    assert (record.severity_number, record.severity_text) == (17, "ERROR")
    assert abs(record.time_unix_nano / 1e9 - time.time()) < 120
    assert record.body.string_value.startswith("CUDA out of memory")
    assert attributes["error.type"] == attributes["gpualert.cause"] == "cuda_oom"
    assert attributes["gpualert.attribution"] == "job"
    assert attributes["gpualert.run.id"] == lab.records()[0].name
    assert attributes["gpualert.run.attempt"] == 1
    assert 0.5 < attributes["gpualert.confidence"] <= 1
    assert attributes["log.record.uid"].startswith(lab.records()[0].name)
    assert resource["service.name"] == "gpualert"
    assert resource["host.name"]


def test_run_that_completed(lab: Lab) -> None:
    """A run that completed is an event without an error."""
    with web_server() as server:
        options = ("--notify", f"otlp+http://127.0.0.1:{server.port}", "--notify-on", "always")
        lab.gpualert("run", *options, "--", "true")
        (request,) = server.requests
    record, attributes, _resource = read_record(request)
    assert record.severity_text == "INFO"
    assert "error.type" not in attributes
    assert attributes["gpualert.disposition"] == "completed"


def test_warning(lab: Lab) -> None:
    """A warning about a run in progress is an event of its own, with its kind."""
    lab.gpualert("run", "--name", "llama", "--", "true")
    fields: EntryFields = {
        "message_id": messages.IDENTITY,
        "event": "early_hung",
        "warning": {"kind": "hung", "says": "no step for 30 minutes", "since": 1.0, "at": 2.0},
    }
    record = lab.record()
    message = compose_warning(record, fields, Budget(2000), [])
    record.close()
    with web_server() as server:
        channel(server.port).send(lambda _budget: message, Arrived(), TIMEOUT_S)
        log, attributes, _resource = read_record(server.requests[0])
    assert (log.event_name, log.severity_text) == ("gpualert.run.warning", "WARN")
    assert attributes["gpualert.warning.kind"] == "hung"
    assert attributes["gpualert.run.name"] == "llama"


def test_test_message(lab: Lab) -> None:
    """``gpualert notify test`` sends a record, too."""
    with web_server() as server:
        done = lab.gpualert("notify", "test", "--notify", f"otlp+http://127.0.0.1:{server.port}")
        assert done.returncode == 0, done.stderr + done.stdout
        record, attributes, _resource = read_record(server.requests[0])
    assert record.event_name.startswith("gpualert.")
    assert attributes["gpualert.subject"]


def test_headers_and_form() -> None:
    """Headers are sent, and a record that has arrived is not sent again."""
    arrived = Arrived()
    with web_server() as server:
        one = channel(server.port, headers=f"authorization=Bearer {TOKEN}, x-tenant = a=b")
        for _number in range(2):
            one.send(composer(), arrived, TIMEOUT_S)
        (request,) = server.requests
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.headers["x-tenant"] == "a=b"
    record, attributes, _resource = read_record(request)
    assert record.body.string_value == messages.TEXT
    assert record.time_unix_nano == int(messages.AT * 1e9)
    assert attributes["log.record.uid"] == messages.IDENTITY.strip("<>")
    assert arrived.parts == ["record"]


def test_encoded_headers() -> None:
    """Values of headers are percent-encoded, as in OpenTelemetry's variables; no form is shown."""
    encoded = "Basic%20a1b2%2Cc3%3D%3D"
    answer = f"no: Basic a1b2,c3== {encoded}".encode()
    with web_server(lambda _request: 401, body=answer) as server:
        one = channel(server.port, headers=f"authorization={encoded},x-plus=a+b")
        with pytest.raises(DeliveryError) as caught:
            one.send(composer(), Arrived(), TIMEOUT_S)
        (request,) = server.requests
    assert request.headers["authorization"] == "Basic a1b2,c3=="
    assert request.headers["x-plus"] == "a+b"
    assert "a1b2" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "is_transient"),
    [(429, True), (502, True), (503, True), (504, True), (400, False), (401, False), (500, False)],
)
def test_status_of_a_failure(status: int, is_transient: bool) -> None:
    """The specification says which answers are transient; the answer is quoted, not the token."""
    arrived = Arrived()
    with web_server(lambda _request: status, body=f"no: Bearer {TOKEN}".encode()) as server:
        one = channel(server.port, headers=f"authorization=Bearer {TOKEN}")
        with pytest.raises(DeliveryError, match=f"answered {status}") as caught:
            one.send(composer(), arrived, TIMEOUT_S)
    assert caught.value.transient is is_transient
    assert TOKEN not in str(caught.value)
    assert arrived.parts == []


def test_redirection_is_not_followed() -> None:
    """A redirection is a failure, since a browser's way to follow it loses the record."""
    with web_server(lambda _request: 302, headers={"Location": "/elsewhere"}) as server:
        with pytest.raises(DeliveryError, match="answered 302") as caught:
            channel(server.port).send(composer(), Arrived(), TIMEOUT_S)
        assert [request.path for request in server.requests] == ["/v1/logs"]
    assert not caught.value.transient


def test_record_that_is_rejected() -> None:
    """A receiver may take a request and reject its record: that is a failure for good."""
    answer = b'{"partialSuccess": {"rejectedLogRecords": "1", "errorMessage": "too old"}}'
    with web_server(body=answer) as server, pytest.raises(DeliveryError, match="too old") as caught:
        channel(server.port).send(composer(), Arrived(), TIMEOUT_S)
    assert not caught.value.transient


@pytest.mark.parametrize(
    "answer", [b"", b"{}", b"\xff", b"[]", b'{"partialSuccess": {"rejectedLogRecords": []}}']
)
def test_other_answers(answer: bytes) -> None:
    """Another answer with a status of success is a success."""
    arrived = Arrived()
    with web_server(body=answer) as server:
        assert "took the log record" in channel(server.port).send(composer(), arrived, TIMEOUT_S)
    assert arrived.parts == ["record"]


def test_no_receiver() -> None:
    """A receiver that is not there, or does not answer, is a transient fault."""
    with pytest.raises(DeliveryError, match="cannot be reached") as caught:
        channel(free_port()).send(composer(), Arrived(), TIMEOUT_S)
    assert caught.value.transient
    with web_server(lambda _request: 0) as server, pytest.raises(DeliveryError) as caught:
        channel(server.port).send(composer(), Arrived(), 0.1)
    assert caught.value.transient


@pytest.mark.parametrize(
    "settings",
    [
        {"endpoint": "collector:4318"},
        {"endpoint": "ftp://collector"},
        {"endpoint": "http://me:secret@collector"},
        {"endpoint": "http://collector/?key=secret"},
        {"endpoint": "http:///v1/logs"},
        {"headers": "Bearer secret"},
        {"headers": "a b=c"},
        {"headers": "a=b\r\nX: y"},
        {"headers": "a=secret%0d%0aX: y"},
    ],
    ids=str,
)
def test_settings_that_are_wrong(settings: dict[str, str]) -> None:
    """Wrong settings are errors before a launch, which do not show secrets."""
    ((key, value),) = settings.items()
    with pytest.raises(ValueError, match=r"needed|has no|have no|form|text") as caught:
        OTLPChannel.KEYS[key][0](value)
    assert "secret" not in str(caught.value).replace("for secrets", "")


def test_target_in_a_line() -> None:
    """An address with otlp+ in front is a target; the path of the logs may be in it."""
    assert parse_target("otlp+https://c:4318") == {"kind": "otlp", "endpoint": "https://c:4318"}
    made = channel_class("otlp")
    endpoint = made.KEYS["endpoint"][0]("http://c:4318/v1/logs/")
    assert made({"endpoint": endpoint}).address == "http://c:4318/v1/logs"
