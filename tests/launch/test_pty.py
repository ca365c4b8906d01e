"""``--pty``: the command writes to a terminal, and every promise about its log holds."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import termios

import pytest

from gpualert_common import run
from gpualert_common.errors import UsageError
from tests.screens import drop_colours, on_screen
from tests.supervised import (
    PROGRAM,
    Lab,
    Supervised,
    breaking,
    is_alive,
    listener,
    python,
    shell,
    until,
)

DRAWS = python(
    "import os, sys\n"
    "print(os.isatty(1), os.isatty(2), os.get_terminal_size(1).columns)\n"
    "sys.stderr.write('\\r 50%\\r100%\\n')\n"
    "print('end')\n"
    "sys.exit(3)"
)
WAITS = shell("echo before; until [ -e go ]; do sleep 0.01; done; echo after; exit 3")
LINES = b"".join(b"%d\n" % n for n in range(1, 300_001))
WRITES = shell("seq 300000; echo $? > status; exit 3")


def drawn(columns: int) -> bytes:
    """Return the output of the command that draws."""
    return b"True True %d\n\r 50%%\r100%%\nend\n" % columns


def launch(lab: Lab, *command: str) -> Supervised:
    """Start a command with a terminal."""
    return lab.launch(*command, options=("--pty",))


def copier_of(lab: Lab) -> int:
    """Return the process that copies from the terminal to the log."""
    return next(pid for pid, command in lab.living().items() if "log_pipe.py" in command)


def test_command_has_a_terminal(lab: Lab) -> None:
    """Both streams are a terminal; the log and the screen have the same bytes, none added."""
    done = lab.gpualert("run", "-q", "--pty", "--", *DRAWS)
    assert (done.returncode, done.stderr) == (3, b"")
    assert done.stdout == lab.log("output.log") == drawn(80)


def test_without_it_there_is_none(lab: Lab) -> None:
    """Without the option both streams are the log."""
    code = "import os; print(os.isatty(1), os.isatty(2))"
    assert lab.run(*python(code)).stdout == b"False False\n"


def test_size_of_the_screen(lab: Lab) -> None:
    """The terminal has the width of the user's, from the start."""
    shown = on_screen(lab, "run", "-q", "--pty", "--", *DRAWS, columns=91, status=3)
    assert drop_colours(shown) == drawn(91).decode()


def test_window_is_resized(lab: Lab) -> None:
    """The terminal follows the size of the user's window."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 70, 0, 0))
    code = (
        "import os, time\n"
        "print('first', os.get_terminal_size(1).columns)\n"
        "while os.get_terminal_size(1).columns == 70: time.sleep(0.01)\n"
        "print('then', os.get_terminal_size(1).columns)"
    )
    process = lab.start((*PROGRAM, "run", "--pty", "--", *python(code)), stdout=slave)
    until(lambda: lab.has_output(b"first 70\n"), "the first size")
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 133, 0, 0))
    assert process.wait(60) == 0
    assert lab.log("output.log").endswith(b"then 133\n")
    os.close(slave)
    os.close(master)


def test_function_and_guardian(lab: Lab) -> None:
    """``run()`` and a detached run give the command a terminal, too."""
    assert run(DRAWS, pty=True).exit_code == 3
    assert lab.log("output.log") == drawn(80)
    run_id = lab.gpualert("run", "--detach", "--pty", "--", *DRAWS).stdout.decode().strip()
    assert lab.gpualert("follow", run_id).stdout == drawn(80)


def test_much_output(lab: Lab) -> None:
    """The log has every byte of fast output, also of a single line, when the run has ended."""
    done = lab.gpualert("run", "-q", "--pty", "--", *WRITES)
    assert (done.returncode, done.stdout) == (3, LINES)
    assert lab.log("output.log") == LINES
    assert lab.record().event("log_dropped") is None


def test_stop_saves(lab: Lab) -> None:
    """A stop reaches the command as ever, and its last words are in the log."""
    started = launch(lab, *listener())
    started.wait_for_output(b"ready\n")
    started.process.send_signal(signal.SIGTERM)
    assert started.wait() == 0
    assert started.log() == b"ready\nreceived SIGTERM\n"


def test_killed_supervisor(lab: Lab) -> None:
    """The command goes on without its supervisor, and its log is complete."""
    started = launch(lab, *WAITS)
    started.wait_for_output(b"before\n")
    started.process.kill()
    started.process.wait()
    (lab.home / "go").touch()
    until(lambda: started.log() == b"before\nafter\n", "the rest of the log")
    until(lab.is_empty, "the copying to end with the child")


def test_killed_copier(lab: Lab) -> None:
    """The death of the copying process is an error of the next write, and never a hang."""
    code = (
        "import os, time\nprint('ready', flush=True)\n"
        "while not os.path.exists('go'): time.sleep(0.01)\n"
        "try:\n os.write(1, b'lost')\nexcept OSError as error:\n os._exit(error.errno)"
    )
    started = launch(lab, *python(code))
    started.wait_for_output(b"ready\n")
    copier = copier_of(lab)
    os.kill(copier, signal.SIGKILL)
    until(lambda: not is_alive(copier), "its death")
    (lab.home / "go").touch()
    assert started.wait() == 5  # EIO
    assert started.log() == b"ready\n"
    verdict = lab.json("show", "last")["verdict"]
    (warning,) = verdict["warnings"]
    assert (warning["kind"], warning["text"][-18:]) == ("log_incomplete", "the log ends there")


def test_log_that_is_cut(lab: Lab) -> None:
    """Output that the disk does not take is dropped and counted; the child is unaffected."""
    command = (*PROGRAM, "run", "--pty", "--log-reserve", "0", "--", *WRITES)
    done = lab.call(("sh", "-c", 'ulimit -f 1000; exec "$@"', "sh", *command))
    assert done.returncode == 3
    assert (lab.home / "status").read_text() == "0\n"
    event = lab.record().event("log_dropped")
    assert event is not None
    assert event.fields["size_bytes"] == len(LINES) - len(lab.log("output.log"))


def test_survivor_keeps_the_terminal(lab: Lab) -> None:
    """A background process goes on writing after the run, and its output is in the log."""
    code = "(until [ -e go ]; do sleep 0.01; done; echo late; echo on > status) & echo hi; exit 3"
    assert lab.gpualert("run", "--pty", "--", *shell(code)).returncode == 3
    (lab.home / "go").touch()
    until((lab.home / "status").exists, "the background process to go on")
    until(lambda: lab.log("output.log") == b"hi\nlate\n", "its line")


def test_screen_that_nobody_reads(lab: Lab) -> None:
    """The command never waits for the user's terminal."""
    master, slave = pty.openpty()
    lab.start((*PROGRAM, "run", "--pty", "--", *WRITES), stdout=slave, stderr=slave)
    until((lab.home / "status").exists, "the command to end")
    until(lambda: lab.has_output(LINES), "the whole log")
    os.close(slave)
    os.close(master)


def test_streams_cannot_be_apart(lab: Lab) -> None:
    """One terminal for two logs is an error before the launch."""
    with pytest.raises(UsageError, match="streams cannot be apart"):
        run(["touch", str(lab.home / "launched")], pty=True, streams="apart")
    assert not (lab.home / "launched").exists()


def test_machine_without_terminals(lab: Lab) -> None:
    """Nothing is launched if no terminal can be made, and no record is left."""
    code = (
        "import os\ndef openpty():\n    raise OSError(28, 'No space left on device')\n"
        "os.openpty = openpty"
    )
    done = lab.call((*breaking(code), "run", "--pty", "--", "touch", "launched"))
    assert done.returncode == 125
    assert b"no terminal" in done.stderr
    assert not (lab.home / "launched").exists()
    assert not lab.records()
