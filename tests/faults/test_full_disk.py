"""A full disk: errors of the child, kept evidence, and messages."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpualert_common.record import VERDICT
from tests.supervise.test_late_verdict import Gate, Way, at_shell, in_thread, late_record
from tests.supervised import PROGRAM, Lab, exit_of, python, shell, until

pytestmark = pytest.mark.e2e

FLOODS = python(
    "import os, sys\n"
    "line = b'x' * 99 + b'\\n'\n"
    "try:\n"
    "    for _line in range(300_000): os.write(1, line * 10)\n"
    "except OSError as error:\n"
    "    open('saw', 'w').write(error.strerror)\n"
    "    sys.exit(7)\n"
)
MIB = 1 << 20


def fill(disk: Path) -> None:
    """Fill the disk."""
    with open(disk / "filler", "wb", buffering=0) as filler:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while filler.write(b"x" * size):
                    pass
            except OSError:
                continue


@contextmanager
def taking_all(lab: Lab, disk: Path) -> Iterator[None]:
    """Fill the disk by a process that also takes space that is freed later."""
    code = (
        "import os, sys\n"
        "file = open(sys.argv[1], 'wb', buffering=0)\n"
        "while True:\n"
        "    for size in (1 << 16, 1 << 12, 1):\n"
        "        try:\n"
        "            while file.write(bytes(size)): pass\n"
        "        except OSError: pass\n"
        "    sys.argv[2] and open(sys.argv[2], 'w').close()\n"
        "    sys.argv[2] = ''\n"
    )
    full = lab.home / "full"
    taker = subprocess.Popen((*python(code), str(disk / "filler"), str(full)))
    try:
        until(full.exists, "the disk to be full")
        yield
    finally:
        taker.kill()
        taker.wait()


@pytest.mark.parametrize("ending", [0, 3, 200])
def test_status_on_a_full_disk(on_small_disk: Lab, small_disk: Path, ending: int) -> None:
    """A disk that fills up during a quiet run does not change its status."""
    lab = on_small_disk
    run = lab.launch(*shell(f"echo ready; until [ -e go ]; do sleep 0.01; done; exit {ending}"))
    run.wait_for_output(b"ready")
    fill(small_disk)
    (lab.home / "go").touch()
    assert run.wait() == ending


def test_killed_on_a_full_disk(on_small_disk: Lab, small_disk: Path) -> None:
    """The status of a child that is killed on a full disk is its signal."""
    lab = on_small_disk
    run = lab.launch(*shell("echo ready; until [ -e go ]; do sleep 0.01; done; kill -9 $$"))
    run.wait_for_output(b"ready")
    fill(small_disk)
    (lab.home / "go").touch()
    assert run.wait() == 137


def test_reserve_is_the_childs(on_small_disk: Lab, small_disk: Path) -> None:
    """On a full disk exactly the reserved space of the log can still be written."""
    lab = on_small_disk
    code = (
        "import os, time\n"
        "while not os.path.exists('go'): time.sleep(0.01)\n"
        "written = 0\n"
        "try:\n"
        "    while True: written += os.write(1, b'x' * 4096)\n"
        "except OSError: pass\n"
        "open('written', 'w').write(str(written))\n"
    )
    run = lab.launch(*python(code))
    fill(small_disk)
    (lab.home / "go").touch()
    assert run.wait() == 0
    assert MIB <= int((lab.home / "written").read_text()) <= MIB + (64 << 10)


def test_child_gets_enospc(on_small_disk: Lab) -> None:
    """By default a child that floods the disk gets ENOSPC, and its own status is kept."""
    lab = on_small_disk
    done = lab.run(*FLOODS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert done.returncode == 7
    assert (lab.home / "saw").read_text() == "No space left on device"
    assert len(lab.log("output.log")) > 6 * MIB


@pytest.mark.parametrize("kind", ["small", "real"])
def test_process_that_takes_all_freed_space(kind: str, request: pytest.FixtureRequest) -> None:
    """A process that takes all freed space at once does not stop the record of the end."""
    lab: Lab = request.getfixturevalue(f"on_{kind}_disk")
    run = lab.launch(*shell("echo ready; until [ -e go ]; do sleep 0.01; done; exit 3"))
    run.wait_for_output(b"ready")
    with taking_all(lab, request.getfixturevalue(f"{kind}_disk")):
        (lab.home / "go").touch()
        assert run.wait() == 3
        assert exit_of(run.record)["code"] == 3
        assert lab.json("show")["verdict"]["exit_code"] == 3


def test_full_disk_is_the_verdict(on_small_disk: Lab) -> None:
    """Ending and verdict are recorded on the full disk, and name it."""
    lab = on_small_disk
    done = lab.run(*FLOODS, stdout=subprocess.DEVNULL)
    assert done.returncode == 7
    shown = lab.json("show")
    assert shown["exit_code"] == 7
    assert shown["verdict"] is not None, (shown["events"], done.stderr.decode())
    assert shown["verdict"]["cause"] == "disk_full"


def test_full_disk_is_reported_at_the_end(on_small_disk: Lab) -> None:
    """The message at the end of the run names the full disk."""
    done = on_small_disk.run(*FLOODS, stdout=subprocess.DEVNULL)
    assert b"disk" in done.stderr.lower()


def test_full_disk_in_the_api(on_small_disk: Lab) -> None:
    """``run()`` returns status and verdict although nothing can be written."""
    code = (
        "import sys\n"
        "from gpualert_common import run\n"
        "result = run(sys.argv[1:])\n"
        "print(result.exit_code, result.verdict.cause)\n"
    )
    done = on_small_disk.call((*python(code), *FLOODS))
    assert done.stdout == b"7 disk_full\n", done.stderr.decode()


def test_log_is_cut_on_request(on_small_disk: Lab) -> None:
    """With --log-full drop the child survives; the lost bytes are counted and reported."""
    lab = on_small_disk
    done = lab.gpualert("run", "--log-full", "drop", "--streams", "merged", "--", *FLOODS)
    assert done.returncode == 0
    assert not (lab.home / "saw").exists()
    kept = len(lab.log("output.log"))
    assert kept > 5 * MIB
    counted = int((lab.records()[0] / "output.log.dropped").read_text())
    assert kept + counted == 300_000 * 1000


def test_full_before_launch(on_small_disk: Lab, small_disk: Path) -> None:
    """A disk that is full before the launch is skipped, and named."""
    lab = on_small_disk
    fill(small_disk)
    done = lab.run(*shell("echo hi; exit 3"))
    assert done.returncode == 3
    (line,) = (line for line in done.stderr.split(b"\n") if b"gpualert: no log at" in line)
    assert str(lab.state).encode() in line
    assert line.endswith(b"No space left on device")
    assert lab.records() == []
    (path,) = lab.home.glob("xdg-state/gpualert-instead-of-*/runs/*")
    assert (path / "stdout.log").read_bytes() == b"hi\n"


def test_every_place_full(on_small_disk: Lab, small_disk: Path) -> None:
    """If every place is full nothing is launched, and each is listed."""
    lab = on_small_disk
    fill(small_disk)
    env = {**os.environ, "XDG_STATE_HOME": str(small_disk), "TMPDIR": str(small_disk)}
    done = lab.run("touch", str(lab.home / "launched"), env=env)
    assert done.returncode == 125
    assert done.stderr.count(b"No space left on device") == 3
    assert not (lab.home / "launched").exists()


def test_disk_that_is_full_only_for_a_while(on_small_disk: Lab, small_disk: Path) -> None:
    """If a full disk has space again at the end, the record is complete."""
    lab = on_small_disk
    run = lab.launch(*shell("echo ready; until [ -e go ]; do sleep 0.01; done; exit 3"))
    run.wait_for_output(b"ready")
    fill(small_disk)
    (small_disk / "filler").unlink()
    (lab.home / "go").touch()
    assert run.wait() == 3
    assert exit_of(run.record)["code"] == 3
    assert lab.json("show")["verdict"]["exit_code"] == 3


@pytest.mark.parametrize("room", [False, True], ids=["still full", "with room again"])
def test_recover_after_a_full_disk(on_small_disk: Lab, small_disk: Path, room: bool) -> None:
    """``recover`` completes the record of a run whose supervisor was killed on a full disk."""
    lab = on_small_disk
    run = lab.launch(*shell("echo ready; until [ -e go ]; do sleep 0.01; done; exit 3"))
    run.wait_for_output(b"ready")
    fill(small_disk)
    run.process.kill()
    run.process.wait()
    (lab.home / "go").touch()
    until(lab.is_empty, "everything of the run to be gone")
    if room:
        (small_disk / "filler").unlink()
    assert lab.gpualert("recover").returncode == 0
    shown = lab.json("show")
    assert (shown["state"], shown["exit_code"]) == ("ended", None), "nobody was there to see it"
    assert shown["verdict"] is not None


def test_read_only_disk(on_small_disk: Lab, small_disk: Path) -> None:
    """A state directory on a read-only disk is skipped, and named."""
    lab = on_small_disk
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    done = lab.run(*shell("exit 3"))
    assert done.returncode == 3
    assert f"gpualert: no log at {lab.state}: Read-only file system".encode() in done.stderr


def test_disk_unmounted_in_mid_run(on_small_disk: Lab, small_disk: Path) -> None:
    """A disk that is unmounted during the run loses the record, not the status."""
    lab = on_small_disk
    run = lab.launch(*shell("echo ready; until [ -e go ]; do sleep 0.01; done; echo on; exit 3"))
    run.wait_for_output(b"ready")
    subprocess.run(["umount", "--lazy", small_disk], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", small_disk], check=True)
    (lab.home / "go").touch()
    assert run.wait() == 3


def test_no_inodes_left(on_small_disk: Lab, small_disk: Path) -> None:
    """Without free inodes the status is still right."""
    lab = on_small_disk
    run = lab.launch(*shell("echo ready; until [ -e go ]; do sleep 0.01; done; exit 3"))
    run.wait_for_output(b"ready")
    subprocess.run(["mount", "-o", "remount,nr_inodes=1", small_disk], capture_output=True)
    try:
        for number in range(100_000):
            (small_disk / str(number)).touch()
    except OSError:
        pass
    (lab.home / "go").touch()
    assert run.wait() == 3


def test_program_itself_needs_no_disk(on_small_disk: Lab, small_disk: Path) -> None:
    """A run whose working directory is on the full disk has its own status."""
    lab = on_small_disk
    fill(small_disk)
    env = {**os.environ, "GPUALERT_STATE_DIR": str(lab.home / "elsewhere")}
    command = (*PROGRAM, "run", "--", *shell("echo > here || exit 4"))
    assert lab.call(command, cwd=small_disk, env=env).returncode == 4


@pytest.mark.parametrize("way", [at_shell, in_thread])
def test_late_verdict_on_a_full_disk(on_small_disk: Lab, small_disk: Path, way: Way) -> None:
    """On a disk that is full by then a late verdict takes the space that is reserved for it."""
    lab = on_small_disk
    gate = Gate(lab)
    task = lab.start(way(gate.patch, 0.0), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    record = late_record(lab)
    fill(small_disk)
    assert task.wait(120) == 3
    gate.open()
    until(lambda: record.has(VERDICT), "the verdict")
    assert record.verdict is not None
    assert record.verdict.exit_code == 3
