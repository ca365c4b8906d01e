"""``python -m tests.faults.page``: the tables of docs/faults.md, from the figures in ``.bench``.

``make fault-tables`` first runs every row with the engines' own operators next to ours.  A table
is between ``<!-- faults: NAME -->`` and ``<!-- end -->``; the other text is written by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "faults.md"
FIGURES = ROOT / ".bench"
BLOCK = re.compile(r"(?<=<!-- faults: )(?P<name>\w+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)

LOCAL, CELERY = "LocalExecutor", "CeleryExecutor"
OURS, THEIRS = "GPUAlertOperator", "BashOperator"

OF_BOTH = {
    "runner_killed": "task process SIGKILLed",
    "mapped": "the same to one index of a mapped task",
    "runner_killed_last_try": "the same in the last try",
    "runner_killed_no_adoption": "the same with `adopt_within=0`",
    "worker_killed": "task process and worker SIGKILLed",
    "worker_killed_result_waits": "the same, and the training ends before try 2",
    "supervisor_killed": "process that supervises the task SIGKILLed, not the task process",
    "drained": "drained",
    "drained_saves_and_exits_0": "drained, the training saves and exits 0",
    "drained_deaf": "drained, the training ignores SIGTERM",
    "marked_failed": "marked failed",
    "marked_failed_deaf": "marked failed, the training ignores SIGTERM",
    "timeout": "`execution_timeout`",
    "timeout_saves_and_exits_0": "`execution_timeout`, the training saves and exits 0",
    "timeout_deaf": "`execution_timeout`, the training ignores SIGTERM",
    "cleared_while_running": "cleared while it runs",
    "cleared_after_success": "cleared after success",
    "api_server_away": "API server restarted",
}
OF_CELERY = {
    "drained_warm": "SIGTERM to the worker (warm shutdown)",
    "drained_remapped": "SIGTERM to a worker with `REMAP_SIGTERM=SIGQUIT`",
    "redelivered": "message of a running task delivered again (visibility timeout)",
    "worker_killed_redelivered": "worker SIGKILLed, message delivered again before Airflow misses"
    " the task",
    "worker_killed_elsewhere": "worker SIGKILLed, try 2 on another host, shared state directory",
    "worker_killed_elsewhere_no_shared_disk": "the same, nothing shared, `adopt_within=10`",
    "host_lost": "the worker's host or container ends, shared state directory",
    "broker_away": "Redis restarted",
}

Case = Mapping[str, Any]


def main() -> None:
    """Write the tables into the page."""
    cases = {executor: _airflow_cases(executor) for executor in (LOCAL, CELERY)}
    outcomes = json.loads((FIGURES / "prefect-faults.json").read_text())["outcomes"]
    tables = {
        "airflow": airflow_table(OF_BOTH, cases),
        "celery": airflow_table(OF_CELERY, {CELERY: cases[CELERY]}),
        "prefect": prefect_table(outcomes),
    }
    text = PAGE.read_text()
    PAGE.write_text(BLOCK.sub(lambda block: f"{block['name']} -->\n{tables[block['name']]}", text))


def _airflow_cases(executor: str) -> list[Case]:
    cases = json.loads((FIGURES / f"airflow-faults.{executor}.json").read_text())["cases"]
    played, titled = {case["row"] for case in cases}, {*OF_BOTH, *OF_CELERY}
    if executor == LOCAL:
        titled -= OF_CELERY.keys()
    if played != titled:
        raise SystemExit(f"{executor}: these rows lack a title or figures: {played ^ titled}")
    return list(cases)


def airflow_table(rows: Mapping[str, str], cases: Mapping[str, Sequence[Case]]) -> str:
    """Return the table of these rows: a column for each operator."""
    lines = [f"| fault | {OURS} | {THEIRS} |", "|---|---|---|"]
    for row, title in rows.items():
        cells = [_cell_of_executors(row, operator, cases) for operator in (OURS, THEIRS)]
        lines.append(" | ".join((f"| {title}", *cells)) + " |")
    return "\n".join(lines) + "\n"


def _cell_of_executors(row: str, operator: str, cases: Mapping[str, Sequence[Case]]) -> str:
    """Return the outcome of a row, once for all executors where they agree."""
    texts = {}
    for executor, played in cases.items():
        found = [case for case in played if (case["row"], case["operator"]) == (row, operator)]
        texts[executor] = "; ".join(dict.fromkeys(airflow_outcome(case) for case in found))
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return "<br>".join(f"{executor}: {text}" for executor, text in texts.items())


def airflow_outcome(case: Case) -> str:
    """Return the outcome of one task in words; what must not happen stands out."""
    if case["problem"]:
        return f"**{case['problem']}**"
    words = [f"{case['state']} in try {case['tries']}"]
    if case["index"] >= 0:
        words[0] = f"index {case['index']}: {words[0]}"
    if case["returned"]:
        words.append(str(case["returned"]))
    if case["trainings"] > 1:
        words.append(f"{case['trainings']} trainings")
    if case["most_at_once"] > 1:
        words.append(f"**{case['most_at_once']} at once**")
    if case["left_alive"]:
        words.append(f"**{_processes(case['left_alive'])} left**")
    if case["lines_lost"]:
        words.append("lines lost")
    return ", ".join(words)


def prefect_table(outcomes: Iterable[Case]) -> str:
    """Return the table of Prefect's faults: a column for the faces that never differ."""
    cells: dict[str, dict[str, str]] = {}
    for outcome in outcomes:
        cells.setdefault(outcome["face"], {})[outcome["fault"]] = prefect_outcome(outcome)
    columns: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for face, of_face in cells.items():
        columns.setdefault(tuple(of_face.items()), []).append(face)
    faults = dict.fromkeys(fault for of_face in cells.values() for fault in of_face)
    heads = ["fault", *("<br>".join(f"`{face}`" for face in faces) for faces in columns.values())]
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for fault in faults:
        row = [dict(column).get(fault, "-") for column in columns]
        lines.append(f"| {' | '.join((fault, *row))} |")
    return "\n".join(lines) + "\n"


def prefect_outcome(outcome: Case) -> str:
    """Return the outcome of one training in words, without its times."""
    words = [f"**{_processes(outcome['left'])} left**" if outcome["left"] else "none left"]
    if outcome["engine_gone_s"] is None:
        words.append("**flow still runs**")
    if outcome["most"] > 1:
        words.append(f"**{outcome['most']} at once**")
    words.append(outcome["state"] or outcome["task"] or "no state")
    return ", ".join(words)


def _processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"


if __name__ == "__main__":
    main()
