"""Artifacts of the run, with the manifest of each alert that carried some of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from gpualert_common.artifacts.freeze import read_freeze
from gpualert_common.codec import decode
from gpualert_common.errors import DamagedFileError, RecordError
from gpualert_common.model import Artifact
from gpualert_common.pages.reported_run import ReportedRun
from gpualert_common.pages.sections._interface import Room, Section
from gpualert_common.record import Record
from gpualert_common.report.formatting import size
from gpualert_common.structs import Struct, replace

_MOST_ROWS = 200
_MOST_MANIFESTS = 4
_MOST_NOTES = 20


class FileRow(Struct, frozen=True):
    """One file: size, fate with its reason, the size in the message, and digest; "" if unknown."""

    name: str
    size: str
    fate: str
    why: str
    sent: str
    sha256: str
    redactions: int


class Manifest(Struct, frozen=True):
    """Files of one message, or of none; ``left_out`` counts those without a row here."""

    channels: str
    rows: tuple[FileRow, ...]
    left_out: int
    notes: tuple[str, ...]


class Manifests(Struct, frozen=True):
    """All manifests of a run; those that are equal are one."""

    manifests: tuple[Manifest, ...]


def _collect(run: ReportedRun, room: Room) -> Manifests | None:
    found = [_read_manifest(run, name, room) for name in _list_manifests(run.record)]
    manifests = [one for one in found if one is not None]
    if not manifests:
        frozen = _read_frozen(run, room)
        manifests = [frozen] if frozen is not None else []
    merged: dict[tuple[object, ...], Manifest] = {}
    for one in manifests:
        if one.rows or one.left_out or one.notes:
            equal = merged.setdefault((one.rows, one.left_out, one.notes), one)
            if equal is not one:
                channels = f"{equal.channels}, {one.channels}"
                merged[equal.rows, equal.left_out, equal.notes] = replace(equal, channels=channels)
    return Manifests(tuple(merged.values())) if merged else None


def _list_manifests(record: Record) -> list[str]:
    """Return the names of the manifests in a record."""
    with suppress(OSError):
        names = os.listdir(record.path)
        found = (one for one in names if one.startswith("bundle.") and one.endswith(".json"))
        return sorted(found)[:_MOST_MANIFESTS]
    return []


def _read_manifest(run: ReportedRun, name: str, room: Room) -> Manifest | None:
    try:
        fields = run.record.read_json(name) or {}
    except (RecordError, OSError):
        return None
    rows = fields.get("artifacts")
    artifacts = list(_decode_rows(rows if isinstance(rows, list) else [], name))
    beyond, notes = fields.get("beyond_cap"), fields.get("notes")
    most = room.limit(_MOST_ROWS)
    more = beyond if isinstance(beyond, int) else 0
    channel = run.text.line(name.removeprefix("bundle.").removesuffix(".json"))
    return Manifest(
        channels=channel,
        rows=tuple(_make_row(run, one) for one in artifacts[:most]),
        left_out=max(0, len(artifacts) - most) + max(0, more),
        notes=run.text.paragraphs(notes[:_MOST_NOTES] if isinstance(notes, list) else []),
    )


def _decode_rows(rows: list[object], name: str) -> Iterator[Artifact]:
    for row in rows:
        with suppress(DamagedFileError, RecordError):
            yield decode(Artifact, row, name)


def _make_row(run: ReportedRun, one: Artifact) -> FileRow:
    return FileRow(
        name=run.text.prose(one.name),
        size=size(one.size_bytes),
        fate=str(one.fate),
        why=run.text.line(one.why),
        sent=size(one.sent_bytes) if one.sent_bytes else "",
        sha256=run.text.line(one.sha256 or ""),
        redactions=one.redactions,
    )


def _read_frozen(run: ReportedRun, room: Room) -> Manifest | None:
    """Return the files of a run whose alerts, if any, carried none."""
    changes = read_freeze(run.record)
    if changes is None:
        return None
    most = room.limit(_MOST_ROWS)
    rows = tuple(
        FileRow(
            name=run.text.prose(one.name),
            size=size(one.size),
            fate="left in place",
            why="",
            sent="",
            sha256=run.text.line(one.sha256 or ""),
            redactions=0,
        )
        for one in changes.candidates[:most]
    )
    left_out = len(changes.candidates) - len(rows) + changes.beyond_cap
    return Manifest("", rows, left_out, run.text.paragraphs(changes.notes[:_MOST_NOTES]))


SECTION = Section("Artifacts", order=80, most_bytes=40_000, collect=_collect)
