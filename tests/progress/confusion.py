"""``python -m tests.progress.confusion``: what the logs of trainings are read as, as a table.

Rows are the kinds of the captured and the composed trainings, by the names of their folders.  A
training that only resumed, or began anew, is told by its start; the others by their verdict with
exit status 0.
"""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

from gpualert_common.classifier import RunClassifier
from gpualert_common.progress import determine_start
from gpualert_common.spec import EndFacts, Ending
from tests.progress.reading import folders, read_folder

KINDS = ("healthy", "resumed", "scratch", "nan", "undertrained")
HERE = Path(__file__).parent
PAGE = HERE / "confusion.md"


def read_as(folder: Path) -> str:
    """Return the start, and the cause of a failure or the health, that a log is read as."""
    classifier = RunClassifier()
    for log in sorted(folder.glob("*.log")):
        classifier.feed_stream(io.BytesIO(log.read_bytes()), log.name)
    ending = Ending(0.0)
    ending.code = 0
    verdict = classifier.conclude(ending, EndFacts())
    if verdict.cause != "none":
        return verdict.cause
    started = determine_start(read_folder(folder)).start
    few = any(one.kind == "few_steps" for one in verdict.warnings)
    return f"{started}, few steps" if few else str(started)


def count() -> Counter[tuple[str, str]]:
    """Return the number of logs by kind and by what they are read as."""
    found: Counter[tuple[str, str]] = Counter()
    for folder in (*folders("captured"), *folders("composed")):
        kind = next((kind for kind in KINDS if kind in folder.name.split("-")), "other")
        found[kind, read_as(folder)] += 1
    return found


def page() -> str:
    """Return the table in Markdown."""
    found = count()
    columns = sorted({read for _, read in found})
    rows = [f"| training | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    for kind in (*KINDS, "other"):
        cells = (str(found[kind, column] or ".") for column in columns)
        rows.append(f"| {kind} | {' | '.join(cells)} |")
    head = ["# Logs of trainings, and what they are read as", "", "Made by `confusion.py`.", ""]
    return "\n".join([*head, *rows, ""])


if __name__ == "__main__":
    PAGE.write_text(page())
    print(page())
