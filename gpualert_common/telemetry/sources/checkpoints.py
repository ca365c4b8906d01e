"""Checkpoints from before the run: those that its command names, and those in its output folders.

Only folders that the command's options name are listed, once and without their subfolders; no file
is read.  Files written after the launch belong to the run and do not count.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypedDict

from gpualert_common.command_options import parse_options
from gpualert_common.telemetry.launched_command import is_path, read_launched_command
from gpualert_common.telemetry.source import (
    ObservedRun,
    Sample,
    Source,
    SourceEvent,
)

MOST_ENTRIES = 2000
MOST_FOLDERS = 8
MOST_LISTED = 5

_INPUT_OPTION = re.compile(r"(?:.+_)?(?:resume|restore|load|continue|init|ckpt|checkpoint)(?:_.+)?")
"""Options that may name a checkpoint to resume from."""
_OUTPUT_OPTION = re.compile(
    r"(?:.+_)?(?:out|outputs?|save|saved?|work|logging|default_root|checkpoints?|ckpts?|results?)"
    r"(?:_?(?:dir|directory|folder|path|root))?|(?:out|save|work)dir"
)
"""Options that may name the folder for new checkpoints."""
_CHECKPOINT_NAME = re.compile(
    r"(?i)(?:.*[-_=])?(?:checkpoint|ckpt|iter|step|global_?step|epoch|last|latest|snapshot)"
    r"[-_=]?(\d{1,9})?(?:[-_=.].*)?\.(?:pth?|ckpt|tar|safetensors|keras|h5|distcp)"
    r"|(?:checkpoint|ckpt|iter|step|global_?step|epoch)[-_=]?(\d{1,9})"
    r"|(?:last|best)\.ckpt|latest_checkpointed_iteration\.txt"
)


class FoundCheckpoint(TypedDict):
    """A checkpoint from before the launch; ``written_at`` is in seconds since the epoch."""

    path: str
    step: int | None
    written_at: float


class Facts(TypedDict):
    """Facts of the source, see :class:`Checkpoints`."""

    named: dict[str, bool]
    before: list[FoundCheckpoint]


class Checkpoints(Source):
    """Facts only.  ``named`` holds each path that an option names for resuming, and whether it
    existed before the launch.  ``before`` holds the newest checkpoints in the output folders,
    each with path, step (None if its name has none) and time."""

    decides = "whether a run resumed, by the checkpoints from before it"

    def __init__(self, run: ObservedRun | None) -> None:
        if run is None:
            self._facts: Mapping[str, Any] = {}
            return
        command, cwd = read_launched_command(run)
        self._facts = find_checkpoints(command, cwd or "/", run.started_at)

    @property
    def facts(self) -> Mapping[str, Any]:
        """The checkpoints from before the launch."""
        return self._facts

    def sample(self) -> Iterable[Sample | SourceEvent]:
        """Return nothing: the facts do not change."""
        return ()


SOURCE: type[Source] = Checkpoints


def find_checkpoints(command: Sequence[str], cwd: str, before: float) -> Facts:
    """Return the facts for files written *before* that time; paths have the form of the command."""
    options = list(parse_options(command))
    read = [value for name, value in options if _INPUT_OPTION.fullmatch(name) and is_path(value)]
    written = [
        value for name, value in options if _OUTPUT_OPTION.fullmatch(name) and is_path(value)
    ]
    found = [
        one
        for folder in dict.fromkeys(written[:MOST_FOLDERS])
        for one in _scan_checkpoints(folder, cwd, before)
    ]
    found.sort(key=lambda one: one["written_at"], reverse=True)
    named = {path: _is_older(os.path.join(cwd, path), before) for path in read[:MOST_FOLDERS]}
    return {"named": named, "before": found[:MOST_LISTED]}


def _is_older(path: str, before: float) -> bool:
    """Return whether a file, or any entry of a folder, is older than that time."""
    try:
        if os.path.isdir(path):
            return any(_read_mtime(entry) < before for entry in _scan_entries(path))
        return os.stat(path).st_mtime < before
    except OSError:
        return False


def _scan_checkpoints(folder: str, cwd: str, before: float) -> Iterator[FoundCheckpoint]:
    try:
        for entry in _scan_entries(os.path.join(cwd, folder)):
            match = _CHECKPOINT_NAME.fullmatch(entry.name)
            if match is not None and (written_at := _read_mtime(entry)) < before:
                step = match[1] or match[2]
                path = os.path.join(folder, entry.name)
                yield {"path": path, "step": int(step) if step else None, "written_at": written_at}
    except OSError:
        return  # the folder does not exist


def _scan_entries(path: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(path) as entries:
        yield from islice(entries, MOST_ENTRIES)


def _read_mtime(entry: os.DirEntry[str]) -> float:
    try:
        return entry.stat().st_mtime
    except OSError:
        return float("inf")  # removed meanwhile
