"""One run of a flow run whose task is a job of Slurm, as a worker of Prefect makes it.

``slurm_attempt.py FLOW_RUN_ID``: prints RETURNED and the result of the task.
"""

from __future__ import annotations

import sys
from uuid import UUID

from prefect import flow
from prefect.client.orchestration import get_client
from prefect.flow_engine import run_flow
from prefect.states import Pending
from prefect_gpualert import gpualert_run


@flow
def trains(command: str) -> str:
    """Run the training."""
    found: str = gpualert_run.with_options(retries=3)(
        command, scheduler="slurm", grace=1, adopt_within=60, notify="none", publish=False
    )
    return found


def main(flow_run_id: str) -> None:
    """Run the flow run, also after an engine that died."""
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(flow_run_id, Pending(), force=True)
        flow_run = client.read_flow_run(UUID(flow_run_id))
    returned = run_flow(trains, flow_run, parameters=flow_run.parameters)
    print("RETURNED", returned, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
