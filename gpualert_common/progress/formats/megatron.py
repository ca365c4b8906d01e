"""Megatron-LM, and forks with its log line (Megatron-DeepSpeed, Megatron Bridge, Primus).

Sources: megatron/training/training.py and checkpointing.py of its repository (NVIDIA/Megatron-LM),
not run.  The last rank prints ``iteration       10/     500 | consumed samples: ... | elapsed time
per iteration (ms): 3902.7 | learning rate: 6.0E-05 | lm loss: 1.011E+01 | grad norm: 2.555 |
number of skipped iterations: 0 | number of nan iterations: 0 |``; the loss is absent when all were
skipped.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.progress.formats._interface import (
    FormatParser,
    FrameworkName,
    Hints,
    ParsedItem,
    ProgressLine,
    Tally,
)
from gpualert_common.progress.model import CheckpointAction, Phase, Start, TrainingEndKind
from gpualert_common.progress.pairs import find_losses, parse_count, parse_number, to_count
from gpualert_common.regex import compile_bytes

_ITERATION = compile_bytes(rb"(?:^|\] ) *iteration +(\d{1,12})/ *(\d{1,12}) \|(.*)")
_VALIDATION = compile_bytes(
    rb"validation loss at iteration (\d{1,12})[^|]*\| lm loss value: ([^ |]+)"
)
_SAVED = compile_bytes(rb"successfully saved checkpoint from iteration +(\d{1,12}) to (\S+)")
_LOADED = compile_bytes(rb"successfully loaded checkpoint from (\S+).* at iteration +(\d{1,12})")
_NOTHING = compile_bytes(rb"^ *will not load any checkpoints and will start from random")
_ENDED = compile_bytes(
    rb"^\[?(exiting program (?:at iteration|after receiving)|after training is done)"
)


class MegatronParser(FormatParser):
    """Parser of lines with all values of an iteration."""

    hints = Hints(
        steps=rb"iteration +\d+/ *\d+ \|",
        rare=rb"validation loss at iteration \d+"
        rb"|saving checkpoint at iteration|successfully (?:saved|loaded) checkpoint from "
        rb"|will not load any checkpoints and will start"
        rb"|exiting program |\[after training is done\]",
    )

    def read(self, line: ProgressLine) -> Iterator[ParsedItem]:
        """Yield the items on *line*."""
        text = line.text
        if found := _ITERATION.search(text):
            yield from self._read_iteration(line, int(found[1]), int(found[2]), _fields(found[3]))
        elif found := _VALIDATION.search(text):
            yield FrameworkName()
            loss = parse_number(found[2])
            yield line.make_point(phase=Phase.EVAL, step=int(found[1]), loss=loss)
        elif found := _SAVED.search(text):
            yield FrameworkName()
            yield line.make_checkpoint(CheckpointAction.SAVED, parse_count(found[1]), found[2])
        elif found := _LOADED.search(text):
            step = parse_count(found[2])
            yield FrameworkName()
            yield line.make_checkpoint(CheckpointAction.LOADED, step, found[1])
            yield line.make_marker(Start.RESUMED if step else Start.FRESH, step)
        elif text.lstrip().startswith(b"saving checkpoint at iteration"):
            yield FrameworkName()
        elif _NOTHING.search(text):
            yield FrameworkName()
            yield line.make_marker(Start.FRESH)
        elif found := _ENDED.search(text):
            interrupted = found[1].endswith(b"receiving")
            yield line.make_ending(
                TrainingEndKind.INTERRUPTED if interrupted else TrainingEndKind.FINISHED
            )

    def _read_iteration(
        self, line: ProgressLine, step: int, total: int, values: dict[bytes, float]
    ) -> Iterator[ParsedItem]:
        milliseconds = values.get(b"elapsed time per iteration (ms)")
        seconds = values.get(b"elapsed time per iteration (s)")
        if milliseconds is not None:
            seconds = milliseconds / 1000
        yield FrameworkName()
        rates = {
            "TFLOP/s/GPU": values.get(b"throughput per GPU (TFLOP/s/GPU)"),
            "samples/s": values.get(b"samples per second"),
        }
        unit = next((unit for unit, rate in rates.items() if rate is not None), None)
        yield line.make_point(
            step=step,
            total_steps=total,
            loss=find_losses(values.items()).train,
            learning_rate=values.get(b"learning rate"),
            grad_norm=values.get(b"grad norm"),
            step_s=seconds,
            throughput=rates[unit] if unit is not None else None,
            throughput_unit=unit,
        )
        skipped = to_count(values.get(b"number of skipped iterations")) or 0
        nan = to_count(values.get(b"number of nan iterations")) or 0
        if skipped or nan:
            yield Tally(skipped=skipped, nan_iterations=nan)


def _fields(text: bytes) -> dict[bytes, float]:
    """Return the fields ``name: number`` between bars."""
    found = {}
    for part in text.split(b"|"):
        name, _, value = part.strip().partition(b": ")
        figure = parse_number(value.strip())
        if figure is not None:
            found[name] = figure
    return found


PARSER: type[FormatParser] = MegatronParser
