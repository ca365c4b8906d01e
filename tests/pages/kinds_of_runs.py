"""Runs of many kinds, made for real through ``gpualert run``, and their reports."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gpualert_common import recover
from gpualert_common.record import EXIT, Record
from tests.jobs.composed_job import KEY
from tests.pages.composed_runs import write_cluster
from tests.pages.kinds_of_jobs import write_digests, write_run
from tests.supervised import PYTHON, Lab, python, shell, until

TRAINING = str(Path(__file__).parents[2] / "examples" / "train_numpy.py")
HOSTILE_NAME = "<img src=x onerror=document.title='hacked'>\u202ename"
_HOSTILE_LOG = r"""
import sys
out = sys.stdout.buffer
out.write(b"<script>document.title='hacked'</script><svg onload=alert(1)>\n")
out.write(b"</style></details></main><style>*{display:none}</style>\n")
out.write(b"\x1b[31mred\x1b[0m \x1b]0;title\x07 \xe2\x80\xae bidi \xe2\x81\xa6 \0 \xff\xfe\n")
out.write(b"x" * 20_000_000 + b"\n" + b"\xe4\xb8\xad" * 3000 + b"\n" + b"\r50%" * 9000 + b"\n")
out.flush()
raise RuntimeError("<img src=x onerror=alert(1)>\u202e" + "y" * 5000)
"""
_ARTIFACTS = """
import pathlib
pathlib.Path("metrics.json").write_text('{"loss": 1}')
pathlib.Path("<b onclick=alert(1)>results & more.csv").write_text("step,loss\\n1,2\\n")
pathlib.Path("model.safetensors").write_bytes(b"0" * 100_000)
raise SystemExit("no space for the results")
"""
_STEPS = """
import sys
for step in range(1, 200):
    print(f"step {step}/1000 loss {2 / step:.4f}", flush=True)
sys.stdin.read()
"""
STATUS_OF = {
    "completed": "Completed",
    "traceback": "Failed",
    "missing_module": "Failed",
    "killed": "Killed",
    "time_limit": "Ran out of time",
    "not_found": "Could not be started",
    "stopped": "Cancelled",
    "live": "Running",
    "streams_apart": "Failed",
    "artifacts": "Failed",
    "hostile": "Failed",
    "lost_supervisor": "Ended with an unknown result",
    "cluster": "Ran out of time",
    "job": "Failed",
}
"""Kinds of runs, and the label of each on its page."""


class ReportedRuns:
    """One run of each kind below a folder, each with a state directory and its report.

    Processes of runs that go on end with :meth:`close`.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._labs: dict[str, Lab] = {}

    def make_all(self) -> dict[str, Path]:
        """Return the reports by kind."""
        with ThreadPoolExecutor(3) as pool:
            return dict(zip(STATUS_OF, pool.map(self._make, STATUS_OF), strict=True))

    def close(self) -> None:
        """End all processes."""
        for lab in self._labs.values():
            lab.end_everything()

    def _make(self, kind: str) -> Path:
        home = self._home / kind
        (home / "tmp").mkdir(parents=True)
        lab = self._labs[kind] = Lab(home)
        variables = {**os.environ, **lab.environment()}
        _MAKERS[kind](lab, variables)
        path = home / "report.html"
        (record,) = lab.records()
        done = lab.gpualert("report", str(record), "-o", str(path), env=variables)
        assert done.returncode == 0, done.stderr
        return path


Make = Callable[[Lab, dict[str, str]], None]


def _run(*command: str, options: tuple[str, ...] = (), **variables: str) -> Make:
    """Return a maker that runs a command to its end."""

    def make(lab: Lab, environment: dict[str, str]) -> None:
        lab.gpualert("run", *options, "--", *command, env={**environment, **variables})

    return make


def _stop(lab: Lab, environment: dict[str, str]) -> None:
    run = lab.launch(
        *python("import time; print('ready', flush=True); time.sleep(99)"), env=environment
    )
    run.wait_for_output(b"ready")
    assert lab.gpualert("stop", env=environment).returncode == 0
    run.wait()


def _leave_running(lab: Lab, environment: dict[str, str]) -> None:
    run = lab.launch(*python(_STEPS), stdin=subprocess.PIPE, env=environment)
    run.wait_for_output(b"step 199/")


def _lose_supervisor(lab: Lab, environment: dict[str, str]) -> None:
    """Kill the supervisor of a run, which then ends, and wait until the record says so."""
    run = lab.launch(*python(_STEPS), stdin=subprocess.PIPE, env=environment)
    run.wait_for_output(b"step 199/")
    run.process.send_signal(signal.SIGKILL)
    assert run.process.stdin is not None
    run.process.stdin.close()
    run.process.wait()
    lab.gpualert("recover", env=environment)
    until(lambda: run.record.has(EXIT), "the record to be completed")


def _compose(lab: Lab, _environment: dict[str, str]) -> None:
    runs = lab.state / "runs"
    runs.mkdir(parents=True, mode=0o700)
    record: Record = write_cluster(runs)
    record.close()


def _compose_job(lab: Lab, _environment: dict[str, str]) -> None:
    directory = lab.home / "jobs"
    write_digests(directory, 300)
    record = write_run(lab.state, {"key": KEY, "name": "17", "directory": str(directory)})
    recover.recover(record)
    record.close()


_MAKERS: dict[str, Make] = {
    "completed": _run(PYTHON, TRAINING, "--epochs", "12", options=("--streams", "merged")),
    "traceback": _run(PYTHON, TRAINING, "--layers", "2x64", "48x64", "64x3"),
    "missing_module": _run(*python("import no_such_module")),
    "killed": _run(*shell("echo step 1; kill -9 $$")),
    "time_limit": _run(*shell("echo begin; sleep 60"), options=("--timeout", "1s")),
    "not_found": _run("no-such-program"),
    "stopped": _stop,
    "live": _leave_running,
    "streams_apart": _run(*shell("echo out; echo 'ValueError: bad' >&2; exit 3")),
    "artifacts": _run(*python(_ARTIFACTS), options=("--notify", "mailbox"), GPUALERT_NOTIFY=""),
    "hostile": _run(*python(_HOSTILE_LOG), options=("--name", HOSTILE_NAME)),
    "lost_supervisor": _lose_supervisor,
    "cluster": _compose,
    "job": _compose_job,
}
