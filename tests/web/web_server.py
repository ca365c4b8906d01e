"""A real ``gpualert web`` for tests, and requests to it."""

from __future__ import annotations

import http.client
import re
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from gpualert_common.structs import Struct
from tests.serving import start_serving
from tests.supervised import DEADLINE_S


class Answer(Struct, frozen=True):
    """Answer of the server; ``headers`` have names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()


class WebServer:
    """A server in progress, with the cookie of a browser that has signed in."""

    def __init__(self, process: subprocess.Popen[bytes], url: str) -> None:
        self.process = process
        self.url = url
        parts = urlsplit(url)
        self.host = parts.netloc
        self.port = parts.port or 0
        self.token = parts.query.removeprefix("token=")
        answer = self.request(path=f"/?token={self.token}", cookie="")
        assert answer.status == 303, answer.text
        self.cookie = answer.headers["set-cookie"].partition(";")[0]

    def request(
        self,
        method: str = "GET",
        path: str = "/",
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        cookie: str | None = None,
    ) -> Answer:
        """Send one request; ``headers`` replace those of a browser that has signed in."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        cookie = self.cookie if cookie is None else cookie
        sent = {"Host": self.host, **({"Cookie": cookie} if cookie else {}), **(headers or {})}
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            try:
                found = connection.getresponse()
            except http.client.RemoteDisconnected:
                status = self.process.poll()
                raise AssertionError(
                    f"no answer to {path}; status of the server: {status}"
                ) from None
            names = {name.lower(): value for name, value in found.getheaders()}
            return Answer(found.status, names, found.read())
        finally:
            connection.close()

    def send_form(
        self,
        path: str,
        fields: Mapping[str, str],
        headers: Mapping[str, str] | None = None,
        *,
        cookie: str | None = None,
    ) -> Answer:
        """Send a form as a page of this server does."""
        form = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Origin": f"http://{self.host}",
            "Sec-Fetch-Site": "same-origin",
            **(headers or {}),
        }
        form = {name: value for name, value in form.items() if value}
        return self.request(
            "POST", path, headers=form, body=urlencode(fields).encode(), cookie=cookie
        )

    def read_form_token(self, run_id: str) -> str:
        """Return the token in the forms of the page of a live run."""
        found = re.search(r'name="form_token" value="([^"]+)"', self.get_run(run_id).text)
        assert found is not None
        return found[1]

    def get_run(self, run_id: str) -> Answer:
        """Return the page of a run."""
        return self.request(path=f"/runs/{run_id}")

    def connect(self) -> socket.socket:
        """Return a connection on which nothing was sent."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE_S)


@contextmanager
def start_server(
    *arguments: str, env: Mapping[str, str] | None = None, errors: Path | None = None
) -> Iterator[WebServer]:
    """Start the program, and end it with the block; its notes go to the file ``errors``."""
    command = ("web", "--port", "0", *arguments)
    with start_serving(*command, env=env, errors=errors) as (process, url):
        yield WebServer(process, url)
