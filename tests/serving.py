"""A real gpualert that serves, for tests: started on a free port, and ended with its block."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.supervised import DEADLINE_S, PROGRAM, until


@contextmanager
def start_serving(
    *arguments: str, env: Mapping[str, str] | None = None, errors: Path | None = None
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Start a command that serves; yields its process and the address that it prints.

    Its stderr goes to the file ``errors``.
    """
    with tempfile.TemporaryFile() as out, open(errors or os.devnull, "wb") as notes:
        process = subprocess.Popen(
            (*PROGRAM, *arguments),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=notes,
            env=dict(env) if env is not None else None,
        )

        def read_url() -> str:
            assert process.poll() is None, f"ended with {process.returncode}"
            text = os.pread(out.fileno(), 1000, 0).decode()
            return text.strip() if text.endswith("\n") else ""

        try:
            yield process, until(read_url, "the address of the server")
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait(DEADLINE_S)
