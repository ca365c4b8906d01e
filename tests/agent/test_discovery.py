"""Discovery of processes, some of which do not answer."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

from gpualert_common.agent.discovery import MOST_OF_USER, Discovered, Discovery
from gpualert_common.agent.output_files import OutputFile, Outputs
from tests.supervised import until


def test_process_that_does_not_answer(tmp_path: Path) -> None:
    """A call that hangs delays no other one, and has its result later; what is found of a process
    that is gone by then is closed."""
    os.mkfifo(tmp_path / "1")
    os.mkfifo(tmp_path / "2")
    for number in "345":
        (tmp_path / number).touch()
    opened: list[int] = []

    def find(pid: int, _output_pid: int) -> Discovered:
        fd = os.open(tmp_path / str(pid), os.O_RDONLY)  # of a pipe: waits for its other end
        opened.append(fd)
        return Discovered(outputs=Outputs((OutputFile("output.log", fd, str(pid)),)))

    discovery = Discovery(find)
    for hanging in (1, 2):
        with pytest.raises(TimeoutError):
            discovery.find((hanging, 0), hanging, time.monotonic())
    for other in (3, 4, 5):
        found = discovery.find((other, 0), other, time.monotonic() + 10.0)
        assert found.outputs.files[0].path == str(other)
        found.outputs.close()
    with pytest.raises(TimeoutError):
        discovery.find((1, 0), 1, time.monotonic())
    writers = [os.open(tmp_path / number, os.O_WRONLY) for number in "12"]
    late = discovery.find((1, 0), 1, time.monotonic() + 10.0)
    assert late.outputs.files[0].path == "1"
    late.outputs.close()
    until(lambda: len(opened) == 5, "the other call")

    def is_closed() -> bool:
        discovery.forget(())
        return not any(str(tmp_path / "2") == one for one in list_open())

    until(is_closed, "what was found of a process that is gone")
    for fd in writers:
        os.close(fd)


@pytest.mark.e2e
def test_calls_of_one_user() -> None:
    """Many processes of one user that do not answer leave room for those of others."""
    sleeping = subprocess.Popen(["sleep", "600"], user=4242, group=4242)
    released = threading.Event()

    def find(pid: int, _output_pid: int) -> Discovered:
        if pid == sleeping.pid:
            released.wait()
        return Discovered()

    discovery = Discovery(find)
    try:
        for start in range(MOST_OF_USER + 1):
            with pytest.raises(TimeoutError):
                discovery.find((sleeping.pid, start), sleeping.pid, time.monotonic())
        own = os.getpid()
        assert discovery.find((own, 0), own, time.monotonic() + 10.0) == Discovered()
        released.set()
        last = (sleeping.pid, MOST_OF_USER)

        def has_room() -> bool:
            discovery.forget(())
            try:
                return discovery.find(last, sleeping.pid, time.monotonic() + 10.0) == Discovered()
            except TimeoutError:
                return False

        until(has_room, "room for the last one")
    finally:
        released.set()
        sleeping.kill()
        sleeping.wait()


def list_open() -> list[str]:
    """Return the paths of all descriptors that are open for reading."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        try:
            flags = Path(f"/proc/self/fdinfo/{number}").read_text().split()[3]
            if int(flags, 8) & os.O_ACCMODE == os.O_RDONLY:
                found.append(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:
            continue
    return found
