"""Profiles of another user's processes: the reason and the remedy are named."""

from __future__ import annotations

import json
import os

import pytest

from gpualert_common.codec import decode, encode
from gpualert_common.processes.sampled_tree import SampledTree
from gpualert_common.profiles.profile import Profile
from gpualert_common.profiles.profile_collection import take_profile_of
from gpualert_common.profiles.py_spy_sampler import SamplingOptions
from tests.profiles.profiled_runs import launch, take
from tests.supervised import PYTHON, Lab

NOBODY = 65534

pytestmark = pytest.mark.e2e


def take_as(uid: int, pid: int) -> Profile:
    """Return a profile that a process of that user takes."""
    read_fd, write_fd = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            options = SamplingOptions(duration_s=0.3)
            profile = take_profile_of(SampledTree(pid, "GPUALERT_MARK_none"), "test", options)
            os.write(write_fd, json.dumps(encode(profile)).encode())
        finally:
            os._exit(0)
    os.close(write_fd)
    with open(read_fd, "rb") as file:
        value = json.load(file)
    os.waitpid(child, 0)
    return decode(Profile, value, "profile")


def test_without_permission(lab: Lab) -> None:
    """A user without permission gets no samples, and the reason."""
    run = launch(lab)
    profile = take_as(NOBODY, run.leader)
    assert profile.trees == ()
    (rank,) = profile.ranks
    assert rank.problem
    problem, *_others = [rank.problem, *profile.problems]
    assert "py-spy is not installed" in problem or "user 0" in problem or "forbids" in problem


def test_root(lab: Lab) -> None:
    """Root samples the processes of every user of a run."""
    program = os.path.join(os.path.dirname(__file__), "profiled_ranks.py")
    with open(program) as file:
        code = file.read()
    user = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    run = lab.launch(*user, PYTHON, "-c", code)
    run.wait_for_output(b"ready")
    assert os.stat(f"/proc/{run.leader}").st_uid == NOBODY
    _value, profile = take(lab, "--duration", "300ms")
    assert profile.ranks[0].samples > 5
