"""The check of names and limits finds each problem, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.structure.__main__ import main
from tests.structure.limits import LOOSE_DICT


def write(root: Path, files: dict[str, str]) -> None:
    """Write the modules and pages of a small tree."""
    for page in ("README.md", "CONTRIBUTING.md"):
        (root / page).write_text("")
    for name, text in files.items():
        path = root / name if name.endswith(".md") else root / "gpualert_common" / name
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
        ({"a.py": "def _masked() -> None: ...\n"}, "_masked is a participle"),
        ({f"{room}/words.py": "" for room in "abc"}, "words.py exists in"),
        ({"README.md": "\n" * 201}, "README.md has 201 lines"),
        ({"a.py": "\n" * 351}, "a.py has 351 lines"),
        (
            {f"{a}.py": f"from gpualert_common import {b}\n" for a, b in ("ab", "ba")},
            "import each other: gpualert_common.a, gpualert_common.b",
        ),
        ({"a.py": f"x: {LOOSE_DICT}\n" * 340, "b.py": f"x: {LOOSE_DICT}\n"}, "341 times dict"),
        ({"a.py": 'def f() -> None:\n    """What f does."""\n'}, "a.py:2: the docstring"),
    ],
    ids=[
        "class twice",
        "function",
        "class",
        "method",
        "field",
        "module",
        "participle",
        "module thrice",
        "long page",
        "long module",
        "circle",
        "loose dictionaries",
        "docstring",
    ],
)
def test_broken_rule(
    files: dict[str, str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A problem is printed with its file, and the status is 1."""
    write(tmp_path, files)
    assert main(tmp_path) == 1
    assert expected in capsys.readouterr().out


def test_good_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
