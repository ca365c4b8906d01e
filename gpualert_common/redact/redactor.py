"""Masking: every secret that is found gives way to a mask that names its kind."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from gpualert_common.redact.compiled_secrets import SecretSpan, program_in
from gpualert_common.redact.known_secrets import known_regex
from gpualert_common.redact.plain_text import PlainText
from gpualert_common.redact.secret_kinds import KNOWN, secrets_directory

_MOST_PASSES = 16
"""A mask can show what it stood beside for a secret.  Two passes are the rule, and each masks
something; the bound is for text that was made to need more."""


class Redactor:
    """Masks secrets and counts them by kind.

    ``known`` are literal secrets, masked wherever they stand: as they are, in JSON, in URLs and in
    base64; those of fewer than six characters are ignored.  ``directory`` holds the kinds, by
    default those that belong to the rules in use.

    A mask reads ``[redacted KIND]``; what was masked is not masked again by the same kinds.  A
    text may grow: by no more than a mask for each secret.  Rule files that are wrong are left out
    and named in ``broken``; nothing here raises because of them or of the text.

    Text must be in an encoding that has ASCII in it, such as UTF-8 or Latin-1; in UTF-16 nothing
    is found.  Mask before you cut: the second half of a token looks like any other word.  One
    redactor is for one thread.
    """

    def __init__(self, known: Iterable[str] = (), *, directory: Path | None = None) -> None:
        self.found: Counter[str] = Counter()
        self._program, self.broken = program_in(directory or secrets_directory())
        self._known = known_regex(known)

    def data(self, data: bytes) -> bytes:
        """*data* with every secret masked; the same object when there was none."""
        for _ in range(_MOST_PASSES):
            secrets = _joined(self._spans(data), self._program.masks(data))
            if not secrets:
                break
            data = self._masked(data, secrets)
        return data

    def text(self, text: str) -> str:
        """*text* with every secret masked.  Lone surrogates, as in file names, are kept."""
        masked = self.data(text.encode("utf-8", "surrogatepass"))
        try:
            return masked.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:  # a mask took a part of a character
            return masked.decode("utf-8", "replace")

    def _spans(self, data: bytes) -> Iterator[SecretSpan]:
        plain = PlainText(data)
        if not plain.differs:
            yield from self._spans_as_it_stands(data)
            return
        # An escape sequence can cut a secret in two, and it can hold one: a link does.
        for start, end, order, kind in self._spans_as_it_stands(plain.text):
            yield SecretSpan(*plain.back(start, end), order, kind)
        for start, end, order, kind in self._spans_as_it_stands(data):
            yield SecretSpan(*plain.clip(start, end), order, kind)

    def _spans_as_it_stands(self, data: bytes) -> Iterator[SecretSpan]:
        yield from self._program.spans(data)
        if self._known is not None:
            for match in self._known.finditer(data):
                start, end = match.span()
                yield SecretSpan(start, end, 0, KNOWN)

    def _masked(self, data: bytes, secrets: list[SecretSpan]) -> bytes:
        pieces, done = [], 0
        for secret in secrets:
            self.found[secret.kind] += 1
            pieces += [data[done : secret.start], b"[redacted %s]" % secret.kind.encode()]
            done = secret.end
        return b"".join((*pieces, data[done:]))


def _joined(spans: Iterable[SecretSpan], masks: list[tuple[int, int]]) -> list[SecretSpan]:
    """*spans* without those that only see a mask; what overlaps, masks too, is one span."""
    starts = [start for start, _ in masks]
    joined: list[SecretSpan] = []
    for span in sorted(_widened(spans, masks, starts)):
        if joined and span.start < joined[-1].end:
            last = joined[-1]
            order, kind = min((last.order, last.kind), (span.order, span.kind))
            joined[-1] = SecretSpan(last.start, max(last.end, span.end), order, kind)
        else:
            joined.append(span)
    return joined


def _widened(
    spans: Iterable[SecretSpan], masks: list[tuple[int, int]], starts: list[int]
) -> Iterator[SecretSpan]:
    for span in spans:
        start, end = span.start, span.end
        before = bisect_right(starts, start) - 1
        if before >= 0 and masks[before][1] > start:
            if masks[before][1] >= end:
                continue
            start = masks[before][0]
        behind = bisect_right(starts, end - 1) - 1
        if behind >= 0 and masks[behind][1] > end:
            end = masks[behind][1]
        yield SecretSpan(start, end, span.order, span.kind)
