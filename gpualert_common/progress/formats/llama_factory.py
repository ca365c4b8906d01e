"""LLaMA-Factory: the Trainer of Transformers with callbacks of its own.

Source: the callbacks and the training scripts of its repository (hiyouga/LLaMA-Factory,
src/llamafactory/train/callbacks.py), not run.  Its log file ``trainer_log.jsonl`` has the step in
each line: ``{"current_steps": 5, "total_steps": 100, "loss": 1.2, "lr": 5e-05, "epoch": 0.5,
...}``; with its web interface the same goes through a logger, as a dictionary without a step.
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
from gpualert_common.progress.pairs import collect_named, to_count
from gpualert_common.regex import compile_bytes

_RESUMES = compile_bytes(
    rb"(?:^|>> )Resuming (?:training )?from (?:checkpoint )?"
    rb"(\S+?)(?:-(\d{1,12}))?\.? *(?:$|Change )"
)


class LlamaFactoryParser(FormatParser):
    """Parser of its log file and of its lines before the Trainer starts."""

    built_on = "transformers"
    hints = Hints(
        steps=rb"\"current_steps\": \d",
        rare=rb"llamafactory\.[a-z_.]+[: ]|Resuming (?:training )?from ",
    )

    def read(self, line: ProgressLine) -> Iterator[ParsedItem]:
        """Yield the items on *line*."""
        if b"llamafactory" in line.raw:
            yield FrameworkName()
        if found := _RESUMES.search(line.text):
            step = int(found[2]) if found[2] else None
            yield line.make_checkpoint(CheckpointAction.LOADED, step, found[1])
            yield line.make_marker(Start.RESUMED, step)
        elif b"current_steps" in line.text:
            yield from self._read_log(line, collect_named(line.text))

    def _read_log(self, line: ProgressLine, values: dict[bytes, float]) -> Iterator[ParsedItem]:
        yield FrameworkName()
        if b"current_steps" not in values:
            return
        for key, phase in ((b"loss", Phase.TRAIN), (b"eval_loss", Phase.EVAL)):
            if key in values:
                yield line.make_point(
                    phase=phase,
                    step=to_count(values[b"current_steps"]),
                    total_steps=to_count(values.get(b"total_steps")),
                    epoch=values.get(b"epoch"),
                    loss=values[key],
                    learning_rate=values.get(b"lr", values.get(b"learning_rate")),
                    throughput=values.get(b"throughput"),
                    throughput_unit="tokens/s" if b"throughput" in values else None,
                )


PARSER: type[FormatParser] = LlamaFactoryParser
