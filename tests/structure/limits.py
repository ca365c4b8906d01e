"""Limits of the structure: pages that a reader finishes, modules that fit a head, no circles."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.structure.source import Module, circles, imports_of

MOST_LINES_OF_PAGE = 200
"""Lines that a newcomer reads to the end."""

MOST_LINES_OF_MODULE = 350

MOST_LOOSE_DICTS = 102
"""Times that the core writes ``dict[str, Any]``; lower it when one of them becomes a class."""

LOOSE_DICT = "dict[str, Any]"

_PAGES = ("README.md", "CONTRIBUTING.md")

_FOLDERS = (
    "gpualert_common",
    "airflow_provider",
    "prefect_collection",
    "tests",
    "docs",
    "examples",
)

_CLAUSE_WORDS = ("How", "That", "What", "Where", "Whether", "Who", "Whoever")
"""First words of a docstring that describes a thing by a clause instead of naming it."""


def broken_limits(root: Path, modules: list[Module]) -> Iterator[str]:
    """Yield a sentence for each limit that the tree at ``root`` exceeds."""
    for page in _PAGES:
        lines = (root / page).read_text().count("\n")
        if lines > MOST_LINES_OF_PAGE:
            yield f"{page} has {lines} lines; the limit is {MOST_LINES_OF_PAGE}"
    for module in modules:
        if module.lines > MOST_LINES_OF_MODULE:
            yield f"{module.path} has {module.lines} lines; the limit is {MOST_LINES_OF_MODULE}"
    names = {module.name for module in modules}
    for circle in circles({module.name: set(imports_of(module, names)) for module in modules}):
        yield f"modules import each other: {', '.join(circle)}"
    loose = count_loose_dicts(root, modules)
    if loose > MOST_LOOSE_DICTS:
        yield f"gpualert_common has {loose} times {LOOSE_DICT}; the limit is {MOST_LOOSE_DICTS}"
    for folder in _FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            yield from _clauses(path, path.relative_to(root))


def count_loose_dicts(root: Path, modules: list[Module]) -> int:
    """Return how often the core has dictionaries whose keys no type names."""
    return sum(
        (root / module.path).read_text().count(LOOSE_DICT)
        for module in modules
        if module.name.startswith("gpualert_common")
    )


def _clauses(path: Path, name: Path) -> Iterator[str]:
    """Yield a sentence for each docstring that begins with a clause."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, kinds):
            continue
        words = (ast.get_docstring(node) or "").split(None, 1)
        if words and words[0].rstrip(",'") in _CLAUSE_WORDS:
            line = node.body[0].lineno
            yield f"{name}:{line}: the docstring begins with {words[0]!r}; say what the thing is"
