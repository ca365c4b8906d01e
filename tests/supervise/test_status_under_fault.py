"""With any fault of gpualert, the status of the run is the child's.

Each fault is put into the program by replacing one of its functions before it starts, or into
the world around it; then three runs end in three ways.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.supervised import PROGRAM, Lab, breaking, python, shell, until

ENDINGS = {
    "succeeds": (shell("echo fine; exit 0"), 0, 0),
    "fails": (shell("echo RuntimeError: no; sleep 0.3; echo more; exit 3"), 3, 3),
    "is killed": (shell("echo bad; sleep 0.3; kill -9 $$"), 137, -9),
}

CLASSIFIER = "from gpualert_common.classifier import RunClassifier\n"
RAISES = "def broken(*a, **k): raise RuntimeError('broken on purpose')\n"
LOOPS = "def broken(*a, **k):\n    while True: pass\n"
SLEEPS = "import time\ndef broken(*a, **k): time.sleep(1000)\n"
DIES = "import os\ndef broken(*a, **k): os.kill(os.getpid(), 11)\n"
LEAVES = "def broken(*a, **k): raise SystemExit(99)\n"
NO_SPACE = "def broken(*a, **k): raise OSError(28, 'No space left on device')\n"

BREAKS = {
    "classifier cannot be imported": "import sys\n"
    "sys.modules['gpualert_common.classifier'] = None\n",
    "classifier raises when made": CLASSIFIER + RAISES + "RunClassifier.__init__ = broken\n",
    "classifier raises on a line": CLASSIFIER + RAISES + "RunClassifier.feed = broken\n",
    "classifier raises at the end": CLASSIFIER + RAISES + "RunClassifier.conclude = broken\n",
    "classifier exits the interpreter": CLASSIFIER + LEAVES + "RunClassifier.conclude = broken\n",
    "classifier returns no JSON": CLASSIFIER
    + "RunClassifier.conclude = lambda *a: {'schema': object()}\n",
    "classifier runs out of stack": CLASSIFIER
    + "RunClassifier.conclude = lambda s, *a: s.conclude(*a)\n",
    "event cannot be written": "from gpualert_common.record import Record\n"
    + NO_SPACE
    + "Record.append_event = broken\n",
    "event writer raises": "from gpualert_common.record import Record\n"
    + RAISES
    + "Record.append_event = broken\n",
    "exit record cannot be written": "from gpualert_common.record import Record\n"
    "def broken(self, name, *a, real=Record.write_json, **k):\n"
    "    if name != 'spec.json': raise OSError(5, 'Input/output error')\n"
    "    real(self, name, *a, **k)\n"
    "Record.write_json = broken\n",
    "last files cannot be written": "from gpualert_common.record import Record\n"
    + NO_SPACE
    + "Record.store = broken\n",
    "requests cannot be read": "from gpualert_common.record import Record\n"
    + RAISES
    + "Record.requests = broken\n",
    "log cannot be looked at": "from gpualert_common.launch.log_file import LogFile\n"
    + RAISES
    + "LogFile.detect_tampering = broken\n",
    "log cannot be read": "from gpualert_common.launch.log_file import LogFile\n"
    + RAISES
    + "LogFile.read = broken\n",
    "recorder raises": "from gpualert_common.supervise.recorder import Recorder\n"
    + RAISES
    + "Recorder._run = broken\n",
    "recorder cannot be made": "import gpualert_common.supervise as supervise\n"
    + RAISES
    + "supervise.Recorder = broken\n",
    "no pipe for the recorder": "from gpualert_common.supervise import recorder_process\n"
    "def broken(): raise OSError(24, 'Too many open files')\n"
    "recorder_process.connect_recorder = broken\n",
}

SOON = "from gpualert_common.supervise import detachment\ndetachment.LIMIT_S = 1.0\n"
"""Limits the time of a recorder that nobody waits for any more."""

BREAKS_SLOWLY = {
    "classifier loops on a line": SOON + CLASSIFIER + LOOPS + "RunClassifier.feed = broken\n",
    "classifier loops at the end": SOON + CLASSIFIER + LOOPS + "RunClassifier.conclude = broken\n",
    "classifier hangs on a line": SOON + CLASSIFIER + SLEEPS + "RunClassifier.feed = broken\n",
    "classifier hangs at the end": SOON + CLASSIFIER + SLEEPS + "RunClassifier.conclude = broken\n",
}

BREAKS_OF_THE_PROGRAM = {
    "classifier kills its process": CLASSIFIER + DIES + "RunClassifier.feed = broken\n",
    "classifier kills its process at the end": CLASSIFIER
    + DIES
    + "RunClassifier.conclude = broken\n",
    "no process for the recorder": "import os\n"
    "def broken(): raise OSError(11, 'Resource temporarily unavailable')\n"
    "os.fork = broken\n",
    "closing words raise": "from gpualert_common.report import closing_lines\n"
    + RAISES
    + "closing_lines.write_closing_lines = broken\n",
    "forwarding raises": "from gpualert_common.supervise.forwarder import Forwarder\n"
    + RAISES
    + "Forwarder._run = broken\n",
}


def statuses(lab: Lab, program: tuple[str, ...]) -> dict[str, int]:
    """Return the exit status of ``program`` for each ending, all run at the same time."""
    runs = {}
    for name, (command, _code, _api_code) in ENDINGS.items():
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        runs[name] = lab.start((*program, *command), **quiet)
    return {name: process.wait(60) for name, process in runs.items()}


EXPECTED = {name: code for name, (_command, code, _api_code) in ENDINGS.items()}


ALSO_SLOW = [
    pytest.param(fault, marks=pytest.mark.e2e)
    for fault in ("classifier loops at the end", "classifier hangs on a line")
]
FAULTS = [
    *BREAKS,
    "classifier loops on a line",
    "classifier hangs at the end",
    *ALSO_SLOW,
    *BREAKS_OF_THE_PROGRAM,
]


@pytest.mark.parametrize("fault", FAULTS)
def test_program_with_a_broken_part(lab: Lab, fault: str) -> None:
    """With this part broken, the program exits with the child's status."""
    code = {**BREAKS, **BREAKS_SLOWLY, **BREAKS_OF_THE_PROGRAM}[fault]
    assert statuses(lab, (*breaking(code), "run", "--")) == EXPECTED
    until(lab.is_empty, "nothing to be left of the run, nor of what broke")


@pytest.mark.parametrize("fault", BREAKS)
def test_api_with_a_broken_part(lab: Lab, fault: str) -> None:
    """With this part broken, ``run()`` returns the child's status without an exception."""
    code = f"{BREAKS[fault]}\n" + (
        "import os, sys\n"
        "from gpualert_common import run\n"
        "code = run(sys.argv[1:]).exit_code\n"
        "os._exit(code % 256 if code >= 0 else 128 - code)\n"
    )
    assert statuses(lab, python(code)) == EXPECTED


def test_api_when_the_classifier_never_returns(lab: Lab) -> None:
    """A classifier that never returns costs the verdict and a few seconds, not the run."""
    code = f"{BREAKS_SLOWLY['classifier loops at the end']}\n" + (
        "import os\n"
        "from gpualert_common import run\n"
        "result = run(['sh', '-c', 'echo line; sleep 0.3; exit 3'])\n"
        "os._exit(77 if (result.exit_code, result.verdict) == (3, None) else 1)\n"
    )
    assert lab.call(python(code), timeout=60).returncode == 77


def test_missing_verdict_is_reported(lab: Lab) -> None:
    """A failed classifier is reported by the program, and recorded with its error."""
    program = breaking(CLASSIFIER + RAISES + "RunClassifier.feed = broken\n")
    done = lab.call((*program, "run", "--", *shell("echo line; exit 3")))
    assert b"no verdict: the classifier failed" in done.stderr
    event = lab.record().event("classifier_failed")
    assert event is not None
    assert "broken on purpose" in event.fields["problem"]


def test_recover_after_a_broken_classifier(lab: Lab) -> None:
    """``recover`` classifies a run whose classifier failed, and keeps its status."""
    program = breaking(CLASSIFIER + RAISES + "RunClassifier.feed = broken\n")
    lab.call((*program, "run", "--", *shell("echo line; exit 3")))
    (outcome,) = lab.json("recover")["records"]
    assert outcome["outcome"] == "recovered"
    shown = lab.json("show")
    assert shown["exit"]["code"] == 3
    assert shown["verdict"]["cause"]


@pytest.mark.parametrize(
    "content",
    [b"\xff not TOML [", b"", b"id = 3\nunknown = true\n"],
    ids=["bytes", "empty", "keys"],
)
def test_broken_rule_file(lab: Lab, monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """A broken rule file costs only that rule, and is named in the verdict."""
    shipped = Path(__file__).parents[2] / "rules"
    rules = lab.home / "rules"
    shutil.copytree(shipped, rules)
    (rules / "broken.toml").write_bytes(content)
    monkeypatch.setenv("GPUALERT_RULES_DIR", str(rules))
    assert statuses(lab, (*PROGRAM, "run", "--")) == EXPECTED
    (warning,) = lab.json("show")["verdict"]["warnings"]
    assert "broken.toml" in warning["text"]


def test_no_rules_at_all(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any rule the statuses are still the child's."""
    monkeypatch.setenv("GPUALERT_RULES_DIR", str(lab.home / "nowhere"))
    assert statuses(lab, (*PROGRAM, "run", "--")) == EXPECTED


# -- the world around it -----------------------------------------------------------------------


def test_record_removed_under_a_short_run(lab: Lab) -> None:
    """A run whose child removes the record still has its status, its log and its ending."""
    done = lab.run(*shell("echo before; rm -r $GPUALERT_STATE_DIR; echo after; exit 3"))
    assert done.returncode == 3
    assert lab.log() == b"before\nafter\n"
    assert lab.record().spec.command[0] == "sh"
    assert lab.record().event("record_removed")


def test_launch_record_removed(lab: Lab) -> None:
    """After a removal the record is completed at the end: the launch record, too."""
    done = lab.run(*shell("rm $GPUALERT_STATE_DIR/runs/*/spec.json; exit 3"))
    assert done.returncode == 3
    assert lab.record().spec.command[0] == "sh"
    assert (lab.record().read_json("verdict.json") or {})["exit_code"] == 3


def test_record_removed_under_a_long_run(lab: Lab) -> None:
    """A record that was removed during the run is created again: launch record, log, ending."""
    child = shell("echo before; until [ -e go ]; do sleep 0.01; done; echo after; exit 3")
    run = lab.launch(*child)
    run.wait_for_output(b"before\n")
    shutil.rmtree(run.record.path)
    (lab.home / "go").touch()
    assert run.wait() == 3
    shown = lab.json("show", run.record.run_id)
    assert (shown["state"], shown["exit_code"]) == ("ended", 3)
    assert lab.log("output.log") == b"before\nafter\n"
    assert shown["verdict"]["log_path"] == str(lab.records()[0] / "output.log")


@pytest.mark.parametrize("closing", [">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"], ids=str)
@pytest.mark.parametrize("ending", ENDINGS)
def test_closed_descriptors(lab: Lab, closing: str, ending: str) -> None:
    """Closed standard descriptors change no status, and our messages do not get into the log."""
    command, code, _api_code = ENDINGS[ending]
    done = lab.call(("sh", "-c", f'"$@" {closing}', "sh", *PROGRAM, "run", "--", *command))
    assert done.returncode == code
    logs = b"".join(path.read_bytes() for path in sorted(lab.records()[0].glob("*.log")))
    assert b"gpualert" not in logs


def test_errors_never_go_to_stdout(lab: Lab) -> None:
    """With stderr closed our errors are lost; they do not go to stdout."""
    done = lab.call(("sh", "-c", '"$@" 2>&-', "sh", *PROGRAM, "run", "--cwd", "nowhere", "--", "x"))
    assert (done.returncode, done.stdout) == (125, b"")


def test_full_output_device(lab: Lab) -> None:
    """A stdout without space (/dev/full) changes no status and no log."""
    with open("/dev/full", "wb") as full:
        process = lab.start((*PROGRAM, "run", "--", *shell("seq 1000; exit 3")), stdout=full)
        assert process.wait(60) == 3
    assert lab.log().endswith(b"\n1000\n")


def test_reader_that_exits(lab: Lab) -> None:
    """If the reader of our stdout exits, the child continues to its own end."""
    command = (*PROGRAM, "run", "--", *shell("seq 200000; echo $? > status; exit 3"))
    script = '"$@" | head -1; exit ${PIPESTATUS[0]}'
    done = lab.call(("bash", "-c", script, "bash", *command))
    assert (done.returncode, done.stdout) == (3, b"1\n")
    assert (lab.home / "status").read_text() == "0\n"
    assert lab.log().endswith(b"\n200000\n")


def test_reader_that_stalls(lab: Lab) -> None:
    """A reader that stalls delays neither the child nor, for long, the status."""
    child = shell("seq 200000; touch written; exit 3")
    process = lab.start((*PROGRAM, "run", "--", *child), stdout=subprocess.PIPE)
    until((lab.home / "written").exists, "the child to be done in spite of the reader")
    assert process.poll() is None, "the reader is given some time for the rest"
    assert process.wait(30) == 3
    stalled = lab.record().event("reader_stalled")
    assert stalled is not None
    assert stalled.fields["left_bytes"] > 0


@pytest.mark.parametrize("limit", range(5, 26, 3))
def test_few_descriptors(lab: Lab, limit: int) -> None:
    """With too few descriptors nothing is launched (125); with just enough the status is the
    child's."""
    child = shell("touch launched; exit 3")
    done = lab.call(
        ("sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *PROGRAM, "run", "--", *child)
    )
    if (lab.home / "launched").exists():
        assert done.returncode == 3
    else:
        assert done.returncode in (1, 125), done.stderr
