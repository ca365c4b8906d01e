"""Output of the program: where it cannot be written, is very wide, or names hold any character."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from gpualert_common.printable_text import REPLACEMENTS
from tests.supervised import PROGRAM, Lab, shell

UNWRITABLE = {"closed": ">&-", "full": ">/dev/full"}

READERS = [
    "--help",
    "--version",
    "run --help",
    "classify log",
    "classify log --json",
    "classify log --markdown --explain",
    "completion bash",
    "config show",
    "config show --json",
    "doctor",
    "doctor --json",
    "follow",
    "notify preview",
    "outbox list --all",
    "outbox list --json",
    "progress log",
    "progress log --json",
    "prune --older-than 0s",
    "recover last",
    "recover --json",
    "rm last",
    "rules list",
    "rules show config",
    "runs",
    "runs --json",
    "show",
    "show --full",
    "show --json",
    "show --markdown",
    "stop last",
]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab with a log and a failed run with an alert; its directory is the working directory."""
    with pytest.MonkeyPatch.context() as patch:
        place = Lab(tmp_path_factory.mktemp("lab"))
        for name, value in (place.environment() | {"GPUALERT_NOTIFY": "mailbox"}).items():
            patch.setenv(name, value)
        patch.chdir(place.home)
        place.script("log", "ValueError: a\n", mode=0o644)
        place.run(*shell("echo ValueError: a; exit 1"))
        yield place
        place.end_everything()


def status_of(lab: Lab, arguments: str, redirections: str) -> tuple[int, str]:
    """Return the exit status and stderr of the program under redirections of the shell."""
    line = f'"$@" {arguments} {redirections}'
    done = lab.call(("bash", "-c", line, "bash", *PROGRAM))
    return done.returncode, done.stderr.decode()


@pytest.mark.parametrize("stderr", UNWRITABLE.values(), ids=UNWRITABLE.keys())
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ("run --timeout soon -- true", 125),
        ("run --no-such-flag -- true", 125),
        ("run", 125),
        ("run --cwd nowhere -- true", 125),
        ("run --notify nowhere -- true", 125),
        ("run -- ./nowhere", 127),
        ("run -- ./log", 126),
        ("run -- sh -c 'exit 3'", 3),
        ("run --detach -- true", 0),
        ("run --detach --timeout soon -- true", 125),
        ("show nowhere", 2),
        ("no-such-command", 2),
    ],
)
def test_stderr_that_cannot_be_written(
    here: Lab, monkeypatch: pytest.MonkeyPatch, arguments: str, status: int, stderr: str
) -> None:
    """The exit status is the same as with a stderr that can be written."""
    monkeypatch.setenv("GPUALERT_STATE_DIR", str(here.home / "other"))
    assert status_of(here, arguments, f"2{stderr}")[0] == status


@pytest.mark.parametrize(
    ("arguments", "stdout"),
    [*((one, ">/dev/full") for one in READERS), *((one, ">&-") for one in READERS[::5])],
)
def test_stdout_that_cannot_be_written(
    here: Lab, monkeypatch: pytest.MonkeyPatch, arguments: str, stdout: str
) -> None:
    """A command that prints fails with one line that says why."""
    monkeypatch.setenv("PYTHONUNBUFFERED", "" if "json" in arguments else "1")
    status, stderr = status_of(here, arguments, stdout)
    assert stderr.startswith("gpualert: error: standard output: ")
    assert stderr.count("\n") == 1
    assert status == (125 if arguments.startswith("run ") else 2)


@pytest.mark.parametrize("arguments", READERS[::4])
def test_reader_that_takes_nothing(here: Lab, arguments: str) -> None:
    """A command exits quietly when the reader of its output has gone."""
    line = f'"$@" {arguments} | true; exit "${{PIPESTATUS[0]}}"'
    done = here.call(("bash", "-c", f"trap '' PIPE; {line}", "bash", *PROGRAM))
    assert done.stderr == b""
    assert done.returncode in (0, 1)


@pytest.mark.parametrize("stdout", UNWRITABLE.values(), ids=UNWRITABLE.keys())
def test_detached_run_whose_id_is_lost(
    here: Lab, monkeypatch: pytest.MonkeyPatch, stdout: str
) -> None:
    """The status is that of the launch, which a caller would repeat; the note has the id, too."""
    monkeypatch.setenv("GPUALERT_STATE_DIR", str(here.home / "other"))
    status, stderr = status_of(here, "run --detach -- true", stdout)
    assert (status, stderr.count("gpualert follow ")) == (0, 1)


def test_classify_with_a_closed_stdin(here: Lab) -> None:
    """A closed stdin is an empty log."""
    assert status_of(here, "classify - --exit-code 1", "<&-") == (0, "")


COLUMNS = ["9" * 20, str(10**9), "-5", "0", "1", "abc", "", "9" * 5000]


@pytest.mark.parametrize(
    ("arguments", "columns"),
    [
        *(("runs", columns) for columns in COLUMNS),
        *((other, COLUMNS[0]) for other in ("--help", "run --help", "show", "progress log")),
    ],
)
def test_columns(here: Lab, arguments: str, columns: str) -> None:
    """No width of the terminal makes a command fail, or print more than some kilobytes."""
    done = here.gpualert(*arguments.split(), env={**os.environ, "COLUMNS": columns})
    assert done.returncode == 0, done.stderr
    assert len(done.stdout) < 64 << 10


HOSTILE = {
    "escape sequence": "\x1b[31mred",
    "title": "\x1b]0;title\x07",
    "bell": "a\ab",
    "carriage return": "good\rbad",
    "backspace": "good\b\b\b\bbad",
    "line break": "a\ngpualert: all is well",
    "delete": "a\x7fb",
    "C1": "a\x9b31mb",
    "next line": "a\x85b",
    "override": "a\u202egpj.sh",
    "isolate": "a\u2066b\u2069",
    "mark": "a\u200fb",
    "line separator": "a\u2028b",
    "no UTF-8": "a\udcffb",
}
EVERY = " ".join(HOSTILE.values())


def assert_harmless(output: bytes) -> None:
    """Assert that a terminal shows an output as it is, and that no line of it is forged."""
    lines = output.decode().split("\n")
    assert not {hex(ord(char)) for line in lines for char in line if ord(char) in REPLACEMENTS}
    assert not [line for line in lines if line.startswith("gpualert: all is well")]


def test_hostile_names_of_a_run(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """No command prints control characters of a run's name, command, directory or files."""
    monkeypatch.setenv("GPUALERT_NOTIFY", "mailbox")
    monkeypatch.setenv("GPUALERT_STATE_DIR", str(lab.home / f"state {EVERY}"))
    work = lab.home / EVERY
    work.mkdir()
    lab.script(f"{EVERY}/{EVERY}", "#!/bin/sh\nexit 3\n")
    done = lab.gpualert("run", "--name", EVERY, "--cwd", str(work), "--", f"./{EVERY}", EVERY)
    assert done.returncode == 3
    assert_harmless(done.stdout + done.stderr)
    for reader in READERS_OF_RUNS:
        done = lab.gpualert(*reader.split())
        assert done.returncode in (0, 1, 2), done.stderr
        assert b"Traceback" not in done.stderr
        assert_harmless(done.stdout + done.stderr)


READERS_OF_RUNS = [
    "runs",
    "rm last",
    "prune --older-than 0s",
    "show --full",
    "show --markdown",
    "stop last",
    "recover last",
    "outbox list --all",
    "outbox retry last",
    "config show",
    "notify preview",
    "notify preview --html",
    "outbox drop last",
]


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", EVERY),
        ("follow", f"./{EVERY}"),
        ("stop", EVERY),
        ("classify", f"no{EVERY}"),
        ("classify", EVERY),
        ("progress", EVERY),
        ("progress", f"no{EVERY}"),
        ("notify", "test", "--notify", EVERY),
        ("rules", "show", EVERY),
        ("rules", "check", EVERY),
        ("runs", EVERY),
        ("outbox", EVERY),
        (EVERY,),
        ("show", "--state-dir", EVERY),
        ("run", "--cwd", EVERY, "--", "true"),
        ("run", "--timeout", EVERY, "true"),
        ("run", f"--{EVERY}", "--", "true"),
        ("run", "--", f"./no{EVERY}"),
        ("run", "--rules", EVERY, "true"),
        ("run", "--notify", EVERY, "true"),
    ],
    ids=lambda arguments: " ".join(one.partition(EVERY)[0] for one in arguments),
)
def test_hostile_names_in_errors(here: Lab, arguments: tuple[str, ...]) -> None:
    """No error message prints control characters of the thing that it names."""
    (here.home / EVERY).write_bytes(b"a = = 1")
    done = here.gpualert(*arguments)
    assert_harmless(done.stdout + done.stderr)


def test_hostile_key(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of a settings file is printed without control characters."""
    monkeypatch.chdir(lab.home)
    lab.script("gpualert.toml", '"a\\u001b[31m\\u202e\\n" = 1\n', mode=0o644)
    done = lab.gpualert("run", "true")
    assert done.returncode == 125
    assert_harmless(done.stderr)


def test_output_of_the_command_is_unchanged(lab: Lab) -> None:
    """The command's own bytes pass through, to the terminal of ``run`` and of ``follow``."""
    output = EVERY.encode("utf-8", "surrogateescape")
    (lab.home / "bytes").write_bytes(output)
    assert lab.run("cat", str(lab.home / "bytes")).stdout == output
    assert lab.gpualert("follow").stdout == output
