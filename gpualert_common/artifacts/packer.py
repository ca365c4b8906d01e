"""Packing of a run's files into the budget of an alert, with a manifest row for each file."""

from __future__ import annotations

import gzip
import hashlib
import os
import time
from typing import TYPE_CHECKING

from gpualert_common.artifacts import truncation
from gpualert_common.artifacts.file_kinds import AttachMode, FileKind, choose_kind, find_kind
from gpualert_common.artifacts.file_names import clean_path, make_attachment_name
from gpualert_common.artifacts.frozen_file import ChangedError, open_frozen
from gpualert_common.artifacts.masking import mask_in_pieces
from gpualert_common.artifacts.safe_open import RefusedError
from gpualert_common.model import Artifact, Attachment, Bundle, Fate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpualert_common.artifacts.changes import FileCandidate
    from gpualert_common.redact import Redactor

MOST_READ_BYTES = 16 << 20
"""Longest text that is read whole; only both ends of a longer one are read."""
MOST_CUT_BYTES = 512 << 10
"""Length of a text after it is cut; nobody reads more of it in an alert."""
LEAST_CUT_BYTES = 1 << 10
HEAD_SHARE = 1 / 4
"""Share of the head, which names the columns; the tail shows the last results."""
_HEAD_BYTES = 8 << 10
_WORTH_COMPRESSING = 50
"""Compress a text only up to this multiple of the remaining room: real text shrinks less."""
_GZIP_LEVEL = 6
_TIME_OVER = "no time was left to read it"


class _NoTimeError(Exception):
    """The deadline passed while a file was read."""


def pack(
    candidates: Iterable[FileCandidate],
    record_path: str = "",
    /,
    *,
    files_bytes: int,
    file_bytes: int,
    files: int,
    redactor: Redactor,
    deadline_s: float,
) -> Bundle:
    """Return at most ``files`` attachments, and a manifest row for each candidate.

    The attachments have at most ``files_bytes`` together and ``file_bytes`` each.  Requested files
    that changed come first, then other files that changed, then requested files that did not;
    among equals the smaller file comes first, so that many fit.  Texts are masked, and compressed
    or cut if they are too long; images are attached whole or not at all.  Never raises OSError.
    Files that are left when ``deadline_s`` is over stay in place.  A file that changed since it was
    frozen is taken from its copy in the record at ``record_path``, or stays in place.
    """
    until = time.monotonic() + deadline_s
    packer = _Packer(files_bytes, file_bytes, files, redactor, until, record_path)
    ordered = sorted(candidates, key=lambda candidate: candidate.priority)
    artifacts = tuple(packer.add(candidate) for candidate in ordered)
    return Bundle(artifacts, tuple(packer.attachments))


class _Packer:
    """Attachments under construction, and the remaining budget."""

    def __init__(
        self,
        files_bytes: int,
        file_bytes: int,
        files: int,
        redactor: Redactor,
        until: float,
        record_path: str,
    ) -> None:
        self._left = files_bytes
        self._file_bytes = file_bytes
        self._files = files
        self._redactor = redactor
        self._until = until
        self._record_path = record_path
        self._names: set[str] = set()
        self._first: dict[tuple[int, int, int], _Row] = {}
        self.attachments: list[Attachment] = []

    def add(self, candidate: FileCandidate) -> Artifact:
        """Attach a candidate if possible, and return its row."""
        row = _Row(candidate, clean_path(self._redactor, candidate.name))
        if candidate.unavailable is not None:
            fate = Fate.VANISHED if candidate.unavailable.is_gone else Fate.UNREADABLE
            return row.finish(fate, candidate.unavailable.why)
        if candidate.late_because:
            return row.finish(Fate.LEFT_IN_PLACE, f"it {candidate.late_because}")
        kind = find_kind(os.path.basename(candidate.path))
        if why := self._find_obstacle(kind):
            return row.finish(Fate.LEFT_IN_PLACE, why)
        try:
            fd, remark = open_frozen(candidate, self._record_path)
        except FileNotFoundError:
            return row.finish(Fate.VANISHED, "it was removed after the end of the run")
        except ChangedError as changed:
            return row.finish(Fate.LEFT_IN_PLACE, str(changed))
        except RefusedError as refused:
            return row.finish(Fate.UNREADABLE, str(refused))
        except OSError as error:
            return row.finish(Fate.UNREADABLE, error.strerror or str(error))
        row.remarks += [remark] if remark else []
        try:
            return self._add_open(row, fd, kind)
        except _NoTimeError:
            return row.finish(Fate.LEFT_IN_PLACE, _TIME_OVER)
        except OSError as error:
            return row.finish(Fate.UNREADABLE, error.strerror or str(error))
        finally:
            os.close(fd)

    def _find_obstacle(self, kind: FileKind | None) -> str:
        """Return the reason not to open a file; empty when there is none."""
        if kind is not None and kind.mode is AttachMode.NAMED:
            return kind.reason
        if len(self.attachments) >= self._files:
            return f"the message takes no more than {self._files} files"
        if self._room <= 0:
            return "no room was left"
        return _TIME_OVER if self._is_out_of_time() else ""

    def _add_open(self, row: _Row, fd: int, kind: FileKind | None) -> Artifact:
        status = os.fstat(fd)
        row.size = status.st_size
        identity = (status.st_dev, status.st_ino, status.st_ctime_ns)
        first = self._first.setdefault(identity, row)
        if first is not row:
            return row.finish(Fate.LEFT_IN_PLACE, f"the same file as {first.name}")
        if not row.size:
            return row.finish(Fate.LEFT_IN_PLACE, "it is empty")
        kind = choose_kind(kind, os.pread(fd, _HEAD_BYTES, 0))
        if kind.mode is AttachMode.NAMED:
            return row.finish(Fate.LEFT_IN_PLACE, kind.reason)
        if kind.mode is not AttachMode.TEXT:
            return self._add_whole(row, fd, kind)
        if row.size > MOST_READ_BYTES:
            return self._add_excerpt(row, fd, kind)
        return self._add_text(row, fd, kind)

    # -- one method for each kind of file --------------------------------------------------

    def _add_whole(self, row: _Row, fd: int, kind: FileKind) -> Artifact:
        if row.size > self._room:
            return row.finish(Fate.LEFT_IN_PLACE, _explain_size(self._room))
        content = self._read(row, fd)
        if row.sha256 is None:
            return row.finish(Fate.LEFT_IN_PLACE, "it changed while it was read")
        if kind.mode is AttachMode.WHOLE and self._mask(content)[1]:
            return row.finish(Fate.LEFT_IN_PLACE, "it contains what looks like a secret")
        return self._attach(row, Fate.ATTACHED, content, kind.media_type, why=kind.reason)

    def _add_text(self, row: _Row, fd: int, kind: FileKind) -> Artifact:
        content, row.redactions = self._mask(self._read(row, fd))
        if len(content) <= self._room:
            return self._attach(row, Fate.ATTACHED, content, kind.media_type)
        if len(content) <= self._room * _WORTH_COMPRESSING and not self._is_out_of_time():
            packed = gzip.compress(content, _GZIP_LEVEL, mtime=0)
            if len(packed) <= self._room:
                why = _explain_size(self._room)
                return self._attach(row, Fate.COMPRESSED, packed, "application/gzip", ".gz", why)
        if self._room < LEAST_CUT_BYTES:
            return row.finish(Fate.LEFT_IN_PLACE, _explain_size(self._room))
        most = min(self._room, MOST_CUT_BYTES) - truncation.MARK_BYTES
        head = truncation.cut_head(content, int(most * HEAD_SHARE), is_piece=False)
        tail = truncation.cut_tail(content, most - len(head), is_piece=False)
        return self._attach_excerpt(row, head, tail, len(content), kind)

    def _add_excerpt(self, row: _Row, fd: int, kind: FileKind) -> Artifact:
        if self._room < LEAST_CUT_BYTES:
            return row.finish(Fate.LEFT_IN_PLACE, _explain_size(self._room))
        most = min(self._room, MOST_CUT_BYTES) - truncation.MARK_BYTES
        length = most + truncation.MARGIN_BYTES
        head, in_head = self._mask(_read_at(fd, 0, length))
        tail, in_tail = self._mask(_read_at(fd, row.size - length, length))
        row.redactions = in_head + in_tail
        head = truncation.cut_head(head, int(most * HEAD_SHARE))
        tail = truncation.cut_tail(tail, most - len(head))
        return self._attach_excerpt(row, head, tail, row.size, kind)

    def _attach_excerpt(
        self, row: _Row, head: bytes, tail: bytes, whole: int, kind: FileKind
    ) -> Artifact:
        content = truncation.join_ends(head, tail, whole - len(head) - len(tail))
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
        name = make_attachment_name(row.name, self._names, ending)
        self.attachments.append(Attachment(name, content, media_type))
        self._left -= len(content)
        row.sent = len(content)
        return row.finish(fate, why)

    # -- budget and reading ----------------------------------------------------------------

    @property
    def _room(self) -> int:
        return min(self._left, self._file_bytes)

    def _is_out_of_time(self) -> bool:
        return time.monotonic() >= self._until

    def _mask(self, data: bytes) -> tuple[bytes, int]:
        """Return the bytes with each secret masked, and the number of secrets."""
        return mask_in_pieces(self._redactor, data, self._check_time)

    def _check_time(self) -> None:
        if self._is_out_of_time():
            raise _NoTimeError

    def _read(self, row: _Row, fd: int) -> bytes:
        """Return the content at the time of opening; set the digest if the file did not change."""
        chunks = []
        offset = 0
        before = _read_version(fd)
        while offset < row.size:
            self._check_time()
            chunk = os.pread(fd, min(1 << 20, row.size - offset), offset)
            if not chunk:
                break
            chunks.append(chunk)
            offset += len(chunk)
        content = b"".join(chunks)
        if _read_version(fd) == before and offset == row.size:
            row.sha256 = hashlib.sha256(content).hexdigest()
        else:
            row.remarks.append(
                f"it changed while it was read; this is from its first {offset:,} bytes"
            )
        return content


class _Row:
    """A manifest row under construction."""

    def __init__(self, candidate: FileCandidate, name: str) -> None:
        self.name = name
        self.size = candidate.size or 0
        self.sha256: str | None = None
        self.sent = 0
        self.redactions = 0
        self.remarks: list[str] = []
        self._candidate = candidate

    def finish(self, fate: Fate, why: str) -> Artifact:
        """Return the finished row."""
        candidate = self._candidate
        remarks = [why] if why else []
        if self.sent:
            remarks += self.remarks
        if candidate.unavailable is None and not candidate.is_changed:
            remarks.append("not changed by the run")
        return Artifact(
            path=candidate.path,
            name=self.name,
            size_bytes=None if candidate.size is None else self.size,
            fate=fate,
            why="; ".join(remarks),
            sha256=self.sha256 or candidate.sha256,
            sent_bytes=self.sent,
            redactions=self.redactions if self.sent else 0,
        )


def _read_at(fd: int, offset: int, length: int) -> bytes:
    """Return up to ``length`` bytes; one call of ``pread`` can return fewer, over a network."""
    data = b""
    while length and (chunk := os.pread(fd, length, offset)):
        data += chunk
        offset += len(chunk)
        length -= len(chunk)
    return data


def _read_version(fd: int) -> tuple[int, int, int]:
    status = os.fstat(fd)
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _explain_size(room: int) -> str:
    return f"it is larger than the {room:,} bytes that were left"
