"""The agent of a machine: it watches every process that uses a GPU and has no supervisor.

One process, one session of NVML and one turn every few seconds for all groups of processes.  Its
memory of the groups is their records: an agent that is started again continues them.
"""

from __future__ import annotations

import os
import resource
import select
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from gpualert_common.abandoned_runs import start_recovery
from gpualert_common.agent.agent_status import AgentStatus, StatusFile, describe_group
from gpualert_common.agent.discovery import Discovery
from gpualert_common.agent.gpu_use import read_used_bytes
from gpualert_common.agent.grouping import FoundGroup, GroupKey, GroupKind
from gpualert_common.agent.old_records import remove_old_records
from gpualert_common.agent.output_files import Outputs
from gpualert_common.agent.watch_begin import begin_watch
from gpualert_common.agent.watched_group import WatchedGroup
from gpualert_common.agent.watched_records import list_unended
from gpualert_common.api import make_spec
from gpualert_common.errors import UsageError
from gpualert_common.launch.signals import STOPS, Inbox
from gpualert_common.processes.host import HOST_PID_NAMESPACE, pid_namespace
from gpualert_common.processes.procfs import read_stat
from gpualert_common.record.watch_history import Identity
from gpualert_common.record_locations import choose_state_dir, list_places
from gpualert_common.settings import Setting
from gpualert_common.telemetry.source import SourceUnavailableError
from gpualert_common.telemetry.sources.nvml import Nvml

MOST_GROUPS = 64
"""Several for each GPU of the largest nodes.  One user gets half of them, but root."""
_MOST_DESCRIPTORS = 1 << 14
_ANSWER_S = 0.5
_FORGET_AFTER_TURNS = 6
"""Turns after which all processes that are not watched are examined again: the limit may be free
for them now, or a problem solved."""
_REQUESTS_EVERY_S = 1.0
"""Time between two looks for requests of people, who wait."""
_CLEAN_EVERY_S = 3600.0
_FOREIGN_NUMBERS = (
    "this container has process numbers of its own, and NVML names those of the host: run it with "
    "those of the host (hostPID)"
)
_UNWATCHED, _LEFT_OUT = GroupKey(GroupKind.TREE, "unwatched"), GroupKey(GroupKind.TREE, "left out")
"""The groups of processes that are left alone, and of those beyond the limit."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

UsedBytes = Mapping[str, float]


class GpuAgent:
    """The groups of this machine; ``log`` gets a line for the begin and the end of each.

    ``period_s`` is the time between two samples; ends are noticed at once, requests in a second.

    Root watches the processes of all users, another user only own ones.  Raises UsageError where
    no GPU can be seen, or another agent uses the state directory; ConfigError, RuleError.
    """

    def __init__(
        self, settings: Mapping[str, Setting], period_s: float, log: Callable[[str], None]
    ) -> None:
        self._settings = settings
        self._period_s = period_s
        self._log = log
        make_spec(["agent"], settings, cwd=None, name=None)  # its errors now, not for each group
        self._status_file = StatusFile.open_locked(choose_state_dir(settings["state_dir"].value))
        try:
            self._nvml = Nvml(None)
        except SourceUnavailableError as error:
            hint = f": {error.remedy}" if error.remedy else ""
            raise UsageError(f"no GPU can be watched here: {error.why}{hint}") from None
        self._groups: dict[GroupKey, WatchedGroup] = {}
        self._keys: dict[Identity, GroupKey] = {}
        """The group of each process that uses a GPU."""
        self._candidates: set[Identity] = set()
        self._discovery = Discovery()
        self._turns = 0
        self._clean_due = 0.0
        self._problems: set[str] = set()

    @property
    def _state_dir(self) -> str | None:
        found: str | None = self._settings["state_dir"].value
        return found

    def run(self) -> None:
        """Watch until SIGTERM, SIGINT or SIGHUP; the processes and their records go on."""
        _raise_descriptor_limit()
        inbox = Inbox()
        inbox.install()
        inbox.arm()
        if pid_namespace() != HOST_PID_NAMESPACE:
            self._log(_FOREIGN_NUMBERS)
        self._resume()
        next_at = time.monotonic()
        while not any(received.number in STOPS for received in inbox.take()):
            if time.monotonic() >= next_at:
                self._take_turn()
                next_at = max(next_at + self._period_s, time.monotonic())
            poll = select.poll()
            for fd in (inbox.fd, *(fd for one in self._groups.values() for fd in one.fds)):
                poll.register(fd, select.POLLIN)
            poll.poll(min(max(0.0, next_at - time.monotonic()), _REQUESTS_EVERY_S) * 1000)
            self._finish_ended()
            self._take_requests()
        for group in self._groups.values():
            group.close()
        self._status_file.close()
        self._nvml.close()

    # -- turns -------------------------------------------------------------------------------

    def _take_turn(self) -> None:
        self._turns += 1
        if self._turns % _FORGET_AFTER_TURNS == 0:
            known, self._keys = self._keys, {}
            for one, key in known.items():
                if key in self._groups:
                    self._keys[one] = key
                else:
                    self._candidates.add(one)  # its place is looked for in this turn
        output = list(self._nvml.sample())
        used = self._assign(read_used_bytes(output))
        for key, group in list(self._groups.items()):
            with self._boundary(key):
                group.request(output, used.get(key, {}))
        deadline = time.monotonic() + _ANSWER_S
        for key, group in list(self._groups.items()):
            with self._boundary(key):
                group.collect(deadline)
        self._write_status()
        if time.monotonic() >= self._clean_due:
            self._clean_due = time.monotonic() + _CLEAN_EVERY_S
            self._problems.clear()  # those that last are reported again
            places = list_places(self._state_dir)
            threading.Thread(target=remove_old_records, args=(places,), daemon=True).start()

    def _assign(self, used: Mapping[int, UsedBytes]) -> dict[GroupKey, dict[str, float]]:
        """Return the bytes of each group on each GPU; a new process joins or begins its group."""
        found: dict[GroupKey, dict[str, float]] = {}
        present: dict[Identity, GroupKey] = {}
        candidates: set[Identity] = set()
        deadline = time.monotonic() + _ANSWER_S
        for pid, sizes in used.items():
            stat = read_stat(pid)
            if stat is None or not stat.is_live:
                continue
            key = self._keys.get(stat.identity)
            if key is None and stat.identity not in self._candidates:
                candidates.add(stat.identity)  # it must last for two turns
                continue
            key = key or self._find_key(stat.identity, deadline)
            if key is None:
                candidates.add(stat.identity)
                continue
            present[stat.identity] = key
            total = found.setdefault(key, {})
            for gpu, size in sizes.items():
                total[gpu] = total.get(gpu, 0.0) + size
        self._keys, self._candidates = present, candidates
        self._discovery.forget(candidates)
        return found

    def _find_key(self, process: Identity, deadline: float) -> GroupKey | None:
        """Return the group of a process, watched from now on; None while it is not known."""
        try:
            found = self._discovery.find(process, process[0], deadline)
        except TimeoutError:
            return None
        except Exception as error:  # noqa: BLE001 - the boundary of each process
            self._complain(f"process {process[0]} is not watched: {error}")
            return _UNWATCHED
        group = found.group
        key = _UNWATCHED if group is None else self._find_place(group)
        if group is not None and key is None:
            return group.key if self._begin(group, found.outputs) else _UNWATCHED
        found.outputs.close()
        return key

    def _find_place(self, group: FoundGroup) -> GroupKey | None:
        """Return the group that a process joins; None if it begins one."""
        if os.geteuid() not in (0, group.leader.uid):
            return _UNWATCHED
        known = self._groups.get(group.key)
        if known is not None:
            known.add_top(group.leader.pid, group.leader.start_ticks)
            return group.key
        users = [one.group.leader.uid for one in self._groups.values()]
        return None if has_room(users, group.leader.uid) else _LEFT_OUT

    def _begin(self, group: FoundGroup, outputs: Outputs) -> bool:
        """Begin to watch a group; False if that is not possible now."""
        try:
            watched = begin_watch(group, outputs, self._settings)
        except Exception as error:  # noqa: BLE001 - the boundary of each group
            self._complain(f"process {group.leader.pid} is not watched: {error}")
            return False
        watched.set_gpu_facts(self._nvml.facts)
        self._groups[group.key] = watched
        self._log(f"watching {group.place} of {group.user} as {watched.record.run_id}")
        return True

    def _resume(self) -> None:
        """Continue the records that an earlier agent left; have those of ended groups completed."""
        for process, output_pid in list_unended(self._state_dir):
            with suppress(Exception):  # one that does not answer is found by its GPU, later
                deadline = time.monotonic() + _ANSWER_S
                found = self._discovery.find(process, output_pid, deadline)
                group = found.group
                if group is None or group.leader.pid != process[0] or group.key in self._groups:
                    found.outputs.close()
                else:
                    self._begin(group, found.outputs)
        before = self._status_file.read_groups()
        for watched in self._groups.values():
            known = before.get(watched.record.run_id)
            if known is not None:
                watched.gpu_use.restore(known.idle_gpus)
        start_recovery(list_places(self._state_dir))

    def _take_requests(self) -> None:
        for key, group in list(self._groups.items()):
            with self._boundary(key):
                group.take_requests()

    def _finish_ended(self) -> None:
        """Finish the groups that have ended, after a last sample: an Xid may have ended one."""
        for key, group in list(self._groups.items()):
            with self._boundary(key):
                group.check_tops()
        if any(group.has_ended for group in self._groups.values()):
            self._take_turn()
        for key, group in list(self._groups.items()):
            with self._boundary(key):
                if group.has_ended:
                    group.finish()
                    del self._groups[key]
                    self._keys = {one: of for one, of in self._keys.items() if of != key}
                    self._log(f"{group.group.place} has ended: gpualert show {group.record.run_id}")

    @contextmanager
    def _boundary(self, key: GroupKey) -> Iterator[None]:
        """Cease to watch a group in which something fails; the others are not affected."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - the boundary of each group
            self._complain(f"a run is not watched any more: {type(error).__name__}: {error}")
            group = self._groups.pop(key, None)
            if group is not None:
                group.close()
                self._keys = {
                    one: _UNWATCHED if of == key else of for one, of in self._keys.items()
                }

    def _complain(self, problem: str) -> None:
        if problem not in self._problems and len(self._problems) < MOST_GROUPS:
            self._problems.add(problem)
            self._log(problem)

    # -- status ------------------------------------------------------------------------------

    def _write_status(self) -> None:
        rows = [describe_group(group) for group in self._groups.values()]
        left_out = sum(key is _LEFT_OUT for key in self._keys.values())
        status = AgentStatus(time.time(), os.getpid(), tuple(rows), left_out)
        try:
            self._status_file.write(status)
        except OSError as error:
            self._complain(f"the status cannot be written: {error.strerror}")


def has_room(watched: Sequence[int], uid: int) -> bool:
    """Return whether one more group of a user is watched, besides those of these users."""
    most_of_user = MOST_GROUPS if uid == os.geteuid() else MOST_GROUPS // 2
    return len(watched) < MOST_GROUPS and watched.count(uid) < most_of_user


def _raise_descriptor_limit() -> None:
    """Allow for the descriptors of all groups, some twenty each."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MOST_DESCRIPTORS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
