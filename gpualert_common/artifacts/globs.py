"""Globs of ``--artifact``: the folder to start in, and the names to match below it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from fnmatch import translate
from typing import NamedTuple

from gpualert_common.artifacts.file_kinds import is_usual
from gpualert_common.artifacts.safe_open import resolve_links

State = frozenset[int]

_MAGIC = re.compile(r"[*?[]")


class OutsideRootError(Exception):
    """A relative GLOB leads out of the run's working directory through a link."""


class Glob(NamedTuple):
    """A pattern below ``root``, part by part; None stands for ``**``: any number of folders.

    A state is the set of parts that can match next; a walk keeps one state per folder.
    """

    text: str
    root: str
    parts: tuple[re.Pattern[str] | str | None, ...]

    @property
    def is_literal(self) -> bool:
        """True when the pattern names one file, which gets a row even if it does not exist."""
        return all(isinstance(part, str) for part in self.parts)

    def start(self) -> State:
        """Return the state at ``root``."""
        return self._skip_wildcards({0})

    def enter(self, state: State, name: str) -> State | None:
        """Return the state below folder ``name``; None when nothing below it can match."""
        last = len(self.parts) - 1
        after = set()
        for at in state:
            part = self.parts[at]
            if part is None:
                if not name.startswith("."):
                    after.add(at)
            elif at < last and _is_match(part, name):
                after.add(at + 1)
        return self._skip_wildcards(after) if after else None

    def is_wanted(self, state: State, name: str) -> bool:
        """Return True when a file of this name matches."""
        last = len(self.parts) - 1
        part = self.parts[last]
        return last in state and part is not None and _is_match(part, name)

    def _skip_wildcards(self, state: set[int]) -> State:
        reached = set(state)
        for at, part in enumerate(self.parts):
            if at in reached and part is None:
                reached.add(at + 1)
        return frozenset(reached)


class UsualResults:
    """Files that count without a GLOB: results by their names, outside hidden folders."""

    def start(self) -> State:
        """Return the only state."""
        return frozenset()

    def enter(self, state: State, name: str) -> State | None:
        """Return the state for a folder that is not hidden, else None."""
        return None if name.startswith(".") else state

    def is_wanted(self, _state: State, name: str) -> bool:
        """Return True for a usual result."""
        return not name.startswith(".") and is_usual(name)


def read_glob(text: str, cwd: str | None) -> Glob:
    """Return the GLOB with ``~`` and the links before its first wildcard resolved.

    A folder matches everything in it.  A name that exists literally is not a pattern.  Raises
    OutsideRootError, and ValueError for a text that cannot name a file.
    """
    wanted = os.path.expanduser(text)
    if not wanted or "\0" in wanted or (cwd is None and not os.path.isabs(wanted)):
        raise ValueError("it names no file")
    whole = "/" + os.path.normpath(os.path.join(cwd or "/", wanted)).lstrip("/")
    confined = cwd is not None and not os.path.isabs(wanted) and is_inside(whole, cwd)
    if os.path.lexists(whole):
        resolved = resolve_links(whole)
        root, parts = (resolved, ["**"]) if os.path.isdir(resolved) else _split(resolved)
        parsed: Sequence[re.Pattern[str] | str | None] = [p if p != "**" else None for p in parts]
    else:
        parts = whole.split("/")[1:]
        fixed = next((at for at, part in enumerate(parts) if _MAGIC.search(part)), len(parts) - 1)
        root = resolve_links("/" + "/".join(parts[:fixed]))
        parsed = [_compile_part(part) for part in parts[fixed:]]
    if confined and cwd is not None and not is_inside(root, resolve_links(cwd)):
        raise OutsideRootError
    if parsed[-1] is None:
        parsed = [*parsed, re.compile(translate("*"))]
    return Glob(text, root, tuple(parsed))


def is_inside(path: str, folder: str) -> bool:
    """Return True when ``path`` is the folder or lies below it, judging by the names."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _split(path: str) -> tuple[str, list[str]]:
    folder, name = os.path.split(path)
    return folder, [name]


def _compile_part(part: str) -> re.Pattern[str] | str | None:
    if part == "**":
        return None
    return re.compile(translate(part)) if _MAGIC.search(part) else part


def _is_match(part: re.Pattern[str] | str, name: str) -> bool:
    if isinstance(part, str):
        return part == name
    if name.startswith(".") and not part.pattern.startswith(r"(?s:\."):
        return False  # as in a shell: only a pattern with a leading dot matches a hidden name
    return part.match(name) is not None
