"""A lane: one pytest, in a home and a temporary directory of its own that end with it.

``python -m tests.lane NAME [--again] -- COMMAND`` runs the command.  Each line of its output begins
with the name.  Where none is complete for a while, the part that there is is shown, or the time:
so a reader sees that the lane lives.  With ``--again`` the tests that failed run once more.

The lane fails if something is left: a process of it that does not end, or one of ``TRACES``.
"""

from __future__ import annotations

import argparse
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

SILENCE_S = 10.0
"""The longest time without a line of output."""
STRAGGLER_S = 120.0
"""How long a process may take to end after the tests: the time of a sender's last attempt."""
TESTS_FAILED = 1

TRACES = (
    "/var/lib/gpualert",
    "{tmp}/gpualert-{user}",
    *(
        f"{{home}}/{name}"
        for name in (
            *(".local/state/gpualert", ".config/gpualert", ".prefect", "airflow", ".rustup"),
            *(".cache/matplotlib", ".config/matplotlib", ".cache/pip-audit"),
        )
    ),
)
"""Places outside the checkout where a run, an engine or a library writes unless told otherwise."""


def find_traces() -> set[str]:
    """Return the places of ``TRACES`` that exist."""
    where = {
        "tmp": tempfile.gettempdir(),
        "user": str(os.geteuid()),
        "home": os.path.expanduser("~"),
    }
    return {path for pattern in TRACES if os.path.lexists(path := pattern.format_map(where))}


def read_environment(pid: int) -> bytes:
    """Return the environment that a process began with; empty if it cannot be read."""
    try:
        return Path("/proc", str(pid), "environ").read_bytes()
    except OSError:
        return b""


def find_processes(folder: Path) -> dict[int, str]:
    """Return the command of each process whose temporary directory is the lane's, by its id."""
    mark = f"TMPDIR={folder}/".encode()
    commands = {}
    for pid in (int(name) for name in os.listdir("/proc") if name.isdecimal()):
        if any(entry.startswith(mark) for entry in read_environment(pid).split(b"\0")):
            try:
                command = Path("/proc", str(pid), "cmdline").read_bytes()
            except OSError:
                continue
            commands[pid] = command.replace(b"\0", b" ").decode(errors="replace").strip()
    return commands


def await_processes(folder: Path, straggler_s: float) -> dict[int, str]:
    """Wait for the processes of the lane to end; returns those that do not."""
    deadline = time.monotonic() + straggler_s
    while (left := find_processes(folder)) and time.monotonic() < deadline:
        time.sleep(0.2)
    return left


def read_chunks(process: subprocess.Popen[bytes], silence_s: float) -> Iterator[bytes]:
    """Yield the output of a process until it ends, and nothing after each second of silence."""
    assert process.stdout is not None
    while True:
        ended = process.poll() is not None
        # A process that outlives the tests may hold the pipe open: what is there is read, no more.
        ready, _, _ = select.select([process.stdout], [], [], 0 if ended else min(silence_s, 1))
        chunk = os.read(process.stdout.fileno(), 65536) if ready else b""
        if ended and not chunk:
            return
        if ready and not chunk:
            process.wait()
        yield chunk


def run(name: str, command: list[str], folder: Path, silence_s: float) -> int:
    """Run a command with the lane's directories, print its output; returns its exit status."""
    place = {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp")}
    began = shown = time.monotonic()
    rest = b""
    with subprocess.Popen(
        command, env=os.environ | place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        for chunk in read_chunks(process, silence_s):
            *lines, rest = (rest + chunk).split(b"\n")
            now = time.monotonic()
            if not lines and now - shown >= silence_s:
                lines, rest = [rest or f"... {now - began:.0f} s".encode()], b""
            for line in lines:
                print(f"[{name}] {line.decode(errors='replace')}", flush=True)
                shown = now
    if rest:
        print(f"[{name}] {rest.decode(errors='replace')}", flush=True)
    return process.returncode


def end_processes(folder: Path, straggler_s: float) -> list[str]:
    """Return the processes of the lane that do not end by themselves, and kill them."""
    left = await_processes(folder, straggler_s)
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return [f"process {pid}: {command}" for pid, command in left.items()]


def main() -> int:
    """Run the lane; return the status of its command, or 1 if it leaves something behind."""
    parser = argparse.ArgumentParser(description="One lane of the tests.")
    parser.add_argument("name")
    parser.add_argument("--again", action="store_true", help="run the tests that failed once more")
    parser.add_argument("--silence", type=float, default=SILENCE_S, help=argparse.SUPPRESS)
    parser.add_argument("--straggler", type=float, default=STRAGGLER_S, help=argparse.SUPPRESS)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    before = find_traces()
    folder = Path(tempfile.mkdtemp(prefix="lane-"))
    # As /tmp is: tests of other users must get there.
    for place, mode in ((folder, 0o755), (folder / "home", 0o700), (folder / "tmp", 0o1777)):
        place.mkdir(exist_ok=True)
        place.chmod(mode)
    try:
        status = run(options.name, options.command, folder, options.silence)
        if status == TESTS_FAILED and options.again:
            print(f"[{options.name}] the tests that failed run once more", flush=True)
            command = [*options.command, "--last-failed"]
            status = run(options.name, command, folder, options.silence)
        left = end_processes(folder, options.straggler)
        left += [f"file {path}" for path in sorted(find_traces() - before)]
    finally:
        shutil.rmtree(folder)
    for one in left:
        print(f"[{options.name}] left behind: {one}", flush=True)
    return status or int(bool(left))


if __name__ == "__main__":
    sys.exit(main())
