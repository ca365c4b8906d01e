"""The log of the benchmark of scans."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from tests.benchmarks.mixed_log import MB, write_mixed_log

PREFIXED = re.compile(rb"^\[(?:rank|default)(\d)\]:", re.MULTILINE)


def test_same_seed_gives_the_same_log(tmp_path: Path) -> None:
    """And another seed another one."""
    for name, seed in (("one", 1), ("same", 1), ("other", 2)):
        write_mixed_log(tmp_path / name, 3 * MB, seed)
    one, same, other = ((tmp_path / name).read_bytes() for name in ("one", "same", "other"))
    assert one == same
    assert one != other
    assert 3 * MB <= len(one) < 5 * MB


def test_log_is_varied(tmp_path: Path) -> None:
    """It has failures in its middle, processes that write in turn, and few lines twice."""
    path = tmp_path / "log"
    write_mixed_log(path, 12 * MB)
    log = path.read_bytes()
    middle = log[len(log) // 3 : len(log) * 2 // 3]
    failures = re.findall(rb"(?:Error|error|Killed|FAILED)", middle)
    assert len(failures) > 5
    ranks = PREFIXED.findall(log)
    changes = sum(one != other for one, other in pairwise(ranks))
    assert len(set(ranks)) == 8
    assert changes > len(ranks) / 20
    lines = log.splitlines()
    assert len(set(lines)) > len(lines) / 2
