"""The server: its socket, its limits, its end."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence

import uvicorn

from gpualert_common.errors import UsageError
from gpualert_common.processes.host import host_name
from gpualert_common.structs import Struct
from gpualert_common.web.application import make_application
from gpualert_common.web.bounded_connection import BoundedConnection
from gpualert_common.web.credentials import make_credentials

DEFAULT_PORT = 8765
LOOPBACK = "127.0.0.1"
_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")
_IDLE_S = 15
_GRACE_S = 3
"""Time that answers in progress have at the end of the server."""
_MOST_HEAD_BYTES = 32 << 10
_BACKLOG = 128


class ServerOptions(Struct, frozen=True):
    """Options of the server.  Without a port it is the default one, or a free one if that is used.

    ``names`` are further names by which browsers reach it, such as that of a proxy.
    """

    places: Sequence[str]
    host: str = LOOPBACK
    port: int | None = None
    names: Sequence[str] = ()
    has_actions: bool = False

    @property
    def is_local(self) -> bool:
        """True if only this machine can connect."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """True for an address, or the name, of the machine's own loopback interface."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def serve(options: ServerOptions, on_ready: Callable[[str], None]) -> None:
    """Serve the pages until a signal ends this process.

    ``on_ready`` gets the address with the token once connections are accepted.  Raises UsageError
    if the address cannot be used.
    """
    listener = _listen(options)
    port = listener.getsockname()[1]
    credentials = make_credentials()
    names = frozenset(name.lower() for name in (*_list_names(options.host), *options.names))
    application = make_application(
        options.places,
        credentials,
        names,
        f"gpualert-web-{port}",
        has_actions=options.has_actions,
    )
    config = uvicorn.Config(
        application,
        http=BoundedConnection,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=_GRACE_S,
        h11_max_incomplete_event_size=_MOST_HEAD_BYTES,
    )
    _install_log()
    # As for SIGTERM: once the server has ended, the signal ends this process, also where a thread
    # still waits for a disk.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    shown = _choose_shown_host(options.host)
    on_ready(f"http://{shown}:{port}/?token={credentials.token}")
    uvicorn.Server(config).run(sockets=[listener])


def _listen(options: ServerOptions) -> socket.socket:
    try:
        found = socket.getaddrinfo(options.host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise UsageError(f"{options.host}: {error.strerror}") from None
    family, address = found[0][0], found[0][4][0]
    ports = [DEFAULT_PORT, 0] if options.port is None else [options.port]
    for port in ports:
        try:
            return socket.create_server((str(address), port), family=family, backlog=_BACKLOG)
        except OSError as error:
            if port == ports[-1]:
                text = f"cannot listen on {options.host}, port {port}: {error.strerror}"
                raise UsageError(f"{text}; choose another one with --port or --host") from None
    raise AssertionError("a port was tried")


def _list_names(host: str) -> list[str]:
    """Return the names by which browsers reach an address of this machine."""
    if is_loopback(host):
        return [host, *_LOOPBACK_NAMES]
    own = [host_name(), socket.getfqdn()]
    if not _is_any(host):
        return [host, *own, *_LOOPBACK_NAMES]
    addresses = {str(found[4][0]) for name in own for found in _resolve(name)}
    return [*own, *addresses, *_LOOPBACK_NAMES]


def _resolve(name: str) -> list[tuple[object, object, object, object, tuple[object, ...]]]:
    try:
        return list(socket.getaddrinfo(name, None))
    except OSError:
        return []


def _is_any(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _choose_shown_host(host: str) -> str:
    if _is_any(host):
        return host_name()
    return f"[{host}]" if ":" in host else host


class _DefectHandler(logging.Handler):
    """Prints the traceback of a defect, and nothing about requests: these can hold secrets."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is None or isinstance(error, asyncio.CancelledError):
            return
        text = "".join(traceback.format_exception(error))
        os.write(sys.stderr.fileno(), text.encode("utf-8", "backslashreplace"))


def _install_log() -> None:
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).propagate = False
    logging.getLogger("uvicorn.error").addHandler(_DefectHandler())
    logging.getLogger("asyncio").addHandler(_DefectHandler())
    logging.getLogger("asyncio").propagate = False
