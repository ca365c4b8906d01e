"""Run the programs and keep their logs: ``python -m corpus.produce [--check] [ORIGIN[/NAME] ...]``.

Each program runs alone in an empty directory, with stdout and stderr in one file.  With
``--check`` nothing is kept: what the programs do now is compared with the entries (drift).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from corpus.produce.cases import Case, cases
from corpus.produce.running import NotHereError, Ran, run_case, versions_of
from gpualert_common.corpus.entries import (
    Entry,
    Provenance,
    entry_of,
    log_path,
    read_origin,
    write_origin,
)
from gpualert_common.errors import CorpusError

CORPUS = Path(__file__).resolve().parent.parent


def main(arguments: list[str] | None = None) -> int:
    """The exit status: 0 when every program ended as its header says, 1 when one did not."""
    parser = argparse.ArgumentParser(prog="python -m corpus.produce", description=__doc__)
    parser.add_argument("selected", nargs="*", metavar="ORIGIN[/NAME]")
    parser.add_argument("--check", action="store_true", help="keep nothing, report drift")
    asked = parser.parse_args(arguments)
    wrong = 0
    for case in cases(asked.selected):
        said = _produce(case, check=asked.check)
        wrong += said.startswith("WRONG")
        print(f"{case.origin}/{case.name}: {said}", flush=True)
    return 1 if wrong else 0


def _produce(case: Case, *, check: bool) -> str:
    try:
        with tempfile.TemporaryDirectory(prefix="corpus-") as scratch:
            ran = run_case(case, Path(scratch))
    except NotHereError as error:
        return f"left out: {error}"
    except ValueError as error:
        return f"WRONG: {error}"
    if ran.timed_out:
        return f"WRONG: not over after {case.timeout_s:.0f} s"
    if ran.exit_code != case.exit_code:
        return f"WRONG: exit status {ran.exit_code}, the header says {case.exit_code}\n{_end(ran)}"
    try:
        entry = _entry(case, ran)
    except ValueError as error:
        return f"WRONG: {error}"
    if check:
        return _drift(entry, ran)
    _forget_what_is_gone(case.origin)
    kept = {one.name: one for one in read_origin(CORPUS, case.origin)}
    kept[case.name] = entry
    write_origin(CORPUS, case.origin, kept.values())
    log_path(CORPUS, entry).write_bytes(ran.log)
    return f"{case.cause}, {ran.exit_code}, {len(ran.log)} bytes, {ran.duration_s:.1f} s"


def _forget_what_is_gone(origin: str) -> None:
    """Drop entries and logs of programs that are no longer there."""
    entries = read_origin(CORPUS, origin)
    there = [one for one in entries if (CORPUS / one.source).exists()]
    for one in entries:
        if one not in there:
            log_path(CORPUS, one).unlink(missing_ok=True)
    write_origin(CORPUS, origin, there)


def _entry(case: Case, ran: Ran) -> Entry:
    given = {"paper_class": case.paper_class} if case.has_paper_class else {}
    return entry_of(
        case.origin,
        {
            "name": case.name,
            "cause": case.cause,
            "exit_code": ran.exit_code,
            "provenance": Provenance.RAN_ON_CPU,
            "source": f"produce/{case.origin}/{case.file.name}",
            "command": case.command.format(program=case.run_as),
            "versions": versions_of(case),
            "why": case.why,
            **given,
        },
    )


def _drift(entry: Entry, ran: Ran) -> str:
    """What differs from the entry that is kept: label, versions, and how much of the text."""
    kept = {one.name: one for one in read_origin(CORPUS, entry.origin)}.get(entry.name)
    if kept is None or not log_path(CORPUS, kept).exists():
        return "WRONG: not in the corpus yet"
    before = log_path(CORPUS, kept).read_bytes()
    common = set(before.split(b"\n")) & set(ran.log.split(b"\n"))
    share = len(common) / max(1, len(set(before.split(b"\n"))))
    changed = [f"{name} {kept.versions.get(name)} -> {new}" for name, new in entry.versions.items()
               if kept.versions.get(name) != new]  # fmt: skip
    for field in ("cause", "paper_class"):
        old, new = getattr(kept, field), getattr(entry, field)
        if old != new:
            return f"WRONG: {field} {old} in the corpus, {new} in the program"
    return f"same end, {share:.0%} of the lines{'; ' if changed else ''}{', '.join(changed)}"


def _end(ran: Ran) -> str:
    lines = ran.log.decode("utf-8", "replace").splitlines()[-12:]
    return "\n".join(f"    | {line}" for line in lines)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CorpusError as error:
        sys.exit(f"corpus: {error}")
