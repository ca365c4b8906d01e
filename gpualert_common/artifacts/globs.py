"""What ``--artifact GLOB`` names: a place to begin at, and which names count below it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from fnmatch import translate
from typing import NamedTuple

from gpualert_common.artifacts.file_kinds import is_usual
from gpualert_common.artifacts.safe_open import resolve

State = frozenset[int]

_MAGIC = re.compile(r"[*?[]")


class OutsideRootError(Exception):
    """A relative GLOB that a link takes out of the run's working directory."""


class Glob(NamedTuple):
    """Names below ``root``, part by part; None stands for ``**``: any number of folders.

    Its states are the parts that may come next; a walk carries one per folder.
    """

    text: str
    root: str
    parts: tuple[re.Pattern[str] | str | None, ...]

    @property
    def is_literal(self) -> bool:
        """True when it names one file, which is missed when it is not there."""
        return all(isinstance(part, str) for part in self.parts)

    def begin(self) -> State:
        """The state at ``root``."""
        return self._reach({0})

    def enter(self, state: State, name: str) -> State | None:
        """The state below folder ``name``; None when nothing there can match."""
        last = len(self.parts) - 1
        after = set()
        for at in state:
            part = self.parts[at]
            if part is None:
                if not name.startswith("."):
                    after.add(at)
            elif at < last and _matches(part, name):
                after.add(at + 1)
        return self._reach(after) if after else None

    def takes(self, state: State, name: str) -> bool:
        """True when a file of that name matches."""
        last = len(self.parts) - 1
        part = self.parts[last]
        return last in state and part is not None and _matches(part, name)

    def _reach(self, state: set[int]) -> State:
        reached = set(state)
        for at, part in enumerate(self.parts):
            if at in reached and part is None:
                reached.add(at + 1)
        return frozenset(reached)


class UsualResults:
    """What counts without being asked for: results by their names, in no hidden folder."""

    def begin(self) -> State:
        """The one state there is."""
        return frozenset()

    def enter(self, state: State, name: str) -> State | None:
        """Every folder is entered that is not hidden."""
        return None if name.startswith(".") else state

    def takes(self, _state: State, name: str) -> bool:
        """True for a usual result."""
        return not name.startswith(".") and is_usual(name)


def read_glob(text: str, cwd: str | None) -> Glob:
    """The GLOB as it stands on this machine, with ``~`` and the links before its first wildcard
    resolved.

    A folder stands for everything in it; a name that exists as it is written is no pattern.  Raises
    LeadsOutError, and ValueError for what names nothing.
    """
    wanted = os.path.expanduser(text)
    if not wanted or "\0" in wanted or (cwd is None and not os.path.isabs(wanted)):
        raise ValueError("it names no file")
    whole = "/" + os.path.normpath(os.path.join(cwd or "/", wanted)).lstrip("/")
    confined = cwd is not None and not os.path.isabs(wanted) and is_inside(whole, cwd)
    if os.path.lexists(whole):
        resolved = resolve(whole)
        root, parts = (resolved, ["**"]) if os.path.isdir(resolved) else _split(resolved)
        parsed: Sequence[re.Pattern[str] | str | None] = [p if p != "**" else None for p in parts]
    else:
        parts = whole.split("/")[1:]
        fixed = next((at for at, part in enumerate(parts) if _MAGIC.search(part)), len(parts) - 1)
        root = resolve("/" + "/".join(parts[:fixed]))
        parsed = [_part(part) for part in parts[fixed:]]
    if confined and cwd is not None and not is_inside(root, resolve(cwd)):
        raise OutsideRootError
    if parsed[-1] is None:
        parsed = [*parsed, re.compile(translate("*"))]
    return Glob(text, root, tuple(parsed))


def is_inside(path: str, folder: str) -> bool:
    """True when ``path`` is the folder or lies below it, by its name."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _split(path: str) -> tuple[str, list[str]]:
    folder, name = os.path.split(path)
    return folder, [name]


def _part(part: str) -> re.Pattern[str] | str | None:
    if part == "**":
        return None
    return re.compile(translate(part)) if _MAGIC.search(part) else part


def _matches(part: re.Pattern[str] | str, name: str) -> bool:
    if isinstance(part, str):
        return part == name
    if name.startswith(".") and not part.pattern.startswith(r"(?s:\."):
        return False  # as a shell has it: a hidden name is matched only by a dot
    return part.match(name) is not None
