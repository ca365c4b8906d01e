"""Log files of one run, found in folders and by patterns of names."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import groupby, islice

from gpualert_common.structs import Struct, field

MOST_FILES = 512
"""Files that are read of one folder or pattern; a job of more ranks has a log of its launcher."""
MOST_DEPTH = 8
"""Levels of folders; torchrun makes three: run, attempt, rank."""
MOST_BYTES = 8 << 30
"""Bytes that are read of one folder or pattern, as they are on disk: some minutes of work."""
_MOST_ENTRIES = 20_000
"""Names that are listed of one folder or pattern."""

_COMPRESSED = re.compile(r"\.(?:gz|bz2|xz|zst)$")
_ROTATED = re.compile(r"^(?P<name>.+?)\.(?P<number>\d{1,4})$")
_DIGITS = re.compile(r"(\d+)")


class LogPaths(Struct):
    """Logs that were found, each with the paths of its parts, the oldest first.

    A log that was rotated has parts.  ``left_out`` has a sentence for each kind of what was not
    taken.
    """

    logs: list[tuple[str, ...]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def find_logs(argument: str) -> LogPaths:
    """Return the log, the logs of the folder, or those that the pattern matches.

    No links are followed, except *argument* itself.
    """
    folders = _Folders()
    if os.path.isdir(argument):
        return _choose(argument, _walk(argument, MOST_DEPTH, folders), folders)
    if os.path.lexists(argument) or not glob.has_magic(argument):
        return LogPaths([(argument,)])
    parts = argument.split("/")
    fixed = next(number for number, part in enumerate(parts) if glob.has_magic(part))
    start = "/".join([*parts[:fixed], ""])
    pattern = _Pattern(tuple(parts[fixed:]))
    return _choose(
        argument, pattern.walk(start, pattern.skip_folders({0}), MOST_DEPTH, folders), folders
    )


class _Folders:
    """Lists folders; of all of them together one entry more than the limit, and then no more."""

    def __init__(self) -> None:
        self.left = _MOST_ENTRIES

    def list(self, folder: str) -> list[os.DirEntry[str]]:
        """Return the entries of *folder* in the order of their names.  Raises OSError."""
        with os.scandir(folder or ".") as entries:
            found = list(islice(entries, self.left + 1))
        self.left -= len(found)
        return sorted(found, key=lambda one: one.name)


class _Pattern(Struct, frozen=True):
    """A pattern of paths as its parts, each for one name, or ``**`` for any number of folders."""

    parts: tuple[str, ...]

    def walk(self, folder: str, at: set[int], levels: int, folders: _Folders) -> Iterator[str]:
        """Yield the paths in *folder* that the parts from one of *at* on match.

        A folder that all parts match stands for its files.
        """
        try:
            found = folders.list(folder)
        except OSError:
            return
        for entry in found:
            behind = self._match_name(entry.name, at)
            path = os.path.join(folder, entry.name)
            is_match = len(self.parts) in behind
            if not entry.is_dir(follow_symlinks=False):
                if is_match:
                    yield path
            elif is_match and "**" not in self.parts:
                yield from _walk(path, MOST_DEPTH, folders)
            elif behind and levels > 1:
                yield from self.walk(path, behind, levels - 1, folders)

    def skip_folders(self, at: set[int]) -> set[int]:
        """Return *at* with the parts behind each ``**``, which may match no folder."""
        behind = set(at)
        for number, part in enumerate(self.parts):
            if part == "**" and number in behind:
                behind.add(number + 1)
        return behind

    def _match_name(self, name: str, at: set[int]) -> set[int]:
        """Return the numbers of the parts that can match the next name of a path."""
        behind: set[int] = set()
        for number in at - {len(self.parts)}:
            part = self.parts[number]
            if name.startswith(".") and not part.startswith("."):
                continue
            if part == "**":
                behind.add(number)
            elif fnmatchcase(name, part):
                behind.add(number + 1)
        return self.skip_folders(behind)


def _walk(folder: str, levels: int, folders: _Folders) -> Iterator[str]:
    try:
        found = folders.list(folder)
    except OSError:
        yield folder  # not readable: left out, with the reason
        return
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            if levels > 1:
                yield from _walk(entry.path, levels - 1, folders)
            else:
                yield entry.path
        else:
            yield entry.path


def _choose(argument: str, paths: Iterator[str], folders: _Folders) -> LogPaths:
    """Return the regular files among *paths*, within the limits."""
    files: list[str] = []
    refused: dict[str, list[str]] = {}
    size = 0
    for path in paths:
        status = _read_status(path)
        because = _reason_against(status)
        if because is None and status is not None:
            if len(files) >= MOST_FILES:
                because = f"more than {MOST_FILES} files"
            elif size + status.st_size > MOST_BYTES:
                because = f"more than {MOST_BYTES >> 30} GiB"
            elif status.st_size:
                files.append(path)
                size += status.st_size
        if because is not None:
            refused.setdefault(because, []).append(path)
    if folders.left < 0:
        refused[f"more than {_MOST_ENTRIES} entries"] = [argument]
    left_out = [
        f"was not read completely: {paths[0]}{_and_others(paths)} left out ({why})"
        for why, paths in refused.items()
    ]
    return LogPaths(_join_rotated(files), left_out)


def _read_status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _reason_against(status: os.stat_result | None) -> str | None:
    if status is None:
        return "not readable"
    if stat.S_ISLNK(status.st_mode):
        return "a link"
    if stat.S_ISDIR(status.st_mode):
        return "a folder that is not readable, or too deep"
    return None if stat.S_ISREG(status.st_mode) else "no regular file"


def _and_others(paths: list[str]) -> str:
    return f" and {len(paths) - 1} more" if len(paths) > 1 else ""


def _join_rotated(paths: list[str]) -> list[tuple[str, ...]]:
    """Return the parts of each log, the oldest first: ``a.log.2.gz``, ``a.log.1``, ``a.log``."""
    names = set(paths)

    def parse(path: str) -> tuple[str, int]:
        rotated = _ROTATED.match(_COMPRESSED.sub("", path))
        if rotated is None or rotated["name"] not in names:
            return path, 0  # ranks may have numbers like those of rotated logs, but no plain name
        return rotated["name"], int(rotated["number"])

    def order(path: str) -> tuple[list[str | int], int, str]:
        name, number = parse(path)
        return _natural(name), -number, path

    ordered = sorted(paths, key=order)
    return [tuple(parts) for _name, parts in groupby(ordered, key=lambda path: parse(path)[0])]


def _natural(name: str) -> list[str | int]:
    """Return a key that sorts ``rank_10`` behind ``rank_9``."""
    return [int(part) if part.isdecimal() else part for part in _DIGITS.split(name)]
