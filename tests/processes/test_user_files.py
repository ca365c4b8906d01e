"""Files that a process names, opened with the permissions of its user."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from gpualert_common.processes.process_user import ProcessUser, read_user
from gpualert_common.processes.user_files import UnreadableFileError, open_in_root
from gpualert_common.stacks.source_lines import read_source_line

OTHER = ProcessUser(os.geteuid() + 1000, ())


def read_in_root(path: Path | str, user: ProcessUser | None = None, pid: int | None = None) -> str:
    """Return the content of a file as a process sees it, by default this one."""
    pid = os.getpid() if pid is None else pid
    with open(open_in_root(pid, str(path), user or read_user(pid))) as file:
        return file.read()


def test_file_by_links(tmp_path: Path) -> None:
    """Relative and absolute links and ``..`` lead to the file."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "train.py").write_text("import torch")
    (tmp_path / "relative").symlink_to("folder/../folder")
    (tmp_path / "absolute").symlink_to(tmp_path / "relative")
    assert read_in_root(tmp_path / "absolute" / "." / "train.py") == "import torch"


def test_links_without_end(tmp_path: Path) -> None:
    """Links in a circle are an error."""
    (tmp_path / "a.py").symlink_to("a.py")
    with pytest.raises(UnreadableFileError, match="too many links"):
        read_in_root(tmp_path / "a.py")


@pytest.mark.parametrize("name", ["none.py", "fifo.py", "\0.py", "x/" * 2048, ".", "train.py/.py"])
def test_no_readable_file(tmp_path: Path, name: str) -> None:
    """A thing that is no regular file is never opened: a pipe would wait for its writer."""
    os.mkfifo(tmp_path / "fifo.py")
    (tmp_path / "train.py").touch()
    with pytest.raises(UnreadableFileError):
        read_in_root(f"{tmp_path}/{name}")


@pytest.mark.parametrize("closed", ["folder", "folder/train.py"])
def test_other_user(tmp_path: Path, closed: str) -> None:
    """A file that the user of the process may not read, or not reach, is not read for that user."""
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(folder.stat().st_mode | 0o055)
    file = tmp_path / "folder" / "train.py"
    file.parent.mkdir(mode=0o755)
    file.write_text("secret")
    file.chmod(0o644)
    assert read_in_root(file, OTHER) == "secret"
    (tmp_path / closed).chmod(0o700)
    with pytest.raises(UnreadableFileError, match="the user of the process may not"):
        read_in_root(file, OTHER)


@pytest.mark.e2e
def test_file_system_of_a_container(tmp_path: Path) -> None:
    """An absolute link of a container leads to a file of the container, and not to one of the
    machine; no ``..`` leads out of it."""
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    secret = tmp_path / "secret.py"
    secret.write_text("secret of the machine")
    (root / "link.py").symlink_to(secret)
    (root / "etc" / "train.py").write_text("import torch")
    (root / "own.py").symlink_to("/etc/../../../etc/train.py")
    pid = os.fork()
    if pid == 0:
        os.chroot(root)
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
    try:
        os.waitpid(pid, os.WUNTRACED)
        assert read_source_line(pid, "/own.py", 1) == "import torch"
        assert read_source_line(pid, "/link.py", 1) == ""
        assert read_source_line(pid, f"/../..{secret}", 1) == ""
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
