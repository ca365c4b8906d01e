"""Checkpoints that a run writes, by the files: also those that no line of its log reports.

The working directory, and the folders that the command's options name for output, are listed with
their subfolders, within limits; no file is read.  A listing that takes long is repeated less often.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from itertools import islice

from gpualert_common.command_options import parse_options
from gpualert_common.telemetry.launched_command import is_path, read_launched_command
from gpualert_common.telemetry.source import (
    ObservedRun,
    Sample,
    Source,
    SourceEvent,
    SourceUnavailableError,
)

MOST_ENTRIES = 5000
"""Entries of one listing, over all folders: some milliseconds on a local disk."""
MOST_DEPTH = 4
MOST_FOLDERS = 8
_MOST_KEPT = 100_000
_REST = 100
"""A listing takes at most a hundredth of the time."""
_REPORTED_GROWTH = 1.1
"""A storm is one event for each tenth more, not one for each sample."""

_OUTPUT_OPTION = re.compile(r"out|save|work|log|ckpt|checkpoint|result|root|exp")
_SKIPPED = re.compile(r"\.|__pycache__$|node_modules$|site-packages$|wandb$|mlruns$")
_FOLDER = re.compile(r"(?i)(?:.*[-_=])?(?:checkpoint|ckpt|iter|step|epoch)[-_=]?\d{1,12}")
_FILE = re.compile(
    r"(?i)(?:.*(?:checkpoint|ckpt|model|weights|state|snapshot|step|iter|epoch|best|last|latest"
    r"|final|optim)"
    r".*\.(?:pth?|pth?\.tar|safetensors|keras|h5|msgpack)|.*\.ckpt|.*ckpt.*\.(?:index|npz|pkl)"
    r"|.*checkpoint.*\.(?:npz|pkl|tar)|(?:pytorch_)?model.*\.bin)"
)
_ANY_FILE = re.compile(r"(?i).*\.(?:pth?|safetensors|h5|npz|pkl)")
_FOR_CHECKPOINTS = re.compile(r"(?i)(?:.*[-_])?(?:checkpoints?|ckpts?|snapshots?|weights)")
_NUMBERS = tuple(
    re.compile(rf"(?i){words}[-_=]*(\d{{1,12}})")
    for words in ("(?:step|iter)[a-z]*", "(?:epoch|ckpt|checkpoint)", ".*(?<![0-9])")
)
"""Numbers in a name, the best kind first."""


class CheckpointFiles(Source):
    """An event ``checkpoints_written`` with the ``count`` of the checkpoints that the run has
    written so far, and the ``latest``.  Files with the same number in their names are one
    checkpoint; of names without a number, the file that was written most often counts.  The count
    is a lower limit: a file that was replaced between two samples counts once."""

    decides = "whether a run saves at nearly every step, by the checkpoints that it writes"

    def __init__(self, run: ObservedRun | None) -> None:
        self._folders: tuple[str, ...] = ()
        self._started_at = 0.0
        self._numbers: set[int] = set()
        self._versions: dict[str, set[float]] = {}
        self._reported = 0
        self._latest = ""
        self._next_at = 0.0
        if run is not None:
            self._started_at = run.started_at
            self._folders = _find_folders(run)

    def sample(self) -> Iterable[Sample | SourceEvent]:
        """Return the event when the number of checkpoints has grown."""
        begun_at = time.monotonic()
        if begun_at < self._next_at:
            return
        for path in _list_checkpoints(self._folders):
            self._note(path)
        took_s = time.monotonic() - begun_at
        self._next_at = begun_at + _REST * took_s
        versions = max(map(len, self._versions.values()), default=0)
        count = max(len(self._numbers), versions)
        if count > _REPORTED_GROWTH * self._reported:
            self._reported = count
            text = f"the run has written {count} checkpoints, the latest {self._latest}"
            fields = {"count": count, "latest": self._latest}
            yield SourceEvent("checkpoints_written", "host", text, fields)

    def _note(self, path: str) -> None:
        try:
            written_at = os.stat(path).st_mtime
        except OSError:
            return  # removed meanwhile
        name = os.path.basename(path)
        number = _find_number(name)
        if written_at < self._started_at or len(self._numbers) + len(self._versions) >= _MOST_KEPT:
            return
        self._latest = name
        if number is not None:
            self._numbers.add(number)
        else:
            self._versions.setdefault(path, set()).add(written_at)


SOURCE: type[Source] = CheckpointFiles


def _find_folders(run: ObservedRun) -> tuple[str, ...]:
    """Return the working directory, and the folders for output that the command names."""
    command, cwd = read_launched_command(run)
    if cwd is None:
        raise SourceUnavailableError("the working directory of the run is not known")
    named = [
        os.path.join(cwd, value)
        for name, value in parse_options(command)
        if _OUTPUT_OPTION.search(name) and is_path(value)
    ]
    return tuple(dict.fromkeys((*named[:MOST_FOLDERS], cwd)))


def _list_checkpoints(folders: Iterable[str]) -> Iterator[str]:
    """Yield the files, and the folders, that are checkpoints by their names."""
    left = MOST_ENTRIES
    waiting = [(folder, 0) for folder in folders]
    seen = set()
    while waiting and left > 0:
        folder, depth = waiting.pop(0)
        if os.path.realpath(folder) in seen:
            continue
        seen.add(os.path.realpath(folder))
        try:
            with os.scandir(folder) as entries:
                listed = list(islice(entries, left))
        except OSError:
            continue  # it does not exist, or not yet
        left -= len(listed)
        for entry in listed:
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder and _FOLDER.fullmatch(entry.name):
                yield entry.path
            elif is_folder and depth < MOST_DEPTH and not _SKIPPED.match(entry.name):
                waiting.append((entry.path, depth + 1))
            elif not is_folder and _is_checkpoint(folder, entry.name):
                yield entry.path


def _is_checkpoint(folder: str, name: str) -> bool:
    if _FILE.fullmatch(name):
        return True
    is_for_checkpoints = _FOR_CHECKPOINTS.fullmatch(os.path.basename(folder))
    return bool(is_for_checkpoints and _ANY_FILE.fullmatch(name))


def _find_number(name: str) -> int | None:
    """Return the step in a name, else the epoch, else its last number."""
    stem = name.rpartition(".")[0] or name
    found = (pattern.search(stem) for pattern in _NUMBERS)
    return next((int(one[1]) for one in found if one), None)
