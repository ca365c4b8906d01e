"""The table of ``gpualert runs``: order, states, columns, colours, filters."""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import signal
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.listing import summary_cache
from gpualert_common.listing.summary_cache import LEAST_NEW, NAME, SummaryCache
from gpualert_common.record import VERDICT
from gpualert_common.report.formatting import columns
from tests.supervised import PROGRAM, Lab, python, shell, until

WAITS = shell("until [ -e go ]; do sleep 0.01; done")
OOM = python("raise RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB')")
NAN = shell("for n in 1 2 3 4 5 6 7 8; do echo step $n loss nan; done")


def table(lab: Lab, *arguments: str, width: int = 200, **variables: str) -> list[str]:
    """Return the lines of ``gpualert runs`` in a terminal of this width."""
    environment = {**os.environ, "COLUMNS": str(width), **variables}
    done = lab.gpualert("runs", *arguments, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().splitlines()


def names(lab: Lab, *arguments: str) -> list[str]:
    """Return the names of the runs that are listed with these arguments, newest first."""
    listed = [row["name"] for row in lab.json("runs", *arguments)["runs"]][::-1]
    shown = [line.split()[1] for line in table(lab, *arguments)[1:-1]]
    assert shown == listed
    return listed


def run_named(lab: Lab, name: str, *command: str) -> Path:
    """Run a command under a name; return its record."""
    before = set(lab.records())
    lab.gpualert("run", "--name", name, "--", *command)
    (path,) = set(lab.records()) - before
    return path


def change(path: Path, file: str, **fields: object) -> None:
    """Change keys in a file of a record."""
    found = json.loads((path / file).read_bytes())
    (path / file).write_text(json.dumps({**found, **fields}))


def copy(path: Path, count: int) -> list[Path]:
    """Copy a record so often, each copy older than it; return the copies."""
    copies = [path.with_name(f"20200101-000000-{number:06d}-aaaa") for number in range(count)]
    for one in copies:
        shutil.copytree(path, one)
    return copies


def test_newest_first(lab: Lab) -> None:
    """The newest run is on top, with its state, exit status, duration, start and headline."""
    run_named(lab, "first", "true")
    run_named(lab, "second", *shell("exit 3"))
    header, second, first, total = table(lab)
    assert header.split() == ["RUN", "NAME", "STATE", "EXIT", "LASTED", "STARTED", "HEADLINE"]
    start = r"(\d\d:\d\d:\d\d|\w{3} \d\d \d\d:\d\d)"  # the day, too, if it is midnight now
    assert re.search(rf"  second +failed: runtime_error +3 +\d+\.\ds  {start} +Ended with", second)
    assert re.search(r"  first +completed +0 ", first)
    assert total == "2 runs"


def test_json_is_oldest_first(lab: Lab) -> None:
    """JSON keeps the order and the keys that it has had, and has more of them."""
    run_named(lab, "first", "true")
    run_named(lab, "second", *shell("kill -9 $$"))
    first, second = lab.json("runs")["runs"]
    assert [first["name"], second["name"]] == ["first", "second"]
    keys = "run_id state command path logs pid started_at ended_at verdict_pending disposition"
    assert not {*keys.split(), "cause", "headline", "gpu_hours", "wasted_gpu_hours"} - set(second)
    assert (second["exit_code"], second["shell_code"], second["condition"]) == (-9, 137, "killed")


def test_runs_of_a_job(lab: Lab) -> None:
    """The list can be limited to the runs of one job, by its name, its key or a pattern."""
    lab.gpualert("run", "--job", "llama", "--name", "one", "--", "true")
    lab.gpualert("run", "--job", "llama 2", "--name", "other", "--", "true")
    run_named(lab, "alone", "true")
    assert names(lab, "--job", "llama") == ["one"]
    assert names(lab, "--job", "job-llama") == ["one"]
    assert names(lab, "--job", "llama*") == ["other", "one"]
    assert names(lab, "--job", "alone") == []
    jobs = [run["job"] for run in lab.json("runs")["runs"]]
    assert [job and job["name"] for job in jobs] == ["llama", "llama 2", None]


@pytest.mark.parametrize(
    ("command", "state", "status"),
    [
        (("true",), "completed", "0"),
        (OOM, "failed: cuda_oom", "1"),
        (shell("kill -9 $$"), "killed: killed_unknown", "137"),
        (NAN, "suspect: nan_loss", "0"),
        (("./nowhere",), "not started", "127"),
    ],
    ids=["completed", "failed", "killed", "suspect", "not started"],
)
def test_states(lab: Lab, command: tuple[str, ...], state: str, status: str) -> None:
    """The state tells how a run ended, with the cause; the status is that of a shell."""
    lab.run(*command)
    (line,) = table(lab)[1:-1]
    assert re.search(rf"  {state} +{status}  ", line), line


def test_state_of_a_run_that_ran_out_of_time(lab: Lab) -> None:
    """A run that its time limit ended is timed out, with the status 124."""
    lab.gpualert("run", "--timeout", "0.1s", "--", "sleep", "1000")
    (line,) = table(lab)[1:-1]
    assert re.search(r"  timed out +124  ", line), line


def test_states_of_live_and_stopped_runs(lab: Lab) -> None:
    """A live run is running, without a status; one that ``stop`` ended is stopped."""
    run = lab.launch(*WAITS)
    assert re.search(r"  running +-  ", table(lab)[1])
    assert lab.gpualert("stop").returncode == 0
    assert run.wait() == 128 + signal.SIGTERM
    assert re.search(r"  stopped +143  ", table(lab)[1])
    assert names(lab, "--failed") == []


def test_state_of_a_run_without_a_supervisor(lab: Lab) -> None:
    """A run that goes on after the death of its supervisor is unsupervised, not lost."""
    run = lab.launch(*WAITS)
    run.process.kill()
    run.process.wait()
    until(lambda: not run.record.is_held, "the lock to be free")
    assert re.search(r"  unsupervised +-  ", table(lab)[1])
    (row,) = lab.json("runs")["runs"]
    assert (row["state"], row["condition"]) == ("lost", "unsupervised")


def test_recovered_run_lasts_no_longer(lab: Lab) -> None:
    """A run whose end nobody saw shows no duration once it is recovered."""
    run = lab.launch(*WAITS)
    run.process.kill()
    run.process.wait()
    (lab.home / "go").touch()
    assert lab.gpualert("runs").returncode == 0  # which completes the record
    until(lambda: run.record.has(VERDICT), "the recovery")
    assert re.search(r"  unknown +-  +-  ", table(lab)[1])


@pytest.mark.parametrize("width", [60, 80, 100, 120, 160, 200])
def test_width(lab: Lab, width: int) -> None:
    """No line is wider than the terminal, every id is complete and the name begins in its cell."""
    for _run in range(2):
        run_named(lab, "訓練 of a large model 訓練訓練訓練訓練訓練訓練訓練", *shell("exit 3"))
    run_named(lab, "pretraining " + "x" * 300, *shell("echo ValueError: " + "y" * 300 + "; exit 1"))
    lab.launch("sleep", "1000", options=("--name", "alive"))
    (lab.state / "runs" / "20200101-000000-000000-aaaa").mkdir(mode=0o700)
    header, *lines, total = table(lab, width=width)
    assert max(map(columns, (header, *lines, total))) <= width
    assert [line.split()[1][:4] for line in lines] == ["aliv", "pret", "訓練", "訓練", "-"]
    assert "damaged" in lines[-1]
    for line, path in zip(lines, lab.records()[::-1], strict=True):
        assert path.name.startswith(line.split()[0])
    assert len({line.split()[0] for line in lines}) == len(lines)


def test_narrow_terminal_drops_the_least_important_columns(lab: Lab) -> None:
    """Columns are left out from the least important one on: the start, then the headline."""
    run_named(lab, "pretraining of llama", *OOM)
    header = {width: table(lab, width=width)[0].split() for width in (40, 60, 80, 120)}
    assert header[120] == ["RUN", "NAME", "STATE", "EXIT", "LASTED", "STARTED", "HEADLINE"]
    assert header[80] == ["RUN", "NAME", "STATE", "EXIT", "LASTED", "HEADLINE"]
    assert header[60] == ["RUN", "NAME", "STATE", "EXIT", "LASTED"]
    assert header[40] == ["RUN", "STATE"]


COLOURS = {
    "forced": ({"FORCE_COLOR": "1"}, True),
    "forced as on BSD": ({"CLICOLOR_FORCE": "1"}, True),
    "not forced": ({"FORCE_COLOR": "0", "CLICOLOR_FORCE": "0"}, False),
    "no colour": ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    "no terminal": ({}, False),
    "terminal": ({"TERM": "xterm"}, True),
    "terminal without colours": ({"TERM": "dumb"}, False),
    "terminal, no colour": ({"TERM": "xterm", "NO_COLOR": "1"}, False),
    "dumb terminal, forced": ({"TERM": "dumb", "FORCE_COLOR": "1"}, True),
}


@pytest.mark.parametrize("case", COLOURS)
def test_colours(lab: Lab, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    """A terminal has colours, unless the user or the terminal wants none; they can be forced."""
    variables, is_coloured = COLOURS[case]
    for name in ("TERM", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    lab.run(*OOM)
    lab.run("true")
    in_terminal = python("import pty, sys; pty.spawn(sys.argv[1:])") if "TERM" in variables else ()
    for command in ("runs", "show"):
        called = (*in_terminal, *PROGRAM, command)
        output = lab.call(called, env={**os.environ, **variables}).stdout.decode()
        assert ("\x1b[1;32m" in output) == is_coloured
        assert ("\x1b" in output) == is_coloured
        assert command == "show" or ("\x1b[1;31mfailed: cuda_oom\x1b[0m" in output) == is_coloured


def test_gpu_columns_only_with_a_gpu(lab: Lab) -> None:
    """The GPU-hours are listed and summed where a run had a GPU, and not mentioned elsewhere."""
    paths = [run_named(lab, name, "true") for name in ("well", "badly", "without")]
    assert "GPU" not in "".join(table(lab))
    for path, measured in zip(
        paths,
        ({"gpu_seconds": 36_000}, {"gpu_seconds": 5400, "wasted_gpu_seconds": 3600}, {}),
        strict=True,
    ):
        change(path, "verdict.json", measured=measured)
    header, *lines, total = table(lab)
    assert re.search(r" GPU-H  WASTED  HEADLINE$", header)
    found = [re.findall(r"  (\S+) +(\S+)  Completed ", line)[0] for line in lines]
    assert found == [("-", "-"), ("1.50", "1.00"), ("10.0", "0.00")]
    assert total == "3 runs, 11.5 GPU-hours, 1.00 of them wasted; not known of 1"
    listed = lab.json("runs")
    assert [row["gpu_hours"] for row in listed["runs"]] == [10.0, 1.5, None]
    assert listed["total"] == {"runs": 3, "gpu_hours": 11.5, "wasted_gpu_hours": 1.0}
    assert "GPU" not in "".join(table(lab, "--name", "without"))


def test_mapped_task(lab: Lab) -> None:
    """A run of a mapped task is listed with its map index."""
    task: dict[str, Any] = {"engine": "airflow", "workflow": "dag", "task": "train", "map_index": 3}
    change(run_named(lab, "dag.train", "true"), "spec.json", custody={"task": task})
    assert table(lab)[1].split()[1] == "dag.train[3]"
    assert [row["map_index"] for row in lab.json("runs", "--name", "dag.train[[]3]")["runs"]] == [3]


def test_limit(lab: Lab) -> None:
    """-n lists the newest runs only, and says of how many."""
    for name in ("a", "b", "c"):
        run_named(lab, name, "true")
    assert names(lab, "-n", "2") == ["c", "b"]
    assert table(lab, "-n", "2")[-1] == "2 of 3 runs"
    assert names(lab, "--limit", "9") == ["c", "b", "a"]


def test_failed(lab: Lab) -> None:
    """--failed lists the runs that ended badly, also those that exited with 0."""
    for name, command in {"fine": ("true",), "oom": OOM, "nan": NAN, "no": ("./no",)}.items():
        run_named(lab, name, *command)
    assert names(lab, "--failed") == ["no", "nan", "oom"]
    assert names(lab, "--failed", "--cause", "cuda_oom", "--cause", "nan_loss") == ["nan", "oom"]


def test_name_pattern(lab: Lab) -> None:
    """--name takes a whole name or a pattern; a run without a name has its command."""
    for name in ("llama-7b", "llama-70b", "x[1]"):
        run_named(lab, name, "true")
    lab.run("sleep", "0")
    assert names(lab, "--name", "llama*") == ["llama-70b", "llama-7b"]
    assert names(lab, "--name", "llama-7b") == ["llama-7b"]
    assert names(lab, "--name", "x[1]") == ["x[1]"]
    assert len(lab.json("runs", "--name", "sleep *")["runs"]) == 1
    done = lab.gpualert("runs", "--name", "nothing")
    assert (done.stdout, done.stderr) == (b"", b"no run matches\n")


def test_since(lab: Lab) -> None:
    """--since takes a duration, a date or a time, and lists the runs that began after it."""
    now = time.time()
    for days in (0, 2, 10):
        path = run_named(lab, f"days-{days}", "true")
        change(path, "exit.json", started_at=now - days * 86400)
    assert names(lab, "--since", "7d") == ["days-2", "days-0"]
    assert names(lab, "--since", "1h") == ["days-0"]
    date = datetime.now().astimezone() - timedelta(days=5)
    assert names(lab, "--since", f"{date:%Y-%m-%d}") == ["days-2", "days-0"]
    assert names(lab, "--since", f"{date:%Y-%m-%dT%H:%M}") == ["days-2", "days-0"]
    assert names(lab, "--since", "3000-01-01") == []


def test_user(lab: Lab) -> None:
    """--user takes a user who launched runs, "me", or the owner of an engine's task."""
    user = pwd.getpwuid(os.geteuid()).pw_name
    run_named(lab, "mine", "true")
    change(run_named(lab, "theirs", "true"), "spec.json", uid=4_000_000)
    task = {"engine": "airflow", "workflow": "dag", "task": "train", "owner": "vision"}
    change(run_named(lab, "team", "true"), "spec.json", custody={"task": task})
    assert names(lab, "--user", "me") == names(lab, "--user", user) == ["team", "mine"]
    assert names(lab, "--user", "4000000") == ["theirs"]
    assert names(lab, "--user", "vision") == ["team"]
    assert names(lab, "--user", "nobody-here") == []
    found = {run["name"]: (run["user"], run["owner"]) for run in lab.json("runs")["runs"]}
    assert found == {"mine": (user, None), "theirs": ("4000000", None), "team": (user, "vision")}


def test_state_filter(lab: Lab) -> None:
    """--state lists the runs of these states, also one whose supervisor died."""
    for name, command in {"fine": ("true",), "killed": shell("kill -9 $$")}.items():
        run_named(lab, name, *command)
    run = lab.launch(*WAITS)
    assert names(lab, "--state", "killed", "--state", "completed") == ["killed", "fine"]
    assert len(lab.json("runs", "--state", "running")["runs"]) == 1
    assert names(lab, "--state", "timed-out") == names(lab, "--state", "timed out") == []
    run.process.kill()
    run.process.wait()
    until(lambda: not run.record.is_held, "the lock to be free")
    assert len(lab.json("runs", "--state", "unsupervised")["runs"]) == 1
    assert lab.json("runs", "--state", "lost")["runs"] == []
    (lab.home / "go").touch()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--state", "runing"), b"no state 'runing'; did you mean running?"),
        (("--cause", "cuda_om"), b"no cause 'cuda_om'; did you mean cuda_oom?"),
        (
            ("--since", "soon"),
            b"'soon' is not a duration before now (7d, 12h), a date (2026-11-20), ",
        ),
        (("--limit", "-1"), b"'-1' is not a whole number"),
        (("--limit", "all"), b"'all' is not a whole number"),
    ],
    ids=["state", "cause", "since", "negative limit", "limit"],
)
def test_wrong_filter(lab: Lab, arguments: tuple[str, str], words: bytes) -> None:
    """A wrong value of a filter is refused, with the values that are possible."""
    done = lab.gpualert("runs", *arguments)
    assert done.returncode == 2
    assert words in done.stderr


# -- the cache of summaries --------------------------------------------------------------------


def test_cached_runs_are_those_of_the_records(lab: Lab) -> None:
    """The list from the cache is the list from the records."""
    copy(run_named(lab, "a", *OOM), LEAST_NEW)
    first = lab.json("runs")["runs"]
    assert (lab.state / NAME).exists()
    assert lab.json("runs")["runs"] == first
    assert len(first) == LEAST_NEW + 1


def test_record_that_changes_while_it_is_read_is_not_cached(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A summary without the verdict that came while it was made is not taken for the newest."""
    copies = copy(run_named(lab, "a", *OOM), LEAST_NEW)
    monkeypatch.setattr(summary_cache, "LEAST_NEW", 1)  # so that each row of it is stored
    cache = SummaryCache(str(lab.state))
    for path in copies:
        has_read = threading.Event()
        thread = threading.Thread(target=move_verdict_to_and_fro, args=(path, has_read))
        thread.start()
        cache.summarize(str(path))
        has_read.set()
        thread.join()
    cache.store()
    filled = SummaryCache(str(lab.state))
    found = [filled.summarize(str(path)) for path in copies]
    assert [run.cause for run in found if run is not None] == ["cuda_oom"] * LEAST_NEW


def move_verdict_to_and_fro(path: Path, is_over: threading.Event) -> None:
    """Move the verdict of a record away and back until it is over."""
    while not is_over.is_set():
        (path / VERDICT).rename(path / "away.json")
        (path / "away.json").rename(path / VERDICT)


def test_changed_record_is_read_again(lab: Lab) -> None:
    """A record that changes, or is removed, is not listed from the cache as it was."""
    first, second, *rest = copy(run_named(lab, "a", "true"), LEAST_NEW)
    lab.json("runs")
    change(first, "verdict.json", headline="Another headline")
    (rest[0] / "verdict.json").write_text("{")
    shutil.rmtree(second)
    rows = {row["run_id"]: row for row in lab.json("runs")["runs"]}
    assert rows[first.name]["headline"] == "Another headline"
    assert rows[rest[0].name]["condition"] == "damaged"
    assert second.name not in rows


def test_record_that_others_can_change_is_not_listed(lab: Lab) -> None:
    """A record that another user can change is not listed from the cache either."""
    first, *_rest = copy(run_named(lab, "a", "true"), LEAST_NEW)
    lab.json("runs")
    first.chmod(0o707)
    assert first.name not in {row["run_id"] for row in lab.json("runs")["runs"]}


@pytest.mark.parametrize("content", [b"damaged" * 1000, b""], ids=["damaged", "empty"])
def test_damaged_cache(lab: Lab, content: bytes) -> None:
    """A damaged cache is made again, and changes nothing in the list."""
    copy(run_named(lab, "a", "true"), LEAST_NEW)
    expected = lab.json("runs")["runs"]
    (lab.state / NAME).write_bytes(content)
    for _time in range(2):
        done = lab.gpualert("runs", "--json")
        assert json.loads(done.stdout)["runs"] == expected
        assert done.stderr == b""


def test_state_directory_that_moves(lab: Lab) -> None:
    """Paths are those of the place where the records are now."""
    copy(run_named(lab, "a", "true"), LEAST_NEW)
    lab.json("runs")
    lab.state.rename(lab.home / "moved")
    rows = lab.json("runs", "--state-dir", str(lab.home / "moved"))["runs"]
    assert {str(Path(row["path"]).parent) for row in rows} == {str(lab.home / "moved" / "runs")}
    assert all(Path(log).exists() for row in rows for log in row["logs"])
