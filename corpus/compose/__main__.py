"""Write the composed logs: ``python -m corpus.compose [--check] [ORIGIN ...]``.

Each module beside this one is an origin: its ``logs()`` yields :class:`Composed`.  Composing is
deterministic; with ``--check`` nothing is written and a difference is an error.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from pathlib import Path

import corpus.compose
from corpus.compose.composed import Composed
from gpualert_common.corpus.entries import (
    Entry,
    Provenance,
    entry_of,
    log_path,
    read_origin,
    write_origin,
)
from gpualert_common.errors import CorpusError

CORPUS = Path(__file__).resolve().parent.parent
_NOT_ORIGINS = ("__main__", "composed")


def origins() -> list[str]:
    """The names of all generators."""
    modules = pkgutil.iter_modules(corpus.compose.__path__)
    return sorted(
        one.name for one in modules if one.name not in _NOT_ORIGINS and not one.name.startswith("_")
    )


def composed(origin: str) -> list[tuple[Entry, bytes]]:
    """What the generator *origin* makes.  Raises :class:`CorpusError` for a wrong label."""
    if origin not in origins():
        raise CorpusError(f"{origin}: no such generator below compose/")
    module = importlib.import_module(f"corpus.compose.{origin}")
    made: list[Composed] = list(module.logs())
    names = [one.name for one in made]
    if len(set(names)) < len(names):
        raise CorpusError(f"compose/{origin}.py: a name is used twice")
    return [(_entry(origin, one), one.text.encode("utf-8", "surrogateescape")) for one in made]


def main(arguments: list[str] | None = None) -> int:
    """The exit status: 1 when ``--check`` found a difference."""
    parser = argparse.ArgumentParser(prog="python -m corpus.compose", description=__doc__)
    parser.add_argument("origins", nargs="*", metavar="ORIGIN")
    parser.add_argument("--check", action="store_true", help="write nothing, report differences")
    asked = parser.parse_args(arguments)
    different = 0
    for origin in asked.origins or origins():
        made = composed(origin)
        if asked.check:
            different += _differs(origin, made)
            continue
        write_origin(CORPUS, origin, [entry for entry, _ in made])
        for entry, text in made:
            log_path(CORPUS, entry).write_bytes(text)
        print(f"{origin}: {len(made)} logs")
    return 1 if different else 0


def _entry(origin: str, one: Composed) -> Entry:
    fields = {
        "name": one.name,
        "cause": one.cause,
        "exit_code": one.exit_code,
        "provenance": Provenance.COMPOSED,
        "source": f"compose/{origin}.py",
        "command": one.command,
        "versions": one.versions,
        "basis": one.basis,
        "why": one.why,
    }
    if one.paper_class is not Composed.FOLLOWS:
        fields["paper_class"] = one.paper_class
    try:
        return entry_of(origin, fields)
    except (ValueError, TypeError) as error:
        raise CorpusError(f"compose/{origin}.py: {one.name}: {error}") from error


def _differs(origin: str, made: list[tuple[Entry, bytes]]) -> bool:
    same = read_origin(CORPUS, origin) == sorted((e for e, _ in made), key=lambda one: one.name)
    same = same and all(
        log_path(CORPUS, entry).is_file() and log_path(CORPUS, entry).read_bytes() == text
        for entry, text in made
    )
    if not same:
        print(f"{origin}: the logs kept are not what the generator writes")
    return not same


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CorpusError as error:
        sys.exit(f"corpus: {error}")
