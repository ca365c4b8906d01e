"""Tests of the source ``processes``: members of the run, their usage, and idle ones."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.processes import procfs
from gpualert_common.processes.procfs import ProcessStat, read_stat
from gpualert_common.processes.ranks import RankProcesses
from gpualert_common.processes.sampled_tree import SampledTree
from gpualert_common.telemetry.idle_processes import WINDOW_S, IdleProcesses
from gpualert_common.telemetry.source import Source, SourceEvent, round_counter_s
from gpualert_common.telemetry.sources.processes import ProcessCounter
from tests.supervised import Lab, python, shell, until
from tests.telemetry import host
from tests.telemetry.host import MARK, sample

WAIT = "import sys; print(flush=True); sys.stdin.readline()"
"""Program that prints a line and waits for one."""


def process_stat(
    pid: int,
    name: str,
    *,
    state: str = "S",
    parent: int = 1,
    cpu_s: float = 0.0,
    rss_bytes: int = 0,
) -> ProcessStat:
    """Return the status of a process with these values, otherwise zeros."""
    fields = ["0"] * 50
    fields[0], fields[1] = state, str(parent)
    fields[19] = str(pid)
    stat = ProcessStat(pid, f"{pid} ({name}) {' '.join(fields)}".encode())
    stat.cpu_s, stat.rss_bytes = cpu_s, rss_bytes
    return stat


LAUNCHER = f"""
import json, os, subprocess, sys
given = json.loads(sys.argv[1])
command = [sys.executable, "-c", {WAIT!r}]
for process in [subprocess.Popen(command, env={{**os.environ, **one}}) for one in given]:
    process.wait()
"""
"""Program that starts one process for each environment, as torchrun does for each rank."""


class Run:
    """A run of the test: a session leader, as the supervisor starts it.

    ``lines`` are the first lines that it printed.
    """

    def __init__(self, lab: Lab, *command: str, lines: int = 1, **environment: str) -> None:
        self._process = lab.start(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, MARK: "1", **environment},
        )
        self.pid = self._process.pid
        self.lines = [self.read() for _line in range(lines)]

    def read(self) -> bytes:
        """Return the next line of its output."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "it ended"
        return line

    def go_on(self, line: bytes = b"\n") -> None:
        """Send it a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()

    @property
    def source(self) -> Source:
        """The source, open for this run."""
        return host.opened("processes", self.pid)

    def end(self) -> None:
        """Let it end, and wait for its end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def launched(lab: Lab, *given: dict[str, str]) -> Run:
    """Return a launcher with one process for each of these environments."""
    return Run(lab, *python(LAUNCHER), json.dumps(given), lines=len(given))


def rank(number: int, size: int = 2, **more: str) -> dict[str, str]:
    """Return the environment of a rank."""
    return {"RANK": str(number), "LOCAL_RANK": str(number), "WORLD_SIZE": str(size), **more}


# -- all of them -----------------------------------------------------------------------------


THREADED = f"""
import threading, time
threading.Thread(target=time.sleep, args=(99,), daemon=True).start()
{WAIT}
"""


def test_the_tree_is_summed(lab: Lab) -> None:
    """Processes, threads and memory of the run are counted, without those of the sampler."""
    run = Run(lab, *shell('"$0" -c "$1"; true'), sys.executable, THREADED)
    values = sample(run.source).samples["host:tree"]
    assert values["processes"] == 2
    assert values["threads"] == 3
    assert values["rss_bytes"] > 5 << 20
    assert values["fds"] >= 6
    assert 0 < values["fds_used_percent"] < 100
    run.end()


WORKS = """
import os, time
end = time.process_time() + 0.3
while time.process_time() < end: pass
with open("file", "wb") as file:
    file.write(b"x" * (1 << 20))
    file.flush()
    os.fsync(file)
"""


def test_used_time_and_bytes_only_grow(lab: Lab) -> None:
    """The usage of an ended process stays in the sum."""
    run = Run(lab, *shell('"$0" -c "$1"; echo done; read line; exec true'), sys.executable, WORKS)
    source = run.source
    before = sample(source).samples["host:tree"]
    assert before["cpu_seconds_total"] >= 0.3
    assert before["written_bytes_total"] >= 1 << 20
    run.end()
    after = sample(source).samples["host:tree"]
    assert after["processes"] == 0
    for name in ("cpu_seconds_total", "written_bytes_total", "read_bytes_total"):
        assert after[name] >= before[name]


def test_a_sum_over_comers_and_goers() -> None:
    """A counter keeps the usage of ended processes and adds that of new ones."""
    growing = ProcessCounter()
    assert [growing.update(present) for present in (5, 8, 3, 4, 0, 2)] == [5, 8, 8, 9, 9, 11]


def test_a_daemon_that_left_is_found_by_its_mark(lab: Lab) -> None:
    """A process in a session of its own without a parent belongs to the run by its marker."""
    run = Run(lab, *shell("setsid sh -c 'sleep 1000 & echo $!' & read line"))
    daemon = int(run.lines[0])
    found = read_stat(daemon)
    assert found is not None
    assert found.session != run.pid
    tree = SampledTree(run.pid, MARK)
    assert daemon in tree.members()
    assert tree.belongs(daemon) is True


def test_other_processes_do_not_belong(lab: Lab) -> None:
    """A process without the marker, outside the leader's session, does not belong to the run."""
    stranger = lab.start(("sleep", "1000"), start_new_session=True)
    run = Run(lab, *python(WAIT))
    tree = SampledTree(run.pid, MARK)
    assert set(tree.members()) == {run.pid}
    assert tree.belongs(stranger.pid) is False
    assert tree.belongs(os.getpid()) is None


def test_children_of_a_later_sample(lab: Lab) -> None:
    """Later processes are found, and ended ones are remembered."""
    run = Run(lab, *shell("echo; read line; sleep 1000 & echo $!; read line"))
    tree = SampledTree(run.pid, MARK)
    assert set(tree.members()) == {run.pid}
    run.go_on()
    child = int(run.read())
    assert set(tree.members()) == {run.pid, child}
    os.kill(child, signal.SIGKILL)
    until(lambda: child not in tree.members() or not tree.members()[child].is_live, "its end")
    assert tree.belongs(child) is True


def test_a_number_that_became_another_process(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process with the number of the ended leader does not belong to the run."""
    run = Run(lab, *python(WAIT))
    tree = SampledTree(run.pid, "SOME_OTHER_MARK")
    real = procfs.read

    def later(path: str, most_bytes: int | None = None) -> bytes:
        data = real(path, most_bytes)
        if path != f"/proc/{run.pid}/stat":
            return data
        head, _, tail = data.rpartition(b")")
        fields = tail.split()
        fields[19] = b"%d" % (int(fields[19]) + 1)
        return head + b") " + b" ".join(fields)

    monkeypatch.setattr(procfs, "read", later)
    assert tree.members() == {}


def test_lasting_processes_are_listed(lab: Lab) -> None:
    """Processes that exist in two samples are listed once, by name."""
    run = Run(lab, *shell(f'"{sys.executable}" -c "{WAIT}"'))
    source = run.source
    assert sample(source).of_kind("processes_seen") == []
    (event,) = sample(source).of_kind("processes_seen")
    assert run.pid in event.fields["pids"]["sh"]
    assert sum(len(pids) for pids in event.fields["pids"].values()) == 2
    assert sample(source).of_kind("processes_seen") == []


# -- ranks -----------------------------------------------------------------------------------


def test_ranks_are_separate(lab: Lab) -> None:
    """Each rank has its own numbers, and one event with its identity."""
    run = launched(lab, rank(0, CUDA_VISIBLE_DEVICES="0,1"), rank(1, SLURM_JOB_ID="4711"))
    source = run.source
    output = sample(source)
    assert {"rank:0", "rank:1", "leader", "host:tree"} == set(output.samples)
    for name in ("rank:0", "rank:1"):
        values = output.samples[name]
        assert values["threads"] == 1
        assert values["rss_bytes"] > 1 << 20
        assert values["fds"] >= 3
        assert values["fds_limit"] > 0
        assert {"voluntary_switches_total", "involuntary_switches_total"} <= values.keys()
        assert values["uninterruptible"] == values["stopped"] == 0
    ranks = {event.of: event.fields for event in output.of_kind("rank_process")}
    assert ranks["rank:0"]["visible_gpus"] == "0,1"
    assert ranks["rank:1"]["slurm_job"] == 4711
    assert (ranks["rank:1"]["rank"], ranks["rank:1"]["world_size"]) == (1, 2)
    assert read_stat(ranks["rank:0"]["pid"]) is not None
    assert sample(source).of_kind("rank_process") == []
    run.end()


def test_workers_of_a_rank_are_not_the_rank(lab: Lab) -> None:
    """Neither a worker of a rank nor the shell around it counts as the rank."""
    workers = (
        "import subprocess, sys\n"
        f"below = subprocess.Popen([sys.executable, '-c', {WAIT!r}])\n"
        "below.wait()"
    )
    (lab.home / "train.py").write_text(workers)
    run = Run(lab, *shell(f'"{sys.executable}" train.py; true'), RANK="3")
    (name,) = {"rank:3"} & set(sample(run.source).samples)
    (event,) = [one for one in sample(run.source).of_kind("rank_process") if one.of == name]
    command = Path(f"/proc/{event.fields['pid']}/cmdline").read_bytes()
    assert command.split(b"\0")[1] == b"train.py"
    run.end()


def test_a_worker_that_outlives_its_rank(lab: Lab) -> None:
    """A worker is not the rank either once that has ended."""
    started = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', sys.argv[1]])"
    (lab.home / "train.py").write_text(f"{started}; open('go').read()")
    os.mkfifo(lab.home / "go")
    run = Run(lab, *shell(f'RANK=3 "{sys.executable}" train.py "$0"; echo; read line'), WAIT)
    source = run.source
    until(lambda: sample(source).samples["host:tree"]["processes"] == 3, "the worker to be seen")
    assert "rank:3" in sample(source).samples
    (lab.home / "go").write_text("")
    run.read()
    after = sample(source)
    assert after.samples["host:tree"]["processes"] == 2
    assert "rank:3" not in after.samples
    run.end()


def test_a_launcher_is_no_rank(lab: Lab) -> None:
    """A launcher to which a scheduler gave the number of its machine as RANK is no rank."""
    given = [rank(4, 8, LOCAL_RANK="0"), rank(5, 8, LOCAL_RANK="1")]
    run = Run(lab, *python(LAUNCHER), json.dumps(given), lines=2, RANK="1", WORLD_SIZE="2")
    assert set(sample(run.source).samples) == {"host:tree", "leader", "rank:4", "rank:5"}
    run.end()


def test_a_launcher_that_has_started_no_rank(lab: Lab) -> None:
    """A launcher that still waits for other machines is no rank either."""
    (lab.home / "torchrun").write_text(WAIT)
    run = Run(lab, sys.executable, "torchrun", "train.py", RANK="1", WORLD_SIZE="2")
    assert set(sample(run.source).samples) == {"host:tree", "leader"}
    run.end()


def test_a_launcher_of_rank_0_is_no_rank(lab: Lab) -> None:
    """Rank 0 is the process that the launcher of machine 0 started, not the launcher."""
    command = (*python(LAUNCHER), json.dumps([rank(0)]))
    run = Run(lab, *command, RANK="0", WORLD_SIZE="2")
    (event,) = [one for one in sample(run.source).of_kind("rank_process") if one.of == "rank:0"]
    assert event.fields["pid"] != run.pid
    run.end()


def test_a_rank_that_is_set_by_exec(lab: Lab) -> None:
    """A process that becomes a rank by exec is found."""
    run = Run(lab, *shell('echo; read line; RANK=5 exec "$0" -c "$1"'), sys.executable, WAIT)
    source = run.source
    for _sample in range(10):
        assert "rank:5" not in sample(source).samples
    run.go_on()
    until(lambda: "rank:5" in sample(source).samples, "the rank to be found")
    run.end()


@pytest.mark.parametrize("value", ["", "-1", "x", "9" * 5000, "1.0"])
def test_invalid_rank_numbers(lab: Lab, value: str) -> None:
    """A variable without a valid rank number is ignored."""
    run = Run(lab, *python(WAIT), RANK=value)
    assert set(sample(run.source).samples) == {"host:tree", "leader"}
    run.end()


def test_the_leader_is_the_program_that_the_shell_runs(lab: Lab) -> None:
    """If the leader is a waiting shell, the program that it runs is sampled."""
    run = Run(lab, *shell(f'"{sys.executable}" -c "{WAIT}"; true'))
    (event,) = sample(run.source).of_kind("rank_process")
    assert event.of == "leader"
    assert event.fields["pid"] != run.pid
    assert event.fields["name"].startswith("python")
    run.end()


def member(pid: int, parent: int, name: str = "python", rss: int = 1) -> ProcessStat:
    """Return a process with only these values."""
    return process_stat(pid, name, parent=parent, rss_bytes=rss)


def test_two_of_one_rank(lab: Lab) -> None:
    """If two processes could be the rank, the larger one counts."""
    runs = [Run(lab, *python(WAIT), RANK="0") for _run in range(2)]
    members = {run.pid: member(run.pid, 1, rss=run.pid) for run in runs}
    assert RankProcesses().find_workers(members)["rank:0"].pid == max(members)


# -- idle processes ----------------------------------------------------------------------------


def using(cpu_s: float, state: str = "S") -> ProcessStat:
    """Return this process with that processor time."""
    return process_stat(os.getpid(), "python", state=state, cpu_s=cpu_s)


def collect_events(waits: IdleProcesses, *samples: tuple[float, ProcessStat]) -> list[SourceEvent]:
    """Return the events of one rank over these samples."""
    return [event for at, one in samples for event in waits.update(at, {"rank:0": one}, [one])]


def test_an_idle_rank_is_one_event() -> None:
    """A minute without work is one event with the wait place; later work is another one."""
    waits = IdleProcesses()
    assert collect_events(waits, (0, using(100)), (30, using(101))) == []
    (event,) = collect_events(waits, (WINDOW_S, using(102)))
    assert (event.what, event.of) == ("process_idle", "rank:0")
    assert event.fields["state"] == "S"
    assert event.fields["used_seconds"] == 2
    assert collect_events(waits, (2 * WINDOW_S, using(103)), (3 * WINDOW_S, using(104))) == []
    (event,) = collect_events(waits, (4 * WINDOW_S, using(160)))
    assert event.what == "process_busy"
    assert collect_events(waits, (5 * WINDOW_S, using(220))) == []


def test_a_rank_that_works_a_little_is_not_idle() -> None:
    """A twentieth of a core is not idle."""
    assert collect_events(IdleProcesses(), (0, using(0)), (WINDOW_S, using(3.1))) == []


def test_a_new_process_starts_at_zero() -> None:
    """The time of a restarted rank starts at zero."""
    again = process_stat(1, "python")
    assert (
        collect_events(IdleProcesses(), (0, using(9)), (WINDOW_S - 1, again), (WINDOW_S + 1, again))
        == []
    )


def test_a_blocked_process_is_one_event() -> None:
    """A minute in state D, in each sample, is one event; an interruption restarts the minute."""
    waits = IdleProcesses()
    busy = [(float(at), using(at * 1.0, "D")) for at in range(0, 55, 5)]
    assert collect_events(waits, *busy, (55.0, using(55, "R"))) == []
    events = collect_events(waits, *((float(at), using(at * 1.0, "D")) for at in range(60, 200, 5)))
    assert [event.what for event in events] == ["process_blocked"]
    assert events[0].of == f"pid:{os.getpid()}"


@pytest.fixture
def blocked(lab: Lab) -> Iterator[Run]:
    """A run whose leader is in state D: it waits for a child that shares its memory.

    The child is blocked while it opens a pipe without a writer.
    """
    os.mkfifo(lab.home / "pipe")
    code = (
        "import os; print(flush=True)\n"
        "opens = (os.POSIX_SPAWN_OPEN, 9, 'pipe', os.O_RDONLY, 0)\n"
        "os.posix_spawn('/bin/true', ['true'], {}, file_actions=[opens])"
    )
    yield Run(lab, *python(code))
    with open(os.open(lab.home / "pipe", os.O_RDWR), "wb"):
        pass


def test_a_really_blocked_process(blocked: Run) -> None:
    """A process in state D is counted, and its wait place is reported if the kernel shows it."""
    source = blocked.source

    def samples() -> Any:
        found = sample(source).samples
        return found if found["host:tree"]["uninterruptible"] else None

    found = until(samples, "the leader to be blocked")
    assert found["leader"]["uninterruptible"] == 1
    one = read_stat(blocked.pid)
    assert one is not None
    waits = IdleProcesses()
    list(waits.update(0, {}, [one]))
    (event,) = waits.update(WINDOW_S, {}, [one])
    assert event.fields["state"] == "D"


def test_a_stopped_process(lab: Lab) -> None:
    """A process stopped by a signal is reported as stopped."""
    run = Run(lab, *python(WAIT))
    os.kill(run.pid, signal.SIGSTOP)
    until(lambda: (stat := read_stat(run.pid)) and stat.state == "T", "it to stop")
    assert sample(run.source).samples["leader"]["stopped"] == 1


# -- odd names -------------------------------------------------------------------------------


def test_a_name_that_resembles_the_line(lab: Lab) -> None:
    """The name of a process may contain blanks and brackets."""
    os.symlink(sys.executable, lab.home / ") R 1 (x")
    run = Run(lab, str(lab.home / ") R 1 (x"), "-c", WAIT)
    found = read_stat(run.pid)
    assert found is not None
    assert found.name == ") R 1 (x"
    assert found.parent == os.getpid()
    run.end()


@pytest.mark.parametrize("name", ["\u00b2", "7", "voluntary_ctxt_"])
def test_a_name_that_resembles_a_number(lab: Lab, name: str) -> None:
    """Usage is read for any name of the process."""
    os.symlink(sys.executable, lab.home / name)
    run = Run(lab, str(lab.home / name), "-c", WAIT)
    assert sample(run.source).samples["leader"]["fds"] >= 3
    run.end()


def test_seconds_keep_their_digits() -> None:
    """A counter of seconds is exact in six digits, or an integer."""
    for seconds in (0.004, 12.345, 9999.994, 10_000.6, 123_456_789.9):
        rounded = round_counter_s(seconds)
        assert rounded == int(rounded) or float(f"{rounded:.6g}") == rounded
        assert abs(rounded - seconds) < 1


def test_a_leader_that_is_gone() -> None:
    """Opened after the leader's end, the source finds no process."""
    gone = subprocess.Popen(("true",))
    gone.wait()
    values = sample(host.opened("processes", gone.pid)).samples
    assert values["host:tree"]["processes"] == 0
    assert set(values) == {"host:tree"}


@pytest.mark.e2e
def test_process_of_another_user(lab: Lab) -> None:
    """For another user's process only public values are read, and nothing fails."""
    run = Run(lab, "setpriv", "--reuid", "65534", "--clear-groups", *python(WAIT))
    code = (
        "import json, os\n"
        "from tests.telemetry import host\n"
        "host.load_source_class('processes')\n"  # imported while files of root can still be read
        "os.setgroups([]); os.setgid(65534); os.setuid(65533)\n"
        f"print(json.dumps(host.sample(host.opened('processes', {run.pid})).samples['leader']))"
    )
    done = lab.call(python(code), cwd=Path(__file__).parents[2])
    values = json.loads(done.stdout)
    assert values["threads"] == 1
    assert values["rss_bytes"] > 0
    assert "read_bytes_total" not in values
    run.end()


def test_processor_time_of_a_working_rank(lab: Lab) -> None:
    """The processor time of a working rank grows between two samples."""
    code = "import time; print(flush=True)\nwhile True: pass"
    run = Run(lab, *python(code), RANK="0")
    source = run.source
    before = sample(source).samples["rank:0"]["cpu_seconds_total"]
    deadline = time.monotonic() + 30
    while sample(source).samples["rank:0"]["cpu_seconds_total"] < before + 0.05:
        assert time.monotonic() < deadline


ENDING = "import os, sys; print(flush=True); sys.stdin.readline(); {end}"
STARTER = f"""
import json, os, subprocess, sys
started = []
for number, end in enumerate(json.loads(sys.argv[1])):
    command = [sys.executable, "-c", {ENDING!r}.replace("{{end}}", end)]
    environment = {{**os.environ, "RANK": str(number)}}
    started.append(subprocess.Popen(command, stdin=subprocess.PIPE, env=environment))
for line in sys.stdin:
    process = started.pop(0)
    process.stdin.close()
    if line == "reap\\n":
        process.wait()
    else:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    print("over", flush=True)
"""
"""Program that starts ranks and ends one for each line, which says whether it waits for it."""


@pytest.mark.parametrize("is_reaped", [False, True])
def test_ends_of_ranks(lab: Lab, is_reaped: bool) -> None:
    """The end of each rank is reported with its status, in the order of the ends."""
    ends = ["sys.exit(3)", "os._exit(0)", "os.kill(os.getpid(), 9)", "os.abort()"]
    run = Run(lab, *python(STARTER), json.dumps(ends), lines=len(ends))
    source = run.source
    before = time.time()
    sample(source)
    for _end in ends:
        run.go_on(b"reap\n" if is_reaped else b"leave\n")
        assert run.read() == b"over\n"
    found: list[SourceEvent] = []

    def has_all_ends() -> bool:
        found.extend(one for one in sample(source).events if one.what == "rank_ended")
        return len(found) == len(ends)

    until(has_all_ends, "all ends to be seen")
    assert [event.of for event in found] == [f"rank:{number}" for number in range(4)]
    for event, code in zip(found, (3, 0, -9, -6), strict=True):
        seen = event.fields.get("code")
        assert seen == code or (is_reaped and seen is None)  # hidden before Linux 6.15
    at = [event.at or 0.0 for event in found]
    assert before <= min(at)
    assert at == sorted(at)
    assert "rank 2 (process " in found[2].text
    run.end()
