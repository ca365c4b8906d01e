"""Tests of ``gpualert show``, for every state of a record."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from gpualert_common.spec import RunSpec
from tests.screens import drop_colours, on_screen
from tests.supervised import PROGRAM, Lab, python, shell, until

FAILS = python("import json\njson.load(open('/absent/*train*.json'))")
TRAINS = """
import time
for step in range(1, 1000):
    print(f"step {step}/1000 loss {3 - step / 1000:.3f}", flush=True)
    time.sleep(0.05)
"""
TOKEN = "hf_" + "aB3" * 11 + "x"
ESCAPE = b"\x1b["


@pytest.fixture(autouse=True)
def at_eighty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are 80 columns wide."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)


def show(lab: Lab, *arguments: str) -> str:
    """Return the output of ``show``."""
    done = lab.gpualert("show", *arguments)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def titles(page: str) -> list[str]:
    """Return the titles of a page, in order, each once."""
    return list(dict.fromkeys(re.findall(r"^([A-Z][A-Za-z-]*(?: [a-z]+)*)  ", page, re.MULTILINE)))


def test_failed(lab: Lab) -> None:
    """The page begins with failure, fault and retry, and ends with the facts of the run."""
    lab.run(*FAILS)
    page = show(lab)
    assert page.startswith("File not found: /absent/*train*.json\nThe run failed after ")
    assert "At fault: the job itself. A retry helps only after a" in page
    assert titles(page)[:5] == ["Do", "Shows", "Implies", "Cannot decide", "Ruled out"]
    assert titles(page)[-5:] == ["Host", "Started", "Ended", "Log", "Record"]
    record = lab.records()[0]
    for fact in (record.name, "Ended          exit status 1", f"{record}/stderr.log"):
        assert fact in page
    line = (record / "stderr.log").read_text().splitlines()[-1]
    assert line.startswith("FileNotFoundError")
    number = len((record / "stderr.log").read_text().splitlines())
    assert f"[stderr.log:{number}]" in page


def test_completed(lab: Lab) -> None:
    """The page of a successful run has no advice and no fault."""
    lab.run("true")
    page = show(lab)
    assert page.startswith("Completed with exit status 0; no failure found\nThe run completed")
    assert "Do" not in titles(page)
    assert "At fault" not in page


def test_never_started(lab: Lab) -> None:
    """A missing command was never started, and has no end."""
    lab.run("absent-program", "--fast")
    page = show(lab)
    assert page.startswith("The command could not be started: cannot execute 'absent-program'")
    assert {"Started", "Ended"}.isdisjoint(titles(page))
    assert "Command        absent-program --fast" in page


def test_stopped(lab: Lab) -> None:
    """The page of a stopped run names the stop."""
    run = lab.launch("sleep", "1000")
    run.signal(signal.SIGTERM)
    run.wait()
    assert "was cancelled" in show(lab)


def test_named_and_retried(lab: Lab) -> None:
    """The name of a run is next to its id."""
    lab.gpualert("run", "--name", "mnist", "--", "false")
    assert f"Run            {lab.records()[0].name} (mnist)" in show(lab)


def test_live(lab: Lab) -> None:
    """The page of a live run has step, loss, pace, remaining time and time of the last output."""
    run = lab.launch(*python(TRAINS))
    run.wait_for_output(b"step 60/")
    until(lambda: "left" in show(lab), "the pace in the index of the log", poll_s=0.3)
    page = show(lab)
    assert page.startswith("Still running\nIt has been running for ")
    assert re.search(
        r"^Progress       step \d+ of 1000, loss 2\.\d+, [\d.]+ s per step, about .+\s+left$",
        page,
        re.MULTILINE,
    ), page
    assert re.search(r"^State          running, process \d+$", page, re.MULTILINE)
    assert re.search(r"^Last output    [\d.]+ s ago \(", page, re.MULTILINE)
    assert "exit status" not in page


def test_live_and_silent(lab: Lab) -> None:
    """A live run without output has a note about it, and no progress."""
    lab.launch("sleep", "1000")
    page = show(lab)
    assert "Last output    no output yet" in page
    assert "Progress" not in titles(page)


def test_error_in_a_live_log(lab: Lab) -> None:
    """An error that a live run survived is shown with its line, and is no verdict."""
    run = lab.launch(*python(f"print('RuntimeError: something failed')\n{TRAINS}"))
    run.wait_for_output(b"step 9/")
    page = show(lab)
    assert page.startswith("Still running\n")
    assert "Also seen      runtime_error: output.log line 1: training went on after it" in page


def test_early_warnings(lab: Lab) -> None:
    """Warnings of a live run are shown, also those that were withdrawn."""
    run = lab.launch("sleep", "1000")
    for event, kind, text in (
        ("warning_raised", "log_silent", "nothing was printed"),
        ("warning_raised", "gpu_idle", "GPU 3 is idle"),
        ("warning_recovered", "gpu_idle", "GPU 3 is idle"),
        ("warning_raised", "xid", "Xid 79 \x1b[2J on GPU 1"),
    ):
        now = time.time()
        run.record.append_event(event, now, kind=kind, text=text, says=text, since=now)
    page = " ".join(show(lab).split())
    assert "Do nothing was printed: read the end of the log" in page
    assert "Do Xid 79 \ufffd[2J on GPU 1: check whether the training still makes progress" in page
    assert "Warnings - nothing was printed since " in page
    assert "- Xid 79 \ufffd[2J on GPU 1 since " in page
    assert re.search(r"GPU 3 is idle from .{20,40}, recovered at", page), page


def test_supervisor_died(lab: Lab) -> None:
    """If the supervisor died, the page has the state of the run; after its end the record is
    completed."""
    run = lab.launch(*python(TRAINS))
    run.wait_for_output(b"step 9/")
    run.process.kill()
    run.process.wait()
    until(lambda: "its supervisor died, the run continues" in show(lab), "the death on the page")
    page = show(lab)
    assert page.startswith("Still running\n")
    choice = "wait for its end: the next command then completes its record; or stop it now:"
    assert f"{choice} gpualert stop" in " ".join(page.split())
    os.kill(run.leader, signal.SIGKILL)

    def is_complete() -> bool:
        lab.gpualert("show")
        return run.record.read_json("verdict.json") is not None

    until(is_complete, "the record to be completed")
    assert show(lab).startswith("The outcome of the run is not known\n")


@pytest.mark.parametrize(
    "damage",
    ["{}", "[]", '{"sche', '{"schema": 1}', '{"schema": 1, "shows": 3, "do": {}}'],
    ids=["empty", "no object", "cut", "no field", "wrong types"],
)
def test_damaged_verdict(lab: Lab, damage: str) -> None:
    """A damaged verdict is named as damaged, and a new one is made from the log."""
    lab.run(*FAILS)
    whole = show(lab)
    (lab.records()[0] / "verdict.json").write_text(damage)
    page = show(lab)
    assert page.splitlines()[0] == whole.splitlines()[0]
    assert "damaged, and made again from the log: " in " ".join(page.split())


def test_no_verdict_was_written(lab: Lab) -> None:
    """A missing verdict is made from the log again, and is not written."""
    lab.run(*FAILS)
    (lab.records()[0] / "verdict.json").unlink()
    assert show(lab).startswith("File not found: ")
    assert not (lab.records()[0] / "verdict.json").exists()


def test_json_of_an_ended_run(lab: Lab) -> None:
    """With --json the output is JSON with the record's files unchanged."""
    lab.run(*FAILS)
    shown = lab.json("show")
    record = lab.record()
    assert shown["verdict"] == record.read_json("verdict.json")
    assert shown["exit"] == record.read_json("exit.json")
    assert shown["spec"] == record.spec_fields()
    assert (shown["schema"], shown["state"]) == (1, "ended")


def test_json_of_a_live_run(lab: Lab) -> None:
    """A live run has no verdict in JSON."""
    lab.launch("sleep", "1000")
    shown = lab.json("show")
    assert (shown["verdict"], shown["exit"], shown["state"]) == (None, None, "running")


def test_markdown(lab: Lab) -> None:
    """With --markdown the page has the same parts, escaped, and with secrets masked."""
    lab.run(*python(f"raise KeyError('<b>*x* {TOKEN}')"))
    assert TOKEN in show(lab)
    page = show(lab, "--markdown")
    assert page.startswith("## KeyError")
    assert TOKEN not in page
    assert "<b>*x*" not in re.sub(r"`[^`]+`", "", page)
    for title in ("Do", "Shows", "Implies", "Cannot decide", "Run"):
        assert f"\n### {title}\n" in page
    assert f"* More: `gpualert show {lab.records()[0].name}`\n" in page


def test_forms_exclude_each_other(lab: Lab) -> None:
    """Only one output form can be chosen."""
    lab.run("true")
    assert lab.gpualert("show", "--json", "--markdown").returncode == 2


def test_full_shows_whole_excerpts(lab: Lab) -> None:
    """A shortened excerpt is whole with --full."""
    lab.run(*shell(f"echo 'KeyError: {' '.join(map(str, range(90)))}' >&2; exit 1"))
    excerpt = re.compile(r"\n +> KeyError: 0 1 2[\s\d]* 88 89\n")
    assert not excerpt.search(show(lab))
    assert excerpt.search(show(lab, "--full"))


@pytest.mark.parametrize("columns", [40, 50, 80])
def test_at_a_terminal(lab: Lab, columns: int) -> None:
    """At a terminal lines have its width, and titles and headline are marked."""
    lab.run(*FAILS)
    output = on_screen(lab, "show", columns=columns)
    assert output.startswith(b"\x1b[1;31mFile not found")
    for line in drop_colours(output).splitlines():
        assert len(line) <= columns or len(line.split()) <= 2, line


@pytest.mark.parametrize("name", ["NO_COLOR", "TERM"])
def test_no_colours(lab: Lab, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """With NO_COLOR or a dumb terminal there are no colours."""
    monkeypatch.setenv("TERM", "xterm")
    lab.run("false")
    assert ESCAPE in on_screen(lab, "show", columns=80)
    monkeypatch.setenv(name, {"NO_COLOR": "1", "TERM": "dumb"}[name])
    assert ESCAPE not in on_screen(lab, "show", columns=80)


def test_log_cannot_paint_the_terminal(lab: Lab) -> None:
    """Escape sequences of a log never reach the terminal."""
    lab.run(*shell(r"printf 'KeyError: \033]0;owned\007\033[2J gone\n' >&2; exit 1"))
    page = show(lab, "--full")
    assert not {"\x1b", "\x07"} & set(page)


def test_classify_shows_the_same_page(lab: Lab) -> None:
    """``classify`` shows an old log in the same form, also as Markdown."""
    log = lab.home / "old.log"
    log.write_text("MemoryError: Unable to allocate 3.0 GiB\n")
    page = lab.gpualert("classify", str(log), "--exit-code", "1").stdout.decode()
    assert page.splitlines()[0].startswith("Host memory exhausted")
    assert titles(page)[-1] == "Log"
    shown = lab.gpualert("classify", str(log), "--markdown").stdout.decode()
    assert shown.startswith("## Host memory exhausted")


def test_show_of_a_guardian_that_has_not_launched(lab: Lab) -> None:
    """A record with only its launch record is shown as starting, or with a dead supervisor."""
    from gpualert_common.record import SPEC, Record
    from gpualert_common.record.record import describe

    path = lab.state / "runs" / "20990101-000000-000000-aaaa"
    path.parent.mkdir(parents=True, mode=0o700)
    record = Record.create(str(path), sync=False)
    spec = describe(
        RunSpec(("python", "train.py"), cwd=str(lab.home)),
        record,
        created_at=time.time(),
        host=os.uname().nodename,
    )
    record.write_json(SPEC, spec)
    assert "State          starting" in show(lab)
    record.close()
    assert "its supervisor died" in show(lab)


def test_large_log(lab: Lab) -> None:
    """For the progress of a live run with a long log only its begin and end are read."""
    filler = "print('x' * 200 + '\\n', end='')\n"
    code = f"print('step 1/1000 loss 9')\nfor _ in range(20000):\n    {filler}{TRAINS}"
    run = lab.launch(*python(code))
    run.wait_for_output(b"step 9/")
    assert re.search(r"Progress       step \d+ of 1000", show(lab))


def test_paths_are_whole(lab: Lab, tmp_path: Path) -> None:
    """A path that is longer than the line is never broken, so that it can be copied."""
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    lab.gpualert("run", "--cwd", str(deep), "--", "false")
    assert str(deep) in show(lab)
    assert json.loads(lab.gpualert("show", "--json").stdout)["spec"]["cwd"] == str(deep)


def test_closed_pipe(lab: Lab) -> None:
    """In a pipe to ``head`` the command ends without an error."""
    lab.run("false")
    done = subprocess.run(
        ["bash", "-c", '"$@" | head -n 1', "bash", *PROGRAM, "show"],
        capture_output=True,
        check=False,
    )
    assert done.stdout == b"Ended with status 1 without a known reason\n"
    assert done.stderr == b""
