"""NVIDIA NeMo: 1.x with Lightning's bar, 2.x with lines of its own.

Sources: the documentation and the code of its repository (NVIDIA/NeMo: nemo/utils/exp_manager.py,
nemo/lightning/pytorch/callbacks/progress_printer.py), not run.  The step is ``global_step``, from
0: ``Training epoch 0, iteration 17/99 | lr: 2.699e-06 | global_batch_size: 128 | global_step: 17 |
reduced_train_loss: 11.03 | train_step_timing in s: 12.64``.
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
from gpualert_common.progress.model import CheckpointAction, Phase, Start
from gpualert_common.progress.pairs import collect_named, find_losses, parse_count, to_count
from gpualert_common.regex import compile_bytes

_LINE = compile_bytes(rb"^Training epoch (\d{1,12}), iteration (\d{1,12})/(\d{1,12}) \| (.*)")
_SAVED = compile_bytes(
    rb"Async checkpoint save for step (\d{1,12}) (?:\((\S+)\) )?finalized successfully"
)
_RESUMES = compile_bytes(rb"^Resuming from (\S+)")
_NOTHING = b"There were no checkpoints found in checkpoint_dir"


class NemoParser(FormatParser):
    """Parser of both generations."""

    hints = Hints(
        steps=rb"Training epoch \d+, iteration \d+/\d+ \|",
        rare=rb"\[NeMo [IWED] |Async checkpoint save for step |There were no checkpoints found in",
        bars=True,
    )

    def __init__(self) -> None:
        self._evaluated: float | None = None

    def read(self, line: ProgressLine) -> Iterator[ParsedItem]:
        """Yield the items on *line*."""
        text = line.text
        if line.bar is not None and b"reduced_train_loss=" in line.bar.rest:
            yield FrameworkName()
            yield from self._read_step(line, None, line.bar.total, collect_named(line.bar.rest))
        if found := _LINE.search(text):
            yield FrameworkName()
            values = collect_named(found[4])
            values.setdefault(b"global_step", float(found[2]))
            yield from self._read_step(line, float(found[1]), int(found[3]) + 1, values)
        elif found := _SAVED.search(text):
            yield line.make_checkpoint(CheckpointAction.SAVED, parse_count(found[1]), found[2])
        elif _NOTHING in text:
            yield FrameworkName()
            yield line.make_marker(Start.FRESH)
        elif b"[NeMo " in line.raw:
            yield FrameworkName()
            if found := _RESUMES.search(text):
                yield line.make_checkpoint(CheckpointAction.LOADED, None, found[1])
                yield line.make_marker(Start.RESUMED)

    def _read_step(
        self, line: ProgressLine, epoch: float | None, total: int | None, values: dict[bytes, float]
    ) -> Iterator[ParsedItem]:
        _, train, evaluation = find_losses(values.items())
        step = values.get(b"global_step")
        at = to_count(step)
        yield line.make_point(
            step=at,
            total_steps=total,
            epoch=epoch,
            loss=train,
            learning_rate=values.get(b"lr"),
            grad_norm=values.get(b"grad_norm"),
            step_s=values.get(b"train_step_timing in s"),
        )
        if evaluation is not None and repr(evaluation) != repr(self._evaluated):
            self._evaluated = evaluation
            yield line.make_point(phase=Phase.EVAL, step=at, epoch=epoch, loss=evaluation)


PARSER: type[FormatParser] = NemoParser
