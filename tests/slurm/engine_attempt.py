"""One attempt at a task whose command is a batch job, in a process as an engine makes it.

``engine_attempt.py '{"number": 1, "command": "exit 3"}'``: it prints its runs and the end as one
JSON object a line.  TERM stops its run.
"""

from __future__ import annotations

import json
import signal
import sys
from types import FrameType
from typing import Any

from gpualert_common.api import make_spec
from gpualert_common.guardian import Attempt, RunHandle
from gpualert_common.guardian.attempt import fingerprint
from gpualert_common.guardian.engine_jobs import make_engine_job
from gpualert_common.guardian.job_cancellation import cancel_left_job, is_job_left
from gpualert_common.settings import load_settings


def report(**values: Any) -> None:
    """Print one line."""
    print(json.dumps(values), flush=True)


def main(asked: dict[str, Any]) -> None:
    """Make the attempt, and follow its job to the end."""
    handles: list[RunHandle] = []

    def stop(_number: int, _frame: FrameType | None) -> None:
        for handle in handles[-1:]:
            handle.stop("its engine ended the task")

    signal.signal(signal.SIGTERM, stop)
    given = {"scheduler": "slurm", "sbatch_args": asked.get("sbatch_args", []), "grace": 2}
    settings = load_settings({**given, "notify": "none"}, given_as="argument")
    command = ["bash", "-c", asked["command"]]
    spec = make_spec(command, settings, cwd=None, name="dag.train")
    job = make_engine_job(spec, settings, fingerprint(command, None, None))
    assert job is not None
    attempt = Attempt(
        ("task",),
        number=asked["number"],
        adopt_within_s=60.0,
        lease_s=1.0,
        fingerprint=job.fingerprint,
    )
    while True:
        handle = RunHandle.launch(
            job.spec,
            attempt,
            prepare=job.prepare,
            on_handle=handles.append,
            log=lambda text: report(message=text),
        )
        report(origin=handle.origin, run=handle.run_id)
        for lines in handle.follow():
            if lines:
                report(lines=lines)
        result = handle.wait()
        if not is_job_left(handle.record):
            break
        handle.close()
    cancel_left_job(handle.record)
    handle.record_outcome("success" if result.exit_code == 0 else "failed", final=True)
    report(exit_code=result.exit_code)
    handle.close()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
