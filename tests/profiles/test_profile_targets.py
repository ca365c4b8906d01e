"""The processes of a run that a profile samples."""

from __future__ import annotations

from gpualert_common.processes.marker import run_marker
from gpualert_common.processes.sampled_tree import SampledTree
from gpualert_common.profiles.profile_targets import find_targets
from tests.supervised import PYTHON, Lab, shell

WAITING = f"{PYTHON} -c 'print(1, flush=True); import time; time.sleep(600)'"


def test_local_rank_beside_ranks(lab: Lab) -> None:
    """A process that has only a local rank is none of the ranks of a training beside it."""
    run = lab.launch(*shell(f"RANK=0 {WAITING} & LOCAL_RANK=0 {WAITING} & wait"))
    run.wait_for_output(b"1\n1\n")
    members = SampledTree(run.leader, run_marker(run.record.run_id)).members()
    found, left_out = find_targets(run.leader, members, frozenset())
    assert [(one.rank, one.is_worker) for one in found] == [(0, False)]
    assert left_out == 0


def test_local_ranks_alone(lab: Lab) -> None:
    """Without ranks the local ranks count."""
    run = lab.launch(*shell(f"LOCAL_RANK=1 {WAITING} & LOCAL_RANK=0 {WAITING} & wait"))
    run.wait_for_output(b"1\n1\n")
    members = SampledTree(run.leader, run_marker(run.record.run_id)).members()
    found, _left_out = find_targets(run.leader, members, frozenset())
    assert [one.rank for one in found] == [0, 1]
