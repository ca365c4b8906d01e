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
from gpualert_common.telemetry.source import list_sources
from tests.supervised import Lab, Supervised, breaking, python, shell, until
from tests.telemetry.standin import Scenario, environment, gpu

WAITS = shell("echo ready; until [ -e go ]; do sleep 0.05; done; exit 3")
OBSERVER = "gpualert_common.telemetry.sampler"


@pytest.fixture
def sampled_lab(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A place whose runs are sampled."""
    monkeypatch.setenv("GPUALERT_OBSERVE", "true")
    return lab


def samplers(lab: Lab) -> list[int]:
    """Return the sampler processes of this test's runs."""
    return [pid for pid, command in lab.living().items() if OBSERVER in command]


def read_telemetry(record: Record) -> Telemetry:
    """Return the telemetry of the run."""
    found = Telemetry()
    found.read(record)
    return found


def started(lab: Lab) -> Supervised:
    """Return a run that has at least one sample."""
    supervised = lab.launch(*WAITS)
    until(lambda: read_telemetry(supervised.record).sample_count, "the first sample")
    return supervised


def test_the_run_is_sampled(sampled_lab: Lab) -> None:
    """Every source reports its availability, numbers are written, and the verdict names the
    sources."""
    supervised = started(sampled_lab)
    assert samplers(sampled_lab)
    until(
        lambda: read_telemetry(supervised.record).series("host:tree", "processes"),
        "numbers of its processes",
    )
    telemetry = read_telemetry(supervised.record)
    assert telemetry.sources
    (sampled_lab.home / "go").touch()
    supervised.process.wait()
    until(lambda: not samplers(sampled_lab), "the sampler to go with the run")
    verdict = supervised.record.read_json("verdict.json")
    assert verdict is not None
    available = {source["name"]: source["available"] for source in verdict["sources"]}
    assert (
        available.items()
        >= {name: one.available for name, one in telemetry.sources.items()}.items()
    )


def test_short_run_has_none(sampled_lab: Lab) -> None:
    """A run of less than a second is not sampled."""
    assert run(shell("exit 3")).exit_code == 3
    (path,) = sampled_lab.records()
    assert not (Path(path) / "telemetry.jsonl").exists()


def _reasons(lab: Lab) -> dict[str, str]:
    """Return why each source of the only run was not sampled."""
    verdict = lab.record().read_json("verdict.json")
    assert verdict is not None
    found = {one["name"]: one["why"] for one in verdict["sources"] if not one["available"]}
    return {name: why for name, why in found.items() if name in list_sources()}


def test_no_observe(sampled_lab: Lab) -> None:
    """With --no-observe there is no sampler, and each source is named as not sampled."""
    sampled_lab.gpualert("run", "--no-observe", "--", "sleep", "2")
    (path,) = sampled_lab.records()
    assert not (Path(path) / "telemetry.jsonl").exists()
    reasons = _reasons(sampled_lab)
    assert reasons.keys() == set(list_sources())
    assert {"not sampled: the sampling of this run is switched off"} == set(reasons.values())


NO_OBSERVER = """
from gpualert_common.processes import program
start_program = program.start_program
def start(module, *arguments, **options):
    if module.endswith(".sampler"):
        raise OSError(12, "Cannot allocate memory")
    return start_program(module, *arguments, **options)
program.start_program = start
"""


def test_observer_that_cannot_be_started(sampled_lab: Lab) -> None:
    """Each source is named as not sampled, with the error of the start, except for the checkpoints,
    which can be found after the end."""
    sampled_lab.start((*breaking(NO_OBSERVER), "run", "--", "sleep", "2")).wait()
    reasons = _reasons(sampled_lab)
    assert reasons.keys() == set(list_sources()) - {"checkpoints"}
    assert all("Cannot allocate memory" in why for why in reasons.values())


def test_observer_starts_with_the_run(
    sampled_lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine with NVML the first sample is written before the next one is due, each source
    with its own time."""
    for name, value in environment(Scenario((gpu(0),)), tmp_path / "machine").items():
        monkeypatch.setenv(name, value)
    supervised = sampled_lab.launch(*WAITS)
    held = until(
        lambda: read_telemetry(supervised.record).series("gpu:0", "memory_used_bytes"),
        "the first sample of the GPU",
    )
    opened = read_telemetry(supervised.record).sources
    assert opened["nvml"].available
    (sampled_lab.home / "go").touch()
    assert supervised.process.wait() == 3
    assert held.at[0] >= supervised.record.spec.created_at


def test_the_sampler_outlives_its_supervisor(sampled_lab: Lab) -> None:
    """When the supervisor is killed, the sampler continues to the end of the training."""
    supervised = started(sampled_lab)
    supervised.signal(signal.SIGKILL)
    supervised.process.wait()
    count = read_telemetry(supervised.record).sample_count
    until(lambda: read_telemetry(supervised.record).sample_count > count, "another sample")
    (sampled_lab.home / "go").touch()
    until(lambda: not samplers(sampled_lab), "the sampler to go with the training")
    assert sampled_lab.gpualert("recover").returncode == 0
    verdict = supervised.record.read_json("verdict.json")
    assert verdict is not None
    assert any(source["name"] == "kernel_log" for source in verdict["sources"])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_the_end_of_the_sampler_changes_nothing(sampled_lab: Lab, number: int) -> None:
    """A killed or stopped sampler changes neither the exit status nor the duration of the run."""
    supervised = started(sampled_lab)
    (pid,) = samplers(sampled_lab)
    os.kill(pid, number)
    began = time.monotonic()
    (sampled_lab.home / "go").touch()
    assert supervised.process.wait() == 3
    assert time.monotonic() - began < 5
    until(lambda: not samplers(sampled_lab), "the sampler to be gone")


LATE_LAUNCH_EVENT = """
import time
from gpualert_common.supervise import supervisor
event_message = supervisor.event_message
def late(*words, **fields):
    time.sleep(0.5)
    return event_message(*words, **fields)
supervisor.event_message = late
"""


def test_files_written_before_the_launch_is_recorded(sampled_lab: Lab) -> None:
    """Files that the run writes before its launch is recorded do not count as earlier ones."""
    saves = python(
        "import os, time\nopen('last.pt', 'w').write('state')\n"
        "while not os.path.exists('go'): time.sleep(0.05)\n"
    )
    process = sampled_lab.start(
        (*breaking(LATE_LAUNCH_EVENT), "run", "--", *saves, "--resume", "last.pt")
    )
    (path,) = until(sampled_lab.records, "the record")
    record = Record.open(str(path))
    until(lambda: "checkpoints" in read_telemetry(record).sources, "the first sample")
    (sampled_lab.home / "go").touch()
    process.wait()
    assert read_telemetry(record).sources["checkpoints"].facts["named"] == {"last.pt": False}


def test_keyboard_ends_only_the_run(sampled_lab: Lab) -> None:
    """A signal to the foreground process group, as from Ctrl-C, does not reach the sampler."""
    supervised = sampled_lab.launch(*WAITS, start_new_session=True)
    until(lambda: read_telemetry(supervised.record).sample_count, "the first sample")
    (pid,) = samplers(sampled_lab)
    assert os.getsid(pid) != os.getsid(supervised.process.pid)
    (sampled_lab.home / "go").touch()
    assert supervised.process.wait() == 3


def test_broken_telemetry(sampled_lab: Lab) -> None:
    """A telemetry file that is not writable or corrupt does not affect the verdict."""
    supervised = started(sampled_lab)
    path = Path(supervised.record.path) / "telemetry.jsonl"
    lines = [b'{"rows":{"gpu:0":"x"}}', b"\x00\xff", b'{"event":{"what":"xid"}}']
    for pids in (b"7", b'{"a":["x"]}', b'["y"]'):
        event = b'"what":"processes_seen","of":"x","source":"x","at":1,"text":"x"'
        lines.append(b'{"event":{%s,"fields":{"pids":%s}}}' % (event, pids))
    path.write_bytes(b"\n".join(lines) + b"\n")
    (sampled_lab.home / "go").touch()
    assert supervised.process.wait() == 3
    verdict = supervised.record.read_json("verdict.json")
    assert verdict is not None
    assert verdict["exit_code"] == 3


def test_one_sampler_for_each_run(sampled_lab: Lab) -> None:
    """A second sampler of the same run exits at once, so no sample is written twice."""
    supervised = started(sampled_lab)
    (pid,) = samplers(sampled_lab)
    command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    assert subprocess.run(command, timeout=60).returncode == 0
    assert samplers(sampled_lab) == [pid]
    (sampled_lab.home / "go").touch()
    assert supervised.process.wait() == 3
