"""An alert that could not be sent from here is an error before the launch."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gpualert_common import run
from gpualert_common.errors import ConfigError
from tests.notify.alerting import write_config
from tests.supervised import PYTHON, Lab, python, shell

ROOT = Path(__file__).resolve().parents[2]


def refusal(lab: Lab, *options: str) -> str:
    """Return the error of `gpualert run` with these options, after which nothing was started."""
    done = lab.gpualert("run", *options, "--", *shell(f"touch {lab.home}/started"))
    assert done.returncode == 125, done
    assert not (lab.home / "started").exists()
    assert lab.records() == []
    return done.stderr.decode()


@pytest.fixture(autouse=True)
def _no_default(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPUALERT_NOTIFY", raising=False)
    monkeypatch.chdir(lab.home)


def test_template_directory_that_is_not_there(lab: Lab) -> None:
    """A missing directory of templates is refused by the name of the flag and its path."""
    error = refusal(lab, "--notify", "mailbox", "--templates", "nowhere")
    path = lab.home / "nowhere"
    assert f"--templates: {path}: No such file or directory; name a directory" in error


def test_template_directory_that_is_a_file(lab: Lab) -> None:
    """A file in place of the directory of templates is refused by the file and key that name it."""
    (lab.home / "page").write_text("")
    write_config(lab, f'notify = ["mailbox"]\ntemplates = "{lab.home}/page"\n')
    error = refusal(lab)
    assert f"config.toml: templates: {lab.home}/page: Not a directory" in error


def test_rules_that_are_not_there(lab: Lab) -> None:
    """A missing directory of the user's own rules is refused by the name of the flag."""
    error = refusal(lab, "--rules", "nowhere")
    assert f"--rules: {lab.home}/nowhere: No such file or directory" in error


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("command:./nosuch --now", "command: there is no program {home}/nosuch"),
        ("command:nosuch-program x", "command: there is no program nosuch-program in PATH"),
        ("command:./plain", "command: {home}/plain is not executable"),
        ("mailbox:plain", "path: {home}/plain is not a directory"),
        ("mailbox:plain/below/box", "path: {home}/plain is not a directory"),
        ("env:GPUALERT_NOT_SET", "url: the variable GPUALERT_NOT_SET is not set; provide it"),
        ("env:", "url: env: names no variable"),
        ("file:nosuch", "url: {home}/nosuch: No such file or directory; provide it"),
        ("file:empty", "url: {home}/empty is empty"),
        ("smtp://mail.test/?to=a@b.test&password=env:GPUALERT_NOT_SET", "password: the variable"),
        ("nosuch", "neither a known channel"),
    ],
)
def test_target_that_cannot_send(lab: Lab, target: str, expected: str) -> None:
    """A channel that cannot send from here is refused, by its target, its key and the problem."""
    (lab.home / "plain").write_text("text")
    (lab.home / "empty").write_text("\n")
    error = refusal(lab, "--notify", target)
    assert "gpualert: error: notify: " in error
    assert expected.format(home=lab.home) in error


def test_channel_of_a_file_that_cannot_send(lab: Lab) -> None:
    """A channel of a configuration file is named by its table."""
    write_config(lab, '[channels.pager]\nkind = "command"\ncommand = "nosuch-program"\n')
    assert "[channels.pager]: command: there is no program" in refusal(lab, "--notify", "pager")


def test_unused_channel_is_not_checked(lab: Lab) -> None:
    """A channel that the run does not name may be what it likes."""
    write_config(lab, '[channels.pager]\nkind = "command"\ncommand = "nosuch-program"\n')
    assert lab.gpualert("run", "--notify", "mailbox", "--", *shell("true")).returncode == 0
    done = lab.gpualert("run", "--notify", "none", "--templates", "no", "--", *shell("true"))
    assert done.returncode == 0


def test_module_that_is_not_installed(lab: Lab) -> None:
    """A channel of the user's own is refused if there is no module of that name."""
    write_config(lab, '[channels.pager]\nkind = "nosuch_package.pager"\n')
    error = refusal(lab, "--notify", "pager")
    assert "[channels.pager]: kind: there is no Python module nosuch_package; install it" in error


@pytest.mark.parametrize("target", ["slack://a/b/c", "env:CHAT_URL"])
def test_apprise_that_is_not_installed(
    lab: Lab, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address of apprise is refused where apprise is missing, with the command that helps."""
    monkeypatch.setenv("CHAT_URL", "slack://a/b/c")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    started = lab.home / "started"
    without_packages = [PYTHON, "-S", "-m", "gpualert_common"]
    command = [*without_packages, "run", "--notify", target, "--", *shell(f"touch {started}")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 125, done
    assert 'apprise is not installed: pip install "gpualert-common[apprise]"' in done.stderr
    assert "a/b/c" not in done.stderr
    assert not started.exists()


def test_checks_import_no_channel_library(lab: Lab) -> None:
    """The checks before a launch import neither apprise nor another library of a channel."""
    code = (
        "import sys\n"
        "from gpualert_common.api import make_spec\n"
        "from gpualert_common.settings import load_settings\n"
        "for target in ('slack://a/b/c', 'command:cat', 'smtp://mail.test/?to=a@b.test'):\n"
        "    make_spec(['true'], load_settings({'notify': [target]}), cwd=None, name=None)\n"
        "print(sorted({'apprise', 'smtplib', 'email', 'jinja2', 'msgspec'} & set(sys.modules)))\n"
    )
    done = subprocess.run([*python(code)], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"templates": "nowhere"}, "argument: templates: .*nowhere: No such file"),
        ({"notify": "command:nosuch-program"}, "notify: .*no program nosuch-program in PATH"),
        ({"notify": [{"kind": "mailbox", "path": __file__}]}, "channel mailbox: path: .*directory"),
        ({"artifact": ["a\0b"]}, "argument: artifact: .*names no file"),
        ({"rules": "nowhere"}, "argument: rules: .*nowhere: No such file"),
    ],
)
def test_run_in_python_refuses(lab: Lab, options: Mapping[str, Any], expected: str) -> None:
    """run() raises the error of a wrong alert, and starts nothing."""
    given = {"notify": "mailbox", **options}
    with pytest.raises(Exception, match=f"(?s){expected}") as raised:
        run(["touch", "started"], state_dir=lab.state, **given)
    assert not Path("started").exists()
    assert not (lab.state / "runs").exists()
    assert isinstance(raised.value, ConfigError)


def test_mailbox_that_does_not_exist_yet(lab: Lab) -> None:
    """A mailbox is made where it is missing."""
    done = lab.gpualert("run", "--notify", "mailbox:a/b/box", "--", *shell("exit 3"))
    assert done.returncode == 3
    assert os.listdir(lab.home / "a" / "b" / "box" / "new")
