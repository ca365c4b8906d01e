"""The daemon of a run: what it gives to whom, how long it lives, and who starts it again."""

from __future__ import annotations

import gzip
import json
import os
import select
import signal
import socket
import stat
import struct
import subprocess
import time
from pathlib import Path

import pytest

from gpualert_common import run
from tests.kineto.asking_program import ask, open_client, send_question
from tests.kineto.asking_runs import (
    ASKING,
    TRACING,
    find_daemon,
    launch_asking,
    read_directory,
    refusal,
    trace,
    trace_json,
)
from tests.supervised import PROGRAM, Lab, exit_of, until

ASKED = " ".join(ASKING)

pytestmark = pytest.mark.usefixtures("sockets")


def list_sockets(path: Path) -> list[Path]:
    """Return the directories of sockets in a temporary directory."""
    return list(path.glob("gpualert-kineto-*"))


def test_trace_of_all_ranks(lab: Lab, sockets: Path) -> None:
    """All ranks get the same start, and only compressed files, for this user, are left."""
    asking = launch_asking(lab, "write", "write", "write")
    first = trace_json(lab, "--duration", "100ms")
    processes = first["result"]["processes"]
    assert [one["rank"] for one in processes] == ["rank:0", "rank:1", "rank:2"]
    assert [one["problem"] for one in processes] == ["", "", ""]
    folder = Path(first["path"])
    for one in processes:
        path = folder / one["file"]
        (event,) = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
        assert event["pid"] == one["pid"]
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    names = {path.name for path in folder.iterdir()} - {"merged.json.gz", "analysis.json"}
    assert names == {*(f"rank-{n}.json.gz" for n in range(3)), "request.json", "result.json"}
    chosen = trace_json(lab, "--duration", "100ms", "--ranks", "0,2")
    assert [one["rank"] for one in chosen["result"]["processes"]] == ["rank:0", "rank:2"]
    for name in ("merged.json.gz", "analysis.json"):
        (folder / name).unlink()  # as where the caller was interrupted
    stored = lab.json("trace", "--stored")["traces"]
    assert stored[0]["merged"] == str(folder / "merged.json.gz")
    assert stored[0]["analysis"]
    assert [one["name"] for one in stored] == [first["name"], chosen["name"]]
    events = [one for one in asking.record.events() if one.name.startswith("trace_")]
    assert [one.name for one in events] == ["trace_begun", "trace_complete"] * 2
    asking.signal(signal.SIGTERM)
    asking.wait()
    until(lambda: not list_sockets(sockets), "the directory of the sockets to be removed")
    until(lab.is_empty, "the daemon to end")
    assert "has ended; `gpualert trace --stored" in refusal(asking.record)


def test_training_that_ends_soon(lab: Lab) -> None:
    """A training that has its last step in seconds is traced only if that is forced."""
    steps = 'for step in $(seq 960 999); do echo "step $step/1000 loss 0.5"; sleep 0.2; done'
    program = " ".join(ASKING)
    training = lab.launch("sh", "-c", f"RANK=0 {program} write & {steps}; wait", options=TRACING)
    training.wait_for_output(b"step 970/1000")
    problem = refusal(training.record)
    assert "has its last step in about " in problem
    assert "to trace it nevertheless: --force" in problem
    assert trace_json(lab, "--duration", "100ms", "--force")["result"]["processes"][0]["file"]


def test_output_file(lab: Lab) -> None:
    """The merged trace is also written where the user wants it, for this user only."""
    launch_asking(lab, "write", "write")
    target = lab.home / "trace.json.gz"
    found = trace_json(lab, "--duration", "100ms", "--output", str(target))
    assert target.read_bytes() == Path(found["merged"]).read_bytes()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    target.unlink()
    assert trace(lab, "--stored", "--output", str(target)).returncode == 0
    assert target.read_bytes() == Path(found["merged"]).read_bytes()
    events = json.loads(gzip.decompress(target.read_bytes()))["traceEvents"]
    assert [event["name"] for event in events].count("aten::mm") == 2


def test_output_file_without_a_merged_trace(lab: Lab) -> None:
    """Nothing is written if no trace has one, and the message says so."""
    asking = launch_asking(lab, "once")
    assert trace(lab, "--duration", "100ms").returncode == 1
    target = lab.home / "trace.json.gz"
    done = trace(lab, "--stored", "--output", str(target))
    assert done.returncode == 2
    assert f"{target}: {asking.record.run_id} has no merged trace".encode() in done.stderr
    assert not target.exists()


def test_rank_that_does_not_exist(lab: Lab) -> None:
    """A rank that the run does not have is named."""
    asking = launch_asking(lab, "write")
    assert "the run has no rank 7 on this machine" in refusal(asking.record, ranks=(7,))
    assert list(Path(asking.record.path, "traces").iterdir()) == []


@pytest.mark.parametrize(
    ("mode", "problem"),
    [
        ("cut", "ends early"),
        ("link", "cannot be read"),
        ("once", "ended before its trace was complete"),
    ],
)
def test_damaged_trace(lab: Lab, mode: str, problem: str) -> None:
    """A rank without a usable file has its reason; the others have theirs, and nothing is left."""
    launch_asking(lab, "write", mode)
    found = trace_json(lab, "--duration", "100ms")
    good, bad = found["result"]["processes"]
    assert (good["file"], good["problem"]) == ("rank-0.json.gz", "")
    assert bad["file"] == ""
    assert problem in bad["problem"]
    kept = {path.name for path in Path(found["path"]).iterdir()}
    assert "rank-1.json.gz" not in kept
    assert "raw" not in kept


def test_second_request(lab: Lab) -> None:
    """While a trace is taken, a second request is told so; the first completes."""
    asking = launch_asking(lab, "refuse")
    first = lab.start((*PROGRAM, "trace", "--duration", "100ms"))
    raw = Path(lab.record().path, "traces")
    until(lambda: list(raw.glob("*/raw")), "the first request to be taken up")
    done = trace(lab)
    assert done.returncode == 2
    assert b"a trace of " in done.stderr
    assert b"is being taken" in done.stderr
    first.send_signal(signal.SIGINT)
    first.wait()
    problem = refusal(asking.record)
    assert "is being taken" in problem, "the daemon goes on without the first caller"


def test_strangers(lab: Lab) -> None:
    """A process that is none of the run gets an empty answer, and hostile datagrams none."""
    asking = launch_asking(lab, "silent")  # it would still get one
    directory = str(read_directory(asking.record))
    waiting = lab.start((*PROGRAM, "trace", "--duration", "100ms"))
    until(lambda: list(Path(asking.record.path, "traces").glob("*/raw")), "the request")
    (rank,) = (pid for pid, command in lab.living().items() if command.startswith(ASKED))
    with open_client(directory) as client:
        assert ask(client, directory, rank) == {}, "its own number counts, not this one"
        client.settimeout(0.2)
        for size in (2**64 - 1, 0, 20):
            client.sendto(struct.pack("=Q32s", size, b"req") + b"\xff" * 20, f"{directory}/dynolog")
            with pytest.raises(TimeoutError):
                client.recv(100)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as unnamed:
        unnamed.sendto(b"x" * 60_000, f"{directory}/dynolog")
    assert find_daemon(lab)
    waiting.kill()


def test_daemon_killed(lab: Lab) -> None:
    """A daemon that is killed is started again at the same path; the ranks can be traced then."""
    asking = launch_asking(lab, "write")
    first = until(lambda: find_daemon(lab), "the daemon")
    os.kill(first, signal.SIGKILL)
    until(lambda: find_daemon(lab) not in (0, first), "another daemon")
    found = trace_json(lab, "--duration", "100ms")
    assert found["result"]["processes"][0]["file"] == "rank-0.json.gz"
    asking.signal(signal.SIGTERM)
    asking.wait()
    until(lab.is_empty, "the daemon to end")


def test_daemon_killed_during_a_trace(lab: Lab) -> None:
    """A trace whose daemon is killed has an end, which says so, and leaves nothing raw."""
    asking = launch_asking(lab, "refuse")
    waiting = lab.start((*PROGRAM, "trace", "--duration", "100ms"), stderr=subprocess.PIPE)
    traces = Path(asking.record.path, "traces")
    until(lambda: list(traces.glob("*/raw")), "the request to be taken up")
    os.kill(until(lambda: find_daemon(lab), "the daemon"), signal.SIGKILL)
    assert waiting.wait(30) == 2
    assert waiting.stderr is not None
    assert b"the tracing daemon died; try again" in waiting.stderr.read()
    assert list(traces.glob("*/raw")) == []


@pytest.mark.nightly
def test_process_that_stops_asking(lab: Lab) -> None:
    """A rank that asked once and never again is named; the others are traced."""
    launch_asking(lab, "write", "silent")
    done = trace(lab, "--duration", "100ms")
    assert done.returncode == 1
    assert b"rank 0, process" in done.stdout
    assert b"it has not asked for a configuration for " in done.stdout


def test_supervisor_killed(lab: Lab, sockets: Path) -> None:
    """Without the supervisor the daemon stays; once killed, a request starts another one."""
    asking = launch_asking(lab, "write")
    asking.process.kill()
    asking.process.wait()
    assert trace_json(lab, "--duration", "100ms")["result"]["processes"][0]["file"]
    until(lambda: not _is_supervised(lab), "the recorder to have ended with the supervisor")
    daemon = until(lambda: find_daemon(lab), "the daemon")
    os.kill(daemon, signal.SIGKILL)
    until(lambda: find_daemon(lab) != daemon, "the daemon to be gone")
    assert trace_json(lab, "--duration", "100ms")["result"]["processes"][0]["file"]
    os.killpg(asking.leader, signal.SIGKILL)
    until(lambda: not list_sockets(sockets), "the daemon to end with the last process")


def _is_supervised(lab: Lab) -> bool:
    """True while a process of ``gpualert run`` lives; its recorder is a fork of it."""
    return any("gpualert_common run" in command for command in lab.living().values())


def test_process_that_is_behind(lab: Lab) -> None:
    """A process that read an answer too late gets one less, and is up to date again."""
    asking = launch_asking(lab, "silent")
    directory = str(read_directory(asking.record))
    with open_client(directory) as client:

        def is_answer_left_out() -> bool:
            """Read an answer late; the daemon may notice that only the next time."""
            send_question(client, directory, os.getpid())
            select.select([client], [], [], 5)
            read_at = time.monotonic() + 0.3
            while time.monotonic() < read_at:
                select.select([], [], [], 0.05)
            assert ask(client, directory, os.getpid()) == {}, "this is the late answer"
            return not select.select([client], [], [], 0.5)[0] or not client.recv(100)

        until(is_answer_left_out, "a question without an answer")
        send_question(client, directory, os.getpid())
        assert len(client.recv(100)) == 40


def test_late_answer_during_a_trace(lab: Lab) -> None:
    """During a trace every question gets its answer, since the next one may come too late."""
    asking = launch_asking(lab, "refuse")
    directory = str(read_directory(asking.record))
    waiting = lab.start((*PROGRAM, "trace", "--duration", "100ms"))
    until(lambda: list(Path(asking.record.path, "traces").glob("*/raw")), "the request")
    with open_client(directory) as client:
        for _question in range(2):
            send_question(client, directory, os.getpid())
            select.select([client], [], [], 5)
            select.select([], [], [], 0.5)
        for _answer in range(2):
            assert len(client.recv(100)) == 40
    waiting.kill()


def test_survivors(lab: Lab, sockets: Path) -> None:
    """The daemon stays for a process that outlives its run, and ends with it."""
    program = " ".join(ASKING)
    code = f"{program} write & echo $! > pid; until [ -s ready ]; do sleep 0.05; done"
    survivor = lab.start((*PROGRAM, "run", *TRACING, "--", "sh", "-c", code))
    until(lambda: lab.has_output(b"asked"), "the process to ask")
    (lab.home / "ready").write_text("yes")
    assert survivor.wait(30) == 0
    assert find_daemon(lab)
    os.kill(int((lab.home / "pid").read_text()), signal.SIGKILL)
    until(lambda: not list_sockets(sockets), "the daemon to end")


def test_directory_removed(lab: Lab, sockets: Path) -> None:
    """Without the directory of its sockets a run goes on, and a request says what is missing."""
    asking = launch_asking(lab, "write")
    (directory,) = list_sockets(sockets)
    for path in directory.iterdir():
        path.unlink()
    directory.rmdir()
    assert f"{directory}, where PyTorch has its sockets, was removed" in refusal(asking.record)
    asking.signal(signal.SIGTERM)
    assert asking.wait() == 143
    until(lab.is_empty, "the daemon to end")


def test_variables_of_the_site(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kineto's variables that the user has set stay, and a request says why it is refused."""
    monkeypatch.setenv("KINETO_USE_DAEMON", "1")
    show = 'echo "<$KINETO_USE_DAEMON|$KINETO_IPC_SOCKET_DIR|$KINETO_LOG_LEVEL>"; sleep 60'
    asking = lab.launch("sh", "-c", show, options=TRACING)
    asking.wait_for_output(b"<1||>")
    problem = refusal(asking.record)
    assert "KINETO_USE_DAEMON was set before: PyTorch asks another daemon" in problem
    assert not find_daemon(lab)


def test_run_within_a_run(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run inside of another one has a socket of its own; a log level that is set stays."""
    monkeypatch.setenv("KINETO_USE_DAEMON", "1")
    monkeypatch.setenv("KINETO_IPC_SOCKET_DIR", "/tmp/gpualert-kineto-0123456789abcdef")
    monkeypatch.setenv("KINETO_LOG_LEVEL", "1")
    show = 'echo "<$KINETO_IPC_SOCKET_DIR|$KINETO_LOG_LEVEL>"'
    done = lab.gpualert("run", *TRACING, "--", "sh", "-c", show)
    assert done.returncode == 0
    directory = read_directory(lab.record())
    assert f"<{directory}|1>".encode() in done.stdout
    assert "0123456789abcdef" not in str(directory)


def test_run_without_tracing(lab: Lab) -> None:
    """A run without the option has no daemon and no variables; a request says what to set."""
    asking = lab.launch("sh", "-c", 'echo "<$KINETO_USE_DAEMON>"; sleep 60')
    asking.wait_for_output(b"<>")
    done = trace(lab)
    assert done.returncode == 2
    assert b"start the next run with --tracing, GPUALERT_TRACING=1" in done.stderr
    assert not Path(asking.record.path, "tracing.json").exists()
    assert not find_daemon(lab)


def test_nothing_launched(lab: Lab, sockets: Path) -> None:
    """A command that cannot be started leaves no daemon and no directory."""
    assert lab.gpualert("run", *TRACING, "--", "/nonexistent/python").returncode == 127
    until(lambda: not list_sockets(sockets), "the directory to be removed")
    until(lab.is_empty, "the daemon to end")


def test_python_interface(lab: Lab, sockets: Path) -> None:
    """run() with tracing leaves nothing behind, and the status is that of the command."""
    done = run(["sh", "-c", 'test -S "$KINETO_IPC_SOCKET_DIR/dynolog" && exit 3'], tracing=True)
    assert done.exit_code == 3
    assert exit_of(done.record)["code"] == 3
    until(lambda: not list_sockets(sockets), "the directory to be removed")
    until(lab.is_empty, "the daemon to end")
