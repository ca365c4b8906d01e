"""Fills a message with the files of a run, within its budget, and says what became of each."""

from __future__ import annotations

import gzip
import hashlib
import os
import time
from typing import TYPE_CHECKING

from gpualert_common.artifacts import truncation
from gpualert_common.artifacts.file_kinds import AttachMode, FileKind, by_content, kind_of
from gpualert_common.artifacts.file_names import attachment_name, shown
from gpualert_common.artifacts.masking import mask
from gpualert_common.artifacts.safe_open import RefusedError, open_path
from gpualert_common.model import Artifact, Attachment, Bundle, Fate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpualert_common.artifacts.changes import FileCandidate
    from gpualert_common.redact import Redactor

MOST_READ_BYTES = 16 << 20
"""Of text, compressed as a whole in about a second.  Of more only both ends are read."""
MOST_CUT_BYTES = 512 << 10
"""Kept of a text that is cut; nobody reads more of it in a message."""
LEAST_CUT_BYTES = 1 << 10
HEAD_SHARE = 1 / 4
"""The head names the columns, the tail says how it went."""
_SNIFFED_BYTES = 8 << 10
_WORTH_COMPRESSING = 50
"""Times the room that is left; text that shrinks more than that is noise."""
_GZIP_LEVEL = 6
_TIME_OVER = "no time was left to read it"


class _NoTimeError(Exception):
    """The deadline passed while a file was read."""


def pack(
    candidates: Iterable[FileCandidate],
    *,
    files_bytes: int,
    file_bytes: int,
    files: int,
    redactor: Redactor,
    deadline_s: float,
) -> Bundle:
    """Attachments of at most ``files_bytes`` together, ``file_bytes`` each and ``files`` in number,
    and a row for each candidate.

    What was asked for and changed comes first, then what changed, then what was asked for and did
    not; of equals the smaller, so that many fit.  Texts are masked, and compressed or cut where
    they are too long; images go whole or not at all.  No OSError gets out; what is left when
    ``deadline_s`` is over stays in place.
    """
    packer = _Packer(files_bytes, file_bytes, files, redactor, time.monotonic() + deadline_s)
    artifacts = tuple(packer.add(candidate) for candidate in sorted(candidates, key=_turn))
    return Bundle(artifacts, tuple(packer.attachments))


def _turn(candidate: FileCandidate) -> tuple[int, int, str]:
    if candidate.missed is not None:
        return 0, 0, candidate.name  # what was asked for in vain should be seen
    rank = 2 if not candidate.changed else 0 if candidate.asked else 1
    return rank, candidate.size or 0, candidate.name


class _Packer:
    """A message that is being filled."""

    def __init__(
        self, files_bytes: int, file_bytes: int, files: int, redactor: Redactor, until: float
    ) -> None:
        self._left = files_bytes
        self._file_bytes = file_bytes
        self._files = files
        self._redactor = redactor
        self._until = until
        self._names: set[str] = set()
        self._first: dict[tuple[int, int, int], _Row] = {}
        self.attachments: list[Attachment] = []

    def add(self, candidate: FileCandidate) -> Artifact:
        """The row of a candidate, which is attached if it can be."""
        row = _Row(candidate, shown(self._redactor, candidate.name))
        if candidate.missed is not None:
            fate = Fate.VANISHED if candidate.missed.gone else Fate.UNREADABLE
            return row.ends(fate, candidate.missed.why)
        kind = kind_of(os.path.basename(candidate.path))
        why = self._why_not(kind)
        if why:
            return row.ends(Fate.LEFT_IN_PLACE, why)
        try:
            fd = open_path(candidate.path)
        except FileNotFoundError:
            return row.ends(Fate.VANISHED, "it went away after it was found")
        except RefusedError as refused:
            return row.ends(Fate.UNREADABLE, str(refused))
        except OSError as error:
            return row.ends(Fate.UNREADABLE, error.strerror or str(error))
        try:
            return self._add_open(row, fd, kind)
        except _NoTimeError:
            return row.ends(Fate.LEFT_IN_PLACE, _TIME_OVER)
        except OSError as error:
            return row.ends(Fate.UNREADABLE, error.strerror or str(error))
        finally:
            os.close(fd)

    def _why_not(self, kind: FileKind | None) -> str:
        """Why a file is not even opened; empty where it is."""
        if kind is not None and kind.how is AttachMode.NAMED:
            return kind.reason
        if len(self.attachments) >= self._files:
            return f"the message takes no more than {self._files} files"
        if self._room <= 0:
            return "no room was left"
        return _TIME_OVER if self._no_time() else ""

    def _add_open(self, row: _Row, fd: int, kind: FileKind | None) -> Artifact:
        status = os.fstat(fd)
        row.size = status.st_size
        identity = (status.st_dev, status.st_ino, status.st_ctime_ns)
        first = self._first.setdefault(identity, row)
        if first is not row:
            return row.ends(Fate.LEFT_IN_PLACE, f"the same file as {first.name}")
        if not row.size:
            return row.ends(Fate.LEFT_IN_PLACE, "it is empty")
        head = by_content(os.pread(fd, _SNIFFED_BYTES, 0))
        if kind is None or (kind.how is AttachMode.TEXT and head.how is not AttachMode.TEXT):
            kind = head
        if kind.how is AttachMode.NAMED:
            return row.ends(Fate.LEFT_IN_PLACE, kind.reason)
        if kind.how is not AttachMode.TEXT:
            return self._add_whole(row, fd, kind)
        if row.size > MOST_READ_BYTES:
            return self._add_ends_of(row, fd, kind)
        return self._add_text(row, fd, kind)

    # -- how each kind is added ------------------------------------------------------------

    def _add_whole(self, row: _Row, fd: int, kind: FileKind) -> Artifact:
        if row.size > self._room:
            return row.ends(Fate.LEFT_IN_PLACE, _too_large(self._room))
        content = self._read(row, fd)
        if row.sha256 is None:
            return row.ends(Fate.LEFT_IN_PLACE, "it was written to while it was read")
        if kind.how is AttachMode.WHOLE and self._masked(content)[1]:
            return row.ends(Fate.LEFT_IN_PLACE, "it holds what looks like a secret")
        return self._attach(row, Fate.ATTACHED, content, kind.media_type, why=kind.reason)

    def _add_text(self, row: _Row, fd: int, kind: FileKind) -> Artifact:
        content, row.redactions = self._masked(self._read(row, fd))
        if len(content) <= self._room:
            return self._attach(row, Fate.ATTACHED, content, kind.media_type)
        if len(content) <= self._room * _WORTH_COMPRESSING and not self._no_time():
            packed = gzip.compress(content, _GZIP_LEVEL, mtime=0)
            if len(packed) <= self._room:
                why = _too_large(self._room)
                return self._attach(row, Fate.COMPRESSED, packed, "application/gzip", ".gz", why)
        if self._room < LEAST_CUT_BYTES:
            return row.ends(Fate.LEFT_IN_PLACE, _too_large(self._room))
        most = min(self._room, MOST_CUT_BYTES) - truncation.MARK_BYTES
        head = truncation.head_of(content, int(most * HEAD_SHARE), cut=False)
        tail = truncation.tail_of(content, most - len(head), cut=False)
        return self._attach_ends(row, head, tail, len(content), kind)

    def _add_ends_of(self, row: _Row, fd: int, kind: FileKind) -> Artifact:
        if self._room < LEAST_CUT_BYTES:
            return row.ends(Fate.LEFT_IN_PLACE, _too_large(self._room))
        most = min(self._room, MOST_CUT_BYTES) - truncation.MARK_BYTES
        length = most + truncation.MARGIN_BYTES
        head, in_head = self._masked(_read_at(fd, 0, length))
        tail, in_tail = self._masked(_read_at(fd, row.size - length, length))
        row.redactions = in_head + in_tail
        head = truncation.head_of(head, int(most * HEAD_SHARE))
        tail = truncation.tail_of(tail, most - len(head))
        return self._attach_ends(row, head, tail, row.size, kind)

    def _attach_ends(
        self, row: _Row, head: bytes, tail: bytes, whole: int, kind: FileKind
    ) -> Artifact:
        content = truncation.joined(head, tail, whole - len(head) - len(tail))
        row.redactions = min(row.redactions, content.count(b"[redacted "))
        why = f"its first {len(head):,} and last {len(tail):,} bytes"
        return self._attach(row, Fate.TRUNCATED, content, kind.media_type, why=why)

    def _attach(
        self,
        row: _Row,
        fate: Fate,
        content: bytes,
        media_type: str,
        ending: str = "",
        why: str = "",
    ) -> Artifact:
        name = attachment_name(row.name, self._names, ending)
        self.attachments.append(Attachment(name, content, media_type))
        self._left -= len(content)
        row.sent = len(content)
        return row.ends(fate, why)

    # -- what it goes by -------------------------------------------------------------------

    @property
    def _room(self) -> int:
        return min(self._left, self._file_bytes)

    def _no_time(self) -> bool:
        return time.monotonic() >= self._until

    def _masked(self, data: bytes) -> tuple[bytes, int]:
        """The bytes with each secret masked, and how many there were."""
        return mask(self._redactor, data, self._check_time)

    def _check_time(self) -> None:
        if self._no_time():
            raise _NoTimeError

    def _read(self, row: _Row, fd: int) -> bytes:
        """What the file held when it was opened; its digest if that was all, and stayed so."""
        chunks = []
        offset = 0
        before = _version(fd)
        while offset < row.size:
            self._check_time()
            chunk = os.pread(fd, min(1 << 20, row.size - offset), offset)
            if not chunk:
                break
            chunks.append(chunk)
            offset += len(chunk)
        content = b"".join(chunks)
        if _version(fd) == before and offset == row.size:
            row.sha256 = hashlib.sha256(content).hexdigest()
        else:
            row.remarks.append(
                f"it was written to meanwhile; this is from its first {offset:,} bytes"
            )
        return content


class _Row:
    """A row of the manifest that is being made."""

    def __init__(self, candidate: FileCandidate, name: str) -> None:
        self.name = name
        self.size = candidate.size or 0
        self.sha256: str | None = None
        self.sent = 0
        self.redactions = 0
        self.remarks: list[str] = []
        self._candidate = candidate

    def ends(self, fate: Fate, why: str) -> Artifact:
        """The row, with what became of the file."""
        candidate = self._candidate
        remarks = [why] if why else []
        if self.sent:
            remarks += self.remarks
        if candidate.missed is None and not candidate.changed:
            remarks.append("not changed by the run")
        return Artifact(
            path=candidate.path,
            name=self.name,
            size_bytes=None if candidate.size is None else self.size,
            fate=fate,
            why="; ".join(remarks),
            sha256=self.sha256,
            sent_bytes=self.sent,
            redactions=self.redactions if self.sent else 0,
        )


def _read_at(fd: int, offset: int, length: int) -> bytes:
    """As many of these bytes as there are; one call may give fewer, over a network."""
    data = b""
    while length and (chunk := os.pread(fd, length, offset)):
        data += chunk
        offset += len(chunk)
        length -= len(chunk)
    return data


def _version(fd: int) -> tuple[int, int, int]:
    status = os.fstat(fd)
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _too_large(room: int) -> str:
    return f"whole it is more than the {room:,} bytes that were left"
