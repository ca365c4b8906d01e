"""Attacks on the web server: each is refused, and nothing happens to the run."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from gpualert_common.record import Record
from gpualert_common.web import bounded_connection
from gpualert_common.web.credentials import is_same_secret, make_credentials
from gpualert_common.web.gate import find_refusal
from tests.supervised import DEADLINE_S, Lab, Supervised, is_alive, shell, until
from tests.web.web_server import WebServer, start_server

NAMES = frozenset({"127.0.0.1", "localhost"})
SECURITY_HEADERS = {
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A place for the run and the server of all tests of this module."""
    lab = Lab(tmp_path_factory.mktemp("web"))
    (lab.home / "tmp").mkdir()
    yield lab
    lab.end_everything()


@pytest.fixture(scope="module")
def run(place: Lab) -> Supervised:
    """A run in progress."""
    env = {**os.environ, **place.environment()}
    return place.launch(*shell("echo ready; sleep 1000"), env=env)


@pytest.fixture(scope="module")
def server(place: Lab, run: Supervised) -> Iterator[WebServer]:
    """A server that lets its pages act."""
    env = {**os.environ, **place.environment()}
    with start_server("--allow-actions", env=env, errors=place.home / "notes") as one:
        yield one


def _is_closed(connection: socket.socket) -> bool:
    """Wait for the server to close a connection on which it sends nothing."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def _headers(**given: str) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in given.items()}


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("GET", _headers(host="127.0.0.1:8765"), None),
        ("GET", _headers(host="localhost:9000"), None),
        ("GET", _headers(host="LOCALHOST"), None),
        ("GET", _headers(host="evil.example"), 421),
        ("GET", _headers(host="127.0.0.1.evil.example:8765"), 421),
        ("GET", _headers(host="evil.example@127.0.0.1"), 421),
        ("GET", _headers(host="127.0.0.1:x"), 421),
        ("GET", _headers(host="127.0.0.1/evil.example"), 421),
        ("GET", _headers(host=""), 421),
        ("GET", {}, 421),
        ("HEAD", _headers(host="127.0.0.1"), 405),
        ("OPTIONS", _headers(host="127.0.0.1"), 405),
        ("PUT", _headers(host="127.0.0.1"), 405),
        ("GET", _headers(host="127.0.0.1", origin="https://evil.example"), 403),
        ("GET", _headers(host="127.0.0.1", origin="null"), 403),
        ("GET", _headers(host="127.0.0.1:1", origin="http://127.0.0.1:2"), 403),
        ("GET", _headers(host="127.0.0.1", sec_fetch_site="cross-site"), 403),
        ("GET", _headers(host="127.0.0.1", sec_fetch_site="same-site"), 403),
        (
            "GET",
            _headers(
                host="127.0.0.1",
                sec_fetch_site="cross-site",
                sec_fetch_mode="navigate",
                sec_fetch_dest="document",
            ),
            None,
        ),
        (
            "GET",
            _headers(
                host="127.0.0.1",
                sec_fetch_site="cross-site",
                sec_fetch_mode="navigate",
                sec_fetch_dest="iframe",
            ),
            403,
        ),
        ("POST", _headers(host="127.0.0.1"), 403),
        ("POST", _headers(host="127.0.0.1", origin="http://127.0.0.1"), None),
        ("POST", _headers(host="127.0.0.1", origin="null"), 403),
        ("POST", _headers(host="127.0.0.1", sec_fetch_site="same-origin"), None),
        (
            "POST",
            _headers(
                host="127.0.0.1",
                sec_fetch_site="cross-site",
                sec_fetch_mode="navigate",
                sec_fetch_dest="document",
            ),
            403,
        ),
    ],
)
def test_requests_from_elsewhere(
    method: str, headers: Mapping[str, str], status: int | None
) -> None:
    """Only our own names, methods and origins, and links that a person opened, get through."""
    refusal = find_refusal(method, headers, NAMES)
    assert (None if refusal is None else refusal.status) == status


def test_credentials_are_long_and_their_own() -> None:
    """Each credential has 256 bits, no two are equal, and no part of one is accepted."""
    one, other = make_credentials(), make_credentials()
    values = [
        *(one.token, one.session, one.form_token),
        *(other.token, other.session, other.form_token),
    ]
    assert len(set(values)) == 6
    assert all(len(value) >= 43 for value in values)
    assert is_same_secret(one.token, one.token)
    for given in (None, "", one.token[:-1], one.token + "x", other.token, "ü\udc80"):
        assert not is_same_secret(given, one.token)


def test_token_becomes_a_cookie(server: WebServer) -> None:
    """The address with the token leads to one without it, and to a cookie for no script or site."""
    answer = server.request(path=f"/?token={server.token}", cookie="")
    assert (answer.status, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert server.token not in cookie
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert server.request(cookie=cookie.partition(";")[0]).status == 200


@pytest.mark.parametrize(
    "path",
    ["/", "/runs/RUN", "/runs/RUN/report", "/compare", "/jobs", "/jobs/slurm-17", "/nowhere"],
)
def test_without_a_token(server: WebServer, run: Supervised, path: str) -> None:
    """Every page is closed to a browser that has not signed in, also with a cookie of its own."""
    path = path.replace("RUN", run.record.run_id)
    name = server.cookie.partition("=")[0]
    for cookie in ("x=1", f"{name}=", f"{name}={'A' * 43}", f"{name}={server.token}"):
        answer = server.request(path=path, cookie=cookie)
        assert answer.status == 401
        assert run.record.run_id not in answer.text.replace(path, "")


def test_wrong_token(server: WebServer) -> None:
    """A wrong token is refused, by the address and by the form, also in a signed-in browser."""
    wrong = server.token[:-1] + ("A" if server.token[-1] != "A" else "B")
    for token in (wrong, "", "%00", "A" * 20_000):
        assert server.request(path=f"/?token={token}", cookie="").status == 401
    assert server.request(path=f"/?token={wrong}").status == 401
    assert server.send_form("/sign-in", {"token": wrong}, cookie="").status == 401
    assert server.send_form("/sign-in", {"token": server.token}, cookie="").status == 303


def test_sign_in_goes_on_to_the_page(server: WebServer, run: Supervised) -> None:
    """After the form a browser is where it wanted to be, and never on another host."""
    path = f"/runs/{run.record.run_id}/report"
    page = server.request(path=path, cookie="").text
    assert f'name="target" value="{path}"' in page
    for target, reached in (
        (path, path),
        ("/?state=failed", "/?state=failed"),
        ("", "/"),
        ("//evil.example/", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example/", "/"),
        ("/x\r\nSet-Cookie: a=b", "/"),
    ):
        fields = {"token": server.token, "target": target}
        answer = server.send_form("/sign-in", fields, cookie="")
        assert (answer.status, answer.headers["location"]) == (303, reached), target


def test_link_of_another_site(server: WebServer, run: Supervised) -> None:
    """A page that another site links to asks for itself again: then browsers send the cookie."""
    headers = {
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
    }
    path = f"/runs/{run.record.run_id}"
    answer = server.request(path=path, cookie="", headers=headers)
    assert answer.status == 401
    assert 'http-equiv="refresh"' in answer.text
    assert 'http-equiv="refresh"' not in server.request(path=path, cookie="").text


def test_token_opens_no_other_page(server: WebServer, run: Supervised) -> None:
    """Only the list takes the token in its address, so it gets into no link to a run."""
    path = f"/runs/{run.record.run_id}?token={server.token}"
    assert server.request(path=path, cookie="").status == 401


@pytest.mark.parametrize("action", ["stop", "stacks"])
def test_actions_need_all_proofs(server: WebServer, run: Supervised, action: str) -> None:
    """An action needs POST, the cookie, the token of a form, and a page of this server."""
    path = f"/runs/{run.record.run_id}/{action}"
    fields = {"form_token": server.read_form_token(run.record.run_id)}
    assert server.request(path=path).status == 405
    assert server.request(path=f"{path}?form_token={fields['form_token']}").status == 405
    assert server.send_form(path, fields, cookie="x=1").status == 401
    assert server.send_form(path, {}).status == 403
    assert server.send_form(path, {"form_token": server.token}).status == 403
    for headers in (
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "null", "Sec-Fetch-Site": ""},
        {"Origin": "", "Sec-Fetch-Site": ""},
        {"Origin": f"http://127.0.0.1:{server.port + 1}", "Sec-Fetch-Site": "same-site"},
        {"Origin": f"http://{server.host}.evil.example", "Sec-Fetch-Site": ""},
    ):
        assert server.send_form(path, fields, headers).status == 403
    assert server.send_form(path, fields, {"Host": "evil.example"}).status == 421
    assert server.send_form(path, fields, {"Content-Type": "text/plain"}).status == 415
    assert server.send_form(path, {**fields, "more": "x" * 5000}).status == 413
    assert is_alive(run.leader)
    assert run.record.event("stopping") is None
    assert not (Path(run.record.path) / "stacks.jsonl").exists()


def test_read_only_server_has_no_actions(place: Lab, run: Supervised) -> None:
    """Without --allow-actions no page has a form of an action, and each action is refused."""
    with start_server(env={**os.environ, **place.environment()}) as one:
        assert "form_token" not in one.get_run(run.record.run_id).text
        for action in ("stop", "stacks"):
            answer = one.send_form(f"/runs/{run.record.run_id}/{action}", {"form_token": "x"})
            assert answer.status == 403
    assert is_alive(run.leader)


@pytest.mark.parametrize(
    "path",
    [
        "/runs/..",
        "/runs/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/runs/..%2f..",
        "/runs/.hidden",
        "/runs/a%00b",
        "/runs/" + "9" * 300,
        "/runs/last",
        "/runs/%ff%fe",
        "/runs/RUN/logs/spec.json",
        "/runs/RUN/logs/..%2fspec.json",
        "/runs/RUN/logs/%2fetc%2fpasswd",
        "/runs/RUN/../../secret",
        "/static/..%2f..%2fgate.py",
        "/static/gate.py",
        "/jobs/..%2f..",
        "/jobs/%00",
        "/jobs/slurm-17?in=%2fetc",
        "//etc/passwd",
    ],
)
def test_paths_lead_nowhere_else(server: WebServer, run: Supervised, path: str) -> None:
    """Only whole ids of runs, names of their logs, and our own files are found."""
    answer = server.request(path=path.replace("RUN", run.record.run_id))
    assert answer.status == 404
    assert "root:" not in answer.text


def test_record_by_link_is_refused(server: WebServer, place: Lab, run: Supervised) -> None:
    """A link in the directory of the records opens no record elsewhere."""
    link = place.state / "runs" / "20200101-000000-000000-aaaa"
    link.symlink_to(run.record.path)
    try:
        assert server.request(path=f"/runs/{link.name}").status in (404, 422)
    finally:
        link.unlink()


def test_headers_of_every_answer(server: WebServer, run: Supervised) -> None:
    """Pages, files, errors and redirections carry the headers that a browser needs."""
    for path in ("/", f"/runs/{run.record.run_id}", "/static/web.js", "/nowhere", "/?token=x"):
        answer = server.request(path=path)
        assert SECURITY_HEADERS.items() <= answer.headers.items()
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "server" not in answer.headers
    report = server.request(path=f"/runs/{run.record.run_id}/report")
    assert report.status == 200
    assert SECURITY_HEADERS.items() <= report.headers.items()
    assert "script-src" not in report.headers["content-security-policy"]
    assert "default-src 'none'" in report.headers["content-security-policy"]


def test_pages_have_no_inline_script(server: WebServer, run: Supervised) -> None:
    """No page has a script, a style or a handler in it."""
    for path in ("/", f"/runs/{run.record.run_id}"):
        text = server.request(path=path).text
        assert not re.search(r"<script(?! src=)|<style|\son\w+=|\sstyle=|javascript:", text)


def test_token_is_in_no_page_and_no_note(server: WebServer, place: Lab, run: Supervised) -> None:
    """The token stands in the printed address only."""
    for path in ("/", f"/runs/{run.record.run_id}", f"/runs/{run.record.run_id}?token=x"):
        assert server.token not in server.request(path=path).text
    server.request(path=f"/?token={server.token}", cookie="")
    assert server.token not in (place.home / "notes").read_text()
    assert Path(f"/proc/{server.process.pid}/cmdline").read_bytes().count(b"token") == 0


def test_huge_requests(server: WebServer, run: Supervised) -> None:
    """A head of megabytes and a body without end are refused, and others are served meanwhile."""
    with server.connect() as one, suppress(OSError):  # it closes the connection meanwhile
        for _ in range(1000):
            one.sendall(b"GET /" + b"a" * 65536)
        pytest.fail("it read 64 MB of a head")
    head = (
        f"POST /runs/{run.record.run_id}/stop HTTP/1.1\r\nHost: {server.host}\r\n"
        f"Cookie: {server.cookie}\r\nOrigin: http://{server.host}\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 99999999999\r\n\r\n"
    )
    with server.connect() as one:
        one.sendall(head.encode())
        one.sendall(b"a" * 20_000)
        assert one.recv(65536).startswith(b"HTTP/1.1 413")
    assert server.request().status == 200
    assert is_alive(run.leader)


def test_two_hosts(server: WebServer) -> None:
    """A request with two Host headers, or none, is refused."""
    for lines in ("", f"Host: {server.host}\r\nHost: evil.example\r\n"):
        with server.connect() as one:
            one.sendall(f"GET / HTTP/1.1\r\n{lines}Cookie: {server.cookie}\r\n\r\n".encode())
            assert b" 400 " in one.recv(65536).partition(b"\r\n")[0]


def test_slow_clients_are_disconnected(place: Lab, run: Supervised, tmp_path: Path) -> None:
    """Clients that send a head byte by byte lose their connection; others are served meanwhile."""
    quick = tmp_path / "sitecustomize.py"
    quick.write_text("import gpualert_common.web.bounded_connection as one\none.REQUEST_S = 0.5\n")
    env = {**os.environ, **place.environment(), "PYTHONPATH": str(tmp_path)}
    with start_server(env=env) as server:
        slow = [server.connect() for _ in range(20)]
        for one in slow:
            one.sendall(b"GET / HTTP/1.1\r\n")
        ended = threading.Event()

        def trickle() -> None:
            while not ended.wait(0.1):
                for one in slow:
                    try:
                        one.sendall(b"x: y\r\n")
                    except OSError:
                        pass

        thread = threading.Thread(target=trickle)
        thread.start()
        try:
            assert server.request().status == 200
            for one in slow:
                assert _is_closed(one)
        finally:
            ended.set()
            thread.join()
            for one in slow:
                one.close()
        assert server.request().status == 200


def test_server_that_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client is not blamed for the time in which the server itself did not run."""
    monkeypatch.setattr(bounded_connection, "REQUEST_S", 0.5)
    monkeypatch.setattr(bounded_connection, "_LATE_S", 0.1)

    async def answer(_scope: object, _receive: object, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"here"})

    async def ask() -> bytes:
        config = uvicorn.Config(answer, lifespan="off", ws="none", log_config=None)
        config.load()
        state = ServerState()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: bounded_connection.BoundedConnection(config, state, {}), "127.0.0.1", 0
        )
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            while not state.connections:
                await asyncio.sleep(0)
            time.sleep(0.7)
            monkeypatch.setattr(bounded_connection, "REQUEST_S", 60.0)
            for _turn in range(3):
                await asyncio.sleep(0)  # the deadline is noticed
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            found = await reader.read()
            writer.close()
            return found

    assert b"here" in asyncio.run(ask())


def test_connections_are_limited(server: WebServer) -> None:
    """Connections beyond the limit are closed at once, and the server goes on."""
    many = [server.connect() for _ in range(bounded_connection.MOST_CONNECTIONS + 20)]
    try:
        assert _is_closed(many[-1])
    finally:
        for one in many:
            one.close()

    def is_served() -> bool:
        try:
            return server.request().status == 200
        except OSError:
            return False

    until(is_served, "the server to have room again")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_end_with_open_connections(place: Lab, run: Supervised, number: int) -> None:
    """INT and TERM end the server at once, also with idle, slow and unread connections."""
    env = {**os.environ, **place.environment()}
    notes = place.home / f"notes-{number}"
    with start_server(env=env, errors=notes) as server:
        idle, slow, unread = server.connect(), server.connect(), server.connect()
        slow.sendall(b"GET / HT")
        request = f"GET / HTTP/1.1\r\nHost: {server.host}\r\nCookie: {server.cookie}\r\n\r\n"
        unread.sendall(request.encode() * 20)
        server.process.send_signal(number)
        assert server.process.wait(DEADLINE_S) == -number
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", server.port))
        for one in (idle, slow, unread):
            one.close()
    assert notes.read_text() == ""
    assert is_alive(run.leader)


def test_port_in_use(place: Lab, server: WebServer) -> None:
    """A port that is used is an error with the next step."""
    done = place.gpualert(
        "web", "--port", str(server.port), env={**os.environ, **place.environment()}
    )
    assert done.returncode == 2
    assert b"--port" in done.stderr
    assert b"Traceback" not in done.stderr


def test_other_addresses_are_explained(place: Lab, run: Supervised) -> None:
    """Listening elsewhere than on loopback says what that means; names of others are refused."""
    notes = place.home / "notes-any"
    env = {**os.environ, **place.environment()}
    with start_server("--host", "0.0.0.0", "--name", "gpu.example", env=env, errors=notes) as one:
        assert "not encrypted" in notes.read_text() or "nothing is" in notes.read_text()
        assert one.request(headers={"Host": "gpu.example"}).status == 200
        assert one.request(headers={"Host": "evil.example"}).status == 421


def test_nothing_but_requests_is_written(place: Lab, run: Supervised, server: WebServer) -> None:
    """Reading pages changes no file of the record and adds none to the state directory."""
    record = Record.open(run.record.path)
    record.close()

    def list_files() -> dict[str, int]:
        files = [path for path in place.state.rglob("*") if path.is_file()]
        growing = ("output.log", "output.idx", "events.jsonl", "telemetry.jsonl")
        return {str(one): one.stat().st_size for one in files if one.name not in growing}

    before = list_files()
    for path in ("/", f"/runs/{run.record.run_id}", f"/runs/{run.record.run_id}/logs/output.log"):
        assert server.request(path=path).status == 200
    assert list_files() == before
