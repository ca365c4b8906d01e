"""The command line of a run, made from the arguments of ``shell_run_command``."""

from __future__ import annotations

import hashlib
import os

from gpualert_common import record_locations
from gpualert_common.errors import UsageError
from gpualert_common.record.private_directory import make_folder, resolve_state_dir

_SHELLS = frozenset(("ash", "bash", "dash", "ksh", "sh", "zsh"))
"""Shells that take a script after -c; any other interpreter gets a file."""
_MOST_ARGUMENT_BYTES = 128 << 10
"""The longest argument that Linux accepts (MAX_ARG_STRLEN)."""


def command_line(
    command: str,
    *,
    helper_command: str | None,
    shell: str | None,
    extension: str | None,
    state_dir: str | None,
) -> list[str]:
    """Return the command that runs ``helper_command`` and ``command`` in one shell process.

    A shell gets them with ``-c``: it replaces itself by a simple command, which then receives
    signals directly.  Other interpreters, and texts too long for ``-c``, get a script in the state
    directory.  Its name is a hash of its content, so equal tasks have equal commands, which
    adoption requires.  The script is not removed, since the training may outlive its engine.
    """
    program = shell or "bash"
    text = f"{helper_command}\n{command}" if helper_command else command
    if program.lower() == "powershell":
        extension = ".ps1"
        text += "\nExit $LastExitCode"
    plain = os.path.basename(program) in _SHELLS and extension is None
    if plain and len(text.encode("utf-8", "surrogateescape")) < _MOST_ARGUMENT_BYTES:
        return [program, "-c", text]
    return [program, _script(text, extension or "", state_dir)]


def _script(text: str, extension: str, state_dir: str | None) -> str:
    data = text.encode("utf-8", "surrogateescape")
    name = hashlib.sha256(data).hexdigest()[:16] + extension
    tried = []
    for place in record_locations.list_state_dirs(state_dir):
        try:
            path = os.path.join(make_folder(resolve_state_dir(place), "scripts"), name)
            temporary = f"{path}.{os.getpid()}.{os.urandom(4).hex()}"
            with open(temporary, "xb") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(data)
            os.rename(temporary, path)
        except OSError as error:
            tried.append(f"{place}: {error.strerror}")
            continue
        return path
    raise UsageError(f"the script of this command cannot be written; tried: {'; '.join(tried)}")
