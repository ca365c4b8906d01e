"""stdin, stdout and stderr: in a pipeline the program behaves as the command itself."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import time

import pytest

from gpualert_common import run
from tests.supervised import PROGRAM, PYTHON, Lab, python, shell, until


def piped(lab: Lab, script: str, *command: str) -> subprocess.CompletedProcess[bytes]:
    """Run a bash script in which ``"$@"`` is ``gpualert run -- command``."""
    return lab.call(("bash", "-c", script, "bash", *PROGRAM, "run", "-q", "--", *command))


def test_head(lab: Lab) -> None:
    """``gpualert run -- cmd | head`` gives the first lines; the command runs to its end."""
    done = piped(lab, '"$@" | head -2; echo ${PIPESTATUS[@]}', *shell("seq 50000; touch whole"))
    assert done.stdout == b"1\n2\n0 0\n"
    assert (lab.home / "whole").exists()
    assert lab.log().endswith(b"\n50000\n")


def test_pipeline_with_both_ends(lab: Lab) -> None:
    """``zcat x | gpualert run -- cmd | reader`` passes everything through."""
    rows = [{"step": step, "loss": 1 / (step + 1)} for step in range(20_000)]
    (lab.home / "x.gz").write_bytes(gzip.compress(json.dumps(rows).encode()))
    reader = f"{PYTHON} -c 'import json, sys; print(len(json.load(sys.stdin)))'"
    done = piped(lab, f'zcat x.gz | "$@" | {reader}; echo ${{PIPESTATUS[@]}}', "cat")
    assert done.stdout == b"20000\n0 0 0\n"


def test_stdin_of_the_child(lab: Lab) -> None:
    """The child reads the program's stdin."""
    done = lab.run("tr", "a-z", "A-Z", input=b"hello\n")
    assert done.stdout == b"HELLO\n"


def test_slow_reader_gets_every_byte(lab: Lab) -> None:
    """A slow reader gets all of a large output."""
    size = 8 << 20
    code = f"import os, random; os.write(1, random.Random(1).randbytes({size})); open('done', 'w')"
    command = (*PROGRAM, "run", "-q", "--", *python(code))
    process = lab.start(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    digest = hashlib.sha256()
    while data := os.read(process.stdout.fileno(), 1 << 16):
        digest.update(data)
        time.sleep(0.001)
    assert process.wait(30) == 0
    assert digest.hexdigest() == hashlib.sha256(lab.log()).hexdigest()
    assert len(lab.log()) == size


def test_child_does_not_wait_for_a_reader(lab: Lab) -> None:
    """The child can end before its reader begins to read."""
    code = shell("seq 300000; touch done")
    process = lab.start((*PROGRAM, "run", "-q", "--", *code), stdout=subprocess.PIPE)
    until((lab.home / "done").exists, "the child to be done")
    out, _err = process.communicate(timeout=30)
    assert out.endswith(b"\n300000\n")
    assert process.returncode == 0


def test_reader_that_pauses_after_the_end(lab: Lab) -> None:
    """A reader that pauses for a second at the end still gets the rest."""
    process = lab.start(
        (*PROGRAM, "run", "-q", "--", *shell("seq 100000; touch done")), stdout=subprocess.PIPE
    )
    until((lab.home / "done").exists, "the child to be done")
    time.sleep(1)
    assert process.stdout is not None
    assert process.stdout.read().endswith(b"\n100000\n")
    assert process.wait(30) == 0


def test_streams_are_separate_in_a_pipeline(lab: Lab) -> None:
    """With separate stdout and stderr, each has its own way and its own log."""
    done = lab.gpualert("run", "-q", "--", *shell("echo out; echo err >&2"))
    assert (done.stdout, done.stderr) == (b"out\n", b"err\n")
    assert (lab.log("stdout.log"), lab.log("stderr.log")) == (b"out\n", b"err\n")


@pytest.mark.parametrize("target", ["file", "pipe"])
def test_streams_are_merged_where_they_go_to_one_place(lab: Lab, target: str) -> None:
    """With 2>&1 there is one log, in true order, and one output."""
    script = '"$@" > both 2>&1; cat both' if target == "file" else '"$@" 2>&1 | cat'
    code = "for n in 1 2 3 4 5 6; do echo out$n; echo err$n >&2; done"
    done = piped(lab, script, *shell(code))
    expected = b"".join(b"out%d\nerr%d\n" % (n, n) for n in range(1, 7))
    assert done.stdout == expected
    assert lab.log("output.log") == expected


def test_stdout_to_a_file_is_appended_to(lab: Lab) -> None:
    """``>> file`` appends, as without gpualert."""
    lab.script("all.txt", "first\n")
    piped(lab, '"$@" >> all.txt', *shell("echo second"))
    assert (lab.home / "all.txt").read_text() == "first\nsecond\n"


def test_our_messages_go_to_stderr_only(lab: Lab) -> None:
    """stdout has only the child's output; our messages are on stderr."""
    done = lab.run(*shell("echo out; exit 3"))
    assert done.stdout == b"out\n"
    assert b"gpualert: " in done.stderr


def test_quiet(lab: Lab) -> None:
    """With --quiet there are no messages of ours."""
    done = lab.gpualert("run", "--quiet", "--", *shell("echo out; echo err >&2; exit 3"))
    assert (done.returncode, done.stdout, done.stderr) == (3, b"out\n", b"err\n")


def test_output_comes_while_it_runs(lab: Lab) -> None:
    """A reader gets a line when it is written, not at the end."""
    code = "echo now; until [ -e go ]; do sleep 0.01; done"
    process = lab.start((*PROGRAM, "run", "-q", "--", *shell(code)), stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"now\n"
    assert process.poll() is None
    (lab.home / "go").touch()
    assert process.wait(30) == 0


def test_interrupted_pipeline(lab: Lab) -> None:
    """Output of a training that saves on TERM reaches the reader."""
    code = "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.01; done"
    process = lab.start((*PROGRAM, "run", "-q", "--", *shell(code)), stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.terminate()
    assert process.stdout.read() == b"saved\n"
    assert process.wait(30) == 0


def test_signal_during_the_wait_for_a_reader(lab: Lab) -> None:
    """A signal ends the wait for a stalled reader, without a change of the status."""
    code = shell("seq 300000; touch done; exit 3")
    process = lab.start((*PROGRAM, "run", "-q", "--", *code), stdout=subprocess.PIPE)
    until((lab.home / "done").exists, "the child to be done")
    until(lambda: any(lab.state.glob("runs/*/exit.json")), "its ending to be recorded")
    begin = time.monotonic()
    process.terminate()
    assert process.wait(30) == 3
    assert time.monotonic() - begin < 5, "half of what a reader that stalls is given"


# -- other descriptors -------------------------------------------------------------------------


def test_program_passes_on_inherited_descriptors(lab: Lab) -> None:
    """Descriptors that were passed to the program reach the child (process substitution)."""
    done = piped(lab, '"$@" /dev/fd/3 3<<< hello', "cat")
    assert done.stdout == b"hello\n"


def test_program_leaks_no_descriptor(lab: Lab) -> None:
    """The child of the program has descriptors 0, 1 and 2 and none of ours."""
    done = lab.run("ls", "-l", "/proc/self/fd")
    names = [line.split()[-3] for line in done.stdout.decode().splitlines() if "->" in line]
    assert names == ["0", "1", "2", "3"], "3 is the directory that ls reads"


SIGNAL_STATE = ("grep", "-E", "SigBlk|SigIgn", "/proc/self/status")


def test_child_of_the_program_has_default_signals(lab: Lab) -> None:
    """The child has the signal settings that it would have without gpualert."""
    assert lab.run(*SIGNAL_STATE).stdout == lab.call(SIGNAL_STATE).stdout


def test_child_of_the_api_has_default_signals(lab: Lab) -> None:
    """SIGPIPE, which Python ignores, is not ignored in the child."""
    result = run(SIGNAL_STATE)
    with open(result.log_path, "rb") as log:
        assert log.read() == lab.call(SIGNAL_STATE).stdout


def test_api_passes_on_no_descriptors(lab: Lab) -> None:
    """The child of the API has only descriptors 0, 1 and 2, with any inheritable ones in the
    caller."""
    read_fd, write_fd = os.pipe()
    os.set_inheritable(write_fd, True)
    try:
        result = run(["ls", "/proc/self/fd"])
    finally:
        os.close(read_fd)
        os.close(write_fd)
    with open(result.log_path, encoding="ascii") as log:
        assert log.read().split() == ["0", "1", "2", "3"]


def test_stdin_of_the_api_is_empty(lab: Lab) -> None:
    """The API's child reads from /dev/null, not from the caller's stdin."""
    result = run(["readlink", "/proc/self/fd/0"])
    with open(result.log_path, encoding="ascii") as log:
        assert log.read() == "/dev/null\n"


def test_api_writes_nothing_to_stdout(lab: Lab) -> None:
    """The API prints nothing on the caller's stdout or stderr."""
    code = "from gpualert_common import run; run(['sh', '-c', 'echo out; echo err >&2; exit 3'])"
    done = lab.call(python(code))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


# -- surroundings ------------------------------------------------------------------------------


def test_empty_environment_without_a_terminal(lab: Lab) -> None:
    """A run works as under cron: no HOME, hardly a PATH, no terminal, stdin closed."""
    state = f"GPUALERT_STATE_DIR={lab.state}"
    environment = ("env", "-i", state, f"{lab.mark}=1", "PATH=/usr/bin:/bin", "SHELL=/bin/sh")
    command = (*environment, *PROGRAM, "run", "--", *shell("echo hi; exit 3"))
    done = lab.call(("setsid", "--wait", "sh", "-c", '"$@" <&-', "sh", *command))
    assert done.returncode == 3
    assert done.stdout == b"hi\n"
    assert lab.json("show")["verdict"]["exit_code"] == 3


def test_nohup(lab: Lab) -> None:
    """Under nohup the output goes to nohup.out, and the run survives its shell."""
    script = 'nohup "$@" > nohup.out 2>&1 &'
    piped(lab, script, *shell("sleep 0.3; echo whole; exit 3"))
    until(lambda: any(lab.state.glob("runs/*/verdict.json")), "the run to end")
    until(lambda: (lab.home / "nohup.out").read_bytes() == b"whole\n", "its output")
    assert lab.json("runs")["runs"][0]["exit_code"] == 3
