"""What the kernel's log says of a training: its records in, messages out.

Most of it is one line of one form (:mod:`.kernel_forms`); what takes several is joined here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpualert_common.regex import compile_text
from gpualert_common.telemetry.kernel_pattern import TEXT_CHARS, KernelMessage, typed
from gpualert_common.telemetry.kernel_patterns import FALLEN_OFF_THE_BUS, FORMS, PCI

_LIMITS = {
    "MEMCG": "cgroup",
    "NONE": "host",
    "CPUSET": "cpuset",
    "MEMORY_POLICY": "mempolicy",
}
_NVLINK = compile_text(
    r"^(?P<unit>[A-Z0-9_]+) (?P<severity>Fatal|Non-?fatal) XC\d+ i(?P<injected>\d+) "
    r"Link (?P<link>\d+) \((?P<intr_info>0x[0-9a-fA-F]{1,8}) (?P<error_status>0x[0-9a-fA-F]{1,8})"
)
"""NVLink 5, Xid 144 to 150: the sub-code is bits 20 to 25 of the first word."""

_LOST_GPU = compile_text(rf"^NVRM: The NVIDIA GPU {PCI}\s*$")
_LOST_GPU_END = "fallen off the bus and is not responding"

_OOM = compile_text(
    r"^oom-kill:constraint=CONSTRAINT_(?P<constraint>[A-Z_]+),.*?"
    r"(?:,oom_memcg=(?P<oom_memcg>.*?))?(?:,global_oom)?,task_memcg=(?P<task_memcg>.*)"
    r",task=(?P<process>.*),pid=(?P<pid>\d+),uid=(?P<uid>\d+)$",
    is_dot_all=True,
)
_KILLED = compile_text(
    r"^(?:(?P<memcg>Memory cgroup out of memory)[^:]*: |(?P<host>Out of memory)[^:]*: )?"
    r"Killed process (?P<pid>\d+) \((?P<process>.*)\),? .*?anon-rss:(?P<anon>\d+)kB, "
    r"file-rss:(?P<file>\d+)kB(?:, shmem-rss:(?P<shmem>\d+)kB)?",
    is_dot_all=True,
)
_SCORED = compile_text(
    r"^(?:(?P<memcg>Memory cgroup o)|O)ut of memory: Kill process \d+ \(.*\) score ",
    is_dot_all=True,
)
"""Kernels before 4.20 say so before they choose among the children of the process."""
_TASK_IN = compile_text(
    r"^Task in (?P<task_memcg>.*) killed as a result of limit of (?P<oom_memcg>.*)$",
    is_dot_all=True,
)
_GROUP_KILL = compile_text(
    r"^Tasks in (?P<oom_memcg>.*) are going to be killed due to memory\.oom\.group set",
    is_dot_all=True,
)


class KernelMessageParser:
    """Makes messages of the log's records, fed in order.

    A kill for want of memory is told in several records, and some of them are left out where many
    come at once; they are joined into one message.
    """

    def __init__(self) -> None:
        self._kill: dict[str, Any] = {}
        """What was said of a kill before it was."""
        self._group = ""
        self._lost_gpu = ""
        self._lost: set[str] = set()

    @property
    def is_waiting(self) -> bool:
        """True while a kill was announced and has not been told."""
        return "pid" in self._kill

    def feed(self, text: str) -> Iterator[KernelMessage]:
        """What this record completes."""
        if "kill" in text or "Kill" in text:
            yield from self._memory(text)
        yield from self._lost_in_parts(text)
        for form in FORMS:
            message = form.message(text)
            if message is not None:
                yield from self._xid(message) if message.what == "xid" else (message,)
                return

    def end(self) -> Iterator[KernelMessage]:
        """What was announced, and not told since."""
        kill, self._kill = self._kill, {}
        if "pid" in kill:
            yield _kill_message(kill)

    def _memory(self, text: str) -> Iterator[KernelMessage]:
        if match := _OOM.search(text):
            yield from self.end()
            said = typed(match.groupdict())
            constraint = said.pop("constraint")
            self._kill = {"limit_kind": _LIMITS.get(constraint, constraint.lower()), **said}
        elif match := _KILLED.search(text):
            yield from self._killed(match.groupdict())
        elif match := _GROUP_KILL.search(text):
            self._group = match["oom_memcg"]
        elif match := _TASK_IN.search(text):
            self._kill = {"limit_kind": "cgroup", **typed(match.groupdict())}
        elif match := _SCORED.search(text):
            self._kill.setdefault("limit_kind", "cgroup" if match["memcg"] else "host")

    def _killed(self, said: dict[str, str | None]) -> Iterator[KernelMessage]:
        pid = int(said["pid"] or 0)
        if self._kill.get("pid", pid) != pid:
            yield from self.end()
        kill, self._kill = self._kill, {}
        if said["memcg"] or said["host"]:
            kill.setdefault("limit_kind", "cgroup" if said["memcg"] else "host")
        if self._group and kill.get("limit_kind") == "cgroup":
            kill.setdefault("oom_memcg", self._group)
        kill |= {"process": said["process"], "pid": pid}
        for kind in ("anon", "file", "shmem"):
            if said[kind]:
                kill[f"{kind}_rss_bytes"] = int(said[kind] or 0) * 1024
        yield _kill_message(kill)

    def _lost_in_parts(self, text: str) -> Iterator[KernelMessage]:
        if not text.startswith("NVRM: "):
            return
        if match := _LOST_GPU.search(text):
            self._lost_gpu = typed(match.groupdict())["pci"]
        elif self._lost_gpu and text.startswith(f"NVRM: {_LOST_GPU_END}"):
            fields = {"pci": self._lost_gpu, "xid": FALLEN_OFF_THE_BUS}
            whole = f"NVRM: The NVIDIA GPU {self._lost_gpu} has {_LOST_GPU_END} to commands."
            yield from self._xid(KernelMessage("xid", f"pci:{self._lost_gpu}", whole, fields))

    def _xid(self, message: KernelMessage) -> Iterator[KernelMessage]:
        fields = dict(message.fields)
        if fields["xid"] == FALLEN_OFF_THE_BUS:
            if fields["pci"] in self._lost:
                return  # told in two or three ways, and again by whoever asks for the GPU
            self._lost.add(fields["pci"])
        match = _NVLINK.search(fields.get("detail", ""))
        if match is not None:
            fields |= typed(match.groupdict())
            fields["sub_code"] = int(fields["intr_info"], 16) >> 20 & 0x3F
        yield KernelMessage(message.what, message.of, message.text, fields)


_WHY = {
    "cgroup": "the limit of cgroup {} was reached",
    "host": "the host had no memory left",
    "cpuset": "the memory nodes of its cpuset had no memory left",
    "mempolicy": "the memory nodes of its policy had no memory left",
}


def _kill_message(kill: Mapping[str, Any]) -> KernelMessage:
    why = _WHY.get(kill.get("limit_kind", ""), "memory ran out")
    held = ""
    if "anon_rss_bytes" in kill:
        held = f", which held {kill['anon_rss_bytes'] / 2**20:.0f} MiB of its own"
    who = f"process {kill['pid']} ({kill.get('process', '?')})"
    text = f"the kernel killed {who}{held}: {why.format(kill.get('oom_memcg', '(not named)'))}"
    return KernelMessage("oom_kill", f"pid:{kill['pid']}", text[:TEXT_CHARS], dict(kill))
