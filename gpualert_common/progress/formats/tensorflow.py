"""TensorFlow's estimators and sessions with hooks, which log through ``INFO:tensorflow:``.

Sources: runs of the hooks of TensorFlow 2.21.0 (tests/progress/captured/tf-*); estimators,
which it no longer has, by the documentation of 1.15: ``loss = 0.43, step = 101 (8.123 sec)``, the
seconds being those since the line before.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.progress.formats._interface import (
    FormatParser,
    FrameworkName,
    Hints,
    ParsedItem,
    ProgressLine,
)
from gpualert_common.progress.model import CheckpointAction, Phase, Start, TrainingEndKind
from gpualert_common.progress.pairs import NUMBER, parse_count, parse_number
from gpualert_common.regex import compile_bytes

_LOSS = compile_bytes(rb"\bloss = (" + NUMBER + rb")")
_STEP = compile_bytes(rb"\b(?:global_)?step = (\d{1,12})(?: \(([\d.]+) sec\))?")
_SAVED = compile_bytes(rb"Saving checkpoints for (\d{1,12}) into (\S+?)\.?$")
_RESTORED = compile_bytes(rb"Restoring parameters from (\S+?)(?:-(\d{1,12}))?$")
_SPEED = compile_bytes(rb"global_step/sec: ([\d.]+)")
_EVALUATED = compile_bytes(
    rb"Saving dict for global step (\d{1,12}): .*?\bloss = (" + NUMBER + rb")"
)


class TensorFlowParser(FormatParser):
    """Parser that remembers the last step and the speed logged before it."""

    hints = Hints(
        steps=rb"(?:tensorflow|hooks\.py:\d+\]).*(?:step|loss) = |global_step/sec: [\d.]",
        rare=rb"Saving checkpoints for \d+ into |Restoring parameters from |Saving dict for global "
        rb"|Loss for final step: |Model diverged with loss = NaN|Skipping training since max_steps",
    )

    def __init__(self) -> None:
        self._step: int | None = None
        self._speed: float | None = None

    def read(self, line: ProgressLine) -> Iterator[ParsedItem]:
        """Yield the items on *line*."""
        text = line.text
        if found := _SAVED.search(text):
            yield FrameworkName()
            yield line.make_checkpoint(CheckpointAction.SAVED, parse_count(found[1]), found[2])
        elif found := _RESTORED.search(text):
            step = parse_count(found[2]) if found[2] else None
            yield FrameworkName()
            yield line.make_checkpoint(CheckpointAction.LOADED, step, found[1])
            if self._step is None and step:
                yield line.make_marker(Start.RESUMED, step)
        elif found := _EVALUATED.search(text):
            loss = parse_number(found[2])
            yield line.make_point(phase=Phase.EVAL, step=int(found[1]), loss=loss)
        elif found := _SPEED.search(text):
            self._speed = parse_number(found[1])
        elif b"Loss for final step: " in text:
            yield line.make_ending(TrainingEndKind.FINISHED)
        elif b"Model diverged with loss" in text:
            yield line.make_ending(TrainingEndKind.DIVERGED)
        elif b"Skipping training since max_steps" in text:
            yield line.make_ending(TrainingEndKind.STEP_LIMIT)
        else:
            yield from self._read_log(line)

    def _read_log(self, line: ProgressLine) -> Iterator[ParsedItem]:
        loss_match, step_match = _LOSS.search(line.text), _STEP.search(line.text)
        if loss_match is None or step_match is None:
            return
        yield FrameworkName()
        step = int(step_match[1])
        seconds = parse_number(step_match[2]) if step_match[2] else None
        apart = step - self._step if self._step is not None else 0
        yield line.make_point(
            step=step,
            loss=parse_number(loss_match[1]),
            step_s=seconds / apart if seconds is not None and apart > 0 else None,
            throughput=self._speed,
            throughput_unit="steps/s" if self._speed is not None else None,
        )
        self._step, self._speed = step, None


PARSER: type[FormatParser] = TensorFlowParser
