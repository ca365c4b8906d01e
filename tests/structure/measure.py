"""Figures of the structure: ``python -m tests.structure.measure [ROOT ...]``, a column a tree."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.structure.limits import LOOSE_DICT, count_loose_dicts
from tests.structure.names import SHARED_MODULE_NAMES
from tests.structure.source import (
    ROOT,
    circles,
    imports_at_load,
    imports_of,
    public_classes,
    read_modules,
)

LARGE = 300
"""Lines from which on a module is probably two."""

COMPLEXITY = 12
"""Cyclomatic complexity that a function may have, as in pyproject.toml."""


def measure(root: Path) -> dict[str, int]:
    """Return the figures of the tree at ``root``, by what they count."""
    modules = read_modules(root)
    names = {module.name for module in modules}
    classes = Counter(name for module in modules for name in set(public_classes(module)))
    stems = Counter(module.path.stem for module in modules)
    core = [module for module in modules if module.name.startswith("gpualert_common")]
    rooms: Counter[str] = Counter()
    for module in modules:
        package, *inner = module.name.split(".")
        room = f"{inner[0]}/" if inner and len(module.path.parts) > 2 else "top level"
        rooms[
            f"lines of {package}/{room}" if package == "gpualert_common" else f"lines of {package}"
        ] += module.lines
    figures = {
        "lines of the three packages": sum(module.lines for module in modules),
        "lines of gpualert_common": sum(module.lines for module in core),
        f"modules over {LARGE} lines": sum(module.lines > LARGE for module in modules),
        "lines of the largest module": max(module.lines for module in modules),
        f"functions over complexity {COMPLEXITY}": _complex_functions(root),
        "circles of imports, at load": len(
            circles({module.name: set(imports_at_load(module, names)) for module in modules})
        ),
        "circles of imports, with those for types": len(
            circles({module.name: set(imports_of(module, names)) for module in modules})
        ),
        f"{LOOSE_DICT} in gpualert_common": count_loose_dicts(root, modules),
        "names of public classes that occur twice": sum(n > 1 for n in classes.values()),
        "names of modules that occur more than twice": sum(
            n > 2 for stem, n in stems.items() if stem not in SHARED_MODULE_NAMES
        ),
        "lines of README.md": (root / "README.md").read_text().count("\n"),
        "lines of CONTRIBUTING.md": (root / "CONTRIBUTING.md").read_text().count("\n"),
    }
    return figures | dict(sorted(rooms.items()))


def _complex_functions(root: Path) -> int:
    """Count the functions above the limit, also where a comment excuses them from the check."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--ignore-noqa"]
    command += ["--select", "C901", "--config", f"lint.mccabe.max-complexity={COMPLEXITY}"]
    command += [
        "--output-format",
        "concise",
        "--exit-zero",
        "gpualert_common",
        "airflow_provider",
        "prefect_collection",
    ]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.count("C901")


def main(roots: list[str]) -> None:
    """Print one row for each figure and one column for each tree."""
    columns = [measure(Path(root)) for root in roots] or [measure(ROOT)]
    rows = list(dict.fromkeys(row for column in columns for row in column))
    width = max(map(len, rows))
    for row in rows:
        print(f"{row:{width}}", *(f"{column.get(row, '-'):>8}" for column in columns))


if __name__ == "__main__":
    main(sys.argv[1:])
