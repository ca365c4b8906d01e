"""Launchers of distributed runs, by their commands."""

from __future__ import annotations

import os
from collections.abc import Sequence

_LAUNCHERS = {
    "torchrun": "torchrun",
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "accelerate": "accelerate",
    "accelerate-launch": "accelerate",
    "accelerate.commands.launch": "accelerate",
}
"""Launchers by the names of their programs and modules."""
_WITH_VALUE = frozenset(("-W", "-X", "--check-hash-based-pycs"))
"""Options of Python that have a value."""


def find_launcher(command: Sequence[str]) -> str:
    """Return the launcher that a process executes; a shell or srun that names one does not."""
    if not command or not os.path.basename(command[0]).startswith(("python", "pypy", "torchrun")):
        return ""
    words = iter(command if "torchrun" in command[0] else command[1:])
    for word in words:
        if word in _WITH_VALUE:
            next(words, "")
        elif word == "-m" or not word.startswith("-"):
            program = next(words, "") if word == "-m" else os.path.basename(word)
            return _LAUNCHERS.get(program, "")
    return ""
