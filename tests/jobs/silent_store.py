"""An S3 server that accepts requests and never answers them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

ADDRESS = "s3://bucket/jobs"
"""A job directory there."""


@contextmanager
def start_silent_store() -> Iterator[Mapping[str, str]]:
    """Yield the variables of the environment that lead to it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepted: list[socket.socket] = []

        def accept() -> None:
            while True:
                try:
                    accepted.append(listener.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield {
            "FSSPEC_S3_ENDPOINT_URL": f"http://127.0.0.1:{listener.getsockname()[1]}",
            "FSSPEC_S3_KEY": "name",
            "FSSPEC_S3_SECRET": "word",
        }
        listener.shutdown(socket.SHUT_RDWR)
        for one in accepted:
            one.close()
