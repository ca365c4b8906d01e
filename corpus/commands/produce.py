"""``python -m corpus produce``: the logs of programs that really fail.

With ``--check`` nothing is kept: the result of each program is compared with its entry (drift).
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from corpus.entries import (
    CORPUS,
    CorpusEntry,
    Provenance,
    log_path,
    read_origin,
    require_valid,
    write_origin,
)
from corpus.produce.cases import Case, read_cases
from corpus.produce.runner import ProgramResult, RequirementError, list_versions, run_case
from gpualert_common.diagnose.paper_classes import find_paper_class

_WRONG = "WRONG: "
_TAIL_LINES = 12


def run(options: argparse.Namespace) -> int:
    """Run the programs; 1 if one of them does not end as its header says."""
    wrong = 0
    for case in read_cases(options.selected):
        report = _run_program(case, check=options.check)
        wrong += report.startswith(_WRONG)
        print(f"{case.origin}/{case.name}: {report}", flush=True)
    return 1 if wrong else 0


def _run_program(case: Case, *, check: bool) -> str:
    """Run one program and keep or compare its log; returns a report of it."""
    try:
        with tempfile.TemporaryDirectory(prefix="corpus-") as scratch:
            result = run_case(case, Path(scratch))
    except RequirementError as error:
        return f"left out: {error}"
    except ValueError as error:
        return f"{_WRONG}{error}"
    if result.timed_out:
        return f"{_WRONG}still running after {case.timeout_s:.0f} s"
    if result.exit_code != case.exit_code:
        expected = f"the header says {case.exit_code}"
        return f"{_WRONG}exit status {result.exit_code}, {expected}\n{_format_tail(result.log)}"
    try:
        entry = _make_entry(case, result)
    except ValueError as error:
        return f"{_WRONG}{error}"
    if check:
        return _describe_drift(entry, result)
    _remove_stale_logs(case.origin)
    kept = {one.name: one for one in read_origin(CORPUS, case.origin)}
    kept[case.name] = entry
    write_origin(CORPUS, case.origin, kept.values())
    log_path(CORPUS, entry).write_bytes(result.log)
    size = f"{len(result.log)} bytes, {result.duration_s:.1f} s"
    return f"{case.cause}, {result.exit_code}, {size}"


def _remove_stale_logs(origin: str) -> None:
    """Remove the entries and logs of programs that no longer exist."""
    entries = read_origin(CORPUS, origin)
    current = [one for one in entries if (CORPUS / one.source).exists()]
    for one in entries:
        if one not in current:
            log_path(CORPUS, one).unlink(missing_ok=True)
    write_origin(CORPUS, origin, current)


def _make_entry(case: Case, result: ProgramResult) -> CorpusEntry:
    """Return the entry of a log.  Raises ValueError for a wrong label."""
    return require_valid(
        CorpusEntry(
            origin=case.origin,
            name=case.name,
            cause=case.cause,
            paper_class=case.paper_class if case.has_paper_class else find_paper_class(case.cause),
            exit_code=result.exit_code,
            provenance=Provenance.RAN_ON_CPU,
            source=f"produce/{case.origin}/{case.file.name}",
            command=case.command.format(program=case.run_as),
            versions=list_versions(case),
            why=case.why,
        )
    )


def _describe_drift(entry: CorpusEntry, result: ProgramResult) -> str:
    """Return the differences from the entry in the corpus: label, versions, share of the lines."""
    kept = {one.name: one for one in read_origin(CORPUS, entry.origin)}.get(entry.name)
    if kept is None or not log_path(CORPUS, kept).exists():
        return f"{_WRONG}not in the corpus yet"
    for field, old, new in (
        ("cause", kept.cause, entry.cause),
        ("paper_class", kept.paper_class, entry.paper_class),
    ):
        if old != new:
            return f"{_WRONG}{field} {old} in the corpus, {new} in the program"
    lines = set(log_path(CORPUS, kept).read_bytes().split(b"\n"))
    share = len(lines & set(result.log.split(b"\n"))) / max(1, len(lines))
    versions = "".join(
        f"; {name} {kept.versions.get(name)} -> {new}"
        for name, new in entry.versions.items()
        if kept.versions.get(name) != new
    )
    return f"same end, {share:.0%} of the lines{versions}"


def _format_tail(log: bytes) -> str:
    lines = log.decode("utf-8", "replace").splitlines()[-_TAIL_LINES:]
    return "\n".join(f"    | {line}" for line in lines)
