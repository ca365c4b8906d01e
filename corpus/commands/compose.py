"""``python -m corpus compose``: the logs of the generators.

Each module of ``corpus/compose`` is an origin: its ``logs()`` yields :class:`ComposedLog`.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil

import corpus.compose
from corpus.compose.composed_log import ComposedLog
from corpus.entries import (
    CORPUS,
    CorpusEntry,
    Provenance,
    log_path,
    read_origin,
    require_valid,
    write_origin,
)
from corpus.errors import CorpusError
from gpualert_common.diagnose.paper_classes import find_paper_class


def run(options: argparse.Namespace) -> int:
    """Write the logs, or compare them; 1 if they differ."""
    differing = 0
    for origin in options.origins or list_generators():
        composed = compose_origin(origin)
        if options.check:
            if not _is_current(origin, composed):
                print(f"{origin}: the logs in the corpus differ from those of the generator")
                differing += 1
            continue
        write_origin(CORPUS, origin, [entry for entry, _ in composed])
        for entry, content in composed:
            log_path(CORPUS, entry).write_bytes(content)
        print(f"{origin}: {len(composed)} logs")
    return 1 if differing else 0


def list_generators() -> list[str]:
    """Return the names of all generators."""
    names = (module.name for module in pkgutil.iter_modules(corpus.compose.__path__))
    return sorted(name for name in names if name != "composed_log" and not name.startswith("_"))


def compose_origin(origin: str) -> list[tuple[CorpusEntry, bytes]]:
    """Return the logs of the generator *origin*.  Raises :class:`CorpusError` for a wrong label."""
    if origin not in list_generators():
        raise CorpusError(f"{origin}: no such generator below compose/")
    logs: list[ComposedLog] = list(importlib.import_module(f"corpus.compose.{origin}").logs())
    if len({log.name for log in logs}) < len(logs):
        raise CorpusError(f"compose/{origin}.py: two logs have the same name")
    return [(_make_entry(origin, log), log.text.encode("utf-8", "surrogateescape")) for log in logs]


def _make_entry(origin: str, log: ComposedLog) -> CorpusEntry:
    follows = log.paper_class is ComposedLog.FOLLOWS
    entry = CorpusEntry(
        origin=origin,
        name=log.name,
        cause=log.cause,
        paper_class=find_paper_class(log.cause) if follows else log.paper_class,
        exit_code=log.exit_code,
        provenance=Provenance.COMPOSED,
        source=f"compose/{origin}.py",
        command=log.command,
        versions=log.versions,
        basis=log.basis,
        why=log.why,
    )
    try:
        return require_valid(entry)
    except ValueError as error:
        raise CorpusError(f"compose/{origin}.py: {log.name}: {error}") from error


def _is_current(origin: str, composed: list[tuple[CorpusEntry, bytes]]) -> bool:
    entries = sorted((entry for entry, _ in composed), key=lambda one: one.name)
    return read_origin(CORPUS, origin) == entries and all(
        log_path(CORPUS, entry).is_file() and log_path(CORPUS, entry).read_bytes() == content
        for entry, content in composed
    )
