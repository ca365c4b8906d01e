"""Rule files: where they are, and what all of them have in common."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpualert_common.errors import RuleError
from gpualert_common.toml_table import Table

RULES_DIR_VARIABLE = "GPUALERT_RULES_DIR"

_VERSION = re.compile(r"\d+\.\d+\.\d+")
_SAMPLES = "\n[samples."


@dataclass(frozen=True, slots=True)
class Samples:
    """Lines that a pattern must hit, and lines near to them that it must not."""

    hits: tuple[str, ...]
    near_misses: tuple[str, ...]


def rules_directory() -> Path:
    """The directory that rules are read from when none is named.

    ``GPUALERT_RULES_DIR`` first; then the shipped one.  The directory need not exist.
    """
    named = os.environ.get(RULES_DIR_VARIABLE)
    return Path(named) if named else shipped_directory()


def shipped_directory() -> Path:
    """The rules that came with the code.

    The copy in the installed package; without one ``rules/`` beside the package (an editable
    install, or a bare checkout).
    """
    package = Path(__file__).resolve().parent
    installed = package / "_rules"
    return installed if installed.is_dir() else package.parent / "rules"


def read_table(file: Path, *, samples: bool) -> Table:
    """The table of *file*, without its samples unless asked for.  Raises :class:`RuleError`."""
    try:
        text = file.read_text(encoding="utf-8")
        if not samples:
            # Parsing TOML is the whole cost of loading, and sample lines most of the TOML.
            text = text.partition(_SAMPLES)[0] + "\n"
        table = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RuleError(file.name, "file", f"cannot be read: {error}") from error
    return Table(table, file.name, "")


def read_since(top: Table) -> str:
    """The version that a rule came with.  Raises :class:`RuleError`."""
    since = str(top.text("since"))
    if not _VERSION.fullmatch(since):
        raise RuleError(top.file, "since", f"{since!r} is not a version like 0.1.0")
    return since


def read_samples(table: Table, names: Sequence[str]) -> dict[str, Samples]:
    """The samples of each pattern that has some.  Raises :class:`RuleError`."""
    samples = {}
    for name in table.left():
        if name not in names:
            raise RuleError(table.file, f"{table.path}{name}", "no pattern has this name")
        entry = table.table(name)
        samples[name] = Samples(entry.texts("hits"), entry.texts("near_misses"))
        entry.done()
    return samples


def require_unique(names: Sequence[str], file: str) -> None:
    """Raise :class:`RuleError` when two patterns of a file have the same name."""
    for name in names:
        if names.count(name) > 1:
            raise RuleError(file, f"patterns.{name}.name", "is not unique in this file")
