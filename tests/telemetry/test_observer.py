"""Tests of the sampler process: its start, its end, and that it does not affect the run."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from gpualert_common import run
from gpualert_common.record import Record
from gpualert_common.telemetry.series import Telemetry
from tests.supervised import Lab, Supervised, breaking, python, shell, until

WAITS = shell("echo ready; until [ -e go ]; do sleep 0.05; done; exit 3")
OBSERVER = "gpualert_common.telemetry.sampler"


@pytest.fixture
def observed(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A place whose runs are sampled."""
    monkeypatch.setenv("GPUALERT_OBSERVE", "true")
    return lab


def observers(lab: Lab) -> list[int]:
    """Return the sampler processes of this test's runs."""
    return [pid for pid, command in lab.living().items() if OBSERVER in command]


def seen(record: Record) -> Telemetry:
    """Return the telemetry of the run."""
    found = Telemetry()
    found.read(record)
    return found


def started(lab: Lab) -> Supervised:
    """Return a run that has at least one sample."""
    supervised = lab.launch(*WAITS)
    until(lambda: seen(supervised.record).sample_count, "the first look")
    return supervised


def test_it_looks_while_the_run_goes_on(observed: Lab) -> None:
    """Every source reports its availability, numbers are written, and the verdict names the
    sources."""
    supervised = started(observed)
    assert observers(observed)
    until(
        lambda: seen(supervised.record).series("host:tree", "processes"), "numbers of its processes"
    )
    telemetry = seen(supervised.record)
    assert telemetry.sources
    (observed.home / "go").touch()
    supervised.process.wait()
    until(lambda: not observers(observed), "the observer to go with the run")
    verdict = supervised.record.read_json("verdict.json")
    assert verdict is not None
    told = {source["name"]: source["available"] for source in verdict["sources"]}
    assert told.items() >= {name: one.available for name, one in telemetry.sources.items()}.items()


def test_short_run_has_none(observed: Lab) -> None:
    """A run of less than a second is not sampled."""
    assert run(shell("exit 3")).exit_code == 3
    (path,) = observed.records()
    assert not (Path(path) / "telemetry.jsonl").exists()


def test_it_can_be_left_out(observed: Lab) -> None:
    """With --no-observe there is no sampler."""
    observed.gpualert("run", "--no-observe", "--", "sleep", "2")
    (path,) = observed.records()
    assert not (Path(path) / "telemetry.jsonl").exists()


def test_it_outlives_its_supervisor(observed: Lab) -> None:
    """When the supervisor is killed, the sampler continues to the end of the training."""
    supervised = started(observed)
    supervised.signal(signal.SIGKILL)
    supervised.process.wait()
    looks = seen(supervised.record).sample_count
    until(lambda: seen(supervised.record).sample_count > looks, "a look after that")
    (observed.home / "go").touch()
    until(lambda: not observers(observed), "the observer to go with the training")
    assert observed.gpualert("recover").returncode == 0
    verdict = supervised.record.read_json("verdict.json")
    assert verdict is not None
    assert any(source["name"] == "kernel_log" for source in verdict["sources"])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_its_end_changes_nothing(observed: Lab, number: int) -> None:
    """A killed or stopped sampler changes neither the exit status nor the duration of the run."""
    supervised = started(observed)
    (pid,) = observers(observed)
    os.kill(pid, number)
    began = time.monotonic()
    (observed.home / "go").touch()
    assert supervised.process.wait() == 3
    assert time.monotonic() - began < 5
    until(lambda: not observers(observed), "the observer to be gone")


LATE_TO_SAY = """
import time
from gpualert_common.supervise import supervisor
event_message = supervisor.event_message
def late(*words, **fields):
    time.sleep(0.5)
    return event_message(*words, **fields)
supervisor.event_message = late
"""


def test_what_the_run_wrote_at_once_was_not_there_before(observed: Lab) -> None:
    """Files that the run writes before its launch is recorded do not count as earlier ones."""
    saves = python(
        "import os, time\nopen('last.pt', 'w').write('state')\n"
        "while not os.path.exists('go'): time.sleep(0.05)\n"
    )
    process = observed.start((*breaking(LATE_TO_SAY), "run", "--", *saves, "--resume", "last.pt"))
    (path,) = until(observed.records, "the record")
    record = Record.open(str(path))
    until(lambda: "checkpoints" in seen(record).sources, "the first look")
    (observed.home / "go").touch()
    process.wait()
    assert seen(record).sources["checkpoints"].facts["named"] == {"last.pt": False}


def test_keyboard_ends_only_the_run(observed: Lab) -> None:
    """A signal to the foreground process group, as from Ctrl-C, does not reach the sampler."""
    supervised = observed.launch(*WAITS, start_new_session=True)
    until(lambda: seen(supervised.record).sample_count, "the first look")
    (pid,) = observers(observed)
    assert os.getsid(pid) != os.getsid(supervised.process.pid)
    (observed.home / "go").touch()
    assert supervised.process.wait() == 3


def test_broken_telemetry(observed: Lab) -> None:
    """A telemetry file that is not writable or corrupt does not affect the verdict."""
    supervised = started(observed)
    path = Path(supervised.record.path) / "telemetry.jsonl"
    lines = [b'{"rows":{"gpu:0":"x"}}', b"\x00\xff", b'{"event":{"what":"xid"}}']
    for pids in (b"7", b'{"a":["x"]}', b'["y"]'):
        event = b'"what":"processes_seen","of":"x","source":"x","at":1,"text":"x"'
        lines.append(b'{"event":{%s,"fields":{"pids":%s}}}' % (event, pids))
    path.write_bytes(b"\n".join(lines) + b"\n")
    (observed.home / "go").touch()
    assert supervised.process.wait() == 3
    verdict = supervised.record.read_json("verdict.json")
    assert verdict is not None
    assert verdict["exit_code"] == 3


def test_one_is_enough(observed: Lab) -> None:
    """A second sampler of the same run exits at once, so no sample is written twice."""
    supervised = started(observed)
    (pid,) = observers(observed)
    command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    assert subprocess.run(command, timeout=60).returncode == 0
    assert observers(observed) == [pid]
    (observed.home / "go").touch()
    assert supervised.process.wait() == 3
