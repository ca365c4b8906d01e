"""The check of names finds what it is there for, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.structure.names import main


def write(root: Path, files: dict[str, str]) -> None:
    """Write the modules of a small tree."""
    for name, text in files.items():
        path = root / "gpualert_common" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a.py": "class Run: ...\n", "b.py": "class Run: ...\n"}, "class Run is defined in"),
        ({"a.py": "def tell_late() -> None: ...\n"}, "tell_late contains 'tell'"),
        ({"a.py": "class Scribe: ...\n"}, "Scribe contains 'scribe'"),
        ({"a.py": "class Run:\n    def look(self) -> None: ...\n"}, "look contains 'look'"),
        ({"a.py": "class Run:\n    told_at: float\n"}, "told_at contains 'told'"),
        ({"lookout.py": ""}, "lookout contains 'lookout'"),
        ({f"{room}/words.py": "" for room in "abc"}, "words.py exists in"),
    ],
    ids=["class twice", "function", "class", "method", "field", "module", "module thrice"],
)
def test_bad_name(
    files: dict[str, str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name that breaks a rule is printed with its file, and the status is 1."""
    write(tmp_path, files)
    assert main(tmp_path) == 1
    assert expected in capsys.readouterr().out


def test_good_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Words that only contain a bad one, private classes and two modules of one name pass."""
    write(
        tmp_path,
        {
            "a/rules.py": "class Rule: ...\nclass _Row: ...\ndef lookup() -> None: ...\n",
            "b/rules.py": "class _Row: ...\nclass Storyteller: ...\n",
        },
    )
    assert main(tmp_path) == 0
    assert capsys.readouterr().out == ""
