"""Tests of the parser of the kernel's log: lines with and without a message."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualert_common.telemetry.kernel_message import KernelMessage
from gpualert_common.telemetry.kernel_parser import KernelMessageParser
from tests.telemetry.kernel_lines import HITS, KILLED, LIMIT, NEAR_MISSES


def parse(*texts: str) -> list[KernelMessage]:
    """Return the messages of these records."""
    messages = KernelMessageParser()
    return [*(one for text in texts for one in messages.feed(text)), *messages.flush()]


# -- one line each ---------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "what", "of", "fields"), HITS, ids=lambda one: str(one)[:40])
def test_a_line_is_parsed(text: str, what: str, of: str, fields: dict[str, Any]) -> None:
    """Each pattern gives one message of its kind, with the right entity and fields."""
    (message,) = parse(text)
    assert (message.what, message.of) == (what, of)
    assert {name: message.fields.get(name) for name in fields} == fields
    assert message.text


@pytest.mark.parametrize("text", NEAR_MISSES, ids=lambda text: text[:40])
def test_a_near_miss(text: str) -> None:
    """Lines that only resemble a fault, corrected faults and text of processes give no message."""
    assert parse(text) == []


@given(st.text())
def test_no_text_is_too_odd(text: str) -> None:
    """The parser never raises."""
    for lead in ("", "NVRM: Xid (PCI:0000:05:00): ", "oom-kill:constraint=CONSTRAINT_", "Killed "):
        parse(lead + text)


# -- several lines together --------------------------------------------------------------------


def test_a_kill_is_one_event() -> None:
    """The records of one kill become one message with all fields."""
    (message,) = parse(LIMIT, "some other line", KILLED)
    assert message.what == "oom_kill"
    assert message.of == "pid:4107"
    assert message.fields == {
        "limit_kind": "cgroup",
        "oom_memcg": "/pods/p1",
        "task_memcg": "/pods/p1/c2",
        "process": "python3",
        "pid": 4107,
        "uid": 1000,
        "anon_rss_bytes": 200 << 20,
        "file_rss_bytes": 1 << 20,
        "shmem_rss_bytes": 0,
    }
    assert "/pods/p1" in message.text


@pytest.mark.parametrize(
    ("constraint", "kind"),
    [
        ("NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom", "host"),
        ("CPUSET,nodemask=(null),cpuset=job,mems_allowed=1,global_oom", "cpuset"),
        ("MEMORY_POLICY,nodemask=0,cpuset=/,mems_allowed=0-1,global_oom", "mempolicy"),
    ],
)
def test_kinds_of_limits(constraint: str, kind: str) -> None:
    """A host without memory and the nodes of a cpuset or policy are distinguished."""
    (message,) = parse(
        f"oom-kill:constraint=CONSTRAINT_{constraint},task_memcg=/user,task=python3,pid=9,uid=0",
        "Out of memory: Killed process 9 (python3) total-vm:9kB, anon-rss:9kB, file-rss:0kB, "
        "shmem-rss:0kB, UID:0 pgtables:3kB oom_score_adj:0",
    )
    assert message.fields["limit_kind"] == kind
    assert message.fields["task_memcg"] == "/user"
    assert "oom_memcg" not in message.fields


def test_a_kill_whose_reason_was_left_out() -> None:
    """Without the reason's record, the first words of the kill name the limit."""
    (message,) = parse(KILLED)
    assert message.fields["limit_kind"] == "cgroup"
    assert message.fields["pid"] == 4107
    (message,) = parse(KILLED.replace("Memory cgroup out", "Out"))
    assert message.fields["limit_kind"] == "host"


def test_a_reason_whose_kill_was_left_out() -> None:
    """A reason without its kill is a message by itself."""
    (message,) = parse(LIMIT)
    assert message.fields["pid"] == 4107
    assert message.fields["limit_kind"] == "cgroup"


def test_two_kills_are_not_mixed() -> None:
    """The reason of one process is never assigned to another."""
    first, second = parse(LIMIT, KILLED.replace("4107", "5000").replace("Memory cgroup o", "O"))
    assert (first.fields["pid"], first.fields["limit_kind"]) == (4107, "cgroup")
    assert (second.fields["pid"], second.fields["limit_kind"]) == (5000, "host")
    assert "oom_memcg" not in second.fields


def test_all_of_a_group_are_killed() -> None:
    """Processes that are killed with their cgroup have its name."""
    messages = parse(
        LIMIT,
        KILLED,
        "Tasks in /pods/p1 are going to be killed due to memory.oom.group set",
        KILLED.replace("4107", "4108"),
    )
    assert [one.fields["pid"] for one in messages] == [4107, 4108]
    assert messages[1].fields["oom_memcg"] == "/pods/p1"


def test_a_kill_of_an_old_kernel() -> None:
    """The format of Linux 3.10 is parsed; it may kill a child of the process that it names."""
    (message,) = parse(
        "Task in /slurm/job_5/step_0 killed as a result of limit of /slurm/job_5",
        "Memory cgroup out of memory: Kill process 800 (sh) score 990 or sacrifice child",
        "Killed process 801 (python), UID 1000, total-vm:9000kB, anon-rss:8000kB, file-rss:12kB",
    )
    assert message.fields["pid"] == 801
    assert message.fields["limit_kind"] == "cgroup"
    assert message.fields["oom_memcg"] == "/slurm/job_5"
    assert message.fields["task_memcg"] == "/slurm/job_5/step_0"


@pytest.mark.parametrize("name", ["a,pid=1,uid=0", "x) total-vm:1k", "\nNVRM: Xid (PC", "[1]: "])
def test_a_process_name_that_imitates_the_line(name: str) -> None:
    """A process name that imitates the line changes neither number nor cgroup."""
    reason = LIMIT.replace("task=python3", f"task={name}")
    (message,) = parse(reason, KILLED.replace("(python3)", f"({name})"))
    assert message.fields["pid"] == 4107
    assert message.fields["process"] == name
    assert message.fields["task_memcg"] == "/pods/p1/c2"
    (message,) = parse(f"{name}[88]: segfault at 0 ip 00 sp 00 error 4 in lib.so[00+10]")
    assert (message.what, message.fields["pid"]) == ("segfault", 88)


def test_a_lost_gpu_is_one_message() -> None:
    """A GPU that fell off the bus is one message, for every number and form of its records."""
    messages = parse(
        "NVRM: The NVIDIA GPU 0000:b3:00.0",
        "NVRM: (PCI ID: 10de:2330) installed in this system has",
        "NVRM: fallen off the bus and is not responding to commands.",
        "NVRM: GPU 0000:b3:00.0: GPU has fallen off the bus.",
        "NVRM: Xid (PCI:0000:b3:00): 79, pid=1, name=x, GPU has fallen off the bus.",
        "NVRM: Xid (PCI:0000:b4:00): 79, pid=1, name=x, GPU has fallen off the bus.",
    )
    assert [one.of for one in messages] == ["pci:0000:b3:00", "pci:0000:b4:00"]
    assert all(one.fields["xid"] == 79 for one in messages)
