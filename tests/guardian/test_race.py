"""Attempts at the same time: one run, in any order."""

from __future__ import annotations

import time

from tests.guardian.faces import TRAINS, Face, Observer, attempt, wait_for_event
from tests.supervised import Lab, shell, until

NEXT_S = 60.0
BARRIER = shell('touch "here-$$"; until [ -e all-are-here ]; do sleep 0.01; done; exec "$@"')


def together(lab: Lab, numbers: list[int], **options: float) -> list[Face]:
    """Start attempts of one task at the same time."""
    before = (*BARRIER, "sh")
    faces = [
        attempt(lab, TRAINS, number=number, before=before, **options)  # type: ignore[arg-type]
        for number in numbers
    ]
    until(lambda: len(list(lab.home.glob("here-*"))) == len(numbers), "all to be there")
    (lab.home / "all-are-here").touch()
    return faces


def test_two_of_one_number(lab: Lab, never_two: Observer) -> None:
    """Of two attempts with one number one launches; the other is refused while the first
    follows."""
    faces = together(lab, [1, 1], lease_s=1.0)
    until(lambda: sum(bool(face.all("error")) for face in faces) == 1, "one to be refused")
    (refused,) = (face for face in faces if face.all("error"))
    (winner,) = (face for face in faces if face is not refused)
    assert refused.wait_for("error") == "GuardianError"
    (lab.home / "go").touch()
    assert winner.result() == (3, "failed")
    assert winner.wait_for("origin") == "launched"
    assert len(never_two.runs) == 1


def test_two_attempts_in_a_row(lab: Lab, never_two: Observer) -> None:
    """Of two attempts the later one has the run in the end, whichever launched it."""
    first, second = together(lab, [1, 2], adopt_within_s=NEXT_S, lease_s=1.0)
    assert first.wait_for("error") in ("SupersededError", "GuardianError")
    (lab.home / "go").touch()
    assert second.result() == (3, "failed")
    assert len(never_two.runs) == 1


def test_ten_attempts(lab: Lab, never_two: Observer) -> None:
    """Ten attempts take over one run from each other, come too late, or train in turn."""
    faces = together(lab, list(range(1, 11)), adopt_within_s=NEXT_S, lease_s=20.0)
    until(lambda: any(face.all("lines") for face in faces), "the training")
    (lab.home / "go").touch()
    for face in faces:
        face.wait()
        lost = face.all("error") in (["SupersededError"], ["GuardianError"])
        assert lost or face.all("exit_code") == [3]
    assert not never_two.overlaps


def test_ten_of_one_number(lab: Lab, never_two: Observer) -> None:
    """Ten attempts with one number train one after the other, never two at once."""
    (lab.home / "go").touch()
    faces = together(lab, [1] * 10, lease_s=20.0)
    for face in faces:
        face.wait()
        assert face.all("exit_code") == [3] or face.all("error") == ["SupersededError"]
    assert not never_two.overlaps


def test_killed_ones_among_them(lab: Lab, never_two: Observer) -> None:
    """Attempts that are killed meanwhile leave one run, which the last one has."""
    faces = together(lab, [1, 2, 3, 4, 5, 6], adopt_within_s=NEXT_S, lease_s=1.0)
    for face in faces[:-1]:
        time.sleep(0.05)
        face.kill()
    faces[-1].wait_for_line("started")
    (lab.home / "go").touch()
    assert faces[-1].result() == (3, "failed")
    assert len(never_two.runs) == 1
    assert wait_for_event(faces[-1].record(), "launched")
