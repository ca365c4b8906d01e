"""Every error about a name that does not exist says which one may be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpualert_common.classify.rule_reader import load_rules
from gpualert_common.errors import RuleError
from gpualert_common.suggestions import find_similar
from tests.supervised import Lab


def test_similar_name() -> None:
    """The name that is spelled most like the given one is found, whatever its case."""
    assert find_similar("NOTIFY_NO", ["notify", "notify_on", "grace"]) == "notify_on"
    assert find_similar("zebra", ["notify", "notify_on", "grace"]) is None
    assert find_similar("x", []) is None


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ("shwo", "show"),
        ("runs --jsno", "--json"),
        ("run --grcae 5 -- touch launched", "--grace"),
        ("run --tmieout=5 -- touch launched", "--timeout"),
        ("run --streams mergd -- touch launched", "merged"),
        ("run --notify mial -- touch launched", "mail"),
        ("run --notify malibox -- touch launched", "mailbox"),
        ("outbox rety", "retry"),
        ("outbox retry --ntofiy mail", "--notify"),
        ("rules show cuda_om", "cuda_oom"),
    ],
)
def test_mistake_at_the_shell(lab: Lab, arguments: str, meant: str) -> None:
    """A wrong command, option, choice, channel or rule is an error with the name that is meant."""
    lab.script("gpualert.toml", '[channels.mail]\nkind = "mailbox"\n', mode=0o644)
    done = lab.gpualert(*arguments.split())
    assert done.returncode == (125 if arguments.startswith("run ") else 2)
    assert done.stderr.decode().rstrip().endswith(f"; did you mean {meant}?")
    assert not (lab.home / "launched").exists()


def test_name_that_is_far_from_all(lab: Lab) -> None:
    """A name that is like no other has no suggestion."""
    done = lab.gpualert("zzzzzz")
    assert done.returncode == 2
    assert b"did you mean" not in done.stderr


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("grcae = 5", "grace"),
        ('[channels.mail]\nkind = "smpt"', "smtp"),
        ('[channels.mail]\nkind = "smtp"\nhots = "localhost"', "host"),
    ],
)
def test_mistake_in_a_settings_file(lab: Lab, text: str, meant: str) -> None:
    """A wrong key, channel kind or channel setting in a file is an error with the one meant."""
    lab.script("gpualert.toml", f"{text}\n", mode=0o644)
    done = lab.gpualert("run", "--notify", "mail", "--", "touch", "launched")
    assert done.returncode == 125
    assert done.stderr.decode().endswith(f"; did you mean {meant}?\n")
    assert not (lab.home / "launched").exists()


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("GPUALERT_GRCAE", "GPUALERT_GRACE"),
        ("GPUALERT_TIMEOUT_S", "GPUALERT_TIMEOUT"),
        ("GPUALERT_Timeout", "GPUALERT_TIMEOUT"),
    ],
)
def test_mistake_in_the_name_of_a_variable(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, variable: str, meant: str
) -> None:
    """A variable whose name is almost that of a setting is an error before the launch."""
    monkeypatch.setenv(variable, "5")
    done = lab.run("touch", "launched")
    assert done.returncode == 125
    assert done.stderr.decode() == (
        f"gpualert: error: {variable}: unknown variable; did you mean {meant}?\n"
    )
    assert not (lab.home / "launched").exists()


@pytest.mark.parametrize(
    "variable",
    ["GPUALERT_SERVICE_HOST", "GPUALERT_PORT", "GPUALERT_RUN_ID", "GPUALERT_SAFE_DIRECTORY"],
)
def test_variables_that_are_no_settings(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """Variables of Kubernetes for a service, and gpualert's own ones, are left alone."""
    monkeypatch.setenv(variable, "5")
    assert lab.run("true").returncode == 0


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('id = "cuda_om"', "cuda_oom"),
        ('id = "cuda_oom"\nretry = "after_fixx"', "after_fix"),
        ('id = "cuda_oom"\nexcpetions = ["OutOfMemory"]', "exceptions"),
    ],
)
def test_mistake_in_a_rule(tmp_path: Path, text: str, meant: str) -> None:
    """A wrong cause, value or key in a rule file is an error with the one meant."""
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(RuleError, match=f"; did you mean {meant}\\?$"):
        load_rules(own=tmp_path)
