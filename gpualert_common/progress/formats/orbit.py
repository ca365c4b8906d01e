"""Orbit, the training loop of TensorFlow's Model Garden: the step and the loss on different lines.

Source: orbit/controller.py of its repository (tensorflow/models), not run.  A line
``train | step:    100 | steps/sec:   10.2 | output:`` ends with the output, or it is below, one
name in each line.  Each message goes to the log and to stdout; where both are in one file, the form
that comes first counts.
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
from gpualert_common.progress.model import CheckpointAction, Phase, Point, Start
from gpualert_common.progress.pairs import find_losses, find_pairs, parse_count, parse_number
from gpualert_common.regex import compile_bytes
from gpualert_common.structs import replace

_HEAD = compile_bytes(
    rb"\b(train|eval) \| step: *(\d{1,12}) \|"
    rb"(?: steps/sec: *([\d.]+) \|| eval time: *[\d.]+ sec \|)? output:(.*)"
)
_PLAN = compile_bytes(rb"\btrain \| step: *(\d{1,12}) \| training until step (\d{1,12})")
_OUTPUT = compile_bytes(rb"^ {4,}[{ ]'")
_SAVED = compile_bytes(rb"\bsaved checkpoint to (\S+?-(\d{1,12}))\.?$")
_RESTORED = compile_bytes(rb"\brestored model from (\S+?-(\d{1,12}))\.?$")
_LOGGED = b"controller.py:"
_MOST_LINES = 64


class OrbitParser(FormatParser):
    """Parser that holds a step back until all lines of its output are read."""

    built_on = "tensorflow"
    hints = Hints(
        steps=rb"(?:train|eval) \| step: *\d"
        rb"|^ {4,}[{ ]'[\w/ .-]*(?i:loss|learning_rate|accuracy)[\w/ .-]*': ",
        rare=rb"saved checkpoint to \S+-\d+\.?$|restored model from \S+-\d|initialized model\.$",
    )

    def __init__(self) -> None:
        self._held: Point | None = None
        self._values: tuple[tuple[bytes, float], ...] = ()
        self._is_logged: bool | None = None

    def read(self, line: ProgressLine) -> Iterator[ParsedItem]:
        """Yield the items on *line*; a step follows once its output is complete."""
        text = line.text
        if _OUTPUT.search(text):
            if self._held is not None and line.place.line - self._held.line <= _MOST_LINES:
                self._values += _name_values(text)
            return
        yield from self.finish()
        if found := _HEAD.search(text):
            is_logged = _LOGGED in line.raw
            self._is_logged = is_logged if self._is_logged is None else self._is_logged
            if is_logged is not self._is_logged:
                return
            yield FrameworkName()
            self._held = line.make_point(
                phase=Phase.TRAIN if found[1] == b"train" else Phase.EVAL,
                step=int(found[2]),
                throughput=parse_number(found[3]) if found[3] else None,
                throughput_unit="steps/s" if found[3] else None,
            )
            self._values = _name_values(found[4])
        elif found := _PLAN.search(text):
            yield FrameworkName()
            yield TrainingLength(total_steps=parse_count(found[2]))
        elif found := _SAVED.search(text):
            yield line.make_checkpoint(CheckpointAction.SAVED, int(found[2]), found[1])
        elif found := _RESTORED.search(text):
            yield line.make_checkpoint(CheckpointAction.LOADED, int(found[2]), found[1])
            yield line.make_marker(Start.RESUMED, int(found[2]))
        elif text.endswith(b"initialized model."):
            yield line.make_marker(Start.FRESH)

    def finish(self) -> Iterator[ParsedItem]:
        """Yield the held step."""
        point, self._held = self._held, None
        if point is None:
            return
        result = find_losses(self._values)
        is_training = point.phase is Phase.TRAIN
        loss = result.train if is_training or result.evaluation is None else result.evaluation
        values = dict(self._values)
        if is_training or loss is not None:
            yield replace(
                point,
                loss=loss,
                learning_rate=values.get(b"learning_rate"),
                accuracy=values.get(b"accuracy"),
            )


def _name_values(text: bytes) -> tuple[tuple[bytes, float], ...]:
    return tuple((pair.name, pair.value) for pair in find_pairs(text) if pair.name)


PARSER: type[FormatParser] = OrbitParser
