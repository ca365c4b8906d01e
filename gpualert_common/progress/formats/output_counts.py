"""Numbers of classes, and sizes of vocabularies, that any program or framework prints.

Sources: nanoGPT (``found vocab_size = 65``), Megatron-LM (``padded vocab (size: 50257) with 47
dummy tokens (new size: 50304)``, arguments with dots), configurations of Transformers as JSON,
namespaces of argparse, Keras (``Found 3670 files belonging to 5 classes.``).
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.progress.formats._interface import (
    FormatParser,
    Hints,
    ParsedItem,
    ProgressLine,
)
from gpualert_common.progress.pairs import parse_count
from gpualert_common.regex import compile_bytes

_NAMES = (
    rb"(?:(?:num|n|nb|number)(?: of|_of)?[ _](?:classes|labels|categories)"
    rb"|num(?:Classes|Labels)|(?:padded[ _])?vocab(?:ulary)?[ _]size|n_vocab|classes)"
)
_STATED = compile_bytes(
    rb"(?i:(?:^|[^\w.-])" + _NAMES + rb"['\"]?[ \t]*(?:\.{3,}|[:=])[ \t]*)(\d{1,7})(?:[^\w.]|\.?$)"
)
_BELONGING = compile_bytes(rb"\bbelonging to (\d{1,7}) classes\b")
_PADDED = compile_bytes(
    rb"padded vocab \(size: (\d{1,7})\) with \d+ dummy tokens \(new size: (\d{1,7})\)"
)


class OutputCountParser(FormatParser):
    """Parser without state; it has no steps."""

    hints = Hints(
        rare=rb"(?i:" + _NAMES + rb")['\"]?[ \t]*(?:\.{3,}|[:=])[ \t]*\d"
        rb"|belonging to \d+ classes|padded vocab \(size: \d"
    )

    def read(self, line: ProgressLine) -> Iterator[ParsedItem]:
        """Yield the items on *line*."""
        for form in (_STATED, _BELONGING, _PADDED):
            found = form.search(line.text)
            for digits in found.groups() if found else ():
                count = parse_count(digits)
                if count is not None and count > 1:
                    yield line.make_output_count(count)


PARSER: type[FormatParser] = OutputCountParser
