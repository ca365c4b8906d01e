"""The agent on a node: groups by control groups, and the users of a machine kept apart."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gpualert_common.agent.grouping import find_group
from gpualert_common.processes.procfs import read_command
from gpualert_common.record import Record
from tests.agent.foreign import CRASH, TRAINING, Agent, hold, release
from tests.control_groups import find_hierarchy
from tests.supervised import Lab, exit_of, python, until

pytestmark = pytest.mark.e2e

POD = "pod12345678_90ab_cdef_1234_567890abcdef"
USER = pwd.getpwnam("nobody")


class Groups:
    """Control groups below one of the test, which is removed with all below it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def enter(self, path: str) -> Callable[[], None]:
        """Return a function that moves the process that calls it into a group."""
        group = self.root / path

        def move() -> None:
            group.mkdir(parents=True, exist_ok=True)
            (group / "cgroup.procs").write_text(str(os.getpid()))

        return move

    def remove(self) -> None:
        """Remove all groups, once their processes are gone."""
        for folder, _folders, _files in list(os.walk(self.root, topdown=False)):
            until(lambda path=folder: self._is_removed(path), "the groups to be empty")  # type: ignore[misc]

    @staticmethod
    def _is_removed(path: str) -> bool:
        with suppress(OSError):
            os.rmdir(path)
        return not os.path.isdir(path)


@pytest.fixture
def groups(lab: Lab) -> Iterator[Groups]:
    """Control groups for one test."""
    place = find_hierarchy()
    assert place is not None
    found = Groups(place / f"gpualert-agent-{uuid.uuid4().hex[:8]}")
    yield found
    lab.end_everything()
    found.remove()


def start(lab: Lab, enter: Callable[[], None], code: str, log: str) -> int:
    """Start a training in a control group; return its number."""
    with open(lab.home / log, "wb") as file:
        command = (os.path.realpath("/proc/self/exe"), "-c", code)
        process = lab.start(command, stdout=file, stderr=file, preexec_fn=enter)
    until((lab.home / log).read_bytes, "its first output")
    return process.pid


def test_ten_processes_on_eight_gpus(lab: Lab, groups: Groups) -> None:
    """Containers, pods and Slurm jobs are one record each, whatever number of processes they have;
    those that crash, are killed, and end well have their verdicts; a shim is no run."""
    container = f"docker/{'a' * 64}"
    pod = f"kubepods.slice/kubepods-{POD}.slice/cri-containerd-{'b' * 64}.scope"
    job = "system.slice/slurmstepd.scope/job_{}/step_0/user/task_{}"
    in_container = [start(lab, groups.enter(container), TRAINING, f"a{n}") for n in (0, 1)]
    in_pod = start(lab, groups.enter(pod), CRASH, "pod")
    in_job = [start(lab, groups.enter(job.format(17, n)), TRAINING, f"j{n}") for n in range(4)]
    in_jobs = [start(lab, groups.enter(job.format(n, 0)), TRAINING, f"k{n}") for n in (18, 19, 20)]
    gpus = [hold(pid) for pid in in_job]
    gpus += [hold(*in_container), hold(in_pod), hold(in_jobs[0], in_jobs[1]), hold(in_jobs[2])]
    agent = Agent(lab, *gpus)
    until(lambda: len(agent.rows()) == 6, "six groups")
    by_place = {row["place"]: row for row in agent.rows()}
    assert set(by_place) == {
        *(f"slurm job {number}" for number in (17, 18, 19, 20)),
        f"container {'a' * 12}",
        f"pod 12345678-90a, container {'b' * 12}",
    }
    until(lambda: len(agent.rows()[0]["gpus"]) >= 1, "the GPUs")
    assert by_place["slurm job 17"]["gpus"] == ["gpu:0", "gpu:1", "gpu:2", "gpu:3"]
    os.kill(in_jobs[0], signal.SIGSEGV)
    os.kill(in_job[2], signal.SIGKILL)
    release(lab)
    until(lambda: not agent.rows(), "all groups to end")
    paths = {place: lab.state / "runs" / row["run_id"] for place, row in by_place.items()}
    records = {place: Record.open(str(path)) for place, path in paths.items()}
    verdicts = {place: agent.await_verdict(record) for place, record in records.items()}
    assert verdicts["slurm job 18"].cause == "segfault"
    assert exit_of(records["slurm job 17"])["code"] == -signal.SIGKILL
    assert verdicts[f"pod 12345678-90a, container {'b' * 12}"].cause == "cuda_runtime"
    assert verdicts["slurm job 19"].cause == "none"
    assert len(lab.records()) == 6
    assert agent.stop() == 0
    lines = agent.errors.read_text().splitlines()
    assert sum(line.startswith("gpualert: watching ") and " as " in line for line in lines) == 6
    assert sum(" has ended: " in line for line in lines) == 6


def test_users_are_kept_apart(lab: Lab, groups: Groups) -> None:
    """Root's agent copies for a user no file that the user may not read; another user finds
    nothing, and an agent of that user watches only own processes."""
    secret = lab.home / "secret.log"
    secret.write_text("the secret of root\n")
    secret.chmod(0o600)
    shell = ("sh", "-c", "while :; do sleep 0.1; done")
    enter = groups.enter(f"docker/{'c' * 64}")

    def become_user() -> None:
        enter()
        os.setgroups([])
        os.setgid(USER.pw_gid)
        os.setuid(USER.pw_uid)

    with open(secret, "ab") as file:
        theirs = lab.start(shell, stdout=file, stderr=file, preexec_fn=become_user, cwd="/")
    ours = start(lab, groups.enter(f"docker/{'d' * 64}"), TRAINING, "ours")
    agent = Agent(lab, hold(theirs.pid, ours))
    record = agent.await_record(theirs.pid)
    assert (record.spec.uid, record.spec.command) == (USER.pw_uid, tuple(read_command(theirs.pid)))
    assert record.spec.unread_output == (
        "its stdout is a file that the user of the process may not read; "
        "its stderr is a file that the user of the process may not read"
    )
    agent.await_record(ours)
    theirs.kill()
    agent.await_verdict(record)
    for path in lab.state.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
        assert not path.is_file() or b"the secret of root" not in path.read_bytes(), path


def test_containers_of_one_name(lab: Lab, groups: Groups) -> None:
    """A group that a user names like a container of another user is a group of its own."""
    name = "e" * 64
    victim = start(lab, groups.enter(f"docker/{name}"), TRAINING, "victim")
    other = start(lab, groups.enter(f"user.slice/{name}"), TRAINING, "other")
    inner = start(lab, groups.enter(f"docker/{name}/inner/{'f' * 64}"), TRAINING, "inner")
    keys = [found.key for pid in (victim, other, inner) if (found := find_group(pid))]
    assert keys[0] != keys[1]
    assert keys[0] == keys[2]


def test_attach_to_a_supervised_process_of_another_user(lab: Lab) -> None:
    """Root cannot attach to a process of a run that gpualert supervises for another user, whose
    records root does not know."""
    variables = {**os.environ, "GPUALERT_MARK_20261129_000000_000001_abcd": "1"}
    process = lab.start(("sleep", "600"), env=variables, user=USER.pw_uid, cwd="/")
    refused = lab.gpualert("attach", str(process.pid))
    assert refused.returncode == 125
    assert b"belongs to 20261129-000000-000001-abcd" in refused.stderr
    assert not lab.records()
    process.kill()


def test_attach_to_a_process_of_another_user(lab: Lab) -> None:
    """A user cannot attach to a process of root."""
    assert os.geteuid() == 0
    process = lab.start(("sleep", "600"), stdout=subprocess.DEVNULL)
    code = (
        "import os, sys\n"
        "from gpualert_common.agent.foreign_process import read_foreign_process, require_access\n"
        "from gpualert_common.errors import UsageError\n"
        f"found = read_foreign_process({process.pid})\n"
        f"os.setuid({USER.pw_uid})\n"
        "try: require_access(found)\n"
        "except UsageError as error: sys.exit(str(error))\n"
    )
    refused = lab.call(python(code), cwd=None)
    assert refused.stderr.decode().strip() == (
        f"process {process.pid} belongs to root: run gpualert as root"
    )
