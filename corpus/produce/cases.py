"""Programs of the corpus and their headers.

A header is TOML in comments, as in PEP 723::

    # /// case
    # cause = "shape_mismatch"
    # paper_class = "runtime_error"   # only where it does not follow from the cause
    # exit_code = 1                   # -n for signal n
    # ///
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

from corpus.errors import CorpusError

PROGRAMS = Path(__file__).parent
_HEADER = re.compile(r"^# /// case\n((?:^#(?:| .*)\n)+?)^# ///$", re.MULTILINE)
_COMMANDS = {".py": "python {program}", ".sh": "bash {program}"}
_RUN_AS = {".py": "train.py", ".sh": "job.sh"}


@dataclass(frozen=True, slots=True)
class Case:
    """One program: its label (``cause``, ``exit_code``) and how to run it.

    ``command`` has ``{program}`` for the program, which runs under a neutral name.
    ``environment`` names the virtual environment.  ``env`` adds variables.  ``stop`` sends a
    signal from outside when the log contains a text: {"signal": "KILL", "when": "step 3"}; with
    ``"pid": "leader"`` (the default) to the command, with "group" to its process group.
    ``needs`` lists requirements: "root", or a Debian package.
    """

    origin: str
    name: str
    file: Path
    cause: str
    exit_code: int
    command: str
    paper_class: str | None = None
    has_paper_class: bool = False
    environment: str = "torch"
    env: dict[str, str] = field(default_factory=dict)
    stop: dict[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    timeout_s: float = 120.0
    why: str = ""

    @property
    def run_as(self) -> str:
        """The name under which the program runs, which must not reveal the label."""
        return _RUN_AS[self.file.suffix]


def read_cases(selected: Sequence[str] = ()) -> list[Case]:
    """Return all programs, or those of the *selected* origins and ``origin/name``.

    Raises :class:`CorpusError` for a wrong header and for an unknown name.
    """
    found = [
        read_case(file)
        for file in sorted(PROGRAMS.glob("*/*"))
        if file.suffix in _COMMANDS and file.name != "__init__.py"
    ]
    if not selected:
        return found
    chosen = [one for one in found if {one.origin, f"{one.origin}/{one.name}"} & set(selected)]
    known = {one.origin for one in found} | {f"{one.origin}/{one.name}" for one in found}
    for name in selected:
        if name not in known:
            raise CorpusError(f"{name}: no such origin or program below {PROGRAMS.name}/")
    return chosen


def read_case(file: Path) -> Case:
    """Return the case in the header of *file*.  Raises :class:`CorpusError`."""
    match = _HEADER.search(file.read_text(encoding="utf-8"))
    place = f"{file.parent.name}/{file.name}"
    if match is None:
        raise CorpusError(f"{place}: no header between '# /// case' and '# ///'")
    text = "\n".join(line[2:] for line in match[1].splitlines())
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CorpusError(f"{place}: {error}") from error
    allowed = {one.name for one in fields(Case)} - {"origin", "name", "file", "has_paper_class"}
    for key in table:
        if key not in allowed:
            raise CorpusError(f"{place}: unknown key {key!r}")
    for key in ("cause", "exit_code"):
        if key not in table:
            raise CorpusError(f"{place}: {key} is missing")
    if "paper_class" in table:
        table |= {"has_paper_class": True, "paper_class": table["paper_class"] or None}
    table.setdefault("command", _COMMANDS[file.suffix])
    table["needs"] = tuple(table.get("needs", ()))
    return Case(origin=file.parent.name, name=file.stem, file=file, **table)
