"""The Trainer of Hugging Face's Transformers, and with it TRL, whose trainers are built on it.

Sources: runs of 4.46.3 and 5.23.0, of TRL 0.12.2 and 1.16.0 (tests/progress/captured/hf*, trl*).

A dictionary on stdout for each log: in 4.x with numbers, in 5.x with quoted ones of four digits.
It has the epoch as a fraction, and no step.  The bar on stderr has the step: it is redrawn right
after each dictionary if both streams go to one file and stdout is not buffered.  Neither the bar of
the training nor that of an evaluation has a label.  By default, no release reports that it
resumes.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.progress.bars import Bar
from gpualert_common.progress.formats._interface import (
    FormatParser,
    FrameworkName,
    Hints,
    ParsedItem,
    ProgressLine,
    TrainingLength,
)
from gpualert_common.progress.model import CheckpointAction, Phase, Point, Start, TrainingEndKind
from gpualert_common.progress.pairs import collect_named, parse_count
from gpualert_common.regex import compile_bytes
from gpualert_common.structs import replace

_PLAN = compile_bytes(rb"^ *(Total optimization steps|Num Epochs) = ([\d,]+)")
_CONTINUES = compile_bytes(rb"^ *Continuing training from (?:global step (\d{1,12})|checkpoint)")
_SAVES = compile_bytes(rb"^Saving model checkpoint to (\S+?)(?:-(\d{1,12}))?$")
_LOADS = compile_bytes(rb"^Loading model from (\S+?)(?:-(\d{1,12}))?\.?$")
_MISSING_KEYS = b"There were missing keys in the checkpoint model loaded"
_WRITING = "Writing model shards"
_NO_SAMPLE = b"There seems not to be a single sample in your epoch_iterator"
_OF_A_LOOP = {b"step", b"steps", b"global_step", b"iter", b"iteration", b"batch", b"update"}
_OF_TRL = {b"mean_token_accuracy", b"num_tokens", b"rewards/chosen", b"completions/mean_length"}
_OF_A_REWARD = {b"reward", b"objective/rlhf_reward"}
"""Logged by GRPO, RLOO and PPO; DPO logs rewards/chosen and so on with a real loss."""
_MOST_EPOCHS = 1e9
_SAME_EPOCH = 0.006


class TransformersParser(FormatParser):
    """Parser that holds a dictionary back for the next line, which can be its bar."""

    by_epoch = True
    hints = Hints(
        steps=rb"['\"](?:eval_|train_)?(?:loss|runtime)['\"]: ",
        rare=rb"(?:Total optimization steps|Num Epochs) = |Continuing training from "
        rb"|Saving model checkpoint to |Loading model from |"
        + _MISSING_KEYS
        + rb"|"
        + _NO_SAMPLE
        + rb"|train_runtime",
        bars=True,
    )

    def __init__(self) -> None:
        self._held: Point | None = None
        self._bar: Bar | None = None
        self._before: Bar | None = None
        self._total: int | None = None
        self._pace: float | None = None
        self._paced_at: float | None = None
        self._paces: tuple[float, ...] = ()
        self._doubt: tuple[int, float, float] | None = None
        self._ended = False
        self._has_logs = False

    def read(self, line: ProgressLine) -> Iterator[ParsedItem]:
        """Yield the items on *line*; a dictionary follows once its step is decided."""
        if line.bar is not None:
            yield from self._read_bar(line, line.bar)
        text = line.text
        if b"loss" in text or b"_runtime" in text:
            yield from self._read_dictionary(line, collect_named(text[text.find(b"{") :]))
        elif found := _PLAN.search(text):
            yield from self._read_plan(found[1], parse_count(found[2]))
        elif found := _CONTINUES.search(text):
            yield FrameworkName()
            yield line.make_marker(Start.RESUMED, parse_count(found[1]) if found[1] else None)
        elif _MISSING_KEYS in text and not self._has_logs:
            yield FrameworkName()
            yield line.make_marker(Start.RESUMED)
        elif _NO_SAMPLE in text:  # at a later step: the data set ended early
            yield FrameworkName()
            at_once = b"stopping training at step 0!" in text
            yield line.make_ending(
                TrainingEndKind.NO_BATCHES if at_once else TrainingEndKind.INTERRUPTED
            )
        elif found := _SAVES.search(text) or _LOADS.search(text):
            action = (
                CheckpointAction.SAVED if text.startswith(b"Saving") else CheckpointAction.LOADED
            )
            step = parse_count(found[2]) if found[2] else None
            path = found[1] + (b"-" + found[2] if found[2] else b"")
            yield line.make_checkpoint(action, step, path)

    def finish(self) -> Iterator[ParsedItem]:
        """Yield the last dictionary."""
        yield from self._release(self._bar)

    def _read_plan(self, what: bytes, count: int | None) -> Iterator[ParsedItem]:
        yield FrameworkName()
        if what == b"Num Epochs":
            yield TrainingLength(total_epochs=count)
        else:
            self._total = count
            yield TrainingLength(total_steps=count)

    def _read_bar(self, line: ProgressLine, bar: Bar) -> Iterator[ParsedItem]:
        if bar.label == _WRITING and bar.done == bar.total:
            step = self._bar.done if self._bar is not None else None
            yield line.make_checkpoint(CheckpointAction.SAVED, step, None)
        if bar.label or bar.rest or bar.total is None:
            return
        if self._ended and bar.done == 0:  # another training in the same process
            self._total = self._bar = self._pace = None
            self._ended = False
        self._total = self._total or bar.total
        if bar.total == self._total:
            self._bar = bar
            yield from self._release(bar)
            yield line.make_point(step=bar.done, total_steps=bar.total, step_s=bar.step_s)
        else:
            self._compare(bar)

    def _compare(self, bar: Bar) -> None:
        """Detect that a bar of another length is the bar of the training.

        It is when it advances with the epochs of two dictionaries; the bar before it was that of
        an evaluation.
        """
        epoch = self._held.epoch if self._held is not None else None
        if not epoch or not bar.done or bar.total is None:
            return
        if self._doubt is None or self._doubt[0] != bar.total:
            self._doubt = (bar.total, bar.done / epoch, epoch)
        elif self._doubt[2] != epoch:
            pace = bar.done / epoch
            if abs(pace - self._doubt[1]) < pace / 4:
                self._total, self._bar, self._pace = bar.total, bar, pace
            self._doubt = (bar.total, pace, epoch)

    def _read_dictionary(
        self, line: ProgressLine, values: dict[bytes, float]
    ) -> Iterator[ParsedItem]:
        epoch = values.get(b"epoch")
        if epoch is not None and not 0 <= epoch < _MOST_EPOCHS:
            return
        if b"train_runtime" in values:
            yield from self._release(self._bar)
            self._ended = True
            summary = {name.decode(): value for name, value in values.items()}
            yield line.make_ending(TrainingEndKind.SUMMARY, summary)
        elif epoch is None or values.keys() & _OF_A_LOOP:
            return
        elif (loss := values.get(b"loss")) is not None:
            if not self._has_logs or values.keys() & (_OF_TRL | _OF_A_REWARD):
                self._has_logs = True
                by_reward = bool(values.keys() & _OF_A_REWARD)
                built_on = by_reward or values.keys() & _OF_TRL
                yield FrameworkName("trl" if built_on else None, by_reward)
            point = line.make_point(
                epoch=epoch,
                loss=loss,
                learning_rate=values.get(b"learning_rate"),
                grad_norm=values.get(b"grad_norm"),
                reward=next((values[name] for name in _OF_A_REWARD if name in values), None),
                throughput=values.get(b"throughput"),
                throughput_unit="tokens/s" if b"throughput" in values else None,
            )
            if self._held is not None and _is_repeated(self._held, point):
                self._held = replace(
                    self._held,
                    throughput=point.throughput,
                    throughput_unit=point.throughput_unit,
                )
                return
            yield from self._release()
            self._held, self._before = point, self._bar
        elif (loss := values.get(b"eval_loss")) is not None:
            if b"eval_runtime" in values:
                yield FrameworkName()
            yield from self._release()
            self._before = self._bar
            self._held = line.make_point(phase=Phase.EVAL, epoch=epoch, loss=loss)

    def _release(self, after: Bar | None = None) -> Iterator[ParsedItem]:
        """Yield the held point, with the step from a bar next to it."""
        point, self._held = self._held, None
        if point is None:
            return
        if after is not None and point.epoch:
            point = replace(point, step=self._step(point.epoch, self._before, after))
        last = self._bar
        if last is not None:
            point = replace(point, total_steps=last.total, step_s=last.step_s)
        yield point

    def _step(self, epoch: float, before: Bar | None, after: Bar) -> int | None:
        """Return the step of a dictionary, None if unknown.

        It is on the bar after the dictionary or, if stdout is late, on the bar before it.  If they
        differ, the one that fits the speed so far is right.
        """
        places = [bar.done for bar in (before, after) if bar is not None and bar.done]
        paces = tuple(done / epoch for done in places)
        if self._pace is None and len(set(places)) == 2:
            known, self._paces = self._paces, paces
            if len(known) < 2:
                return None
            steadiest = min(range(2), key=lambda which: abs(paces[which] - known[which]))
            self._pace = paces[steadiest]
        if not places:
            return None
        pace, known_at = self._pace or paces[0], self._paced_at or epoch
        done = min(places, key=lambda done: abs(done - pace * epoch))
        rounding = 0.005 if round(epoch, 2) == epoch else 0.0005 * max(1.0, epoch)
        if abs(done - pace * epoch) > 0.6 + rounding * pace * (1 + epoch / known_at):
            return None
        self._pace, self._paced_at = done / epoch, epoch
        return done


def _is_repeated(point: Point, again: Point) -> bool:
    """Return True when a second line, of a callback or a logger, repeats a log."""
    if point.phase is not again.phase or point.loss is None or again.loss is None:
        return False
    same_epoch = abs((point.epoch or 0) - (again.epoch or 0)) <= _SAME_EPOCH
    return same_epoch and abs(point.loss - again.loss) <= 1e-3 * abs(point.loss) + 1e-4


PARSER: type[FormatParser] = TransformersParser
