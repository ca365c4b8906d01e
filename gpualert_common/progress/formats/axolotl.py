"""Axolotl: the Trainer of Transformers, told in its logger's lines.

Source: src/axolotl/train.py of its repository (axolotl-ai-cloud/axolotl), not run.  Steps and
losses are those of Transformers.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.progress.formats._interface import (
    Finding,
    FrameworkName,
    Hints,
    Parser,
    ProgressLine,
)
from gpualert_common.progress.model import Start, TrainingEndKind
from gpualert_common.regex import compile_bytes

_RESUMES = compile_bytes(
    rb"Using Auto-resume functionality to start with checkpoint at \S*?(?:-(\d{1,12}))?$"
)


class AxolotlParser(Parser):
    """What it says around the Trainer."""

    built_on = "transformers"
    hints = Hints(rare=rb"\[axolotl\.|Using Auto-resume functionality|Training [Cc]ompleted!")

    def read(self, line: ProgressLine) -> Iterator[Finding]:
        """What a line says."""
        if b"axolotl" in line.raw:
            yield FrameworkName()
        if found := _RESUMES.search(line.text):
            yield line.marker(Start.RESUMED, int(found[1]) if found[1] else None)
        elif b"ompleted!" in line.text:
            yield line.ending(TrainingEndKind.FINISHED)


PARSER: type[Parser] = AxolotlParser
