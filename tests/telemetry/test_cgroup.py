"""Tests of the source ``cgroup``: limits, the tightest limit, and kills."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path

import pytest

from gpualert_common.processes import mounts
from gpualert_common.telemetry import cgroups
from gpualert_common.telemetry.cgroups import find_cgroups, parse_location
from gpualert_common.telemetry.source import SourceUnavailableError
from tests.supervised import python
from tests.telemetry import host
from tests.telemetry.host import sample

root = pytest.mark.e2e

MIB = 1 << 20
NO_LIMIT_V1 = 9223372036854771712


class Tree:
    """A machine's cgroups as files that a test writes; the leader is this process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        (path / "mountinfo").write_text("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n")
        (path / "membership").write_text("")

    def mount(self, version: int, controllers: str = "", at: str = "/") -> Path:
        """Mount a tree, or its part below ``at``; return the mount point."""
        point = self._path / f"mount {version}{controllers}"
        point.mkdir()
        shown = str(point).replace(" ", "\\040")
        kind = "cgroup2 cgroup2 rw" if version == 2 else f"cgroup cgroup rw,{controllers}"
        with open(self._path / "mountinfo", "a") as file:
            file.write(f"9 1 0:{version} {at} {shown} rw,nosuid shared:4 - {kind}\n")
        return point

    def enter(self, *lines: str) -> None:
        """Put the leader into these groups, in the format of /proc/PID/cgroup."""
        (self._path / "membership").write_text("".join(f"{line}\n" for line in lines))


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """A machine whose cgroups the test defines."""
    monkeypatch.setattr(mounts, "MOUNTS", str(tmp_path / "mountinfo"))
    monkeypatch.setattr(cgroups, "MEMBERSHIP", str(tmp_path / "membership"))
    return Tree(tmp_path)


def write(directory: Path, files: Mapping[str, object]) -> Path:
    """Write the files of a group."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (directory / name).write_text(f"{content}\n")
    return directory


def memory_v2(
    used: int, limit: int | str, hits: int = 0, kills: int = 0, *, below: int = 0
) -> dict[str, object]:
    """Return the memory files of a group of version 2; ``below`` are hits of groups in it."""
    return {
        "memory.current": used,
        "memory.peak": used + MIB,
        "memory.swap.current": 0,
        "memory.max": limit,
        "memory.high": "max",
        "memory.events": f"low 0\nhigh 0\nmax {hits + below}\noom {kills}\noom_kill {kills}",
        "memory.events.local": f"low 0\nhigh 3\nmax {hits}\noom 0\noom_kill 0",
    }


# -- version 2 -------------------------------------------------------------------------------


@pytest.fixture
def pod(tree: Tree) -> Path:
    """A group without a limit, in one of 200 MiB, in one of 1 GiB."""
    point = tree.mount(2)
    tree.enter("0::/kube.slice/pod1/c1")
    write(point, {"cpu.stat": "usage_usec 5000000"})
    write(point / "kube.slice", memory_v2(600 * MIB, 1024 * MIB))
    write(point / "kube.slice/pod1", memory_v2(150 * MIB, 200 * MIB, hits=2))
    return write(point / "kube.slice/pod1/c1", memory_v2(140 * MIB, "max"))


def test_the_tightest_limit_counts(pod: Path) -> None:
    """Limit and room are those of the tightest level."""
    source = host.opened("cgroup")
    values = sample(source).samples["cgroup"]
    assert values["memory_bytes"] == 140 * MIB
    assert values["memory_peak_bytes"] == 141 * MIB
    assert values["memory_limit_bytes"] == 200 * MIB
    assert values["memory_room_bytes"] == 50 * MIB
    assert values["memory_limit_hits_total"] == 2
    assert "memory_high_bytes" not in values
    assert source.facts["paths"]["memory"] == "/kube.slice/pod1/c1"
    assert source.facts["memory_limits_bytes"] == {
        "/kube.slice/pod1": 200 * MIB,
        "/kube.slice": 1024 * MIB,
    }


def test_a_limit_further_up_may_be_reached_first(pod: Path) -> None:
    """Room is computed at each limit: a neighbour may have used up the larger one."""
    source = host.opened("cgroup")
    write(pod.parent.parent, memory_v2(1023 * MIB, 1024 * MIB))
    values = sample(source).samples["cgroup"]
    assert values["memory_limit_bytes"] == 200 * MIB
    assert values["memory_room_bytes"] == MIB


def test_a_kill_in_the_group_is_an_event(pod: Path) -> None:
    """A kill is reported once, for its own group, with the group whose limit was reached."""
    source = host.opened("cgroup")
    write(pod, memory_v2(100 * MIB, "max", kills=2))
    write(pod.parent, memory_v2(200 * MIB, 200 * MIB, hits=9, kills=2))
    write(pod.parent.parent, memory_v2(650 * MIB, 1024 * MIB, kills=2, below=9))
    output = sample(source)
    (event,) = output.events
    assert event.what == "cgroup_oom_kill"
    assert event.fields == {
        "path": "/kube.slice/pod1/c1",
        "kills": 2,
        "own": True,
        "limit_path": "/kube.slice/pod1",
        "limit_bytes": 200 * MIB,
        "reached": "meanwhile",
    }
    assert output.samples["cgroup"]["oom_kills_total"] == 2
    assert sample(source).events == []


def test_a_kill_in_another_group(pod: Path) -> None:
    """A kill in another group of the same pod is not attributed to the leader's group."""
    source = host.opened("cgroup")
    write(pod.parent, memory_v2(180 * MIB, 200 * MIB, hits=2, kills=1))
    write(pod.parent.parent, memory_v2(600 * MIB, 1024 * MIB, kills=1))
    (event,) = sample(source).events
    assert (event.fields["path"], event.fields["own"]) == ("/kube.slice/pod1", False)
    assert "limit_path" not in event.fields


def test_kills_from_before_are_no_events(pod: Path) -> None:
    """Kills from before the run are a fact, not an event."""
    write(pod, memory_v2(140 * MIB, "max", kills=5))
    source = host.opened("cgroup")
    assert source.facts["oom_kills_before"] == 5
    assert sample(source).events == []


def test_a_group_that_is_gone(pod: Path) -> None:
    """The values of a removed group are not taken from its parent."""
    source = host.opened("cgroup")
    for file in pod.iterdir():
        file.unlink()
    pod.rmdir()
    write(pod.parent, memory_v2(10 * MIB, 200 * MIB, hits=8, kills=1))
    for looked in (sample(source), sample(source)):
        assert "memory_bytes" not in looked.samples.get("cgroup", {})
        kills = [(one.fields["path"], one.fields["own"]) for one in looked.events]
        assert kills in ([("/kube.slice/pod1", False)], [])
    assert sample(source).events == []


def test_processors_and_pids(pod: Path) -> None:
    """Quotas and throttling of all levels are reported, and a refused process is an event."""
    limits = {"cpu.max": "150000 100000", "pids.current": 9, "pids.max": 50}
    write(pod, {**limits, "cpu.stat": "usage_usec 7500000\nnr_throttled 3\nthrottled_usec 250000"})
    write(pod.parent, {"cpu.max": "max 100000", "pids.max": 10, "pids.events": "max 1"})
    write(pod.parent, {"cpu.stat": "usage_usec 99\nnr_throttled 1\nthrottled_usec 1000000"})
    source = host.opened("cgroup")
    values = sample(source).samples["cgroup"]
    assert values["cpu_limit_cores"] == 1.5
    assert values["cpu_seconds_total"] == 7.5
    assert values["cpu_throttled_periods_total"] == 4
    assert values["cpu_throttled_seconds_total"] == 1.25
    assert (values["pids"], values["pids_limit"]) == (9, 10)
    write(pod.parent, {"pids.events": "max 4"})
    (event,) = sample(source).events
    assert (event.what, event.fields["refused"]) == ("pids_refused", 3)


# -- version 1, and both ---------------------------------------------------------------------


def memory_v1(used: int, limit: int, hits: int = 0, kills: int = 0) -> dict[str, object]:
    """Return the memory files of a group of version 1."""
    return {
        "memory.usage_in_bytes": used,
        "memory.max_usage_in_bytes": used + MIB,
        "memory.limit_in_bytes": limit,
        "memory.failcnt": hits,
        "memory.memsw.failcnt": 0,
        "memory.oom_control": f"oom_kill_disable 0\nunder_oom 0\noom_kill {kills}",
    }


def test_version_1_together_with_version_2(tree: Tree) -> None:
    """Each controller is read where it is bound; "no limit" is recognized in either version."""
    memory, cpu = tree.mount(1, "memory"), tree.mount(1, "cpu,cpuacct")
    unified = tree.mount(2)
    tree.enter("4:cpu,cpuacct:/", "3:memory:/slurm/job_1/step_0", "0::/init.scope")
    write(memory, memory_v1(4000 * MIB, NO_LIMIT_V1))
    write(memory / "slurm/job_1", memory_v1(300 * MIB, 320 * MIB, hits=1))
    step = write(memory / "slurm/job_1/step_0", memory_v1(290 * MIB, NO_LIMIT_V1))
    write(cpu, {"cpu.cfs_quota_us": -1, "cpu.cfs_period_us": 100000, "cpuacct.usage": 2 * 10**9})
    write(unified / "init.scope", {"pids.current": 7, "pids.max": "max"})
    source = host.opened("cgroup")
    values = sample(source).samples["cgroup"]
    assert values["memory_limit_bytes"] == 320 * MIB
    assert values["memory_room_bytes"] == 20 * MIB
    assert values["cpu_seconds_total"] == 2
    assert "cpu_limit_cores" not in values
    assert values["pids"] == 7
    assert "pids_limit" not in values
    assert source.facts["versions"] == {"memory": 1, "cpu": 1, "cpuacct": 1, "pids": 2}
    write(step, memory_v1(100 * MIB, NO_LIMIT_V1, kills=1))
    write(step.parent, memory_v1(110 * MIB, 320 * MIB, hits=40))
    (event,) = sample(source).events
    assert (event.fields["limit_path"], event.fields["reached"]) == ("/slurm/job_1", "meanwhile")
    assert event.fields["own"] is True


def test_a_kernel_that_counts_no_hits(tree: Tree) -> None:
    """If the kernel does not count hits, a peak at the limit means that it was reached once."""
    group = write(tree.mount(1, "memory"), memory_v1(300 * MIB, 320 * MIB))
    tree.enter("3:memory:/")
    source = host.opened("cgroup")
    write(group, memory_v1(319 * MIB, 320 * MIB, kills=1))
    (event,) = sample(source).events
    assert (event.fields["limit_path"], event.fields["reached"]) == ("/", "once")
    write(group, memory_v1(10 * MIB, 320 * MIB, kills=2))
    (event,) = sample(source).events
    assert "limit_path" not in event.fields


# -- containers ------------------------------------------------------------------------------


def test_a_part_of_the_tree(tree: Tree) -> None:
    """A container that sees its part of the tree at the mount's root finds its group there."""
    point = tree.mount(1, "memory", at="/docker/abc")
    tree.enter("3:memory:/docker/abc/inner")
    write(point, memory_v1(5 * MIB, 64 * MIB))
    write(point / "inner", memory_v1(4 * MIB, NO_LIMIT_V1))
    source = host.opened("cgroup")
    assert source.facts["paths"] == {"memory": "/docker/abc/inner"}
    assert source.facts["memory_limits_bytes"] == {"/docker/abc": 64 * MIB}


@pytest.mark.parametrize("path", ["/docker/abcdef", "/../other", "/gone (deleted)", "/docker"])
def test_a_group_outside_the_mount_is_unavailable(tree: Tree, path: str) -> None:
    """A group outside the mounted part is not replaced by another one."""
    write(tree.mount(1, "memory", at="/docker/abc"), memory_v1(5 * MIB, 64 * MIB))
    tree.enter(f"3:memory:{path}")
    with pytest.raises(SourceUnavailableError) as caught:
        host.opened("cgroup")
    assert caught.value.remedy


def test_a_leader_that_has_ended_is_unavailable() -> None:
    """After the leader's end its cgroup is unknown; our own is not used instead."""
    pid = os.spawnvp(os.P_NOWAIT, "true", ["true"])
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(SourceUnavailableError):
        host.opened("cgroup", pid)
    os.waitpid(pid, 0)
    with pytest.raises(SourceUnavailableError):
        host.opened("cgroup", pid)


CONTAINER = "0123456789abcdef" * 4
POD = "7d1c9a52-0b1e-4f6a-9c3d-2f8e5b6a7c10"


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (f"/docker/{CONTAINER}", {"container": CONTAINER}),
        (f"/system.slice/docker-{CONTAINER}.scope", {"container": CONTAINER}),
        (f"/kubepods/burstable/pod{POD}/{CONTAINER}", {"container": CONTAINER, "pod": POD}),
        (
            f"/kubepods.slice/kubepods-pod{POD.replace('-', '_')}.slice/crio-{CONTAINER}.scope",
            {"container": CONTAINER, "pod": POD},
        ),
        ("/slurm/uid_1000/job_77/step_batch", {"slurm_job": "77", "slurm_step": "batch"}),
        (
            "/system.slice/slurmstepd.scope/job_78/step_0/user/task_1",
            {"slurm_job": "78", "slurm_step": "0"},
        ),
        ("/user.slice/user-1000.slice/session-3.scope", {}),
        ("/ci/job_12/container", {}),
        ("/", {}),
    ],
)
def test_container_in_the_names_of_groups(path: str, found: dict[str, str]) -> None:
    """Container, pod and Slurm job are read from the names of groups."""
    assert parse_location([path]) == found


# -- the real ones ---------------------------------------------------------------------------


def test_groups_of_this_machine() -> None:
    """The groups found on this machine are directories, innermost first."""
    for group in find_cgroups("self").values():
        assert all(os.path.isdir(level) for level in group.levels)
        assert group.get_path(group.levels[0]) == group.path
        assert [len(level) for level in group.levels] == sorted(
            (len(level) for level in group.levels), reverse=True
        )


@root
@pytest.mark.parametrize("limit", [64 * MIB, 96 * MIB])
def test_a_real_kill(limit: int) -> None:
    """A kill at a real limit is reported with the limit and the room before it."""
    with host.limited_group(limit) as group:
        with host.eat(python(host.EATS), group) as process:
            source = host.opened("cgroup", process.pid)
            before = sample(source)
            process.communicate(b"go\n")
        assert process.returncode == -signal.SIGKILL
        after = sample(source)
    assert before.events == []
    assert before.samples["cgroup"]["memory_limit_bytes"] == limit
    assert 0 < before.samples["cgroup"]["memory_room_bytes"] <= limit
    (event,) = after.events
    assert (fields := dict(event.fields)).pop("reached") in ("meanwhile", "once")
    assert fields == {
        "path": f"/{group.name}",
        "kills": 1,
        "own": True,
        "limit_path": f"/{group.name}",
        "limit_bytes": limit,
    }
    assert after.samples["cgroup"]["oom_kills_total"] == 1
    assert after.samples["cgroup"]["memory_peak_bytes"] > limit - 8 * MIB
