"""Axolotl: the Trainer of Transformers, with lines of its own logger.

Source: src/axolotl/train.py of its repository (axolotl-ai-cloud/axolotl), not run.  Steps and
losses are those of Transformers.
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
from gpualert_common.progress.model import Start, TrainingEndKind
from gpualert_common.regex import compile_bytes

_RESUMES = compile_bytes(
    rb"Using Auto-resume functionality to start with checkpoint at \S*?(?:-(\d{1,12}))?$"
)


class AxolotlParser(FormatParser):
    """Parser of the lines around the Trainer."""

    built_on = "transformers"
    hints = Hints(rare=rb"\[axolotl\.|Using Auto-resume functionality|Training [Cc]ompleted!")

    def read(self, line: ProgressLine) -> Iterator[ParsedItem]:
        """Yield the items on *line*."""
        if b"axolotl" in line.raw:
            yield FrameworkName()
        if found := _RESUMES.search(line.text):
            yield line.make_marker(Start.RESUMED, int(found[1]) if found[1] else None)
        elif b"ompleted!" in line.text:
            yield line.make_ending(TrainingEndKind.FINISHED)


PARSER: type[FormatParser] = AxolotlParser
