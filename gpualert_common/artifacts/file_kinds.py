"""Which files are results, and how each may travel: one table, with its reasons."""

from __future__ import annotations

import re
from enum import Enum
from fnmatch import translate
from typing import NamedTuple


class AttachMode(Enum):
    """What may be done with a file of some kind."""

    TEXT = "text"  # masked, compressed or cut where it must be
    WHOLE = "whole"  # as it is, or not at all: nobody can use half an image
    SEALED = "sealed"  # as `WHOLE`, and only where the user asked for it: no secret is seen inside
    NAMED = "named"  # never sent


class FileKind(NamedTuple):
    """How files of one kind travel, why (for the manifest), and as what."""

    how: AttachMode
    reason: str = ""
    media_type: str = "application/octet-stream"


class _Row(NamedTuple):
    how: AttachMode
    reason: str
    patterns: dict[str, str]


def _all(patterns: str, media_type: str = "application/octet-stream") -> dict[str, str]:
    return dict.fromkeys(patterns.split(), media_type)


_TABLE = (
    _Row(
        # First: some end in .json or .gz.  Large, and read by a tool beside the run.
        AttachMode.NAMED,
        "a trace; these are named, never sent",
        _all(
            "*.trace.json *.trace.json.gz *nccl_trace_rank_* *comm_lib_trace_rank_*"
            " *.nsys-rep *.qdrep *.ncu-rep"
        ),
    ),
    _Row(
        AttachMode.NAMED,
        "a core dump: it holds the program's memory, secrets included",
        _all("core core.[0-9]* core.*.[0-9]* *.core"),
    ),
    _Row(
        AttachMode.NAMED,
        "a TensorBoard log; these are named, never sent",
        _all("events.out.tfevents.*"),
    ),
    _Row(
        # Gigabytes as a rule, and worth what the training cost: they stay where they are.
        AttachMode.NAMED,
        "a checkpoint or an array; these are named, never sent",
        _all(
            "*.pt *.pth *.ckpt *.safetensors *.bin *.h5 *.hdf5 *.keras *.onnx *.npz *.npy"
            " *.msgpack *.gguf *.distcp *.pkl *.pickle *.ckpt.data-* *.ckpt.index"
        ),
    ),
    _Row(
        # What a training writes for people: metrics, settings, reports.
        AttachMode.TEXT,
        "",
        {
            "*.json": "application/json",
            "*.csv": "text/csv",
            "*.html": "text/html",
            "*.svg": "image/svg+xml",
            **_all("*.jsonl *.tsv *.txt *.log *.md *.yaml *.yml *.toml", "text/plain"),
        },
    ),
    _Row(
        AttachMode.WHOLE,
        "",
        {
            "*.png": "image/png",
            "*.gif": "image/gif",
            "*.webp": "image/webp",
            **_all("*.jpg *.jpeg", "image/jpeg"),
        },
    ),
    _Row(
        # Its text is compressed inside: a secret in it is seen only where it is not.
        AttachMode.WHOLE,
        "what is compressed inside was not looked into for secrets",
        {"*.pdf": "application/pdf"},
    ),
)

_SEALED = _Row(
    # Not usual results; here for those that a user asks for.
    AttachMode.SEALED,
    "packed: not looked into for secrets",
    {
        "*.zip": "application/zip",
        "*.gz": "application/gzip",
        **_all("*.tgz *.bz2 *.xz *.zst *.lz4 *.7z *.rar *.tar *.whl *.docx *.xlsx *.parquet"),
    },
)


def _compile() -> tuple[list[tuple[re.Pattern[str], FileKind]], dict[str, FileKind]]:
    """Patterns that need matching, in order, and the plain endings."""
    matched = []
    endings = {}
    for how, reason, patterns in (*_TABLE, _SEALED):
        for pattern, media_type in patterns.items():
            kind = FileKind(how, reason, media_type)
            ending = pattern.removeprefix("*.")
            if ending.isalnum() and pattern.startswith("*."):
                endings[ending] = kind
            else:
                matched.append((re.compile(translate(pattern)), kind))
    return matched, endings


_MATCHED, _ENDINGS = _compile()
_ANY_MATCHED = re.compile("|".join(pattern.pattern for pattern, _kind in _MATCHED))


def kind_of(name: str) -> FileKind | None:
    """The kind of a file of that name; None where the name says nothing."""
    name = name.lower()
    if _ANY_MATCHED.match(name):
        return next(kind for pattern, kind in _MATCHED if pattern.match(name))
    return _ENDINGS.get(name.rpartition(".")[2]) if "." in name else None


def is_usual(name: str) -> bool:
    """True for a file that counts as a result without being asked for."""
    kind = kind_of(name)
    return kind is not None and kind.how is not AttachMode.SEALED


def by_content(head: bytes) -> FileKind:
    """The kind of a file whose name says nothing, or says text, from how it begins."""
    if b"\0" not in head:
        return FileKind(AttachMode.TEXT, "", "text/plain")
    if max(head[0::2].count(0), head[1::2].count(0)) > len(head) // 4 and head.strip(b"\0"):
        return _WIDE  # every other byte is a NUL, or nearly
    return FileKind(AttachMode.WHOLE)


_WIDE = FileKind(AttachMode.NAMED, "UTF-16 or the like, in which secrets are not seen")
