"""The working directory of a training: the author's, or a temporary one that exists as long as it.

BashOperator deletes its temporary directory and a rendered script when its command has ended.  A
training may outlive the worker that started it, so both stay until an attempt has seen the training
end.  That attempt removes them, also when an earlier one made them.  When no attempt is left, they
stay until the machine's temporary directory is cleaned.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpualert_common.slurm.submissions.follower_command import submission_path
from gpualert_common.structs import Struct

if TYPE_CHECKING:
    from gpualert_common.launch_record import LaunchRecord


class WorkingDirectory(Struct, frozen=True):
    """A directory and a rendered script in it; ``is_temporary``: it was made for the training."""

    directory: str
    is_temporary: bool
    script: str | None = None

    @classmethod
    def make(cls, directory: str | None, script: str | None) -> WorkingDirectory:
        """Return ``directory`` (None: a new temporary one) with ``script`` as a file in it."""
        is_temporary = directory is None
        directory = tempfile.mkdtemp(prefix="airflowtmp") if directory is None else directory
        if script is None:
            return cls(directory, is_temporary)
        fd, path = tempfile.mkstemp(suffix=".sh", dir=directory, text=True)
        with open(fd, "w") as file:
            file.write(script)
        return cls(directory, is_temporary, os.path.basename(path))

    @classmethod
    def find(
        cls, spec: LaunchRecord, cwd: str | None, command: Sequence[str] | None
    ) -> WorkingDirectory:
        """Return the directory of a run of a task with this ``cwd`` and ``command``."""
        if submission_path(spec.command) is not None:
            return cls(spec.cwd or "", is_temporary=False)
        has_script = command is None and len(spec.command) == 2
        return cls(spec.cwd or "", cwd is None, spec.command[-1] if has_script else None)

    def of_run(self, spec: LaunchRecord) -> WorkingDirectory:
        """Return the directory of a run with the same fingerprint, which has names of its own."""
        script = None if self.script is None else spec.command[-1]
        return WorkingDirectory(spec.cwd or self.directory, self.is_temporary, script)

    def remove(self) -> None:
        """Remove the temporary directory or the script, if it still exists."""
        if self.is_temporary:
            shutil.rmtree(self.directory, ignore_errors=True)
        elif self.script is not None:
            try:
                os.unlink(os.path.join(self.directory, self.script))
            except OSError:
                pass  # the training may have removed it
