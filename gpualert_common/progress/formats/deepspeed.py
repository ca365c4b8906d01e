"""DeepSpeed's engine: steps, skipped steps and speed; the program itself prints the loss.

Sources: runs of DeepSpeed 0.19.8 (tests/progress/captured/deepspeed-*), which prints
all this only when its logger is at INFO, the default before 0.18; loss scaling and pipelines by
deepspeed/runtime/fp16/loss_scaler.py and runtime/pipe/engine.py of its repository.  After a resume
the timer's ``global_step`` counts from 0 again; ``step=`` does not.
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
from gpualert_common.progress.model import CheckpointAction, Point, Start, TrainingEndKind
from gpualert_common.progress.pairs import NUMBER, parse_count, parse_number
from gpualert_common.regex import compile_bytes
from gpualert_common.structs import replace

_STEP = compile_bytes(rb"step=(\d{1,12}), skipped=(\d{1,12}), lr=\[([^,\]]*)")
_SPEED = compile_bytes(rb"RunningAvgSamplesPerSec=[^,]*, CurrSamplesPerSec=([\d.e+-]+)")
_PIPELINE = compile_bytes(
    rb"^steps: (\d{1,12}) loss: (" + NUMBER + rb") iter time \(s\): ([\d.]+) samples/sec: ([\d.]+)"
)
_SAVED = compile_bytes(
    rb"(?:Saving model checkpoint: |\[Torch\] Saved )(\S*?global_step(\d{1,12})\S*?)\.?$"
)
_LOADED = compile_bytes(
    rb"\[Torch\] (?:End Load|Loaded) checkpoint from (\S*?global_step(\d{1,12})\S*?)\.*$"
)
_OVERFLOW = (b"OVERFLOW! ", b"Grad overflow on iteration")
_NOTHING = b"Unable to find latest file at "
_EXHAUSTED = b"Current loss scale already at minimum"


class DeepSpeedParser(FormatParser):
    """Parser that holds a step back for the next line, which has its speed."""

    hints = Hints(
        steps=rb"step=\d+, skipped=\d+, lr=|RunningAvgSamplesPerSec=|OVERFLOW! "
        rb"|Grad overflow on iter|steps: \d+ loss: [-\d.nai]+ iter time",
        rare=rb"DeepSpeed info: version=|Saving model checkpoint: "
        rb"|\[Torch\] (?:Saved|End Load|Loaded) |Unable to find latest file at "
        rb"|Current loss scale already at minimum",
    )

    def __init__(self) -> None:
        self._held: Point | None = None
        self._loaded: int | None = None

    def read(self, line: ProgressLine) -> Iterator[ParsedItem]:
        """Yield the items on *line*."""
        text = line.text
        if found := _STEP.search(text):
            yield from self.finish()
            yield FrameworkName()
            rate = parse_number(found[3])
            self._held = line.make_point(step=int(found[1]), learning_rate=rate)
            yield Tally(skipped_total=int(found[2]))
        elif found := _SPEED.search(text):
            if self._held is not None:
                rate = parse_number(found[1])
                self._held = replace(self._held, throughput=rate, throughput_unit="samples/s")
            yield from self.finish()
        elif any(word in text for word in _OVERFLOW):
            yield Tally(overflows=1)
        elif found := _PIPELINE.search(text):
            yield FrameworkName()
            yield line.make_point(
                step=int(found[1]),
                loss=parse_number(found[2]),
                step_s=parse_number(found[3]),
                throughput=parse_number(found[4]),
                throughput_unit="samples/s",
            )
        else:
            yield from self._read_words(line)

    def finish(self) -> Iterator[ParsedItem]:
        """Yield the held step."""
        if self._held is not None:
            held, self._held = self._held, None
            yield held

    def _read_words(self, line: ProgressLine) -> Iterator[ParsedItem]:
        text = line.text
        if b"DeepSpeed info: version=" in text:
            yield FrameworkName()
        elif found := _SAVED.search(text):
            yield line.make_checkpoint(CheckpointAction.SAVED, parse_count(found[2]), found[1])
        elif found := _LOADED.search(text):
            step = parse_count(found[2])
            if step != self._loaded:
                self._loaded = step
                yield line.make_checkpoint(CheckpointAction.LOADED, step, found[1])
                yield line.make_marker(Start.RESUMED, step)
        elif _NOTHING in text:
            yield line.make_marker(Start.FRESH)
        elif _EXHAUSTED in text:
            yield line.make_ending(TrainingEndKind.DIVERGED)


PARSER: type[FormatParser] = DeepSpeedParser
