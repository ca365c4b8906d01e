"""Parser of the kernel's log: records in, messages about a training out.

Most messages are one line of one pattern (:mod:`.kernel_patterns`).  Messages of several lines are
joined here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpualert_common.regex import compile_text
from gpualert_common.telemetry.kernel_message import TEXT_CHARS, KernelMessage, convert_groups
from gpualert_common.telemetry.kernel_patterns import FALLEN_OFF_THE_BUS, PATTERNS, PCI
from gpualert_common.whole_words import cut_words

_LIMIT_KINDS = {
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

_OOM_KILL = compile_text(
    r"^oom-kill:constraint=CONSTRAINT_(?P<constraint>[A-Z_]+),.*?"
    r"(?:,oom_memcg=(?P<oom_memcg>.*?))?(?:,global_oom)?,task_memcg=(?P<task_memcg>.*)"
    r",task=(?P<process>.*),pid=(?P<pid>\d+),uid=(?P<uid>\d+)$",
    is_dot_all=True,
)
_KILL = compile_text(
    r"^(?:(?P<memcg>Memory cgroup out of memory)[^:]*: |(?P<host>Out of memory)[^:]*: )?"
    r"Killed process (?P<pid>\d+) \((?P<process>.*)\),? .*?anon-rss:(?P<anon>\d+)kB, "
    r"file-rss:(?P<file>\d+)kB(?:, shmem-rss:(?P<shmem>\d+)kB)?",
    is_dot_all=True,
)
_KILL_SCORE = compile_text(
    r"^(?:(?P<memcg>Memory cgroup o)|O)ut of memory: Kill process \d+ \(.*\) score ",
    is_dot_all=True,
)
"""Kernels before 4.20 write this line before they choose among the children of the process."""
_TASK_KILL = compile_text(
    r"^Task in (?P<task_memcg>.*) killed as a result of limit of (?P<oom_memcg>.*)$",
    is_dot_all=True,
)
_GROUP_KILL = compile_text(
    r"^Tasks in (?P<oom_memcg>.*) are going to be killed due to memory\.oom\.group set",
    is_dot_all=True,
)


class KernelMessageParser:
    """Makes messages from the records of the log, fed in order.

    The kernel writes several records for one out-of-memory kill, and drops some when many come at
    once.  The parser joins them into one message.
    """

    def __init__(self) -> None:
        self._kill: dict[str, Any] = {}
        """Fields of an announced kill."""
        self._group = ""
        self._lost_gpu = ""
        self._lost_gpus: set[str] = set()

    @property
    def has_pending_kill(self) -> bool:
        """True while a kill is announced and not complete."""
        return "pid" in self._kill

    def feed(self, text: str) -> Iterator[KernelMessage]:
        """Yield the messages that this record completes."""
        if "kill" in text or "Kill" in text:
            yield from self._parse_memory(text)
        yield from self._parse_lost_gpu(text)
        for pattern in PATTERNS:
            message = pattern.parse(text)
            if message is not None:
                yield from self._complete_xid(message) if message.what == "xid" else (message,)
                return

    def flush(self) -> Iterator[KernelMessage]:
        """Yield the announced kill, if it is still incomplete."""
        kill, self._kill = self._kill, {}
        if "pid" in kill:
            yield _make_kill_message(kill)

    def _parse_memory(self, text: str) -> Iterator[KernelMessage]:
        if match := _OOM_KILL.search(text):
            yield from self.flush()
            fields = convert_groups(match.groupdict())
            constraint = str(fields.pop("constraint"))
            self._kill = {"limit_kind": _LIMIT_KINDS.get(constraint, constraint.lower()), **fields}
        elif match := _KILL.search(text):
            yield from self._parse_kill(match.groupdict())
        elif match := _GROUP_KILL.search(text):
            self._group = match["oom_memcg"]
        elif match := _TASK_KILL.search(text):
            self._kill = {"limit_kind": "cgroup", **convert_groups(match.groupdict())}
        elif match := _KILL_SCORE.search(text):
            self._kill.setdefault("limit_kind", "cgroup" if match["memcg"] else "host")

    def _parse_kill(self, fields: dict[str, str | None]) -> Iterator[KernelMessage]:
        pid = int(fields["pid"] or 0)
        if self._kill.get("pid", pid) != pid:
            yield from self.flush()
        kill, self._kill = self._kill, {}
        if fields["memcg"] or fields["host"]:
            kill.setdefault("limit_kind", "cgroup" if fields["memcg"] else "host")
        if self._group and kill.get("limit_kind") == "cgroup":
            kill.setdefault("oom_memcg", self._group)
        kill |= {"process": fields["process"], "pid": pid}
        for kind in ("anon", "file", "shmem"):
            if fields[kind]:
                kill[f"{kind}_rss_bytes"] = int(fields[kind] or 0) * 1024
        yield _make_kill_message(kill)

    def _parse_lost_gpu(self, text: str) -> Iterator[KernelMessage]:
        if not text.startswith("NVRM: "):
            return
        if match := _LOST_GPU.search(text):
            self._lost_gpu = str(convert_groups(match.groupdict())["pci"])
        elif self._lost_gpu and text.startswith(f"NVRM: {_LOST_GPU_END}"):
            fields = {"pci": self._lost_gpu, "xid": FALLEN_OFF_THE_BUS}
            whole = f"NVRM: The NVIDIA GPU {self._lost_gpu} has {_LOST_GPU_END} to commands."
            yield from self._complete_xid(
                KernelMessage("xid", f"pci:{self._lost_gpu}", whole, fields)
            )

    def _complete_xid(self, message: KernelMessage) -> Iterator[KernelMessage]:
        fields = dict(message.fields)
        if fields["xid"] == FALLEN_OFF_THE_BUS:
            if fields["pci"] in self._lost_gpus:
                return  # the driver repeats it, in two or three forms
            self._lost_gpus.add(fields["pci"])
        match = _NVLINK.search(fields.get("detail", ""))
        if match is not None:
            fields |= convert_groups(match.groupdict())
            fields["sub_code"] = int(fields["intr_info"], 16) >> 20 & 0x3F
        yield KernelMessage(message.what, message.of, message.text, fields)


_REASONS = {
    "cgroup": "the limit of cgroup {} was reached",
    "host": "the host had no memory left",
    "cpuset": "the memory nodes of its cpuset had no memory left",
    "mempolicy": "the memory nodes of its policy had no memory left",
}


def _make_kill_message(kill: Mapping[str, Any]) -> KernelMessage:
    reason = _REASONS.get(kill.get("limit_kind", ""), "memory ran out")
    memory = ""
    if "anon_rss_bytes" in kill:
        memory = f", which held {kill['anon_rss_bytes'] / 2**20:.0f} MiB of its own"
    process = f"process {kill['pid']} ({kill.get('process', '?')})"
    reason = reason.format(kill.get("oom_memcg", "(not named)"))
    text = f"the kernel killed {process}{memory}: {reason}"
    return KernelMessage("oom_kill", f"pid:{kill['pid']}", cut_words(text, TEXT_CHARS), dict(kill))
