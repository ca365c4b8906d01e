"""A flow whose training prints 200,000 lines: TrainingOperation compared with ShellOperation.

The wall time is that of ``python flow.py`` against a real server, from its start to its exit, for
which Prefect sends all log records first.  Each thousandth line is a warning, and a round counts
only when the server has them all.  ShellOperation takes minutes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

from tests.benchmarks.engine import report
from tests.benchmarks.measure import Row

BLOCKS = ("TrainingOperation", "ShellOperation")
LINES = 200_000
EVERY = 1000
FASTER = 50.0
MOST_S = 3600
PAGE = 200

_CHILD = """
for n in range({lines}):
    if n % {every} == 7:
        print(f"WARNING: gradient overflow at step {{n}}")
    else:
        print(f"step {{n:06d}} loss {{1 / (n + 1):.6f}} lr 0.0003")
"""

_FLOW = """
import sys
from prefect import flow
from prefect.context import get_run_context

@flow
def flood():
    if {block!r} == "ShellOperation":
        from prefect_shell import ShellOperation as Block
    else:
        from prefect_gpualert import TrainingOperation as Block
    print(get_run_context().flow_run.id, flush=True)
    assert len(Block(commands=["{python} {child}"]).run()) == {lines}

flood()
"""


def measure(home: Path, rounds: int) -> Row:
    """Measure the wall time of both, and the ratio."""
    from tests.faults.prefect import deployment

    child = home / "child.py"
    child.write_text(_CHILD.format(lines=LINES, every=EVERY))
    for block in BLOCKS:
        given = {"block": block, "python": sys.executable, "child": child, "lines": LINES}
        (home / f"{block}.py").write_text(_FLOW.format(**given))
    found: dict[str, list[float]] = {block: [] for block in BLOCKS}
    with deployment.server(home) as (url, _process):
        for _ in range(rounds):
            for block in BLOCKS:
                found[block].append(_run(home, url, block))
    row = Row(f"Prefect: a flow whose training prints {LINES:,} lines, to its exit")
    for block, samples in found.items():
        row.add(block, samples, "s")
    ours, theirs = (row.entries[block].median for block in BLOCKS)
    row.promise("times less", theirs / ours, FASTER, "x", at_least=True, base=1)
    return row


def _run(home: Path, url: str, block: str) -> float:
    from tests.faults.prefect import deployment

    env = deployment.environment(home, PREFECT_API_URL=url, GPUALERT_STATE_DIR=str(home / "state"))
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(home / f"{block}.py")],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=MOST_S,
        check=True,
    )
    took_s = time.monotonic() - began
    count = _warnings(url, done.stdout.split()[0])
    assert count == LINES // EVERY, f"{block}: {count} of {LINES // EVERY} warnings at the server"
    return took_s


def _warnings(url: str, flow_run_id: str) -> int:
    """Return the number of them in the log of a flow run."""
    found = 0
    offset = 0
    while True:
        page = _records(url, flow_run_id, offset)
        found += sum(str(record["message"]).count("WARNING: gradient") for record in page)
        if len(page) < PAGE:
            return found
        offset += PAGE


def _records(url: str, flow_run_id: str, offset: int) -> list[Any]:
    asked = {
        "logs": {"flow_run_id": {"any_": [flow_run_id]}},
        "limit": PAGE,
        "offset": offset,
        "sort": "TIMESTAMP_ASC",
    }
    request = urllib.request.Request(
        f"{url}/logs/filter",
        data=json.dumps(asked).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=120) as answer:
        records: list[Any] = json.load(answer)
    return records


if __name__ == "__main__":
    report(measure)
