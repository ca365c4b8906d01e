"""Users' own rules: added to ours, with precedence, and refused before a launch if invalid."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpualert_common import run
from gpualert_common.classify import load_rules
from gpualert_common.classify.rule_checks import check_rules
from gpualert_common.errors import ConfigError, RuleError

STORAGE = """
id = "filesystem_io"
[verdict]
do = ["ask the people of the storage"]
[[patterns]]
name = "our_server"
role = "root"
re = '''BLOBFS: server (?P<server>[\\w.-]+) is gone'''
[samples.our_server]
hits = ["E BLOBFS: server blob-07 is gone (5)"]
near_misses = ["BLOBFS: server blob-07 is back"]
"""
FAILS = [sys.executable, "-c", "import sys; sys.exit('BLOBFS: server blob-07 is gone (5)')"]


def own_rules(tmp_path: Path, text: str) -> Path:
    """A directory with one rule file."""
    directory = tmp_path / "rules"
    directory.mkdir()
    (directory / "storage.toml").write_text(text)
    return directory


def gpualert(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the program to its end."""
    command = [sys.executable, "-m", "gpualert_common", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_missing_keys_are_ours(tmp_path: Path) -> None:
    """A user's rule takes its missing keys from the shipped rule of that cause."""
    own = own_rules(tmp_path, STORAGE)
    known = load_rules(own=own)
    mine = next(rule for rule in known if rule.is_own)
    shipped = known.by_cause["filesystem_io"]
    assert known.rules[0] is mine
    assert (mine.attribution, mine.words.headline) == (shipped.attribution, shipped.words.headline)
    assert (mine.family, mine.fault_class) == (shipped.family, shipped.fault_class)
    assert mine.words.do == ("ask the people of the storage",)
    assert check_rules(own=own) == []


def test_a_run_uses_own_rules(tmp_path: Path) -> None:
    """The cause, the details and the remedy of a run are those of the user's rule."""
    done = run(FAILS, rules=own_rules(tmp_path, STORAGE), state_dir=tmp_path / "state", notify=[])
    verdict = done.verdict
    assert verdict is not None
    assert verdict.cause == "filesystem_io"
    assert verdict.details["server"] == "blob-07"
    assert verdict.do == ("ask the people of the storage",)


def test_classify_and_list_use_own_rules(tmp_path: Path) -> None:
    """``classify`` and ``rules list`` use the user's rules, too."""
    own = own_rules(tmp_path, STORAGE)
    log = tmp_path / "old.log"
    log.write_text("BLOBFS: server blob-07 is gone\n")
    done = gpualert("classify", log, "--exit-code", "1", "--rules", own, "--json")
    assert json.loads(done.stdout)["cause"] == "filesystem_io"
    assert "storage.toml (yours)" in gpualert("rules", "list", "--rules", own).stdout
    assert "our_server" in gpualert("rules", "show", "filesystem_io", "--rules", own).stdout


_WRONG = {
    "not a cause": (STORAGE.replace("filesystem_io", "blobfs"), "id"),
    "an unknown key": (STORAGE.replace("[verdict]", "weight = 1\n[verdict]"), "weight"),
    "an unknown fault class": (
        STORAGE.replace("[verdict]", 'fault_class = "disk"\n[verdict]'),
        "fault_class",
    ),
    "a look-ahead": (STORAGE.replace("BLOBFS: s", "(?=B)BLOBFS: s", 1), "patterns.our_server.re"),
    "a gap in the words": (STORAGE.replace("ask the", "ask {whom}, the"), "verdict.do"),
    "types of exceptions for a topic": (
        STORAGE.replace(
            'role = "root"', 'role = "root"\nwhere = "topic"\nexceptions = ["OSError"]', 1
        ),
        "patterns[0].exceptions",
    ),
    "a message without types of exceptions": (
        STORAGE.replace('role = "root"', 'role = "root"\nwhere = "message"', 1),
        "patterns[0].exceptions",
    ),
    "a wording that is no root": (
        STORAGE.replace('role = "root"', 'role = "cascade"\nwhere = "wording"', 1),
        "patterns[0].role",
    ),
    "a name that ours has": (
        STORAGE.replace("our_server", load_rules().by_cause["filesystem_io"].patterns[0].name),
        "patterns.",
    ),
}


@pytest.mark.parametrize("wrong", _WRONG)
def test_an_invalid_rule_is_refused_before_the_launch(tmp_path: Path, wrong: str) -> None:
    """An invalid rule is an error with file and key before the launch."""
    text, key = _WRONG[wrong]
    own = own_rules(tmp_path, text)
    touched = tmp_path / "touched"
    with pytest.raises(RuleError, match=r"^storage\.toml: ") as raised:
        run(["touch", str(touched)], rules=own, state_dir=tmp_path / "state", notify=[])
    assert raised.value.key.startswith(key)
    assert not touched.exists()
    done = gpualert(
        "run", "--state-dir", tmp_path / "state", "--rules", own, "--", "touch", touched
    )
    assert (done.returncode, touched.exists()) == (125, False)
    assert "storage.toml: " in done.stderr
    assert gpualert("rules", "check", own / "storage.toml").returncode == 1


def test_a_directory_without_rules(tmp_path: Path) -> None:
    """A directory without rules is an error that names it, and the option if it is not there."""
    with pytest.raises(ConfigError, match=r"argument: rules: .*nowhere: No such file or directory"):
        run(["true"], rules=tmp_path / "nowhere", state_dir=tmp_path / "state", notify=[])
    (tmp_path / "empty").mkdir()
    with pytest.raises(RuleError, match=r"empty: .*no rule files in this directory"):
        run(["true"], rules=tmp_path / "empty", state_dir=tmp_path / "state", notify=[])


def test_a_rule_that_breaks_during_the_run(tmp_path: Path) -> None:
    """A rule that breaks during the run is skipped with a warning, and the others decide."""
    own = own_rules(tmp_path, STORAGE)
    spoil = f"open({str(own / 'storage.toml')!r}, 'w').write('id = '); raise KeyError('x')"
    done = run([sys.executable, "-c", spoil], rules=own, state_dir=tmp_path / "state", notify=[])
    assert done.verdict is not None
    assert done.verdict.cause == "traceback"
