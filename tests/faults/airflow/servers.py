"""Debian's PostgreSQL and Redis for a test: on 127.0.0.1, with ports and directories of its own."""

from __future__ import annotations

import pwd
import shutil
import signal
import subprocess
import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from tests.supervised import free_port, until

PROGRAMS = Path("/usr/lib/postgresql")
USER = "postgres"
"""User of the package; PostgreSQL does not run as root."""


class Server(ABC):
    """One server with its own directory."""

    _quick: ClassVar[signal.Signals]
    """Signal that stops it at once."""

    def __init__(self) -> None:
        self.port = free_port()
        self._home = Path(tempfile.mkdtemp(prefix="gpualert-test-server-"))
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def start(self) -> None:
        """Start it and return when it accepts connections."""

    def stop(self) -> None:
        """Stop it and keep its data."""
        if self._process is not None:
            self._process.send_signal(self._quick)
            self._process.wait(30)

    def end(self) -> None:
        """Stop it and remove its data."""
        self.stop()
        shutil.rmtree(self._home)

    def _serve(self, *command: str, user: str | None = None) -> None:
        with (self._home / "out").open("ab") as out:
            self._process = subprocess.Popen(
                command,
                user=user,
                group=user,
                extra_groups=None if user is None else [],
                cwd=self._home,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )


class PostgreSQL(Server):
    """A cluster without authentication and without sync."""

    _quick = signal.SIGQUIT

    @property
    def url(self) -> str:
        """Return user, host and database, for any driver."""
        return f"{USER}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Make the cluster, start it and return when it accepts connections."""
        found = sorted(PROGRAMS.glob("*/bin"), key=lambda path: int(path.parent.name))
        assert found, "postgresql is not installed; make debian does it"
        programs = found[-1]
        account = pwd.getpwnam(USER)
        shutil.chown(self._home, account.pw_uid, account.pw_gid)
        data = str(self._home / "data")
        subprocess.run(
            [programs / "initdb", "--pgdata", data, "--auth=trust", "--no-sync", "--encoding=UTF8"],
            user=USER,
            group=USER,
            extra_groups=[],
            cwd=self._home,
            check=True,
            capture_output=True,
        )
        options = ["-F", "-h", "127.0.0.1", "-p", str(self.port), "-k", str(self._home)]
        more = ["-c", "max_connections=400"]
        self._serve(str(programs / "postgres"), "-D", data, *options, *more, user=USER)
        ready = [str(programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        until(lambda: subprocess.run(ready).returncode == 0, "PostgreSQL", 30, poll_s=0.1)


class Redis(Server):
    """A server that writes its data to disk."""

    _quick = signal.SIGTERM

    @property
    def url(self) -> str:
        """Return the URL."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it and return when it accepts connections."""
        import redis

        where = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._home)]
        self._serve("redis-server", *where, "--save", "", "--appendonly", "yes")

        def answers() -> bool:
            try:
                with redis.Redis(port=self.port) as client:
                    return bool(client.ping())
            except redis.exceptions.ConnectionError:
                return False

        until(answers, "Redis", 30, poll_s=0.1)
