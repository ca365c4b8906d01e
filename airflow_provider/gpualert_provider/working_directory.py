"""Where a training works: the author's directory, or a temporary one that lives as long as it does.

BashOperator deletes its temporary directory, and a rendered script, when it is done with them.  A
training may outlive the worker that started it, so both stay until an attempt has seen the
training end; then that attempt removes them, whoever made them.  When nobody sees it end, because
no attempt is left, they stay for whoever cleans the machine's temporary directory.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class WorkingDirectory:
    """A directory, and a rendered script in it.  ``temporary``: the directory was made for it."""

    directory: str
    temporary: bool
    script: str | None = None

    @classmethod
    def make(cls, directory: str | None, script: str | None) -> WorkingDirectory:
        """A workplace in ``directory`` (None: a new one) with ``script`` as a file in it."""
        temporary = directory is None
        directory = tempfile.mkdtemp(prefix="airflowtmp") if directory is None else directory
        if script is None:
            return cls(directory, temporary)
        fd, path = tempfile.mkstemp(suffix=".sh", dir=directory, text=True)
        with open(fd, "w") as file:
            file.write(script)
        return cls(directory, temporary, os.path.basename(path))

    def of_run(self, spec: Mapping[str, Any]) -> WorkingDirectory:
        """The workplace of a run of the same fingerprint: made alike, under names of its own."""
        script = None if self.script is None else spec["command"][-1]
        return WorkingDirectory(spec["cwd"], self.temporary, script)

    def remove(self) -> None:
        """Remove what was made, as far as it is still there."""
        if self.temporary:
            shutil.rmtree(self.directory, ignore_errors=True)
        elif self.script is not None:
            try:
                os.unlink(os.path.join(self.directory, self.script))
            except OSError:
                pass  # the training was free to do it
