r"""Unsloth: the Trainer of Transformers behind a banner that has the number of steps.

Source: unsloth/models of its repository (unslothai/unsloth), not run; earlier releases have the
steps on the fourth line of the banner, later ones on the second: ``\\   /|    Num examples = 1,000
| Num Epochs = 1 | Total steps = 60``.
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
from gpualert_common.progress.pairs import parse_count
from gpualert_common.regex import compile_bytes

_EPOCHS = compile_bytes(rb"Num examples = [\d,]+ \| Num Epochs = ([\d,]+)")
_STEPS = compile_bytes(rb"\| Total steps = ([\d,]+)")


class UnslothParser(FormatParser):
    """Parser of its banner."""

    built_on = "transformers"
    hints = Hints(rare=rb"==\(\(====\)\)== +Unsloth|Num examples = [\d,]+ \||\| Total steps = ")

    def read(self, line: ProgressLine) -> Iterator[ParsedItem]:
        """Yield the items on *line*."""
        yield FrameworkName()
        if found := _EPOCHS.search(line.text):
            yield TrainingLength(total_epochs=parse_count(found[1]))
        if found := _STEPS.search(line.text):
            yield TrainingLength(total_steps=parse_count(found[1]))


PARSER: type[FormatParser] = UnslothParser
