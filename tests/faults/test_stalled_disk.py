"""A file system that does not answer, under the exporter and the agent."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tests.agent.foreign import CRASH, Agent, hold, release, start_job
from tests.exporter.scrapes import start_exporter
from tests.faults.conftest import mount_fuse
from tests.supervised import Lab, exit_of, until

pytestmark = pytest.mark.e2e

WAITING = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.02)"
OLD_S = 4.0
"""Age of a page that is never served while the disk answers."""


def test_exporter(lab: Lab) -> None:
    """While a record cannot be read the last page is served, and afterwards a new one."""
    lab.run("true")
    record = lab.state / "runs" / "20200101-000000-000000-aaaa"
    with mount_fuse(record) as disk, start_exporter() as server:

        def read_time() -> float:
            return server.scrape().value("gpualert_exporter_last_read_timestamp_seconds")

        assert server.scrape().value("gpualert_runs", condition="completed") == 1
        disk.send_signal(signal.SIGSTOP)
        until(lambda: read_time() < time.time() - OLD_S, "an old page")
        assert server.scrape().value("gpualert_runs", condition="completed") == 1
        stalled_at = read_time()
        disk.send_signal(signal.SIGCONT)
        until(lambda: read_time() > stalled_at, "a new page")


def test_agent(lab: Lab) -> None:
    """A log that cannot be read delays no other run, nor the end of its own, nor the next agent.

    The kernel ends no process with a thread that waits for a disk.
    """
    mount = lab.home / "mount"
    with mount_fuse(mount) as disk:
        stalled = start_job(lab, WAITING, log=f"/dev/null 1< {mount}/file")
        crashing = start_job(lab, CRASH, "crash.log")
        agent = Agent(lab, hold(stalled), hold(crashing))
        unread, crash = agent.await_record(stalled), agent.await_record(crashing)
        log = unread.log_path("output.log")
        until(lambda: os.path.getsize(log), "a first part of the log")
        disk.send_signal(signal.SIGSTOP)
        os.kill(stalled, signal.SIGKILL)
        release(lab)
        assert agent.await_verdict(crash).cause == "cuda_runtime"
        assert agent.await_verdict(unread).cause == "killed_unknown"
        assert exit_of(unread)["code"] == -signal.SIGKILL
        first = agent.process
        first.terminate()
        until(lambda: not lab.json("agent", "--status")["is_running"], "the agent to stop")
        agent.start()
        until(lambda: lab.json("agent", "--status")["is_running"], "the next agent")
        disk.send_signal(signal.SIGCONT)
        assert first.wait(30) == 0
