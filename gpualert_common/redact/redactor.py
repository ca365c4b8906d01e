"""Masking: replaces each secret with a mask that names its kind."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from gpualert_common.redact.compiled_secrets import SecretSpan, compile_directory
from gpualert_common.redact.known_secrets import compile_known
from gpualert_common.redact.plain_text import list_readings
from gpualert_common.redact.secret_kinds import KNOWN, secrets_directory

_MOST_PASSES = 16
"""A mask can make its neighbour recognizable as a secret.  Usually two passes are enough; the limit
is for text constructed to need more."""


class Redactor:
    """Masks secrets and counts them by kind.

    ``known`` are literal secrets, masked everywhere: verbatim, in JSON, in URLs and in base64;
    values of fewer than six characters are ignored.  ``directory`` contains the kinds, by default
    those of the rules in use.

    A mask is ``[redacted KIND]``; masking a text again does not change it.  A text grows by at most
    one mask for each secret.  Invalid rule files are left out and listed in ``broken``; neither
    they nor the text cause an exception.

    The encoding of a text must include ASCII, as UTF-8 and Latin-1 do; in UTF-16 no secret is
    found.  Half a token is not recognizable: mask a text before you cut it, or cut it by
    :func:`gpualert_common.whole_words.cut_words`.  Not thread-safe.
    """

    def __init__(self, known: Iterable[str] = (), *, directory: Path | None = None) -> None:
        self.found: Counter[str] = Counter()
        self._compiled, self.broken = compile_directory(directory or secrets_directory())
        self._known = compile_known(known)

    def mask_bytes(self, data: bytes) -> bytes:
        """Return *data* with every secret masked; the same object when there is none."""
        return self.mask_from(data, 0)

    def mask_from(self, data: bytes, begin: int) -> bytes:
        """Return *data* from byte *begin* on, masked by what all of it shows."""
        for _ in range(_MOST_PASSES):
            secrets = _merge_spans(self._find_spans(data), self._compiled.find_masks(data))
            if not secrets:
                break
            begin = _move_place(begin, secrets)
            data = self._replace(data, secrets)
        return data[begin:]

    def mask_text(self, text: str) -> str:
        """Return *text* with every secret masked.  Lone surrogates, as in file names, are kept."""
        masked = self.mask_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            return masked.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:  # a mask replaced part of a character
            return masked.decode("utf-8", "replace")

    def _find_spans(self, data: bytes) -> Iterator[SecretSpan]:
        readings = list_readings(data)
        # An escape sequence can split a secret, or contain one, as a link does.
        for plain in readings:
            for start, end, order, kind in self._find_verbatim(plain.text):
                yield SecretSpan(*plain.map_span(start, end), order, kind)
        for span in self._find_verbatim(data):
            if not readings:
                yield span
                continue
            start, end = readings[0].clip(span.start, span.end)
            yield span._replace(start=start, end=end)

    def _find_verbatim(self, data: bytes) -> Iterator[SecretSpan]:
        yield from self._compiled.find_spans(data)
        if self._known is not None:
            for match in self._known.finditer(data):
                start, end = match.span()
                yield SecretSpan(start, end, 0, KNOWN)

    def _replace(self, data: bytes, secrets: list[SecretSpan]) -> bytes:
        pieces, done = [], 0
        for secret in secrets:
            self.found[secret.kind] += 1
            pieces += [data[done : secret.start], _format_mask(secret)]
            done = secret.end
        return b"".join((*pieces, data[done:]))


def _format_mask(secret: SecretSpan) -> bytes:
    return b"[redacted %s]" % secret.kind.encode()


def _move_place(at: int, secrets: Iterable[SecretSpan]) -> int:
    """Return the place of byte *at* once *secrets* are masked; in one, that of its mask."""
    growth = 0
    for secret in secrets:
        if secret.end > at:
            return min(at, secret.start) + growth
        growth += len(_format_mask(secret)) - (secret.end - secret.start)
    return at + growth


def _merge_spans(spans: Iterable[SecretSpan], masks: list[tuple[int, int]]) -> list[SecretSpan]:
    """Return *spans* without those inside a mask; overlapping spans and masks are merged."""
    starts = [start for start, _ in masks]
    merged: list[SecretSpan] = []
    for span in sorted(_widen_spans(spans, masks, starts)):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            order, kind = min((last.order, last.kind), (span.order, span.kind))
            merged[-1] = SecretSpan(last.start, max(last.end, span.end), order, kind)
        else:
            merged.append(span)
    return merged


def _widen_spans(
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
