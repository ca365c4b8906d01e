"""A working directory and a run record, and the bundles made from them."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from gpualert_common import artifacts
from gpualert_common.artifacts import snapshot_program
from gpualert_common.artifacts.changes import Changes, FileCandidate, find_changes
from gpualert_common.artifacts.packer import pack
from gpualert_common.model import Artifact, Bundle
from gpualert_common.processes.program import program_command
from gpualert_common.record import SPEC, Record
from gpualert_common.redact import Redactor

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
"""Has the form of a secret."""
SNAPSHOT_PROGRAM = snapshot_program.__name__
LONG_AGO_S = 3600.0


class Workplace:
    """The record of a run in ``cwd``; the run began an hour before or after the files there."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.cwd = home / "work"
        self.cwd.mkdir()
        runs = home / "state" / "runs"
        runs.mkdir(parents=True)
        self.record = Record.create(str(runs / "20261120-000000-000001-abcd"), sync=False)
        self.describe()

    def describe(
        self,
        *globs: str,
        cwd: str | None = "",
        began: float = -LONG_AGO_S,
        logs: Sequence[str] = ("output.log",),
    ) -> None:
        """Write the launch record; by default the run began before all files."""
        spec = {
            "schema": 1,
            "command": ["train"],
            "cwd": str(self.cwd) if cwd == "" else cwd,
            "logs": list(logs),
            "created_at": time.time() + began,
            "alerts": {"artifacts": list(globs)},
        }
        self.record.write_json(SPEC, spec)

    def write(self, path: str, content: str | bytes = "content\n") -> Path:
        """Write a file below the working directory and the folders above it; return its path."""
        file = self.cwd / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def write_baseline(self) -> None:
        """Write the baseline as a run does, in a process of its own."""
        done = subprocess.run(
            program_command(SNAPSHOT_PROGRAM, self.record.path), capture_output=True, timeout=30
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")

    def changes(self, deadline_s: float = 30.0, most: int = 1000) -> Changes:
        """Return the changes of the run."""
        return find_changes(self.record, deadline_s=deadline_s, most=most)

    def names(self) -> set[str]:
        """Return the names of all candidates that are available."""
        return {one.name for one in self.changes().candidates if one.unavailable is None}

    def bundle(
        self,
        *globs: str,
        files_bytes: int = 1 << 20,
        file_bytes: int = 1 << 20,
        files: int = 20,
        deadline_s: float = 60.0,
    ) -> Bundle:
        """Return the bundle; ``globs`` go into the launch record."""
        if globs:
            self.describe(*globs)
        return artifacts.bundle(
            self.record,
            Redactor(),
            files_bytes=files_bytes,
            file_bytes=file_bytes,
            files=files,
            deadline_s=deadline_s,
        )

    def rows(self, *globs: str) -> dict[str, Artifact]:
        """Return the rows of the manifest by name."""
        return {row.name: row for row in self.bundle(*globs).artifacts}

    def packed(self, *paths: Path, redactor: Redactor | None = None, **limits: int) -> Bundle:
        """Return these files packed within limits (by default a megabyte and 20 files)."""
        most = {"files_bytes": 1 << 20, "file_bytes": 1 << 20, "files": 20, **limits}
        return pack(
            [candidate(path) for path in paths],
            **most,
            redactor=redactor or Redactor(),
            deadline_s=60.0,
        )

    def log(self, content: bytes, name: str = "output.log") -> None:
        """Write a log of the run."""
        Path(self.record.log_path(name)).write_bytes(content)


def candidate(path: Path) -> FileCandidate:
    """Return the candidate for a file of its current size."""
    size = path.lstat().st_size if os.path.lexists(path) else 1
    return FileCandidate(str(path), path.name, size=size)
