"""Lightning's Trainer, with tqdm's bar, Rich's, or none.

Sources: runs of lightning 2.6.6 and pytorch-lightning 2.4.0 (tests/progress/captured/pl26-*,
pl24-*).

The label of tqdm's bar is the epoch, from 0; logged values follow the bar.  It is drawn twice for
each step, first with the loss of the previous step.  Rich's bar is drawn once in a pipe, at the
end, and its logged values wrap over the next lines.  The step is the batch.
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
from gpualert_common.progress.model import CheckpointAction, Phase, Point, Start, TrainingEndKind
from gpualert_common.progress.pairs import collect_named, find_losses, parse_count, parse_number
from gpualert_common.regex import compile_bytes
from gpualert_common.structs import replace

_EPOCH = compile_bytes(rb"^Epoch (\d{1,12})$")
_RICH = compile_bytes(
    rb"^Epoch (\d{1,12})/(-1|\d{1,12}) +[^ \d]+ +(\d{1,12})/(\d{1,12}) +"
    rb"[\d:]+ \xe2\x80\xa2 [\d:-]+ +([\d.]+)it/s *(.*)$"
)
_STOPPED = compile_bytes(
    rb"`Trainer\.fit` stopped: (?:`(max_\w+)=\d+` reached|(No training batches))"
)
_RESTORED = compile_bytes(rb"Restored all states from the checkpoint at (\S+)")
_KEPT = compile_bytes(rb"^Epoch \d+, global step (\d{1,12}): .*saving model to '([^']+)'")
_STOPS = compile_bytes(rb"^Monitored metric (.*) Signaling Trainer to stop")
_OWN = (b"GPU available: ", b"`Trainer", b"Total estimated model params size")


class LightningParser(FormatParser):
    """Parser that holds the point of a step back until the bar moves on."""

    hints = Hints(
        steps=rb"Epoch \d+/-?\d+ +[^ \d]+ +\d+/\d+ +[\d:]+ \xe2|^ {20,}\S*loss\S*: [\d.naif]+",
        rare=rb"GPU available: |`Trainer|Total estimated model params size"
        rb"|Restored all states from the checkpoint|Epoch \d+, global step \d+: "
        rb"|Monitored metric .* Signaling|Detected KeyboardInterrupt",
        bars=True,
    )

    def __init__(self) -> None:
        self._held: Point | None = None
        self._named = False
        self._rich = False
        self._moved = False
        self._evaluated: float | None = None

    def read(self, line: ProgressLine) -> Iterator[ParsedItem]:
        """Yield the items on *line*; a step follows when the bar moves on."""
        if line.bar is not None:
            bar = line.bar
            found = _EPOCH.search(bar.label.encode())
            own = self._named or b"v_num=" in bar.rest
            if found and own and b"reduced_train_loss" not in bar.rest:
                self._rich = False
                at = (int(found[1]), bar.done, bar.total)
                yield from self._read_step(line, at, bar.step_s, collect_named(bar.rest))
        text = line.text
        if found := _RICH.search(text):
            if not self._rich and int(found[2]) >= 0:
                yield TrainingLength(total_epochs=int(found[2]) + 1)
            self._rich = True
            at = (int(found[1]), int(found[3]), int(found[4]))
            rate = parse_number(found[5])
            yield from self._read_step(
                line, at, 1 / rate if rate else None, collect_named(found[6])
            )
        elif text.startswith(b" " * 20):
            yield from self._read_wrapped(line, collect_named(text.strip()))
        else:
            yield from self._read_words(line)

    def finish(self) -> Iterator[ParsedItem]:
        """Yield the last step."""
        if self._held is not None:
            yield self._held

    def _read_step(
        self,
        line: ProgressLine,
        at: tuple[int, int, int | None],
        step_s: float | None,
        values: dict[bytes, float],
    ) -> Iterator[ParsedItem]:
        epoch, batch, batches = at
        if not self._named:
            self._named = True
            yield FrameworkName()
        _, train, evaluation = find_losses(values.items())
        done = epoch + batch / batches if batches else float(epoch)
        step = epoch * batches + batch if batches else batch
        if self._held is not None and self._held.step != step:
            yield self._held
            self._held = None
        # At 0 the bar still shows the last loss of the previous epoch.
        if batch or (train is not None and not self._moved):
            self._moved = True
            self._held = line.make_point(step=step, epoch=done, loss=train, step_s=step_s)
        yield from self._read_evaluation(line, step, done, evaluation)

    def _read_wrapped(self, line: ProgressLine, values: dict[bytes, float]) -> Iterator[ParsedItem]:
        """Read a wrapped line of Rich."""
        if not self._rich or self._held is None:
            return
        _, train, evaluation = find_losses(values.items())
        if train is not None and self._held.loss is None:
            self._held = replace(self._held, loss=train)
        yield from self._read_evaluation(line, self._held.step, self._held.epoch, evaluation)

    def _read_evaluation(
        self, line: ProgressLine, step: int | None, epoch: float | None, loss: float | None
    ) -> Iterator[ParsedItem]:
        """Yield a new evaluation loss; the bar repeats it until the next evaluation."""
        if loss is not None and repr(loss) != repr(self._evaluated):
            self._evaluated = loss
            yield line.make_point(phase=Phase.EVAL, step=step, epoch=epoch, loss=loss)

    def _read_words(self, line: ProgressLine) -> Iterator[ParsedItem]:
        text = line.text
        if not self._named and any(own in text for own in _OWN):
            self._named = True
            yield FrameworkName()
        if found := _STOPPED.search(text):
            limit = (
                TrainingEndKind.STEP_LIMIT if found[1] == b"max_steps" else TrainingEndKind.FINISHED
            )
            yield line.make_ending(TrainingEndKind.NO_BATCHES if found[2] else limit)
        elif found := _RESTORED.search(text):
            yield FrameworkName()
            yield line.make_checkpoint(CheckpointAction.LOADED, None, found[1])
            yield line.make_marker(Start.RESUMED)
        elif found := _KEPT.search(text):
            yield line.make_checkpoint(CheckpointAction.SAVED, parse_count(found[1]), found[2])
        elif found := _STOPS.search(text):
            not_finite = b"is not finite" in found[1]
            yield line.make_ending(
                TrainingEndKind.DIVERGED if not_finite else TrainingEndKind.EARLY_STOP
            )
        elif text.startswith(b"Detected KeyboardInterrupt"):
            yield line.make_ending(TrainingEndKind.INTERRUPTED)


PARSER: type[FormatParser] = LightningParser
