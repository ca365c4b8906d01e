"""Gate in front of the pages: which requests are answered, and the headers of every answer.

A page of another site can make a browser send requests here (cross-site request forgery), and a
name of another site can be made to resolve to this machine (DNS rebinding).  So the gate checks, in
this order: the name in ``Host``, the method, ``Origin`` and ``Sec-Fetch-Site``, and the cookie.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpualert_common.structs import Struct
from gpualert_common.web.credentials import Credentials, is_same_secret
from gpualert_common.web.rendering import render_message

METHODS = ("GET", "POST")
ENTRANCE = "/"
"""The only path that takes the token in its query."""
SIGN_IN = "/sign-in"
STATIC = "/static/"

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    # With no-referrer a browser would send "Origin: null" with our own forms.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


_PATH = re.compile(r"/(?:[A-Za-z0-9._~%-][A-Za-z0-9._~%/-]*)?(?:\?[A-Za-z0-9._~%=&+:*-]*)?")
"""Without a second slash at its begin, which would name another host."""


class Refusal(Struct, frozen=True):
    """Reason not to answer a request, with the status of HTTP."""

    status: int
    title: str
    text: str


def find_refusal(method: str, headers: Mapping[str, str], names: frozenset[str]) -> Refusal | None:
    """Return the reason to refuse a request whatever its path; None without one.

    ``names`` are the names and addresses by which browsers may reach this server, in lower case.
    Their port is not checked: a tunnel may have another one, and it is no part of an attack.
    """
    host = headers.get("host", "")
    if _read_host(host) not in names:
        text = f"This server does not answer to the name {host[:200]!r}."
        return Refusal(421, "Unknown name", f"{text} Open it by the address that it printed.")
    if method not in METHODS:
        return Refusal(405, "Method not allowed", f"This server takes {' and '.join(METHODS)}.")
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    foreign = Refusal(403, "Foreign request", "A page of another origin sent this request.")
    # Only the part after the scheme: a proxy in front of this server may speak HTTPS.
    if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
        return foreign
    if site not in (None, "same-origin", "none") and not _is_link(method, headers):
        return foreign
    if method == "POST" and origin is None and site != "same-origin":
        return Refusal(403, "Unknown origin", "A request for an action must name its origin.")
    return None


class Gate:
    """ASGI application that passes on the requests of signed-in browsers only."""

    def __init__(
        self, app: ASGIApp, credentials: Credentials, names: frozenset[str], cookie: str
    ) -> None:
        self._app = app
        self._credentials = credentials
        self._names = names
        self._cookie = cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on; every answer gets the headers of security."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _value in message["headers"]}
                added = ((name.encode(), value.encode()) for name, value in _HEADERS.items())
                message["headers"] += [one for one in added if one[0] not in own]
            await send(message)

        answer = self._answer(request)
        await (self._app if answer is None else answer)(scope, receive, send_with_headers)

    def _answer(self, request: Request) -> Response | None:
        """Return the answer to a request that is not passed on; None for one that is."""
        counts = [name for name, _value in request.headers.raw].count(b"host")
        refusal = find_refusal(request.method, request.headers, self._names)
        if counts != 1:
            refusal = Refusal(400, "No host", "A request needs one Host header.")
        if refusal is not None:
            return render_message(refusal.status, refusal.title, refusal.text)
        path = request.scope["path"]
        if path.startswith(STATIC) or (path == SIGN_IN and request.method == "POST"):
            return None
        token = request.query_params.get("token")
        if path == ENTRANCE and token is not None and request.method == "GET":
            return self.sign_in(token)
        if is_same_secret(request.cookies.get(self._cookie), self._credentials.session):
            return None
        return render_message(
            401,
            "Sign in",
            "Open the address that gpualert web printed, with its token, or enter the token here.",
            target=_read_target(request),
            # With a link of another site the browser sends no strict cookie, but with this it does.
            is_reloaded=request.headers.get("sec-fetch-site") == "cross-site",
        )

    def sign_in(self, token: str, target: str = ENTRANCE) -> Response:
        """Return the answer to a token: the cookie and the way to *target*, without the token.

        A target that is no path of this server is replaced by the list.
        """
        if not _is_path(target):
            target = ENTRANCE
        if not is_same_secret(token, self._credentials.token):
            text = "This is not the token of this server. Each start of gpualert web has another."
            return render_message(401, "Wrong token", text, target=target)
        response = Response(
            status_code=303, headers={"location": target, "referrer-policy": "no-referrer"}
        )
        response.set_cookie(
            self._cookie, self._credentials.session, path="/", httponly=True, samesite="strict"
        )
        return response


def _read_target(request: Request) -> str:
    """Return path and query of a request, to go on there after the sign-in."""
    query = request.scope["query_string"].decode("ascii", "replace")
    target = quote(request.scope["path"]) + (f"?{query}" if query else "")
    return target if request.method == "GET" and _is_path(target) else ENTRANCE


def _is_path(target: str) -> bool:
    """True for the path of a page of this server, with or without a query."""
    return _PATH.fullmatch(target) is not None


def _read_host(host: str) -> str:
    """Return the name in a Host header without its port, in lower case; "" for an invalid one."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return ""
    is_plain = parts.netloc == host and not (parts.username or parts.password)
    return (parts.hostname or "").rstrip(".") if is_plain else ""


def _is_link(method: str, headers: Mapping[str, str]) -> bool:
    """True for a link or a bookmark that a person opened, in a tab of its own."""
    wanted = ("navigate", "document")
    found = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest"))
    return method == "GET" and found == wanted
