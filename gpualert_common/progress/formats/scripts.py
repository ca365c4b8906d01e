"""Messages of any program about checkpoints, start and end.

Sources: the corpus of this project, and the example scripts of PyTorch and Transformers.  It has
no steps, and applies only to lines that no other format recognizes.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.progress.formats._interface import (
    FormatParser,
    Hints,
    ParsedItem,
    ProgressLine,
)
from gpualert_common.progress.model import CheckpointAction, Start, TrainingEndKind
from gpualert_common.progress.pairs import parse_count
from gpualert_common.regex import compile_bytes

_RESUMED = (
    rb"(?i:\b(?:resum(?:ed|ing)|continu(?:ed|ing)) (?:the )?(?:training |run |job )?(?:from|at) "
    rb"|\bcheckpoint detected, resuming"
    rb"|\b(?:loaded|restored) (?:the )?(?:latest |last )?checkpoint\b"
    rb"|\brestored (?:state|model|training state|everything) from )"
)
_FRESH = (
    rb"(?i:\bno (?:valid |previous |existing )?checkpoints? (?:was |were )?(?:found|provided)\b"
    rb"|\b(?:starting|training|train|started) (?:over |anew |again )?from scratch\b"
    rb"|\bstarting (?:a )?(?:fresh|new) (?:training|run)\b)"
)
_SAVED = (
    rb"(?i:\b(?:saved|saving|wrote|writing) "
    rb"(?:the |a |new |best |last |model |training |full ){0,3}checkpoint\b"
    rb"|\bcheckpoint (?:saved|written)\b|\bsaved? (?:model|state) to )"
)
_STOPPED = (
    rb"(?i:^\W{0,4}early stopping(?: at| after| triggered|: no improvement|: stopp)"
    rb"|^\W{0,4}stopping early\b|\bloss is nan, stopping"
    rb"|[\]:|>-] early stopping(?: at| after| triggered|: no improvement|: stopp|[.!]*$)"
    rb"|^\W{0,4}early stop(?:ping)?[.!]*$|\b(?:stopped|stopping) (?:training )?early\b"
    rb"|\b(?:stopping|ending|terminating) (?:the )?training\b|[.,;:] stopping[.!]*$)"
)
_RESUMED_RE = compile_bytes(_RESUMED)
_FRESH_RE = compile_bytes(_FRESH)
_SAVED_RE = compile_bytes(_SAVED)
_STOPPED_RE = compile_bytes(_STOPPED)
_STEP = compile_bytes(
    rb"(?i:\b(?:global[ _]?)?(?:step|iter(?:ation)?|update)[ _:=-]{0,3}(\d{1,12})\b)"
)
_IN_PATH = compile_bytes(rb"(?i:(?:checkpoint|ckpt|step|iter)[_=-]?(\d{1,12})\b)")
_PATH = compile_bytes(
    rb"['\"]?((?:[\w.~@=+-]*/)+[\w.@=+-]+|[\w@=+-]+\.(?:pth?|ckpt|safetensors|npz|h5|keras))"
)
_ADVICE = compile_bytes(
    rb"(?i:\b(?:to|can|could|cannot|can't|not|if|when|please|would|should|will be|set|use|without"
    rb"|or|before|after|while|during|for|finished|start|async)"
    rb" (?:be )?$|^ *(?:-|#|\*|usage:|\$|\+ ))"
)
_NEGATION = compile_bytes(rb"(?i:^\W{0,3}(?:none|null|false|no|is|are|or|if|may|can|requires)\b)")


class ScriptParser(FormatParser):
    """Parser of sentences that ignores similar advice and settings.

    "Saving ..." and the "Saved ..." that follows it are one checkpoint.
    """

    is_fallback = True
    hints = Hints(rare=_RESUMED + rb"|" + _FRESH + rb"|" + _SAVED + rb"|" + _STOPPED)

    def __init__(self) -> None:
        self._announced: int | None = None
        self._is_announced = False

    def read(self, line: ProgressLine) -> Iterator[ParsedItem]:
        """Yield the items on *line*."""
        text = line.text
        if found := _FRESH_RE.search(text):
            if not _advises(text, found):
                yield line.make_marker(Start.FRESH)
        elif found := _RESUMED_RE.search(text):
            if not _advises(text, found):
                step = _step(text)
                yield line.make_checkpoint(CheckpointAction.LOADED, step, _path(text))
                yield line.make_marker(Start.RESUMED, step)
        elif found := _SAVED_RE.search(text):
            if not _advises(text, found):
                yield from self._read_save(line, found[0].lower())
        elif (found := _STOPPED_RE.search(text)) and not _advises(text, found):
            diverged = b"is nan" in text.lower()
            yield line.make_ending(
                TrainingEndKind.DIVERGED if diverged else TrainingEndKind.EARLY_STOP
            )

    def _read_save(self, line: ProgressLine, words: bytes) -> Iterator[ParsedItem]:
        step = _step(line.text)
        is_done = not words.startswith((b"saving", b"writing"))
        is_known = is_done and self._is_announced and step in (None, self._announced)
        self._is_announced, self._announced = not is_done, step
        if not is_known:
            yield line.make_checkpoint(CheckpointAction.SAVED, step, _path(line.text))


def _advises(text: bytes, found: object) -> bool:
    """Return True for "to resume from ...", the help of an option, or a disabled setting."""
    begin, end = found.span()  # type: ignore[attr-defined]  # a match of RE2, which has no types
    return bool(_ADVICE.search(text[:begin]) or _NEGATION.search(text[end:]))


def _step(text: bytes) -> int | None:
    found = _STEP.search(text) or _IN_PATH.search(text)
    return parse_count(found[1]) if found else None


def _path(text: bytes) -> bytes | None:
    found = _PATH.search(text)
    return found[1] if found else None


PARSER: type[FormatParser] = ScriptParser
