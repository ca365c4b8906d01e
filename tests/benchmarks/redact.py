"""Time to mask the tail of a log before it is sent."""

from __future__ import annotations

import time
from collections.abc import Callable

from gpualert_common.redact import Redactor
from tests.benchmarks.bench import Bench
from tests.benchmarks.child import LINE
from tests.benchmarks.measure import Row, interleave

MB = 1_000_000
MOST_S = 1.0
"""A channel waits longer than that anyway."""
SECRETS = (b" password=hunter2", b" hf_" + b"a1B2" * 9, b" https://user:hunter2@example.org/")


def measure(bench: Bench) -> Row:
    """Measure the seconds for 10 MB: with few secrets, with many, and without a line end."""
    row = Row("secrets masked in 10 MB")
    size = bench.amount(10, 1) * MB
    lines = [LINE.replace(b"120450", b"%06d" % number) for number in range(size // len(LINE))]
    few, many = lines.copy(), lines.copy()
    for number in range(0, len(lines), 9):
        many[number] = lines[number].rstrip() + SECRETS[number // 9 % len(SECRETS)] + b"\n"
    few[: len(SECRETS)] = many[: len(SECRETS) * 9 : 9]
    ways = {
        "few secrets": _seconds(b"".join(few)),
        "many secrets": _seconds(b"".join(many)),
        "one line": _seconds(b"".join(few).replace(b"\n", b" ")),
    }
    for name, seconds in interleave(ways, bench.amount(5, 1)).items():
        row.add(name, seconds, "s")
    row.promise("few secrets", row.entries["few secrets"].median, MOST_S, "s")
    return row


def _seconds(data: bytes) -> Callable[[], float]:
    def run() -> float:
        redactor = Redactor()
        began = time.perf_counter()
        redactor.mask_bytes(data)
        spent = time.perf_counter() - began
        assert redactor.found
        return spent

    return run
