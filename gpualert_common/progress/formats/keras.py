r"""Keras's fit, with a bar (verbose=1) or a line for each epoch (verbose=2).

Sources: runs of Keras 3.15.1 on TensorFlow 2.21.0 and JAX 0.10.2
(tests/progress/captured/keras-*), and the bar of Keras 2 as its documentation has it.  The header
``Epoch 3/4`` is a line of its own; the bar below it uses backspaces and shows the mean loss of the
epoch so far.  There is no step over all epochs: the parser computes it from the header and the bar.
A training of one epoch has no header and looks like an evaluation; an evaluation alone in a log is
therefore read as a training.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.progress.formats._interface import (
    FormatParser,
    FrameworkName,
    Hints,
    ParsedItem,
    ProgressLine,
    TrainingLength,
)
from gpualert_common.progress.model import CheckpointAction, Phase, Start, TrainingEndKind
from gpualert_common.progress.pairs import NUMBER, parse_count, parse_number
from gpualert_common.regex import compile_bytes

_HEADER = compile_bytes(rb"^Epoch (\d{1,12})/(\d{1,12})$")
_BAR = compile_bytes(
    rb"^ *(\d{1,12})/(\d+|Unknown) .*?(?:(\d{1,12})(us|ms|s)/step|ETA: [\d:]+s?|\d+s)?.*? - loss: ("
    + NUMBER
    + rb")(.*)"
)
_METRIC = compile_bytes(rb" - ([a-z_]+): (" + NUMBER + rb")")
_PER_STEP = compile_bytes(rb"(\d{1,12})(us|ms|s)/step")
_SAVED = compile_bytes(rb"^Epoch (\d{1,12}): (?:.*, )?saving model to (\S+)")
_SECONDS = {b"us": 1e-6, b"ms": 1e-3, b"s": 1.0}


class KerasParser(FormatParser):
    """Parser that counts steps over epochs; a bar without a header is an evaluation."""

    hints = Hints(
        steps=rb"\d+/(?:\d+|Unknown) .*- loss: [-\d.naif]",
        rare=rb"Epoch \d+/\d+ *$|Epoch \d+: .*\bsaving model to |Epoch \d+: early stopping"
        rb"|Batch \d+: Invalid loss, terminating training",
    )

    def __init__(self) -> None:
        self._epoch: int | None = None
        self._epochs: int | None = None
        self._batches: int | None = None
        self._whole = False

    def read(self, line: ProgressLine) -> Iterator[ParsedItem]:
        """Yield the items on *line*."""
        text = line.text
        if found := _BAR.search(text):
            yield from self._read_bar(
                line, int(found[1]), parse_count(found[2]), parse_number(found[5])
            )
        if found := _HEADER.search(text):
            yield from self._read_header(line, int(found[1]), int(found[2]))
        elif found := _SAVED.search(text):
            done = int(found[1])
            step = done * self._batches if self._batches else None
            yield line.make_checkpoint(CheckpointAction.SAVED, step, found[2])
        elif text.endswith(b": early stopping"):
            yield line.make_ending(TrainingEndKind.EARLY_STOP)
        elif b": Invalid loss, terminating training" in text:
            yield line.make_ending(TrainingEndKind.DIVERGED)

    def _read_header(self, line: ProgressLine, epoch: int, epochs: int) -> Iterator[ParsedItem]:
        if self._epoch is None and epoch > 1:
            yield line.make_marker(Start.RESUMED)
        self._epoch, self._epochs, self._whole = epoch, epochs, False
        yield TrainingLength(total_epochs=epochs)

    def _read_bar(
        self, line: ProgressLine, batch: int, batches: int | None, loss: float | None
    ) -> Iterator[ParsedItem]:
        if self._whole and batch != batches:
            yield line.make_point(phase=Phase.EVAL, loss=loss)
            return
        yield FrameworkName()
        values = {found[1]: parse_number(found[2]) for found in _METRIC.finditer(line.text)}
        self._batches = batches or self._batches
        self._whole = batch == batches
        ended = self._epoch - 1 if self._epoch is not None else 0
        step = ended * batches + batch if batches else None if ended else batch
        epoch = ended + batch / batches if batches else None
        pace = _PER_STEP.search(line.text)
        yield line.make_point(
            step=step,
            total_steps=self._epochs * batches if batches and self._epochs else None,
            epoch=epoch,
            loss=loss,
            learning_rate=values.get(b"learning_rate", values.get(b"lr")),
            step_s=int(pace[1]) * _SECONDS[pace[2]] if pace else None,
            accuracy=values.get(b"accuracy", values.get(b"acc")),
        )
        if values.get(b"val_loss") is not None:
            yield line.make_point(
                phase=Phase.EVAL, step=step, epoch=epoch, loss=values[b"val_loss"]
            )


PARSER: type[FormatParser] = KerasParser
