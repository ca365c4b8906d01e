"""Processes that outlive a run which ended by itself."""

from __future__ import annotations

import pytest

from gpualert_common import run
from gpualert_common.record import Record
from tests.supervised import Lab, exit_of, python, shell, until

BACKGROUND = "sleep 1000 & sleep 0.1; exit 3"
DAEMON = "(setsid sleep 1000 &) ; sleep 0.1; exit 3"
CLEANED = "(setsid env -i sh -c 'while :; do sleep 1; done' {mark} &) ; sleep 0.1; exit 3"

KINDS = {"background job": BACKGROUND, "daemon in its own session": DAEMON}
kinds = pytest.mark.parametrize("kind", KINDS)


@kinds
def test_survivor_is_named_and_not_stopped(lab: Lab, kind: str) -> None:
    """By default survivors are named in the record and stay alive."""
    assert lab.run(*shell(KINDS[kind])).returncode == 3
    (survivor,) = exit_of(lab.record())["survivors"]
    assert survivor["command"] == "sleep"
    assert survivor["pid"] in lab.living()


@kinds
def test_survivor_is_named_by_the_api(lab: Lab, kind: str) -> None:
    """The API finds survivors too."""
    result = run(shell(KINDS[kind]))
    (survivor,) = exit_of(result.record)["survivors"]
    assert survivor["pid"] in lab.living()


@kinds
def test_survivor_is_ended_on_request(lab: Lab, kind: str) -> None:
    """With --end-survivors no process is left, and the status is still the command's."""
    done = lab.gpualert("run", "--end-survivors", "--", *shell(KINDS[kind]))
    assert done.returncode == 3
    assert exit_of(lab.record())["survivors"] == []
    until(lab.is_empty, "the survivor to be ended")


@kinds
def test_survivor_is_ended_by_the_api_on_request(lab: Lab, kind: str) -> None:
    """``run(end_survivors=True)`` does the same."""
    assert run(shell(KINDS[kind]), end_survivors=True).exit_code == 3
    assert lab.is_empty()


def test_daemon_that_cleaned_its_environment(lab: Lab) -> None:
    """The program finds even a daemon in its own session with a clean environment."""
    done = lab.gpualert("run", "--end-survivors", "--", *shell(CLEANED.format(mark=lab.mark)))
    assert done.returncode == 3
    until(lab.is_empty, "the daemon to be ended")


def test_survivor_that_ignores_term(lab: Lab) -> None:
    """A survivor that ignores TERM is killed after the grace."""
    code = "(trap '' TERM; echo ready; while :; do sleep 1; done) & sleep 0.2; exit 3"
    done = lab.gpualert("run", "--end-survivors", "--grace", "0.2", "--", *shell(code))
    assert done.returncode == 3
    until(lab.is_empty, "the survivor to be killed")


def test_record_says_that_survivors_were_ended(lab: Lab) -> None:
    """The event names the stopped processes."""
    lab.gpualert("run", "--end-survivors", "--", *shell(BACKGROUND))
    event = lab.record().event("ending_survivors")
    assert event is not None
    assert [survivor["command"] for survivor in event.fields["survivors"]] == ["sleep"]


def test_no_survivors(lab: Lab) -> None:
    """A run without survivors has none in its record."""
    lab.run(*shell("sleep 0.1; sleep 0.1 & wait"))
    assert exit_of(lab.record())["survivors"] == []


def test_survivors_of_another_run_are_not_ours(lab: Lab) -> None:
    """Two simultaneous runs do not mix up their processes."""
    other = lab.launch("sleep", "1000")
    assert lab.gpualert("run", "--end-survivors", "--", *shell("sleep 0.1")).returncode == 0
    assert other.process.poll() is None
    assert exit_of(Record.open(str(lab.records()[-1])))["survivors"] == []


def test_run_inside_a_run(lab: Lab) -> None:
    """A run inside a run has its own record and status, and both find its survivor."""
    inner = "import sys; from gpualert_common.cli.main import main; sys.exit(main())"
    done = lab.run(
        *shell('"$@"; exit $(( $? + 1 ))'),
        "sh",
        *(*python(inner), "run", "-q", "--", *shell(BACKGROUND)),
    )
    assert done.returncode == 4
    outer, nested = lab.records()
    for path in (outer, nested):
        assert b'"command": "sleep"' in (path / "exit.json").read_bytes()
