"""The leader of a run: the process that was launched, whose exit status is the run's."""

from __future__ import annotations

import os
import time

from gpualert_common.launch import libc
from gpualert_common.processes.pidfd import is_ready, open_pidfd
from gpualert_common.processes.procfs import read_stat
from gpualert_common.spec import Ending

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Leader:
    """The leader, as its parent sees it.

    ``pidfd`` is readable once it has exited, and -1 where none could be had.
    """

    __slots__ = ("has_exited", "pid", "pidfd")

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.pidfd = open_pidfd(pid)
        self.has_exited = False

    def close(self) -> None:
        """Close the pidfd."""
        if self.pidfd >= 0:
            os.close(self.pidfd)

    def start_ticks(self) -> int:
        """Return when it started, in ticks since the boot; 0 once it is gone."""
        stat = read_stat(self.pid)
        return stat.start_ticks if stat is not None else 0

    def reap(self, ending: Ending) -> bool:
        """Write its status into ``ending`` if it has exited; True when it exits in this call."""
        if self.has_exited:
            return False
        status: int | None
        try:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        except ChildProcessError:  # another part of this process reaped it
            if self.pidfd >= 0 and not is_ready(self.pidfd):
                return False
            status = libc.reaped_status(self.pidfd) if self.pidfd >= 0 else None
        else:
            if pid == 0:
                return False
            ending.rusage = {
                "user_s": usage.ru_utime,
                "system_s": usage.ru_stime,
                "max_rss_bytes": usage.ru_maxrss * 1024,
            }
        self.has_exited = True
        ending.ended_at = time.time()
        if status is not None:
            ending.code = os.waitstatus_to_exitcode(status)
            ending.core_dumped = os.WCOREDUMP(status)
        return True

    def send(self, number: int) -> bool:
        """Send a signal; False where we may not, since the leader runs as another user by now."""
        try:
            os.kill(self.pid, number)
        except PermissionError:
            return False
        return True

    def job_control_event(self) -> tuple[str, dict[str, Any]] | None:
        """Return the event for a stop or continuation of the leader since the last call."""
        try:
            change = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WCONTINUED | os.WNOHANG)
        except ChildProcessError:
            return None
        if not change:
            return None
        if change.si_code == os.CLD_CONTINUED:
            return "child_continued", {}
        return "child_stopped", {"signal": change.si_status}
