"""torchtitan: one line for each step that is logged, in colours.

Sources: torchtitan/components/metrics.py and checkpoint.py of its repository (pytorch/torchtitan),
not run: ``[titan] 2025-10-30 14:32:58,897 - root - INFO - step:  1  loss:  8.1661  grad_norm:
3.6855 memory:  2.47GiB(3.12%)  tps: 3,502  tflops: 1.90  mfu: 0.19%``.
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

_STEP = compile_bytes(
    rb"(validate )?step: +(\d{1,12}) +loss: +("
    + NUMBER
    + rb")(?: +grad_norm: +("
    + NUMBER
    + rb"))?.*? tps: ([\d,]+)"
)
_STARTS = compile_bytes(rb"Training starts at step (\d{1,12})(?:.* total steps (\d{1,12}))?")
_LOADS = compile_bytes(rb"Loading the checkpoint (?:from (\S+?)\.?$|at step (\d{1,12}))")
_OF_STEP = compile_bytes(rb"step-(\d{1,12})")
_SAVED = b"Finished saving the checkpoint"
_SAVING = b"Saving the checkpoint (or staging if async is enabled)."
_FRESH = b"No checkpoint was provided, this is a fresh start"


class TorchTitanParser(FormatParser):
    """Parser that remembers the last step, which lines about checkpoints lack."""

    hints = Hints(
        steps=rb"step: +\d+ +loss: ",
        rare=rb"Training starts at step \d|Loading the checkpoint "
        rb"|(?:Finished s|S)aving the checkpoint|No checkpoint was provided"
        rb"|\] *(?:20[\d-]+ [\d:,]+ - root - INFO - )?Training completed",
    )

    def __init__(self) -> None:
        self._step: int | None = None

    def read(self, line: ProgressLine) -> Iterator[ParsedItem]:
        """Yield the items on *line*."""
        text = line.text
        if found := _STEP.search(text):
            yield FrameworkName()
            step = int(found[2])
            self._step = step
            yield line.make_point(
                phase=Phase.EVAL if found[1] else Phase.TRAIN,
                step=step,
                loss=parse_number(found[3]),
                grad_norm=parse_number(found[4]) if found[4] else None,
                throughput=parse_number(found[5]),
                throughput_unit="tokens/s",
            )
        elif found := _STARTS.search(text):
            first = int(found[1])
            yield FrameworkName()
            yield line.make_marker(Start.RESUMED if first > 1 else Start.FRESH, first - 1)
            if found[2]:
                yield TrainingLength(total_steps=parse_count(found[2]))
        elif found := _LOADS.search(text):
            of_step = _OF_STEP.search(found[1]) if found[1] else None
            saved = of_step[1] if of_step else found[2]
            yield line.make_checkpoint(
                CheckpointAction.LOADED, parse_count(saved) if saved else None, found[1]
            )
        elif _SAVED in text:
            yield line.make_checkpoint(CheckpointAction.SAVED, self._step, None)
        elif text.endswith(_SAVING):
            yield FrameworkName()
        elif _FRESH in text:
            yield line.make_marker(Start.FRESH)
        elif text.endswith(b"Training completed"):
            yield line.make_ending(TrainingEndKind.FINISHED)


PARSER: type[FormatParser] = TorchTitanParser
