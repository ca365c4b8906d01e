"""Status of the agent: the groups that it watches now, in one file of the state directory."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from gpualert_common.codec import decode_valid, encode
from gpualert_common.errors import RecordError, UsageError
from gpualert_common.quantities import Number, Time
from gpualert_common.record.directory import Directory
from gpualert_common.record.private_directory import (
    make_folder,
    open_folder,
    open_private,
    resolve_state_dir,
)
from gpualert_common.spec import SCHEMA
from gpualert_common.structs import Struct, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpualert_common.agent.gpu_use import HeldGpu
    from gpualert_common.agent.watched_group import WatchedGroup

_FOLDER = "agent"
_STATUS = "status.json"
_LOCK = "lock"
_MOST_BYTES = 4 << 20


class GroupStatus(Struct, frozen=True, kw_only=True):
    """One group: its record, its user and place, the GPUs that it holds, and its warnings.

    ``idle_since`` is the time since which all of its GPUs are idle, None while one works;
    ``idle_gpus`` has the time of each idle one.
    """

    run_id: str = ""
    user: str = ""
    place: str = ""
    pid: Number = 0
    command: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    memory_bytes: float = 0.0
    idle_since: Time | None = None
    idle_gpus: dict[str, Time] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


class AgentStatus(Struct, frozen=True):
    """The groups at one time; ``left_out`` counts the processes beyond the limit of the agent."""

    at: Time = 0.0
    agent_pid: Number = 0
    groups: tuple[GroupStatus, ...] = ()
    left_out: Number = 0
    schema: int = SCHEMA


class StatusFile:
    """The file of the status in one state directory."""

    def __init__(self, directory: Directory, lock_fd: int = -1) -> None:
        self._directory = directory
        self._lock_fd = lock_fd

    @classmethod
    def open_locked(cls, state_dir: str) -> StatusFile:
        """Return the file for the agent, which holds its lock until it ends.

        Raises UsageError while another agent holds it, and OSError.
        """
        directory = _open_directory(state_dir)
        lock_fd = directory.try_lock(_LOCK)
        if lock_fd < 0:
            raise UsageError(f"another agent runs with the state directory {state_dir}")
        return cls(directory, lock_fd)

    @classmethod
    def open_for_reading(cls, state_dir: str) -> StatusFile:
        """Return the file for a reader.  Raises OSError, FileNotFoundError where there is none."""
        place = resolve_state_dir(state_dir)
        return cls(Directory(os.path.join(place, _FOLDER), open_folder(place, _FOLDER)))

    @property
    def is_agent_alive(self) -> bool:
        """True while an agent holds the lock."""
        return self._directory.is_locked(_LOCK)

    def close(self) -> None:
        """Release the lock: a process with a thread that waits for a disk ends late."""
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1
        self._directory.close()

    def write(self, status: AgentStatus) -> None:
        """Replace the status.  Raises OSError."""
        self._directory.write_json(_STATUS, encode(status))

    def read(self) -> AgentStatus | None:
        """Return the last status; None where there is none, or it is damaged."""
        try:
            fields = self._directory.read_json(_STATUS, _MOST_BYTES)
        except (RecordError, OSError):
            return None
        path = os.path.join(self._directory.path, _STATUS)
        return None if fields is None else decode_valid(AgentStatus, fields, path)

    def read_groups(self) -> Mapping[str, GroupStatus]:
        """Return the groups of the last status by their records."""
        status = self.read()
        return {} if status is None else {group.run_id: group for group in status.groups}


def describe_group(group: WatchedGroup) -> GroupStatus:
    """Return the status of a group."""
    leader = group.group.leader
    held: Sequence[tuple[str, HeldGpu]] = sorted(group.gpu_use.held.items())
    return GroupStatus(
        run_id=group.record.run_id,
        user=group.group.user,
        place=group.group.place,
        pid=leader.pid,
        command=leader.command,
        gpus=tuple(gpu for gpu, _one in held),
        memory_bytes=sum(one.bytes for _gpu, one in held),
        idle_since=group.gpu_use.idle_since,
        idle_gpus={gpu: one.idle_since for gpu, one in held if one.idle_since is not None},
        warnings=tuple(sorted(group.warnings)),
    )


def _open_directory(state_dir: str) -> Directory:
    folder = make_folder(resolve_state_dir(state_dir), _FOLDER)
    return Directory(folder, open_private(folder))
