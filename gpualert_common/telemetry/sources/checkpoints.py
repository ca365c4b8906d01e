"""Checkpoints that were there before the run: what its command names, and what its output held.

Only the folders that the command's options name are looked into, once, and not below them; what
is in the files is not read.  What was written after the launch is the run's own and does not count.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from gpualert_common.command_options import parse_options
from gpualert_common.errors import RecordError
from gpualert_common.processes.procfs import read_cwd
from gpualert_common.record import Record
from gpualert_common.telemetry.source import (
    ObservedRun,
    Sample,
    Source,
    SourceEvent,
    SourceUnavailableError,
)

MOST_ENTRIES = 2000
MOST_FOLDERS = 8
MOST_TOLD = 5

_READ = re.compile(r"(?:.+_)?(?:resume|restore|load|continue|init|ckpt|checkpoint)(?:_.+)?")
"""Options that may name a checkpoint to go on from."""
_WRITTEN = re.compile(
    r"(?:.+_)?(?:out|outputs?|save|saved?|work|logging|default_root|checkpoints?|ckpts?|results?)"
    r"(?:_?(?:dir|directory|folder|path|root))?|(?:out|save|work)dir"
)
"""Options that may name the folder that checkpoints are written to."""
_CHECKPOINT = re.compile(
    r"(?i)(?:.*[-_=])?(?:checkpoint|ckpt|iter|step|global_?step|epoch|last|latest|snapshot)"
    r"[-_=]?(\d{1,9})?(?:[-_=.].*)?\.(?:pth?|ckpt|tar|safetensors|keras|h5|distcp)"
    r"|(?:checkpoint|ckpt|iter|step|global_?step|epoch)[-_=]?(\d{1,9})"
    r"|(?:last|best)\.ckpt|latest_checkpointed_iteration\.txt"
)


class Checkpoints(Source):
    """Facts only: ``named``, for each path that an option names to go on from, whether it was there
    before the launch; ``before``, the newest checkpoints that were in the folders of its output,
    each with path, step (None where its name has none) and time."""

    decides = "E2 by checkpoints that a run passed over"

    def __init__(self, subject: ObservedRun | None) -> None:
        if subject is None:
            self._facts: Mapping[str, Any] = {}
            return
        command, cwd = _launched(subject)
        self._facts = survey(command, cwd, subject.started_at)

    @property
    def facts(self) -> Mapping[str, Any]:
        """What was there."""
        return self._facts

    def sample(self) -> Iterable[Sample | SourceEvent]:
        """Nothing: what was there before does not change."""
        return ()


SOURCE: type[Source] = Checkpoints


def survey(command: Sequence[str], cwd: str, before: float) -> dict[str, Any]:
    """The facts, of what was written *before* that time; paths in them are as the command's."""
    options = list(parse_options(command))
    read = [value for name, value in options if _READ.fullmatch(name) and _is_path(value)]
    written = [value for name, value in options if _WRITTEN.fullmatch(name) and _is_path(value)]
    found = [
        one
        for folder in dict.fromkeys(written[:MOST_FOLDERS])
        for one in _checkpoints(folder, cwd, before)
    ]
    found.sort(key=lambda one: one["written_at"], reverse=True)
    named = {path: _was_there(os.path.join(cwd, path), before) for path in read[:MOST_FOLDERS]}
    return {"named": named, "before": found[:MOST_TOLD]}


def _launched(subject: ObservedRun) -> tuple[Sequence[str], str]:
    try:
        spec = Record.open(subject.record_path).spec
    except RecordError as error:
        raise SourceUnavailableError(f"the launch record cannot be read: {error}") from None
    command = [str(word) for word in spec.get("command") or ()]
    return command, spec.get("cwd") or read_cwd(subject.pid) or "/"


def _is_path(value: str) -> bool:
    return bool(value) and "://" not in value and "\0" not in value


def _was_there(path: str, before: float) -> bool:
    """True for a file or folder that is older; a folder counts by what is in it."""
    try:
        if os.path.isdir(path):
            return any(_age(entry) < before for entry in _entries(path))
        return os.stat(path).st_mtime < before
    except OSError:
        return False


def _checkpoints(folder: str, cwd: str, before: float) -> Iterator[dict[str, Any]]:
    try:
        for entry in _entries(os.path.join(cwd, folder)):
            match = _CHECKPOINT.fullmatch(entry.name)
            if match is not None and (written_at := _age(entry)) < before:
                step = match[1] or match[2]
                path = os.path.join(folder, entry.name)
                yield {"path": path, "step": int(step) if step else None, "written_at": written_at}
    except OSError:
        return  # there is none yet


def _entries(path: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(path) as entries:
        yield from islice(entries, MOST_ENTRIES)


def _age(entry: os.DirEntry[str]) -> float:
    try:
        return entry.stat().st_mtime
    except OSError:
        return float("inf")  # removed meanwhile
