#!/usr/bin/env python3
"""Demonstrate gpualert: ``make demo``.

Runs these trainings with ``gpualert run``: one that succeeds, one that fails with a real error in
its model, one that is killed from outside and one that cannot start; with ``--torch`` also a tiny
transformer.  Then, for each engine that an interpreter is given for, a training that succeeds, one
that fails, and an ordinary task of the engine with gpualert's callback: an Airflow DAG
(``--airflow``) and a Prefect flow (``--prefect``).  Prints each command and its output, and at the
end the verdicts and the alerts, which are in the local mailbox.  Exits with 1 if a verdict is not
the expected one or not the one in README's table, or if the alert about a failure is missing.
"""

from __future__ import annotations

import argparse
import json
import mailbox
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = Path(os.path.relpath(Path(__file__).parent))
GPUALERT = str(Path(sys.executable).with_name("gpualert"))
KILL_DEADLINE_S = 60.0
HEADLINE_COLUMNS = 64


@dataclass(frozen=True)
class Story:
    """One run of the demo, with its expected verdict."""

    title: str
    command: list[str]
    exit_code: int
    cause: str
    killed: bool = False
    """True if it is killed from outside while it runs."""
    in_readme: bool = True
    """True if README's table has its verdict."""


def gpualert_json(*arguments: str) -> dict[str, Any]:
    """Return the JSON output of a gpualert command."""
    done = subprocess.run([GPUALERT, *arguments, "--json"], stdout=subprocess.PIPE, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def runs_named(name: str) -> list[dict[str, Any]]:
    """Return the runs of that name; more than one if an earlier demo had the same process id."""
    return [run for run in gpualert_json("runs")["runs"] if run["name"] == name]


def kill_the_training(name: str) -> None:
    """Kill the training of a run, once its log shows that it trains."""
    deadline = time.monotonic() + KILL_DEADLINE_S
    while time.monotonic() < deadline:
        time.sleep(0.1)
        for run in runs_named(name):
            if run["state"] == "running" and b"epoch 3/" in Path(run["logs"][0]).read_bytes():
                print(f"\n--- from another process: kill -KILL {run['pid']}", flush=True)
                os.kill(run["pid"], signal.SIGKILL)
                return
    raise SystemExit("the training that should be killed did not reach its third epoch")


def run_story(story: Story, name: str) -> dict[str, Any]:
    """Run one demonstration with its output, and return its verdict and the exit status."""
    words = ["python" if word == sys.executable else word for word in story.command]
    print(f"\n=== {story.title}\n$ gpualert run --name {name} -- {shlex.join(words)}", flush=True)
    command = [GPUALERT, "run", "--name", name, "--", *story.command]
    with subprocess.Popen(command) as process:
        if story.killed:
            kill_the_training(name)
    print(f"(exit status {process.returncode})", flush=True)
    run_id = runs_named(name)[-1]["run_id"]
    return {"exit_status": process.returncode, **gpualert_json("show", run_id)["verdict"]}


def stories(state: Path, *, with_torch: bool) -> list[Story]:
    """Return the demonstrations, in their order."""
    numpy = [sys.executable, str(EXAMPLES / "train_numpy.py")]
    numpy += ["--checkpoint", str(state / "spirals.npz")]
    torch = [sys.executable, str(EXAMPLES / "train_torch.py")]
    torch += ["--checkpoint", str(state / "transformer.pt")]
    reported = [
        Story("a training that succeeds", [*numpy, "--epochs", "5"], 0, "none"),
        Story(
            "one that fails with a real error in the second layer of its model",
            [*numpy, "--layers", "2x64", "48x64", "64x3"],
            1,
            "shape_mismatch",
        ),
        Story(
            "one that is killed from outside",
            [*numpy, "--epochs", "1000000", "--epoch-seconds", "0.3"],
            137,
            "killed_unknown",
            killed=True,
        ),
        Story("one that never starts", ["trian.py", "--epochs", "5"], 127, "command_not_found"),
    ]
    if with_torch:
        reported += [
            Story(
                "a transformer that succeeds",
                [*torch, "--epochs", "2"],
                0,
                "none",
                in_readme=False,
            ),
            Story(
                "a transformer whose heads do not fit its width",
                [*torch, "--set", "head_width=24"],
                1,
                "shape_mismatch",
                in_readme=False,
            ),
        ]
    return reported


ENGINES = {
    "airflow": (
        "a DAG of two trainings and a BashOperator, by Airflow's dag.test()",
        "airflow_dag.py",
        ["none", "shape_mismatch", "runtime_error"],
    ),
    "prefect": (
        "a flow of two trainings and an ordinary task, by Prefect's ephemeral server",
        "prefect_flow.py",
        ["none", "shape_mismatch", "file_not_found"],
    ),
}
"""Purpose of each demonstration, its script, and the causes of its runs in order."""


def run_engine(engine: str, python: str, state: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Run an engine's example and show its output; return its runs, and their problems."""
    title, script, expected = ENGINES[engine]
    command = [python, str(EXAMPLES / script)]
    print(f"\n=== {title}\n$ {shlex.join(command)}", flush=True)
    before = {run["run_id"] for run in gpualert_json("runs")["runs"]}
    status = subprocess.run(command, env={**os.environ, **quiet_environment(engine, state)})
    print(f"(exit status {status.returncode})", flush=True)
    runs = [run for run in gpualert_json("runs")["runs"] if run["run_id"] not in before]
    verdicts = [gpualert_json("show", run["run_id"])["verdict"] for run in runs]
    causes = [verdict["cause"] for verdict in verdicts]
    wrong = [f"{title}: exit status {status.returncode}"] if status.returncode else []
    if causes != expected:
        wrong.append(f"{title}: expected {expected}, got {causes}")
    return verdicts, wrong


def alerts(before: set[str]) -> tuple[list[str], list[str]]:
    """Return the alerts of runs not in ``before``, by subject, and the failures without alert."""
    runs = [run for run in gpualert_json("runs")["runs"] if run["run_id"] not in before]
    failed = {run["run_id"] for run in runs if run["cause"] != "none"}
    sent = {
        alert["run_id"]: alert["message_id"]
        for alert in gpualert_json("outbox", "list", "--all")["alerts"]
        if alert["state"] == "sent"
    }
    place = Path(os.environ["GPUALERT_STATE_DIR"]) / "mailbox"
    mails = {str(mail["Message-ID"]): str(mail["Subject"]) for mail in mailbox.Maildir(place)}
    reported = [
        " ".join(mails[sent[run]].split()) for run in sorted(failed) if sent.get(run) in mails
    ]
    unreported = [run for run in failed if sent.get(run) not in mails]
    return reported, [f"no alert was sent for run {run}" for run in unreported]


def quiet_environment(engine: str, state: Path) -> dict[str, str]:
    """Return the variables that keep an engine offline and within the demo's directory."""
    if engine == "prefect":
        return {
            "PREFECT_HOME": str(state / "prefect"),
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
            "PREFECT_LOGGING_COLORS": "false",
            "DO_NOT_TRACK": "1",
        }
    return {
        "AIRFLOW_HOME": str(state / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(EXAMPLES.absolute()),
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "PYTHONWARNINGS": "ignore",
    }


def table(rows: list[tuple[str, ...]]) -> str:
    """Return rows as aligned columns, the first row as their heads."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def row(by: str, status: int | None, verdict: dict[str, Any]) -> tuple[str, ...]:
    """Return the row of the table for one run; paths begin in the checkout."""
    headline = verdict["headline"].replace(f"{ROOT}/", "")
    shown = (
        verdict["cause"],
        verdict["retry"],
        shorten(headline, HEADLINE_COLUMNS, placeholder=" ..."),
    )
    return (by, "-" if status is None else str(status), *shown)


def compare_with_readme(rows: list[tuple[str, ...]]) -> list[str]:
    """Return how README's table differs from these rows, for the engines that were run."""
    (block,) = re.findall(r"^by .*?(?=^```)", (ROOT / "README.md").read_text(), re.M | re.S)
    documented = [tuple(re.split(r"  +", line)) for line in block.splitlines()[2:]]
    ran = {by for by, *_ in rows}
    expected = [one for one in documented if one[0] in ran]
    return [] if rows == expected else [f"README's table has {expected} instead of {rows}"]


def main() -> int:
    """Run the demonstrations and print the verdicts; return 1 if one is not as expected."""
    parser = argparse.ArgumentParser(description="Trainings and their verdicts.")
    parser.add_argument("--torch", action="store_true", help="two more, with PyTorch")
    for engine in ENGINES:
        parser.add_argument(f"--{engine}", metavar="PYTHON", help=f"interpreter with {engine}")
    options = parser.parse_args()
    state = Path(os.environ.setdefault("GPUALERT_STATE_DIR", str(Path(".demo-state").absolute())))
    state.mkdir(mode=0o700, parents=True, exist_ok=True)

    before = {run["run_id"] for run in gpualert_json("runs")["runs"]}
    heads = ("by", "exit", "cause", "retry", "what happened")
    rows: list[tuple[str, ...]] = []
    undocumented: list[tuple[str, ...]] = []
    wrong = []
    for number, story in enumerate(stories(state, with_torch=options.torch), start=1):
        verdict = run_story(story, f"demo-{os.getpid()}-{number}")
        found = (verdict["exit_status"], verdict["cause"])
        if found != (story.exit_code, story.cause):
            wrong.append(f"{story.title}: expected {(story.exit_code, story.cause)}, got {found}")
        shown = row("gpualert", verdict["exit_status"], verdict)
        (rows if story.in_readme else undocumented).append(shown)
    for engine in ENGINES:
        python = getattr(options, engine)
        if python is not None:
            verdicts, problems = run_engine(engine, python, state)
            rows += [row(engine, verdict["exit_code"], verdict) for verdict in verdicts]
            wrong += problems
    reported, unreported = alerts(before)
    print(f"\n=== the verdicts\n{table([heads, *rows, *undocumented])}")
    print(f"\n=== the alerts in the mailbox {state / 'mailbox'}", *reported, sep="\n")
    print(f"\nThe records are in {state / 'runs'}")
    wrong += unreported + compare_with_readme(rows)
    for problem in wrong:
        print(problem, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
