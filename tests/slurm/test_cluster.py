"""The private Slurm of the tests is a real cluster of machines."""

from __future__ import annotations

import pytest

from tests.slurm_cluster import SlurmCluster

pytestmark = pytest.mark.e2e


def test_a_job_runs_on_two_machines(slurm: SlurmCluster) -> None:
    """Two tasks run on two hosts, each with an address of its own."""
    listed = slurm.run("srun", "--nodes=2", "sh", "-c", "hostname; ip -br address show cable")
    words = listed.stdout.split()
    assert {"node1", "node2", "10.78.0.2/24", "10.78.0.3/24"} <= set(words), listed


def test_a_user_of_the_machine_submits(slurm: SlurmCluster) -> None:
    """A batch job of an ordinary user runs as that user."""
    job = slurm.submit("id -un", user="nobody")
    slurm.wait_for(job, "COMPLETED")
    assert slurm.output_of(job) == "nobody\n"
