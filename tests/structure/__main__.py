"""Check of names and limits: ``python -m tests.structure`` prints what breaks one."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.structure.limits import broken_limits
from tests.structure.names import bad_names
from tests.structure.source import ROOT, read_modules


def main(root: Path = ROOT) -> int:
    """Print a line for each problem of the tree; return 1 if there is any, else 0."""
    modules = read_modules(root)
    problems = [*bad_names(modules), *broken_limits(root, modules)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
