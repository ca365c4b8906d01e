"""``classify --explain``: the candidates, the rules that applied, and the reasons."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.classify import Resolution, Scanner, load_rules, resolve
from gpualert_common.classify.filters import POSSIBLE, ROOTS
from gpualert_common.classify.preferences import LAST_RESORT, MOST_IMPORTANT, PREFERENCES
from gpualert_common.model import ExitFacts

RULES = load_rules()
RAISE = 'Traceback (most recent call last):\n  File "train.py", line 3, in main\n    step()\n'
KEY_ERROR = RAISE + "KeyError: 'x'\n"
STEPS = "".join(f"step {number} loss {9 / number:.3f}\n" for number in range(1, 40))
LOST_PEER = (
    "RuntimeError: [../gloo/transport/tcp/pair.cc:547] Connection closed by peer "
    "[127.0.0.1]:33211. This may indicate a remote worker crashing.\n"
)
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.\n"
CANCELLED = "slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT x ***\n"


def resolved(log: str, code: int | None = 1, **facts: Any) -> Resolution:
    """Return the resolution of one log with an exit status."""
    scanner = Scanner(RULES, "output.log")
    scanner.feed(log.encode(), 0)
    return resolve([scanner.finish()], ExitFacts(code, **facts), RULES)


@pytest.mark.parametrize(
    ("log", "code", "cause", "rule"),
    [
        (RAISE + OOM + STEPS + KEY_ERROR, 1, "cuda_oom", "progress after failure"),
        (RAISE + OOM + KEY_ERROR, 1, "cuda_oom", "fatal before handled"),
        (
            RAISE + OOM + "retrying\nall done\nsaved model\nbye\nbye\n",
            0,
            "cuda_oom",
            POSSIBLE[-1].name,
        ),
        (KEY_ERROR + CANCELLED, 1, "cancelled", "root before cascade"),
        (KEY_ERROR, -15, "traceback", "reason of the stop"),
        (LOST_PEER, -11, "collective", "status before cascade"),
    ],
)
def test_each_rejection_names_its_rule(log: str, code: int, cause: str, rule: str) -> None:
    """A candidate that lost has the name of the rule that rejected it, and a reason."""
    found = resolved(log, code).explanation
    lost = next(one for one in found.candidates if one.cause == cause and not one.is_root)
    assert lost.rule == rule
    assert lost.because


def test_root_is_marked() -> None:
    """Exactly the candidate of the cause is marked as the root, with the reason for it."""
    found = resolved(RAISE + OOM + "later\n").explanation
    roots = [one for one in found.candidates if one.is_root]
    assert [one.cause for one in roots] == [found.cause] == ["cuda_oom"]
    assert found.decided_by == "log"
    assert "by the message of an exception" in roots[0].because


def test_status_decides() -> None:
    """If the exit status decides the explanation has that reason, and no candidate is the root."""
    found = resolved(KEY_ERROR, -15, signal=15).explanation
    assert found.decided_by == "exit status"
    assert not any(one.is_root for one in found.candidates)
    assert found.candidates[0].rule == "final status before log"


def test_reasons_are_those_of_the_verdict() -> None:
    """The reason for a secondary cause is the same in verdict and explanation."""
    found = resolved(STEPS.replace("step 9 ", RAISE + OOM + "step 9 ") + KEY_ERROR)
    reasons = {one.cause: one.because for one in found.explanation.candidates}
    for cause, because in found.secondary:
        assert because.endswith(reasons[cause])


def test_rule_names_are_unique() -> None:
    """Each rule has its own name."""
    names = [rule.name for rule in (*POSSIBLE, *ROOTS)]
    names += [rule.name for rule in (MOST_IMPORTANT, *PREFERENCES, LAST_RESORT)]
    assert len(set(names)) == len(names)


def classify(log: Path, *options: str) -> str:
    """Return the output of ``gpualert classify`` for a log of a run that failed."""
    command = [sys.executable, "-m", "gpualert_common", "classify", str(log), "--exit-code", "1"]
    return subprocess.run([*command, *options], capture_output=True, text=True, check=True).stdout


def test_command_explains(tmp_path: Path) -> None:
    """``--explain`` adds the candidates and rules to the text, and one key to the JSON."""
    log = tmp_path / "output.log"
    log.write_text(RAISE + OOM + KEY_ERROR)
    text = classify(log, "--explain")
    assert "* 2. traceback (generic, by the type of an exception)" in text
    assert "rejected by 'fatal before handled'" in text
    assert "\nEvidence: exception\n" in text
    assert "1. fatal before handled: rejects 1" in text
    plain, explained = (json.loads(classify(log, "--json", *more)) for more in ([], ["--explain"]))
    explanation = explained.pop("explanation")
    assert explained == plain
    assert explanation["cause"] == plain["cause"]
    assert [one["is_root"] for one in explanation["candidates"]] == [False, True]


def test_explanation_is_cleaned(tmp_path: Path) -> None:
    """An explanation prints no escape sequence of the log, and masks secrets in Markdown."""
    log = tmp_path / "output.log"
    log.write_text(RAISE + "KeyError: '\x1b]0;owned\x07' password=hunter2hunter2\n")
    assert not {"\x1b", "\x07"} & set(classify(log, "--explain"))
    assert "hunter2hunter2" not in classify(log, "--explain", "--markdown")
