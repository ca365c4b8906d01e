"""A real bash completes the command line of gpualert."""

from __future__ import annotations

import os
import pty
import pwd
import subprocess

import pytest

from gpualert_common.causes import CAUSES
from gpualert_common.cli.commands.completion import SHELLS
from tests.supervised import PYTHON, Lab, until

COMPLETE = r"""
eval "$(gpualert completion bash)"
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9 COMP_KEY=9
read -ra COMP_WORDS <<< "$1"
[[ $1 == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_python_argcomplete gpualert "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"""
"""The call that bash makes when Tab is pressed behind the text in $1."""


@pytest.fixture
def here(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A lab with the program gpualert in its path."""
    folder = lab.home / "bin"
    folder.mkdir()
    lab.script("bin/gpualert", f'#!/bin/sh\nexec {PYTHON} -m gpualert_common "$@"\n')
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return lab


def complete(lab: Lab, line: str) -> list[str]:
    """Return what bash offers behind this text."""
    done = lab.call(("bash", "--norc", "-c", COMPLETE, "bash", line))
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode().split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("gpualert ru", ["rules", "run", "runs"]),
        ("gpualert outbox ", ["list", "retry", "drop"]),
        ("gpualert outbox retry --n", ["--notify"]),
        ("gpualert run --log-f", ["--log-full"]),
        ("gpualert run --streams ", ["auto", "merged", "apart"]),
        ("gpualert run --streams=m", ["merged"]),
        ("gpualert completion ", ["bash", "zsh", "fish"]),
        ("gpualert runs --failed --js", ["--json"]),
        ("gpualert zzz --", []),
    ],
)
def test_words_of_the_program(here: Lab, line: str, expected: list[str]) -> None:
    """Commands, actions, options and choices are completed."""
    found = complete(here, line)
    assert [word for word in found if word not in ("--help", "--version")] == expected


def test_runs(here: Lab) -> None:
    """A RUN is completed with last, and the names and ids of runs."""
    here.gpualert("run", "--name", "my-training", "--", "true")
    here.run("true")
    ids = [path.name for path in here.records()]
    assert complete(here, "gpualert show ") == ["last", "my-training", *ids[::-1]]
    assert complete(here, "gpualert show --full my") == ["my-training"]
    assert complete(here, f"gpualert stop {ids[1][:-1]}") == ids[1:]
    elsewhere = here.home / "elsewhere"
    assert complete(here, f"gpualert show --state-dir {elsewhere} ") == ["last"]


def test_jobs(here: Lab) -> None:
    """A JOB is completed with the names and keys of the jobs of this machine's runs."""
    here.gpualert("run", "--job", "my-job", "--", "true")
    assert complete(here, "gpualert job ") == ["my-job", "job-my-job"]


def test_causes(here: Lab) -> None:
    """A rule, and the cause of a filter, are completed with the causes."""
    expected = sorted(cause for cause in CAUSES if cause.startswith("cuda_"))
    assert sorted(complete(here, "gpualert rules show cuda_")) == expected
    assert sorted(complete(here, "gpualert runs --cause cuda_")) == expected


def test_states_and_users(here: Lab) -> None:
    """The filters of runs are completed with the states, and with the users of the runs."""
    assert complete(here, "gpualert runs --state un") == ["unknown", "unsupervised"]
    here.run("true")
    user = pwd.getpwuid(os.geteuid()).pw_name
    assert sorted(complete(here, "gpualert runs --user ")) == sorted(["me", user])


def test_channels(here: Lab) -> None:
    """A channel is completed with the names of the configured ones."""
    here.script("gpualert.toml", '[channels.mail]\nkind = "mailbox"\n', mode=0o644)
    assert complete(here, "gpualert run --notify ") == ["mail", "mailbox", "none"]


def test_command_of_a_run(here: Lab) -> None:
    """The command of a run is completed with programs, its arguments with files."""
    here.script("bin/trainer-of-mine", "")
    here.script("trainer.toml", "", mode=0o644)
    assert complete(here, "gpualert run -- trainer-") == ["trainer-of-mine"]
    assert complete(here, "gpualert run -- sh train") == ["trainer.toml"]


def test_mistake_in_the_settings(here: Lab) -> None:
    """With a wrong settings file there is no completion, and no message in the line."""
    here.script("gpualert.toml", "grcae = 1\n", mode=0o644)
    assert complete(here, "gpualert run --notify ") == []


def test_tab_key(here: Lab) -> None:
    """In an interactive bash the Tab key completes a command."""
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "PS1": "ready> "}
    here.start(
        ("setsid", "--ctty", "--wait", "bash", "--norc", "--noprofile", "-i"),
        **dict.fromkeys(("stdin", "stdout", "stderr"), slave),
        env=environment,
    )
    os.close(slave)
    os.set_blocking(master, False)
    shown = b""

    def shows(text: bytes) -> bool:
        nonlocal shown
        try:
            shown += os.read(master, 1 << 16)
        except BlockingIOError:
            pass
        return text in shown

    until(lambda: shows(b"ready> "), "the prompt")
    os.write(master, b'eval "$(gpualert completion bash)"; echo set-"up"\n')
    until(lambda: shows(b"set-up"), "the script to be read")
    os.write(master, b"gpualert doct\t")
    until(lambda: shows(b"gpualert doctor "), "the completed command")
    os.close(master)


@pytest.mark.parametrize("shell", SHELLS)
def test_script_of_each_shell(here: Lab, shell: str) -> None:
    """There is a script for each shell; only the completion itself calls the program."""
    done = here.gpualert("completion", shell)
    assert done.returncode == 0
    assert b"gpualert" in done.stdout


def test_start_of_a_run_imports_nothing_of_it(here: Lab) -> None:
    """Without a request of a shell nothing of completion is imported."""
    done = here.call((PYTHON, "-X", "importtime", "-m", "gpualert_common", "run", "--", "true"))
    assert done.returncode == 0
    assert b"argcomplete" not in done.stderr
    assert b"gpualert_common.cli.arguments" in done.stderr


def test_output_of_a_line_with_an_unfinished_quote(here: Lab) -> None:
    """A line that ends within quotes is completed, too."""
    done = subprocess.run(
        ["gpualert"],
        env={**os.environ, "COMP_LINE": "gpualert 'ru", "COMP_POINT": "12", "_ARGCOMPLETE": "1"}
        | {"_ARGCOMPLETE_STDOUT_FILENAME": str(here.home / "words")},
        check=False,
    )
    assert done.returncode == 0
    assert "run" in (here.home / "words").read_text()
