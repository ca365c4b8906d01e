"""Ordinary tools, run for real: the line of the tool says what failed, never its status alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gpualert_common.classify import load_rules, resolve, scan_file
from gpualert_common.model import EvidenceKind, ExitFacts

RULES = load_rules()

MISSING = {
    "grep": "grep fox words.txt",
    "tar": "tar xf data.tar",
    "cp": "cp best.yaml out.yaml",
    "ls": "ls train",
    "cat": "cat train.txt",
    "head": "head -n 3 list.txt",
    "sed": "sed s/a/b/ conf.yaml",
    "find": "find shards -name x",
    "mv": "mv old.pt new.pt",
    "sha256sum": "sha256sum model.bin",
    "sort": "sort scores.tsv",
    "a pipe": "set -o pipefail; cat scores.tsv | sort",
    "a script": "set -e; echo start; mkdir -p out; tail -n 1 metrics.csv; echo done",
}


def resolve_script(tmp_path: Path, script: str) -> tuple[str, float, EvidenceKind]:
    """Return cause, confidence and evidence of a script, from its real output and status."""
    log = tmp_path.with_suffix(".log")
    with log.open("wb") as out:
        done = subprocess.run(
            ["bash", "-c", script],
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
            timeout=60,
            check=False,
        )
    found = resolve([scan_file(log, RULES)], ExitFacts(done.returncode), RULES)
    return found.cause, found.confidence, found.explanation.evidence


@pytest.mark.parametrize("tool", MISSING)
def test_missing_file(tmp_path: Path, tool: str) -> None:
    """A tool that names a missing file speaks for it, whatever its status."""
    cause, _, evidence = resolve_script(tmp_path, MISSING[tool])
    assert (cause, evidence) == ("file_not_found", EvidenceKind.LINE)


@pytest.mark.parametrize("code", [1, 2, 3, 64, 75, 77, 78, 120, 255])
@pytest.mark.parametrize("words", ["", "echo preparing; "])
def test_status_alone(tmp_path: Path, words: str, code: int) -> None:
    """A status that any program may use names no cause."""
    cause, confidence, evidence = resolve_script(tmp_path, f"{words}exit {code}")
    assert (cause, evidence) == ("runtime_error", EvidenceKind.STATUS)
    assert confidence == 0.5


def test_status_and_unknown_words(tmp_path: Path) -> None:
    """Words about a failure that no rule knows make it likely that the cause is a better one."""
    script = "echo 'the flux capacitor cannot be found'; exit 3"
    cause, confidence, evidence = resolve_script(tmp_path, script)
    assert (cause, confidence, evidence) == ("runtime_error", 0.2, EvidenceKind.STATUS)


@pytest.mark.parametrize(
    ("code", "cause"), [(127, "command_not_found"), (124, "time_limit"), (126, "command_not_found")]
)
def test_status_by_convention(tmp_path: Path, code: int, cause: str) -> None:
    """A status that shells and timeout reserve has a meaning, but not beyond doubt."""
    found, confidence, _ = resolve_script(tmp_path, f"exit {code}")
    assert found == cause
    assert 0.5 <= confidence <= 0.8


def test_refused_option(tmp_path: Path) -> None:
    """A tool that prints its usage has refused its options."""
    log = tmp_path / "output.log"
    log.write_text("usage: train.py [-h] [--lr LR]\ntrain.py: error: unrecognized arguments: --x\n")
    found = resolve([scan_file(log, RULES)], ExitFacts(2), RULES)
    assert found.cause == "config"


def test_line_and_status_agree(tmp_path: Path) -> None:
    """A line of the shell and its status are two sources."""
    cause, confidence, evidence = resolve_script(tmp_path, "trian --lr 3")
    assert (cause, evidence) == ("command_not_found", EvidenceKind.SOURCES)
    assert confidence > 0.9
