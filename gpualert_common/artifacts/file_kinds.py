"""Kinds of files: which are results, and how an alert may carry them."""

from __future__ import annotations

import re
from enum import Enum
from fnmatch import translate
from typing import NamedTuple


class AttachMode(Enum):
    """Way in which an alert may carry the files of a kind."""

    TEXT = "text"  # masked; compressed or cut if too long
    WHOLE = "whole"  # unchanged or not at all: half an image is useless
    SEALED = "sealed"  # as WHOLE, and only on request: secrets inside cannot be found
    NAMED = "named"  # never sent


class FileKind(NamedTuple):
    """A kind of files: its way into an alert, the reason for the manifest, and the media type."""

    mode: AttachMode
    reason: str = ""
    media_type: str = "application/octet-stream"


class _Row(NamedTuple):
    mode: AttachMode
    reason: str
    patterns: dict[str, str]


def _map_patterns(patterns: str, media_type: str = "application/octet-stream") -> dict[str, str]:
    return dict.fromkeys(patterns.split(), media_type)


_TABLE = (
    _Row(
        # First, since some end in .json or .gz.  Large, and made for tools on the machine.
        AttachMode.NAMED,
        "a trace; these are named, never sent",
        _map_patterns(
            "*.trace.json *.trace.json.gz *nccl_trace_rank_* *comm_lib_trace_rank_*"
            " *.nsys-rep *.qdrep *.ncu-rep"
        ),
    ),
    _Row(
        AttachMode.NAMED,
        "a core dump: it holds the program's memory, secrets included",
        _map_patterns("core core.[0-9]* core.*.[0-9]* *.core"),
    ),
    _Row(
        AttachMode.NAMED,
        "a TensorBoard log; these are named, never sent",
        _map_patterns("events.out.tfevents.*"),
    ),
    _Row(
        # Usually gigabytes.
        AttachMode.NAMED,
        "a checkpoint or an array; these are named, never sent",
        _map_patterns(
            "*.pt *.pth *.ckpt *.safetensors *.bin *.h5 *.hdf5 *.keras *.onnx *.npz *.npy"
            " *.msgpack *.gguf *.distcp *.pkl *.pickle *.ckpt.data-* *.ckpt.index"
        ),
    ),
    _Row(
        # Files that people read: metrics, settings, reports.
        AttachMode.TEXT,
        "",
        {
            "*.json": "application/json",
            "*.csv": "text/csv",
            "*.html": "text/html",
            "*.svg": "image/svg+xml",
            **_map_patterns("*.jsonl *.tsv *.txt *.log *.md *.yaml *.yml *.toml", "text/plain"),
        },
    ),
    _Row(
        AttachMode.WHOLE,
        "",
        {
            "*.png": "image/png",
            "*.gif": "image/gif",
            "*.webp": "image/webp",
            **_map_patterns("*.jpg *.jpeg", "image/jpeg"),
        },
    ),
    _Row(
        # Most text in a PDF is compressed; secrets are found only in the rest.
        AttachMode.WHOLE,
        "its compressed parts were not searched for secrets",
        {"*.pdf": "application/pdf"},
    ),
)

_SEALED = _Row(
    # Not usual results; carried only on request.
    AttachMode.SEALED,
    "an archive; not searched for secrets",
    {
        "*.zip": "application/zip",
        "*.gz": "application/gzip",
        **_map_patterns(
            "*.tgz *.bz2 *.xz *.zst *.lz4 *.7z *.rar *.tar *.whl *.docx *.xlsx *.parquet"
        ),
    },
)


def _compile() -> tuple[list[tuple[re.Pattern[str], FileKind]], dict[str, FileKind]]:
    """Return the patterns that need a regular expression, in order, and the plain suffixes."""
    compiled = []
    suffixes = {}
    for mode, reason, patterns in (*_TABLE, _SEALED):
        for pattern, media_type in patterns.items():
            kind = FileKind(mode, reason, media_type)
            ending = pattern.removeprefix("*.")
            if ending.isalnum() and pattern.startswith("*."):
                suffixes[ending] = kind
            else:
                compiled.append((re.compile(translate(pattern)), kind))
    return compiled, suffixes


_PATTERNS, _SUFFIXES = _compile()
_ANY_PATTERN = re.compile("|".join(pattern.pattern for pattern, _kind in _PATTERNS))


def find_kind(name: str) -> FileKind | None:
    """Return the kind of a file by its name, None for an unknown name."""
    name = name.lower()
    if _ANY_PATTERN.match(name):
        return next(kind for pattern, kind in _PATTERNS if pattern.match(name))
    return _SUFFIXES.get(name.rpartition(".")[2]) if "." in name else None


def is_usual(name: str) -> bool:
    """Return True for a file that counts as a result without a GLOB."""
    kind = find_kind(name)
    return kind is not None and kind.mode is not AttachMode.SEALED


def choose_kind(by_name: FileKind | None, head: bytes) -> FileKind:
    """Return the kind by the name, or by the first bytes where the name says nothing or errs."""
    kind = detect_kind(head)
    is_no_text = kind.mode is not AttachMode.TEXT
    errs = by_name is not None and by_name.mode is AttachMode.TEXT and is_no_text
    return kind if by_name is None or errs else by_name


def detect_kind(head: bytes) -> FileKind:
    """Return the kind of a file by its first bytes."""
    if b"\0" not in head:
        return FileKind(AttachMode.TEXT, "", "text/plain")
    if max(head[0::2].count(0), head[1::2].count(0)) > len(head) // 4 and head.strip(b"\0"):
        return _WIDE  # every other byte is a NUL, or nearly
    return FileKind(AttachMode.WHOLE)


_WIDE = FileKind(AttachMode.NAMED, "UTF-16 or similar, in which secrets cannot be found")
