"""A whole old log with all rules, compared with ripgrep and the same patterns."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

from gpualert_common.classify import load_rules
from tests.benchmarks.bench import ROOT, Bench
from tests.benchmarks.child import LINE, TRACEBACK
from tests.benchmarks.measure import Row, interleave

MB = 1_000_000
SEED = 20261120
LEAST_DENSE = 20.0
DENSE = {
    "CUDA out of memory": b"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n",
    "tracebacks": TRACEBACK,
    "NCCL warnings": b"node1:7:8 [0] NCCL WARN Call to connect returned Connection refused\n",
    "Killed": b"Killed\n",
    "samples of all rules": "".join(
        line + "\n"
        for rule in load_rules(samples=True)
        for samples in rule.samples.values()
        for line in samples.hits
    ).encode(),
}
"""Lines of which a log consists."""


def measure(bench: Bench) -> Row:
    """Measure MB/s of `gpualert classify`, with start and verdict, and of ripgrep if it is
    installed."""
    row = Row("6. an old log of 1 GB, all rules")
    size = bench.amount(1000, 4) * MB
    log = bench.scratch / "old.log"
    _write_log(log, size)
    patterns = bench.notes / "patterns"
    patterns.write_text("\n".join(_patterns()) + "\n")
    classify = [bench.ours.program, "classify", "--json", "--exit-code", "1", str(log)]
    ways = {"gpualert classify": _speed(bench, classify, size)}
    ripgrep = shutil.which("rg")
    if ripgrep is not None:
        count = [ripgrep, "--count", "--text", "--file", str(patterns), str(log)]
        ways["ripgrep"] = _speed(bench, count, size)
    for name, speeds in interleave(ways, bench.amount(3, 1)).items():
        row.add(name, speeds, "MB/s")
    if ripgrep is not None:
        ours, theirs = row.entries["gpualert classify"].median, row.entries["ripgrep"].median
        row.promise("0.5 x ripgrep", ours, theirs / 2, "MB/s", at_least=True)
    else:
        row.notes.append("there is no rg on this machine to compare with")
    return row


def measure_dense(bench: Bench) -> Row:
    """Measure MB/s of `gpualert classify` on logs in which every line is evidence."""
    row = Row("7. old logs of 64 MB that are full of evidence")
    size = bench.amount(64, 1) * MB
    ways = {}
    for name, block in DENSE.items():
        log = bench.scratch / f"{name}.log"
        log.write_bytes(block * (size // len(block)))
        command = [bench.ours.program, "classify", "--json", "--exit-code", "1", str(log)]
        ways[name] = _speed(bench, command, size)
    for name, speeds in interleave(ways, bench.amount(3, 1)).items():
        spread = row.add(name, speeds, "MB/s")
        row.promise(name, spread.median, LEAST_DENSE, "MB/s", at_least=True)
    return row


def _write_log(path: Path, size: int) -> None:
    """Write a log of a repeated megabyte of different lines, and a failure at the end."""
    draw = random.Random(SEED)
    lines = [
        LINE.replace(b"120450", b"%06d" % number).replace(b"2.3417", b"%.4f" % draw.uniform(1, 9))
        for number in range(MB // len(LINE))
    ]
    block = b"".join(lines)
    with path.open("wb") as log:
        for _ in range(size // len(block)):
            log.write(block)
        log.write(TRACEBACK)


def _patterns() -> list[str]:
    rules = [tomllib.loads(path.read_text()) for path in sorted((ROOT / "rules").glob("*.toml"))]
    found = [pattern["re"] for rule in rules for pattern in rule.get("patterns", ())]
    # ripgrep wants names to be unique over all patterns, and knows no \'.
    return [re.sub(r"\(\?P<\w+>", "(", pattern).replace("\\'", "'") for pattern in found]


def _speed(bench: Bench, command: list[str], size: int) -> Callable[[], float]:
    environment = bench.environment

    def run() -> float:
        began = time.perf_counter()
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
        return size / MB / (time.perf_counter() - began)

    return run
