"""Deaths of supervisors, senders, other processes and machines of a job: the alerts that follow."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.jobs.killed_nodes import (
    Death,
    DeathOutcome,
    Moment,
    Role,
    Victim,
    draw_death,
    play,
    start_lab,
)
from tests.supervised import Lab

RANDOM_DEATHS = 54
AT_ONCE = 4
_ROLES = {
    Moment.LAUNCH: (Role.SUPERVISOR, Role.RECORDER, Role.ALL, Role.MACHINE),
    Moment.TRAINING: (Role.SUPERVISOR, Role.RECORDER, Role.RENEWAL, Role.ALL, Role.MACHINE),
    Moment.EXIT: (Role.SUPERVISOR, Role.ALL, Role.MACHINE),
    Moment.RECORDED: (Role.SUPERVISOR, Role.RECORDER, Role.ALL, Role.MACHINE),
    Moment.CLAIM: (Role.SUPERVISOR, Role.SENDER, Role.ALL, Role.MACHINE),
    Moment.SENT: (Role.SUPERVISOR, Role.SENDER, Role.ALL, Role.MACHINE),
}


def list_deaths() -> list[Death]:
    """Return the deaths at each moment; a job all of whose machines die alerts nobody."""
    found = []
    for moment, roles in _ROLES.items():
        is_late = moment in (Moment.CLAIM, Moment.SENT)
        victims = (Victim.OWNER,) if is_late else (Victim.ROOT, Victim.OTHER)
        found += [Death(role, victim, moment) for role in roles for victim in victims]
        living = [role for role in roles if role is not Role.MACHINE]
        found += [Death(role, Victim.EVERY, moment) for role in living]
    return found


def find_problem(outcome: DeathOutcome) -> str:
    """Return the problem with the alerts of a job, empty for none.

    One alert is sent, and one correction at most: of an alert that could only name the lost node,
    when the end of the run on that node is known later.  An alert whose sender was killed before
    it could note it may come twice, as a copy with the same Message-ID.  A machine takes its
    evidence along.
    """
    verdict = outcome.report["verdict"]
    if len(outcome.messages) - outcome.corrections != 1 or outcome.corrections > 1:
        return f"not one alert: {outcome}"
    if len(outcome.after) - len(outcome.messages) > 1:
        return f"copies: {outcome}"
    if (verdict["cause"], verdict["host"]) == ("file_not_found", "node1"):
        return ""
    # The power was lost before the fault, or ours died before the launch: no digest has a cause.
    has_none = outcome.death.role is Role.MACHINE or verdict["cause"] == "rendezvous"
    lost = (outcome.death.victim is Victim.OTHER and ("node2", "node 2")) or ("node1", "node 1")
    is_named = any(name in verdict["headline"] for name in lost)
    return "" if has_none and is_named else f"another culprit: {outcome}"


@pytest.mark.e2e
def test_supervisors_of_all_nodes_are_killed(lab: Lab) -> None:
    """After SIGKILL of all supervisors, one alert with the cause is sent, and nobody recovers."""
    outcome = play(lab, Death(Role.SUPERVISOR, Victim.EVERY, Moment.TRAINING))
    assert len(outcome.before) == 1, outcome
    assert not find_problem(outcome)


@pytest.mark.nightly
def test_processes_of_all_nodes_are_killed(lab: Lab) -> None:
    """After SIGKILL of all processes of ours, ``gpualert recover`` sends one alert."""
    outcome = play(lab, Death(Role.ALL, Victim.EVERY, Moment.RECORDED))
    assert not find_problem(outcome)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "death", list_deaths(), ids=lambda one: "-".join((one.role, one.victim, one.moment))
)
def test_death(lab: Lab, death: Death) -> None:
    """After a death at this moment, one alert names the culprit, or the lost node."""
    assert not find_problem(play(lab, death))


@pytest.mark.nightly
def test_random_deaths(tmp_path: Path) -> None:
    """After deaths at random moments, one alert names the culprit, or the lost node."""

    def play_seed(seed: int) -> str:
        with start_lab(tmp_path / str(seed)) as lab:
            problem = find_problem(play(lab, draw_death(seed)))
            return problem and f"seed {seed}: {problem}"

    with ThreadPoolExecutor(AT_ONCE) as pool:
        problems = list(filter(None, pool.map(play_seed, range(RANDOM_DEATHS))))
    assert not problems, "\n".join(problems)
