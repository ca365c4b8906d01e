"""A whole old log with all rules, compared with ripgrep and the same patterns."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

from gpualert_common.classify import load_rules
from tests.benchmarks.bench import ROOT, Bench
from tests.benchmarks.child import TRACEBACK
from tests.benchmarks.measure import Row, interleave
from tests.benchmarks.mixed_log import MB, write_mixed_log

OURS, RIPGREP = "gpualert classify", "ripgrep"
LEAST_OF_RIPGREP = 0.5
AT_ONCE = 8
"""Patterns of one search of ripgrep.  Of 1, 2, 4, 8, 16, 32 and 128, 8 and 16 took least."""

ASCII = {
    "w": "[[:word:]]",
    "W": "[[:^word:]]",
    "d": "[0-9]",
    "D": "[^0-9]",
    "s": "[[:space:]]",
    "S": "[[:^space:]]",
    "b": r"(?-u:\b)",
    "B": r"(?-u:\B)",
    **{quote: quote for quote in "'\"`"},
}
"""Escapes of RE2, which mean ASCII, as ripgrep writes them; it knows no escaped quotes."""

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
    """Measure MB/s of `gpualert classify`, with start and verdict, and of ripgrep."""
    row = Row("an old log of 1 GB, all rules: real logs, failures in the middle, several processes")
    size, sample_size = bench.amount(1000, 2) * MB, bench.amount(100, 1) * MB
    log, sample = bench.scratch / "old.log", bench.scratch / "sample.log"
    write_mixed_log(log, size)
    with log.open("rb") as whole:
        sample.write_bytes(whole.read(sample_size))
    classify = [bench.ours.program, "classify", "--json", "--exit-code", "1", str(log)]
    ways = {OURS: _speed(bench, [classify], log.stat().st_size)}
    ripgrep = shutil.which("rg")
    if ripgrep is not None:
        search = [ripgrep, "--count", "--text", "--file"]
        searches = [[*search, str(group), str(sample)] for group in _write_patterns(bench.notes)]
        # It exits with 1 where nothing matches.
        ways[RIPGREP] = _speed(bench, searches, sample_size, statuses=(0, 1))
    for name, speeds in interleave(ways, bench.amount(3, 1)).items():
        row.add(name, speeds, "MB/s")
    what = f"{LEAST_OF_RIPGREP} x ripgrep"
    if ripgrep is None:
        row.miss(what, "ripgrep is not installed; `make debian` installs it")
        return row
    ours, theirs = row.entries[OURS].median, row.entries[RIPGREP].median
    row.promise(what, ours, LEAST_OF_RIPGREP * theirs, "MB/s", at_least=True, base=theirs)
    version = subprocess.check_output([ripgrep, "--version"], text=True).splitlines()[0]
    row.notes.append(
        f"{version}: the first {sample_size // MB} MB, {AT_ONCE} patterns at a time, its best:"
        " all at once take more than 10 s for 1 MB"
    )
    return row


def measure_dense(bench: Bench) -> Row:
    """Measure MB/s of `gpualert classify` on logs in which every line is evidence."""
    row = Row("old logs of 64 MB that are full of evidence")
    size = bench.amount(64, 1) * MB
    ways = {}
    for name, block in DENSE.items():
        log = bench.scratch / f"{name}.log"
        log.write_bytes(block * (size // len(block)))
        command = [bench.ours.program, "classify", "--json", "--exit-code", "1", str(log)]
        ways[name] = _speed(bench, [command], size)
    for name, speeds in interleave(ways, bench.amount(3, 1)).items():
        spread = row.add(name, speeds, "MB/s")
        row.promise(name, spread.median, LEAST_DENSE, "MB/s", at_least=True)
    return row


def _write_patterns(folder: Path) -> list[Path]:
    """Write the patterns of all rules for ripgrep, so many to a file."""
    rules = [tomllib.loads(path.read_text()) for path in sorted((ROOT / "rules").glob("*.toml"))]
    found = [_translate(pattern["re"]) for rule in rules for pattern in rule.get("patterns", ())]
    files = []
    for start in range(0, len(found), AT_ONCE):
        files.append(folder / f"patterns-{start}")
        files[-1].write_text("\n".join(found[start : start + AT_ONCE]) + "\n")
    return files


def _translate(pattern: str) -> str:
    """Return a pattern of RE2 for ripgrep: names are unique there, and classes of Unicode."""
    unnamed = re.sub(r"\(\?P<\w+>", "(", pattern)
    return re.sub(r"\\(.)", lambda escape: ASCII.get(escape[1], escape[0]), unnamed)


def _speed(
    bench: Bench, commands: list[list[str]], size: int, *, statuses: tuple[int, ...] = (0,)
) -> Callable[[], float]:
    environment = bench.environment

    def run() -> float:
        began = time.perf_counter()
        for command in commands:
            done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL)
            if done.returncode not in statuses:
                raise RuntimeError(f"{command[0]} exits with {done.returncode}")
        return size / MB / (time.perf_counter() - began)

    return run
