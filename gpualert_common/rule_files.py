"""Rule files: their directories, and the keys that all of them share."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from gpualert_common.errors import RuleError
from gpualert_common.structs import Struct
from gpualert_common.toml_table import Table
from gpualert_common.toml_text import MOST_BYTES, parse_toml
from gpualert_common.trusted_files import read_regular_file

RULES_DIR_VARIABLE = "GPUALERT_RULES_DIR"

_VERSION = re.compile(r"\d+\.\d+\.\d+")
_SAMPLES = b"\n[samples."


class Samples(Struct, frozen=True):
    """Lines that a pattern must match, and similar lines that it must not match."""

    hits: tuple[str, ...]
    near_misses: tuple[str, ...]


def rules_directory() -> Path:
    """Return the default directory of rules.

    ``GPUALERT_RULES_DIR`` if it is set, else the shipped one.  The directory need not exist.
    """
    named = os.environ.get(RULES_DIR_VARIABLE)
    return Path(named) if named else shipped_directory()


def shipped_directory() -> Path:
    """Return the directory of the shipped rules.

    The copy in the installed package; without one ``rules/`` next to the package (an editable
    install, or a checkout).
    """
    package = Path(__file__).resolve().parent
    installed = package / "_rules"
    return installed if installed.is_dir() else package.parent / "rules"


def read_table(file: Path, *, samples: bool) -> Table:
    """Return the table of *file*, its samples only if asked for.  Raises :class:`RuleError`."""
    try:
        data = read_regular_file(os.fspath(file), MOST_BYTES)
        if not samples:
            # Parsing TOML is most of the cost of loading, and sample lines are most of the TOML.
            data = data.partition(_SAMPLES)[0] + b"\n"
        table = parse_toml(data)
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or error
        raise RuleError(file.name, "file", f"cannot be read: {why}") from error
    return Table(table, file.name, "")


def read_since(top: Table) -> str:
    """Return the version in which a rule was added.  Raises :class:`RuleError`."""
    since = str(top.text("since"))
    if not _VERSION.fullmatch(since):
        raise RuleError(top.file, "since", f"{since!r} is not a version like 0.1.0")
    return since


def read_samples(table: Table, names: Sequence[str]) -> dict[str, Samples]:
    """Return the samples of each pattern that has some.  Raises :class:`RuleError`."""
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
