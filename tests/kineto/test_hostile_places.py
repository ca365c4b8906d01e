"""Disks that are full, and other users: each is harmless, and named."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kineto.asking_runs import TRACING, find_daemon, launch_asking, read_directory, trace
from tests.kineto.test_real_traces import TRAINING
from tests.supervised import PROGRAM, PYTHON, Lab, python, until

pytestmark = pytest.mark.usefixtures("sockets")

NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--")


@pytest.fixture
def disk(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small disk for the records."""
    place = lab.home / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=280m,mode=700", "d", place], check=True)
    lab.state = place
    monkeypatch.setenv("GPUALERT_STATE_DIR", str(place))
    yield place
    lab.end_everything()
    subprocess.run(["umount", "--lazy", place], check=True)


def fill(place: Path, left_bytes: int) -> None:
    """Fill a disk up to this space."""
    status = os.statvfs(place)
    with open(place / "ballast", "ab") as file:
        end = file.tell()
        free = status.f_bavail * status.f_frsize
        os.posix_fallocate(file.fileno(), end, free - left_bytes)


@pytest.mark.e2e
def test_disk_with_little_space(lab: Lab, disk: Path) -> None:
    """A disk with little space is left to the training."""
    asking = launch_asking(lab, "write")
    fill(disk, 100 << 20)
    done = trace(lab)
    assert done.returncode == 2
    assert b" MiB of the disk are free; a trace needs 256 MiB" in done.stderr
    assert list(Path(asking.record.path, "traces").iterdir()) == []


@pytest.mark.nightly
def test_disk_that_becomes_full(lab: Lab, disk: Path) -> None:
    """A trace that fills the disk is discarded at once, and the training goes on."""
    stop = lab.home / "stop"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    launcher = (PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "1")
    run = lab.launch(*(*launcher, TRAINING, str(stop), "none"), options=TRACING, env=environment)
    until(lambda: b"training" in run.log(), "the training to train", 180)
    request = lab.start((*PROGRAM, "trace", "--duration", "1s"), stdout=subprocess.PIPE)
    traces = Path(run.record.path, "traces")
    until(lambda: list(traces.glob("*/raw")), "the request to be taken up")
    fill(disk, 255 << 20)
    assert request.wait(90) == 1
    assert request.stdout is not None
    assert (
        b"no trace: less than 256 MiB of the disk were free while it was written"
        in request.stdout.read()
    )
    assert list(traces.glob("*/raw")) == []
    assert list(traces.glob("*/*.gz")) == []
    before = run.log()
    stop.touch()
    assert run.process.wait(60) == 0
    assert run.log().removeprefix(before) == b"trained\n"


@pytest.mark.e2e
def test_process_of_another_user(lab: Lab) -> None:
    """A process of another user cannot reach the socket, and is no part of a trace."""
    lab.home.chmod(0o755)
    reach = (
        "import os, socket, time\n"
        "try:\n"
        "    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
        "    sock.sendto(b'', os.environ['KINETO_IPC_SOCKET_DIR'] + '/dynolog')\n"
        "except OSError as error:\n"
        "    print(error.strerror, flush=True)\n"
        "time.sleep(600)\n"
    )
    run = lab.launch(*NOBODY, *python(reach), options=TRACING)
    run.wait_for_output(b"Permission denied")
    assert read_directory(run.record).stat().st_mode & 0o777 == 0o700
    done = trace(lab)
    assert done.returncode == 1
    assert b"no trace: it has not loaded PyTorch" in done.stdout
    assert find_daemon(lab)
