"""``gpualert agent``: every process that uses a GPU is watched, and nothing else."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from gpualert_common.agent.agent_status import StatusFile
from gpualert_common.agent.watched_records import list_unended
from gpualert_common.record import EVENTS, WARNING_RAISED, Record
from gpualert_common.stacks.storage import read_dumps
from gpualert_common.telemetry.series import Telemetry
from tests.agent.foreign import CRASH, TRAINING, Agent, hold, release, start_job
from tests.supervised import Lab, exit_of, is_alive, python, until
from tests.telemetry.standin import GpuEvent


def read_telemetry(record: Record) -> Telemetry:
    """Return the telemetry of a record."""
    found = Telemetry()
    found.read(record)
    return found


@pytest.mark.e2e
def test_groups_from_begin_to_end(lab: Lab) -> None:
    """Two trainings of one shell are two records; each has its GPUs, its output, its status and its
    cause, and an alert."""
    alert = lab.script("alert", f'#!/bin/sh\ncat > {lab.home}/"alert-$$.json"\n')
    crashing = start_job(lab, CRASH, "crash.log")
    killed = start_job(lab, TRAINING, "killed.log")
    agent = Agent(lab, hold(crashing), hold(killed), options=("--notify", f"command:{alert}"))
    crash, kill = agent.await_record(crashing), agent.await_record(killed)
    assert crash.path != kill.path
    (first,) = (row for row in agent.rows() if row["pid"] == crashing)
    assert (first["gpus"], first["memory_bytes"]) == (["gpu:0"], 10 << 30)
    os.kill(killed, signal.SIGKILL)
    release(lab)
    verdict = agent.await_verdict(crash)
    assert (verdict.cause, exit_of(crash)["code"]) == ("cuda_runtime", 1)
    assert agent.await_verdict(kill).cause == "killed_unknown"
    assert exit_of(kill)["code"] == -signal.SIGKILL
    telemetry = read_telemetry(crash)
    assert telemetry.list_entities("gpu") == ["gpu:0", f"gpu:0/pid:{crashing}"]
    assert telemetry.series("host:tree", "rss_bytes")
    assert {"nvml", "processes", "cgroup"} <= telemetry.sources.keys()
    alerts = until(lambda: len(list(lab.home.glob("alert-*.json"))) == 2, "both alerts")
    assert alerts
    assert agent.stop() == 0


@pytest.mark.nightly
def test_fault_of_a_gpu(lab: Lab) -> None:
    """An Xid of the GPU that a process holds is evidence in its verdict, not in that of another."""
    code = TRAINING + "raise RuntimeError('CUDA error: unspecified launch failure')"
    broken, other = start_job(lab, code, "one.log"), start_job(lab, code, "two.log")
    faulty = replace(hold(broken), events=(GpuEvent(5.0, 79),))
    agent = Agent(lab, faulty, hold(other))
    records = agent.await_record(broken), agent.await_record(other)
    until(lambda: read_telemetry(records[0]).find_events("xid"), "the Xid")
    release(lab)
    causes = [agent.await_verdict(record).cause for record in records]
    assert causes == ["gpu_hardware", "cuda_runtime"]


@pytest.mark.e2e
def test_ranks_are_one_group(lab: Lab) -> None:
    """A launcher and its ranks, in sessions of their own, are one record with all their GPUs."""
    rank = "import os, time\nopen(f'rank{os.environ[\"RANK\"]}', 'w').write(str(os.getpid()))\n"
    launcher = (
        "import os, subprocess, sys, time\n"
        f"rank = {rank + 'time.sleep(600)'!r}\n"
        "for number in '01':\n"
        "    environment = {**os.environ, 'RANK': number, 'LOCAL_RANK': number}\n"
        "    subprocess.Popen([sys.executable, '-c', rank], env=environment,\n"
        "                     start_new_session=True)\n"
        "while not os.path.exists('go'): time.sleep(0.05)\n"
    )
    leader = start_job(lab, launcher)
    files = [lab.home / "rank0", lab.home / "rank1"]
    until(lambda: all(file.exists() and file.read_text() for file in files), "the ranks")
    agent = Agent(lab, hold(files[0]), hold(files[1]))
    record = agent.await_record(leader)
    both = [["gpu:0", "gpu:1"]]
    until(lambda: [row["gpus"] for row in agent.rows()] == both, "both GPUs")
    assert len(lab.records()) == 1
    assert agent.stop() == 0
    assert record.spec.supervised is False


@pytest.mark.e2e
def test_supervised_run_is_left_alone(lab: Lab) -> None:
    """A run of ``gpualert run`` that uses a GPU gets no second record."""
    supervised = lab.launch(*python("import time; time.sleep(600)"))
    other = start_job(lab, TRAINING)
    agent = Agent(lab, hold(supervised.leader, other))
    agent.await_record(other)
    until(lambda: len(agent.rows()) == 1, "the status")
    assert len(lab.records()) == 2
    assert agent.rows()[0]["pid"] == other


@pytest.mark.e2e
def test_agent_that_is_killed_continues(lab: Lab) -> None:
    """An agent that is killed and started again takes up its records, without a second one, and the
    status of a process that ended meanwhile is unknown."""
    living, ended = start_job(lab, TRAINING, "one.log"), start_job(lab, TRAINING, "two.log")
    agent = Agent(lab, hold(living), hold(ended))
    first, second = agent.await_record(living), agent.await_record(ended)
    agent.process.kill()
    agent.process.wait()
    assert is_alive(living)
    assert lab.json("runs")["runs"][0]["condition"] == "unsupervised"
    os.kill(ended, signal.SIGKILL)
    until(lambda: not is_alive(ended), "the end of one")
    agent.start()
    until(lambda: first.is_held, "the first record to be continued")
    verdict = agent.await_verdict(second)
    assert verdict.headline == "Exit status unknown: this process was not started by gpualert"
    release(lab)
    assert agent.await_verdict(first).cause == "none"
    assert exit_of(first)["code"] == 0
    assert Path(first.log_path("output.log")).read_bytes().count(b"step") == 2
    assert len(lab.records()) == 2
    assert sum(event.name == "launched" for event in first.events()) == 1


@pytest.mark.e2e
def test_output_of_a_rank_is_continued(lab: Lab) -> None:
    """An agent that is started again goes on with the output of the process on the GPU, if that of
    its leader is no file."""
    launcher = (
        "import subprocess, sys\n"
        "with open('rank.log', 'wb') as file:\n"
        f"    rank = subprocess.Popen([sys.executable, '-c', {TRAINING!r}], stdout=file)\n"
        "open('rank.new', 'w').write(str(rank.pid))\n"
        "import os; os.rename('rank.new', 'rank')\n"
        "rank.wait()\n"
    )
    leader = start_job(lab, launcher)
    until((lab.home / "rank").exists, "the rank")
    agent = Agent(lab, hold(lab.home / "rank"))
    record = agent.await_record(leader)
    log = Path(record.log_path("output.log"))
    until(log.read_bytes, "its output")
    agent.process.kill()
    agent.process.wait()
    agent.start()
    until(lambda: record.is_held, "the record to be continued")
    assert record.spec.unread_output is None
    release(lab)
    agent.await_verdict(record)
    assert log.read_bytes() == b"step 1 loss 0.5\nstep 2 loss 0.4\n"


@pytest.mark.nightly
def test_number_that_is_used_again(lab: Lab) -> None:
    """A record is not continued with another process of the same number."""
    pid = start_job(lab, TRAINING)
    agent = Agent(lab, hold(pid))
    record = agent.await_record(pid)
    agent.process.kill()
    agent.process.wait()
    until(lambda: not record.is_held, "the agent to let go")
    assert [output for _process, output in list_unended(str(lab.state))] == [pid]
    events = Path(record.path) / EVENTS
    events.write_text(events.read_text().replace('"start_ticks": ', '"start_ticks": 1'))
    assert list_unended(str(lab.state)) == []


@pytest.mark.e2e
def test_idle_gpus_are_shown(lab: Lab) -> None:
    """The status shows who holds GPUs that no kernel uses, and since when."""
    working, idle = start_job(lab, TRAINING), start_job(lab, TRAINING)
    agent = Agent(lab, hold(working, load=90), hold(idle, load=0))
    agent.await_record(idle)
    agent.await_record(working)
    until(lambda: len(agent.rows()) == 2, "both in the status")
    since = {row["pid"]: row["idle_since"] for row in agent.rows()}
    assert since[working] is None
    assert since[idle] is not None
    table = lab.gpualert("agent", "--status").stdout.decode().splitlines()
    assert table[0].split()[:4] == ["RUN", "USER", "WHERE", "GPUS"]
    assert any(f"process {idle}" in line and " 10.0 GiB " in line for line in table)


@pytest.mark.e2e
def test_stop_on_request(lab: Lab) -> None:
    """``gpualert stop`` ends a process that the agent watches."""
    pid = start_job(lab, TRAINING)
    agent = Agent(lab, hold(pid))
    record = agent.await_record(pid)
    assert lab.gpualert("stop", "--grace", "5s", record.run_id).returncode == 0
    assert agent.await_verdict(record).cause == "cancelled"
    assert not is_alive(pid)


@pytest.mark.e2e
def test_stop_between_two_samples(lab: Lab) -> None:
    """A stop need not wait for the next sample of an agent that samples seldom."""
    pid = start_job(lab, TRAINING)
    agent = Agent(lab, hold(pid))
    record = agent.await_record(pid)
    assert agent.stop() == 0
    agent.start("--every", "20s")
    file = StatusFile.open_for_reading(str(lab.state))
    own = agent.process.pid
    until(lambda: (found := file.read()) and found.agent_pid == own, "its first turn")
    assert lab.gpualert("stop", "--grace", "1s", record.run_id).returncode == 0
    assert not is_alive(pid)


@pytest.mark.e2e
def test_agent_that_is_killed_continues_a_stop(lab: Lab) -> None:
    """An agent that is killed while it stops a process, and started again, kills the process at the
    end of the grace; the verdict is that of the stop."""
    code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)" + TRAINING
    pid = start_job(lab, code, "train.log")
    agent = Agent(lab, hold(pid))
    record = agent.await_record(pid)
    until((lab.home / "train.log").read_bytes, "it to ignore SIGTERM")
    record.request("stop", grace_s=4.0, sender={"user": "ada"})
    until(lambda: record.event("stopping"), "the stop")
    agent.process.kill()
    agent.process.wait()
    agent.start()
    assert agent.await_verdict(record).cause == "cancelled"
    ending = exit_of(record)
    assert (ending["signal"], ending["sender"]) == (signal.SIGTERM, {"user": "ada"})
    assert not is_alive(pid)


def test_service_keeps_its_records() -> None:
    """The service writes to the directory that systemd makes for it, which its restart keeps."""
    unit = Path("examples/systemd/gpualert-agent.service").read_text().splitlines()
    (directory,) = (one.partition("=")[2] for one in unit if one.startswith("StateDirectory="))
    (command,) = (one for one in unit if one.startswith("ExecStart="))
    assert command.endswith(f" agent --state-dir /var/lib/{directory}")


@pytest.mark.e2e
def test_one_agent_at_a_time(lab: Lab) -> None:
    """A second agent of one state directory is an error, and so is a machine without GPUs."""
    without = lab.gpualert("agent")
    assert without.returncode == 2
    assert b"no GPU can be watched here" in without.stderr
    assert lab.gpualert("agent", "--status").returncode == 1
    agent = Agent(lab, hold())
    until(lambda: lab.json("agent", "--status")["is_running"], "the agent")
    second = lab.gpualert("agent", env=agent.variables)
    assert second.returncode == 2
    assert b"another agent" in second.stderr
    assert lab.gpualert("agent", "--every", "21s").returncode == 2


@pytest.mark.nightly
def test_hang_is_noticed(lab: Lab) -> None:
    """A process that hangs has a warning, by stacks that were taken without pausing it."""
    code = "import time\nprint('step 1', flush=True)\ntime.sleep(600)"
    pid = start_job(lab, code, "train.log")
    agent = Agent(lab, hold(pid, load=0), options=("--hang-timeout", "10s"))
    record = agent.await_record(pid)
    until(lambda: record.event(WARNING_RAISED), "a warning", deadline_s=240.0, poll_s=0.5)
    warning = record.event(WARNING_RAISED)
    assert warning is not None
    assert warning.fields["kind"] == "hung"
    assert len(list(read_dumps(record))) == 2
    assert agent.rows()[0]["warnings"] == ["hung"]
