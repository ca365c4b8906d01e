"""Known vulnerabilities of the packages in an environment, as pip-audit finds them.

``python -m tests.structure.audit PIP-AUDIT`` checks the packages of the Python that runs it,
without the installers that every environment has.  It fails for a vulnerability that ``ACCEPTED``
does not list.  Where the advisories cannot be read it says so and does not fail, since nothing is
known then.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

ACCEPTED: Mapping[str, str] = {}
"""Vulnerabilities that do not concern us, by their id, with the reason."""
CACHE = Path(__file__).parents[2] / ".cache" / "pip-audit"
INSTALLERS = frozenset(("pip", "setuptools", "uv"))


def list_requirements() -> list[str]:
    """Return each installed package with its exact version; not our own, nor installers."""
    found = {one.metadata["Name"].lower(): one.version for one in distributions()}
    return sorted(
        f"{name}=={version}"
        for name, version in found.items()
        if name not in INSTALLERS and "gpualert" not in name
    )


def summarize(report: Mapping[str, Any]) -> tuple[list[str], int, int]:
    """Return the lines of a report's vulnerabilities, and the numbers of (un)checked packages."""
    problems = []
    skipped = 0
    for package in report["dependencies"]:
        skipped += "skip_reason" in package
        for found in package.get("vulns", ()):
            if found["id"] not in ACCEPTED:
                fixed = ", ".join(found["fix_versions"]) or "no version"
                problems.append(
                    f"{package['name']} {package['version']}: {found['id']}, fixed in {fixed}"
                )
    return problems, len(report["dependencies"]) - skipped, skipped


def main(pip_audit: str) -> int:
    """Print a line for each vulnerability; return 1 if there is any, else 0."""
    with tempfile.TemporaryDirectory() as folder:
        requirements = Path(folder, "requirements.txt")
        requirements.write_text("\n".join(list_requirements()))
        command = (pip_audit, "--no-deps", "--disable-pip", "--progress-spinner", "off")
        places = ("--cache-dir", str(CACHE), "--requirement", str(requirements))
        done = subprocess.run(
            (*command, "--format", "json", *places),
            capture_output=True,
            text=True,
        )
    try:
        problems, checked, skipped = summarize(json.loads(done.stdout))
    except ValueError:  # it prints no report where the service does not answer
        print(f"pip-audit: not checked: {done.stderr.strip().splitlines()[-1:]}")
        return 0
    print(f"pip-audit: {checked} packages checked; no advisories to be had for {skipped}")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
