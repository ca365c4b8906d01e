"""At a webhook the text arrives before the files, and never fails with them."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gpualert_common.errors import DeliveryError
from gpualert_common.notify.channels.apprise import AppriseChannel
from gpualert_common.notify.message import Budget
from tests.notify import messages
from tests.notify.messages import Arrived, alarm, attachment, composer
from tests.notify.servers import UNRESOLVABLE, faulty_smtp
from tests.notify.webhooks import Request, web_server

# Warnings of apprise and its imports.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

TIMEOUT_S = 10.0
ROOT = Path(__file__).parents[2]
TOKEN = "T0kenThatNobodyMaySee"


@pytest.fixture(autouse=True)
def directly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connect to loopback without the proxy of this machine."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def refuse_files(status: int, above: int = 5_000) -> Callable[[Request], int]:
    """Accept small requests, and answer ``status`` to the others."""
    return lambda request: status if len(request.body) > above else 200


def failure(url: str, *, arrived: Arrived | None = None, timeout_s: float = TIMEOUT_S) -> str:
    """Return the error of a delivery, after "later: " if it is transient."""
    with pytest.raises(DeliveryError) as caught:
        AppriseChannel({"url": url}).send(composer(attachment()), arrived or Arrived(), timeout_s)
    return f"{'later: ' if caught.value.transient else ''}{caught.value}"


@pytest.mark.parametrize("schema", ["json", "xml", "form"])
def test_text_first_then_the_files(schema: str) -> None:
    """A webhook gets two requests: the text without any file, then the files."""
    arrived = Arrived()
    with web_server() as server:
        answer = AppriseChannel({"url": f"{schema}://127.0.0.1:{server.port}/hook"}).send(
            composer(attachment()), arrived, TIMEOUT_S
        )
    text, files = server.requests
    assert b"CUDA" in text.body
    assert b"output.log" not in text.body
    assert b"output.log" in files.body
    assert arrived.parts == ["text", "files"]
    assert answer.endswith("took the text and 1 files")


def test_every_byte_of_a_file_arrives() -> None:
    """The webhook decodes each attached file, under its name, also two files of one name."""
    with web_server() as server:
        files = attachment(), attachment(content=b"\xff\x00"), attachment("a b ü.png", b"image")
        AppriseChannel({"url": f"json://127.0.0.1:{server.port}"}).send(
            composer(*files), Arrived(), TIMEOUT_S
        )
    got = server.requests[1].json["attachments"]
    assert [file["filename"] for file in got] == [file.name for file in files]
    assert [base64.b64decode(file["base64"]) for file in got] == [file.content for file in files]


def test_probe_sends_no_request() -> None:
    """A probe checks whether apprise knows the URL, without its token and without a request."""
    with web_server() as server:
        answer = AppriseChannel({"url": f"json://127.0.0.1:{server.port}/{TOKEN}"}).probe()
    assert answer.startswith("apprise knows it")
    assert TOKEN not in answer
    assert server.requests == []
    with pytest.raises(DeliveryError, match="not a URL that apprise knows"):
        AppriseChannel({"url": f"nosuch://host.test/{TOKEN}"}).probe()


def test_without_files_there_is_one_request() -> None:
    """A message without files is one request."""
    with web_server() as server:
        AppriseChannel({"url": f"json://127.0.0.1:{server.port}"}).send(
            composer(), Arrived(), TIMEOUT_S
        )
    assert [request.json["attachments"] for request in server.requests] == [[]]
    assert server.requests[0].json["message"].strip() == messages.TEXT.strip()
    assert server.requests[0].json["title"] == "[failed] train.py on node1"


def test_text_is_delivered_if_the_files_are_refused() -> None:
    """After a 500 to the files the error says that the text has arrived; only they are sent
    again."""
    arrived = Arrived()
    with web_server(refuse_files(500, above=1_500)) as server:
        error = failure(f"json://127.0.0.1:{server.port}", arrived=arrived)
    assert error.startswith("later: the text has arrived, the files have not: json://")
    assert "error=500" in error
    assert arrived.parts == ["text"]
    with web_server() as server:
        AppriseChannel({"url": f"json://127.0.0.1:{server.port}"}).send(
            composer(attachment()), arrived, TIMEOUT_S
        )
    assert [len(request.json["attachments"]) for request in server.requests] == [1]


def test_files_that_are_too_large_are_fewer_the_next_time() -> None:
    """After a 413 the files that fit in half the bytes are sent at once."""
    arrived = Arrived()
    files = [attachment(f"{number}.bin", bytes(50_000)) for number in range(4)]
    with web_server(refuse_files(413, above=200_000)) as server:
        AppriseChannel({"url": f"json://127.0.0.1:{server.port}"}).send(
            composer(*files), arrived, TIMEOUT_S
        )
    assert [len(request.json["attachments"]) for request in server.requests] == [0, 4, 2]
    assert arrived.parts == ["text", "files"]


def test_service_that_accepts_no_file() -> None:
    """If even a small file is too large, the error is permanent and the text has arrived."""
    arrived = Arrived()
    with web_server(refuse_files(413, above=1_500)) as server:
        error = failure(f"json://127.0.0.1:{server.port}", arrived=arrived)
    assert error.startswith("the text has arrived, the files have not")
    assert "error=413" in error
    assert arrived.parts == ["text"]


@pytest.mark.parametrize(
    ("status", "transient"),
    [(400, False), (401, False), (404, False), (408, True), (429, True), (500, True), (503, True)],
)
def test_answer_of_the_service(status: int, transient: bool) -> None:
    """An error of the client is permanent; a busy service is transient."""
    with web_server(lambda _request: status) as server:
        error = failure(f"json://127.0.0.1:{server.port}")
    assert f"error={status}" in error
    assert error.startswith("later: ") is transient


def test_refused_connection() -> None:
    """A refused connection is transient."""
    with faulty_smtp("refused") as server:
        error = failure(f"json://127.0.0.1:{server.port}")
    assert error.startswith(f"later: json://127.0.0.1:{server.port}: A Connection error")


def test_host_that_is_not_found() -> None:
    """A name that does not resolve is transient."""
    assert failure(f"json://{UNRESOLVABLE}").startswith("later: ")


@pytest.mark.parametrize("kind", ["black_hole", "silent"])
def test_wait_for_an_answer_is_bounded(kind: str) -> None:
    """The timeout bounds the connection and the wait for the answer."""
    with faulty_smtp(kind) as server:
        assert failure(f"json://127.0.0.1:{server.port}", timeout_s=0.3).startswith("later: ")


def test_alarm_of_the_caller_is_passed_on() -> None:
    """apprise passes on the exception that the caller raises at its deadline."""
    with faulty_smtp("silent") as server, alarm(0.3) as out_of_time, pytest.raises(out_of_time):
        AppriseChannel({"url": f"json://127.0.0.1:{server.port}"}).send(
            composer(), Arrived(), TIMEOUT_S
        )


@pytest.mark.parametrize("url", ["nosuchservice://host", "slack://", "not a url", "https://a.test"])
def test_url_that_apprise_does_not_know(url: str) -> None:
    """A URL of an unknown service is an error of the settings."""
    assert failure(url).startswith("not a URL that apprise knows: ")


@pytest.mark.parametrize(
    "url",
    [
        f"json://me:{TOKEN}@127.0.0.1:1/",
        f"json://127.0.0.1:1/hooks/{TOKEN}",
        f"json://127.0.0.1:1/?+Authorization=Bearer%20{TOKEN}",
        f"json://127.0.0.1:1/?-token={TOKEN}&:key={TOKEN}",
        f"slack://T1JJ3T3L2/A1BRTD4JD/{TOKEN}abc/#nvidia",
        f"tgram://123456789:{TOKEN}abcdefghijklm/12345",
        f"discord://4174216298/{TOKEN}",
        f"nosuchservice://{TOKEN}",
    ],
)
def test_no_secret_is_shown(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the address nor an error contains the token of a URL."""
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")  # nothing leaves the machine
    channel = AppriseChannel({"url": url})
    assert TOKEN not in channel.address
    assert TOKEN not in failure(url, timeout_s=1.0)
    assert TOKEN not in repr(channel)


def test_address_is_recognized() -> None:
    """The address has the service and the public parts of the URL."""
    assert AppriseChannel({"url": "json://hook.test:8080/gpu?method=put"}).address == (
        "json://hook.test:8080/gpu"
    )
    assert AppriseChannel(
        {"url": "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#gpu"}
    ).address == ("slack://T...2/A...D/T...Q/%23gpu")


def test_budget_of_services() -> None:
    """The text for a chat is short, and files are sent if the service accepts them."""
    discord = AppriseChannel({"url": f"discord://4174216298/{TOKEN}"}).budget
    assert (discord.text_bytes, discord.files_bytes, discord.brief) == (1750, 8_000_000, True)
    assert AppriseChannel({"url": "ntfy://topic"}).budget.text_bytes == 3800
    slack = AppriseChannel({"url": "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/"}).budget
    assert (slack.text_bytes, slack.html_bytes) == (10_000, 0)
    own = AppriseChannel(
        {"url": f"discord://4174216298/{TOKEN}", "text_bytes": 500, "files_bytes": 0}
    )
    assert own.budget == Budget(500, brief=True)


def test_ntfy_gets_text_and_file() -> None:
    """A server of ntfy gets the message, then each file separately."""
    with web_server() as server:
        AppriseChannel({"url": f"ntfy://127.0.0.1:{server.port}/gpu"}).send(
            composer(attachment()), Arrived(), TIMEOUT_S
        )
    assert server.requests[0].json["topic"] == "gpu"
    assert "CUDA out of memory" in server.requests[0].json["message"]
    assert server.requests[-1].body == messages.LOG


def test_text_of_a_chat_is_not_markup() -> None:
    """Mattermost gets the text without markup."""
    text = "loss <nan> & *stars* in C:\\new"
    with web_server() as server:
        AppriseChannel({"url": f"mmost://127.0.0.1:{server.port}/{'a' * 24}"}).send(
            composer(text=text), Arrived(), TIMEOUT_S
        )
    assert text in server.requests[0].json["text"]


def test_nothing_is_left_on_the_disk(tmp_path: Path) -> None:
    """After a delivery the home and the folder for temporary files are empty."""
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    code = (
        "import sys; sys.path.insert(0, '.')\n"
        "from gpualert_common.notify.channels.apprise import AppriseChannel\n"
        "from tests.notify.messages import Arrived, attachment, composer\n"
        "AppriseChannel({'url': sys.argv[1]}).send(composer(attachment()), Arrived(), 10.0)\n"
    )
    with web_server() as server:
        subprocess.run(
            [sys.executable, "-B", "-c", code, f"json://127.0.0.1:{server.port}"],
            check=True,
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(temporary)},
        )
    assert len(server.requests) == 2
    assert not list(home.rglob("*"))
    assert not list(temporary.rglob("*"))


def test_apprise_is_not_installed(tmp_path: Path) -> None:
    """Without apprise the error says how to install it; address and budget do not need it."""
    (tmp_path / "apprise.py").write_text("raise ImportError('none here')")
    code = (
        f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]\n"
        "from gpualert_common.errors import DeliveryError\n"
        "from gpualert_common.notify.channels.apprise import AppriseChannel\n"
        "from tests.notify.messages import Arrived, composer\n"
        "channel = AppriseChannel({'url': 'json://127.0.0.1/x'})\n"
        "print(channel.address, channel.budget.text_bytes)\n"
        "try:\n    channel.send(composer(), Arrived(), 1.0)\n"
        "except DeliveryError as error:\n    print(error.transient, error)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    first, second = answer.stdout.splitlines()
    assert first == "json://... 1000"
    assert second.startswith("False apprise cannot be imported")
    assert "pip install 'gpualert-common[apprise]'" in second
