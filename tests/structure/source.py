"""The packages of the repository as syntax trees: what the checks of the structure read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

PACKAGES = {
    "gpualert_common": "gpualert_common",
    "gpualert_provider": "airflow_provider/gpualert_provider",
    "prefect_gpualert": "prefect_collection/prefect_gpualert",
}
"""Import name of each distribution's package, and its folder below the root."""


@dataclass(frozen=True, slots=True)
class Module:
    """One Python file of a package."""

    name: str
    path: Path
    tree: ast.Module
    lines: int


def read_modules(root: Path = ROOT) -> list[Module]:
    """Return every module of the three packages below ``root``, sorted by name."""
    found = []
    for package, folder in PACKAGES.items():
        for path in (root / folder).rglob("*.py"):
            inner = path.relative_to(root / folder).with_suffix("").parts
            name = ".".join((package, *(part for part in inner if part != "__init__")))
            text = path.read_text()
            found.append(Module(name, path.relative_to(root), ast.parse(text), text.count("\n")))
    return sorted(found, key=lambda module: module.name)


def imports_at_load(module: Module, names: set[str]) -> Iterator[str]:
    """Yield the modules out of ``names`` that a module imports when it is itself imported.

    Imports inside functions and below ``if TYPE_CHECKING`` do not count: they cannot fail while a
    circle of modules is half loaded.
    """
    pending: list[ast.stmt] = list(module.tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If):
            guarded = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
            pending += node.orelse if guarded else [*node.body, *node.orelse]
        elif isinstance(node, ast.Try):
            pending += [*node.body, *node.orelse, *node.finalbody]
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in names:
                    yield inner
                elif node.module in names:
                    yield node.module


def imports_of(module: Module, names: set[str]) -> Iterator[str]:
    """Yield the modules out of ``names`` that a module imports anywhere, also for types only."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in names:
                    yield inner
                elif node.module in names:
                    yield node.module


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import one another, each sorted (Tarjan, 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for target in graph[name]:
            if target not in index:
                visit(target)
                low[name] = min(low[name], low[target])
            elif target in stack:
                low[name] = min(low[name], index[target])
        if low[name] == index[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    for name in sorted(graph):
        if name not in index:
            visit(name)
    return found


def public_classes(module: Module) -> Iterator[str]:
    """Yield the names of a module's public classes."""
    for node in module.tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name


def defined_names(module: Module) -> Iterator[str]:
    """Yield the names that a module defines: its own, its classes, their members, its functions."""
    yield module.name.rpartition(".")[2]
    for node in module.tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            yield node.name
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield inner.name
                elif isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
                    yield inner.target.id


def defined_functions(module: Module) -> Iterator[str]:
    """Yield the name of each function and method; properties are attributes and do not count."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
            if not any("property" in decorator for decorator in decorators):
                yield node.name
