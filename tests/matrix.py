"""``python -m tests.matrix``: the engines' packages on each version of an engine that they admit.

For each row it makes an environment with the packages that were current when that version came
out (an engine is rarely run with those of a year later), and runs the fast tests of our package,
and the tests of the engine's own operator with ours in its place.  The table in docs/versions.md is
made from what was seen; rows that are not run stay as they are.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "versions.md"
FOLDER = ROOT / ".venv-matrix"
MARK = "<!-- matrix -->"
NONE = "-"
SUMMARY = re.compile(r"(?:^|\s)(\d+) (passed|failed|error|errors)\b")
OURS = {"airflow": "airflow_provider", "prefect": "prefect_collection"}
ENGINES = {
    "airflow": (
        "apache-airflow",
        (
            *("apache-airflow-providers-standard==1.21.0", "apache-airflow-providers-celery"),
            *("apache-airflow-providers-postgres", "apprise==2.2.0", "celery<5.7"),
        ),
    ),
    "prefect": ("prefect", ("prefect-shell==0.3.7",)),
}
"""The distribution of each engine, and what the tests need next to it."""

TODAY = (
    *("apache-airflow-providers-common-compat", "apache-airflow-providers-standard", "apprise"),
    *("google-re2", "hatchling", "numpy", "prefect-shell", "pytest", "tomli"),
)
"""Packages that are never taken from the day of the engine: ours and the tests need newer ones."""


@dataclass(frozen=True)
class Row:
    """A version of an engine, on a version of Python.

    :ivar day: packages of the environment are no newer
    """

    engine: str
    version: str
    day: str
    python: str = "3.11"

    @property
    def name(self) -> str:
        """Return what the command line calls the row."""
        return f"{self.engine}-{self.version}-py{self.python}"


AIRFLOWS = (("3.1.8", "2026-03-25"), ("3.2.2", "2026-06-12"), ("3.3.2", "2026-10-01"))
PREFECTS = (
    *(("3.6.17", "2026-02-26"), ("3.7.7", "2026-07-08")),
    *(("3.7.8", "2026-07-23"), ("3.8.8", "2026-10-20")),
)
PYTHONS = ("3.11", "3.12", "3.13")
ROWS = tuple(
    Row(engine, version, day, python)
    for engine, versions in (("airflow", AIRFLOWS), ("prefect", PREFECTS))
    for version, day in versions
    for python in PYTHONS
)


def find_python(uv: str, version: str) -> str | None:
    """Return the interpreter of a version that this machine has, or None."""
    for path in (Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"):
        return str(path)
    done = subprocess.run([uv, "python", "find", version], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def make_environment(uv: str, row: Row, interpreter: str) -> Path:
    """Make the environment of a row; returns its interpreter."""
    place = FOLDER / row.name
    python = place / "bin" / "python"
    subprocess.run([uv, "venv", "--quiet", "--clear", "--python", interpreter, place], check=True)
    distribution, needed = ENGINES[row.engine]
    newest = [word for name in TODAY for word in ("--exclude-newer-package", f"{name}=2099-01-01")]
    command: list[str | Path] = [
        uv,
        "pip",
        "install",
        "--quiet",
        "--python",
        python,
        "--exclude-newer",
        row.day,
    ]
    command += [*newest, "--editable", ROOT, "--editable", ROOT / OURS[row.engine]]
    command += [f"{distribution}=={row.version}", *needed, "numpy>=2", "pytest==9.2.0"]
    subprocess.run(command, check=True)
    return python


def run_shown(command: list[str | Path], environment: Mapping[str, str]) -> tuple[int, str]:
    """Run a command, show its output; returns its exit status and output."""
    lines = []
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    return process.returncode, "".join(lines)


def read_summary(output: str) -> str:
    """Return the numbers of pytest's last line, as the table shows them."""
    summaries = [line for line in output.splitlines() if " in " in line and SUMMARY.search(line)]
    if not summaries:
        return "did not run"
    counts = {"passed": 0, "failed": 0}
    for number, kind in SUMMARY.findall(summaries[-1]):
        counts["passed" if kind == "passed" else "failed"] += int(number)
    failed = f", {counts['failed']} fail" if counts["failed"] else ""
    return f"{counts['passed']} pass{failed}"


def run_row(row: Row, python: Path) -> tuple[str, str]:
    """Run the fast tests and the upstream tests of a row; returns what the table says of them."""
    lane: list[str | Path] = [sys.executable, "-m", "tests.lane", row.name, "--", python]
    tests = ["-m", "pytest", "-p", "no:cacheprovider", "--allow-skips", f"tests/{row.engine}"]
    path = os.pathsep.join((str(ROOT), str(ROOT / OURS[row.engine])))
    # Plugins that come with an engine fit the pytest of its day, not ours.
    alone = {"PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    _, output = run_shown([*lane, *tests], alone)
    upstream: list[str | Path] = [sys.executable, "-m", "tests.upstream", f"--{row.engine}", python]
    status, shown = run_shown([*upstream, "--class", "gpualert"], {})
    passed = sum(map(int, re.findall(r"^gpualert +\S+ +(\d+) of", shown, re.M)))
    of = sum(map(int, re.findall(r"^gpualert +\S+ +\d+ of (\d+) passed", shown, re.M)))
    return read_summary(output), f"{passed} of {of}" if of else f"exit status {status}"


def read_table(text: str) -> Iterator[tuple[tuple[str, str, str], list[str]]]:
    """Yield the rows of the page's table, by engine, version and Python."""
    for line in text.split(MARK)[1].splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 6 and cells[0] in OURS:
            yield (cells[0], cells[1], cells[2]), cells


def write_table(seen: Mapping[Row, tuple[str, str]]) -> None:
    """Replace the rows of the page that were seen."""
    before, _, after = PAGE.read_text().split(MARK)
    rows = dict(read_table(PAGE.read_text()))
    for row, (tests, upstream) in seen.items():
        key = (row.engine, row.version, row.python)
        rows[key] = [*key, row.day, tests, upstream]
    order = [(row.engine, row.version, row.python) for row in ROWS]
    lines = [
        "| engine | version | Python | packages of | GPUAlert's tests | the engine's own tests |",
        "|---|---|---|---|---|---|",
        *("| " + " | ".join(rows.get(key, [*key, NONE, "not run", NONE])) + " |" for key in order),
    ]
    table = "\n".join(lines)
    PAGE.write_text(f"{before}{MARK}\n{table}\n{MARK}{after}")


def main() -> int:
    """Run the rows; return 1 if a test of one fails."""
    parser = argparse.ArgumentParser(description="Versions of the engines.")
    parser.add_argument("--uv", required=True, help="the program uv")
    parser.add_argument("--list", action="store_true", help="print the names of the rows")
    parser.add_argument("names", nargs="*", metavar="ROW", help="only these rows")
    options = parser.parse_args()
    rows = [row for row in ROWS if not options.names or row.name in options.names]
    if options.list:
        print(*(row.name for row in rows), sep="\n")
        return 0
    all_pass = bool(rows)
    for row in rows:
        interpreter = find_python(options.uv, row.python)
        if interpreter is None:
            print(f"[{row.name}] this machine has no Python {row.python}; the row is left as it is")
            continue
        try:
            found = run_row(row, make_environment(options.uv, row, interpreter))
        except subprocess.CalledProcessError:
            found = ("cannot be installed", NONE)
        write_table({row: found})
        print(f"[{row.name}] {found[0]}; the engine's own tests: {found[1]}", flush=True)
        all_pass &= re.fullmatch(r"\d+ pass", found[0]) is not None
    return 0 if all_pass else 1


if __name__ == "__main__":
    sys.exit(main())
