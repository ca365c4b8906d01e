"""One training by one face: its start, its observation and its outcome."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterName
from prefect.client.schemas.objects import FlowRun, State
from prefect.deployments import run_deployment
from prefect.states import Cancelling, Scheduled

from gpualert_common.record import Record
from tests.faults.prefect.deployment import FLOWS, Place, end, environment
from tests.faults.prefect.flows import ASYNC_FACES
from tests.observer import left_of
from tests.supervised import is_alive, until

START_S = 300.0
"""For an engine to start its training on a busy machine."""

GRACE_S = 3.0
MOST_S = 10.0
"""The longest time after a fault: the grace, the last signal, and this machine's load."""


@dataclass(slots=True)
class Scene:
    """One training by one face: its mark, its directory, and its flow process if we started it."""

    place: Place
    face: str
    mark: str
    directory: Path
    process: subprocess.Popen[bytes] | None = None
    flow_run_id: UUID | None = None

    @classmethod
    def new(cls, place: Place, face: str) -> Scene:
        """Return a scene without a training."""
        mark = f"m{uuid.uuid4().hex[:12]}"
        directory = place.home / mark
        directory.mkdir()
        return cls(place, face, mark, directory)

    # -- actions ---------------------------------------------------------------------------

    def start(self, url: str | None = None, **more: Any) -> None:
        """Run its flow as a script, in a session of its own, with another server if one is given.

        ``more`` are parameters of the flow.
        """
        with (self.directory / "flow.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(FLOWS), json.dumps(self._parameters(more))],
                env=environment(self.place.home, PREFECT_API_URL=url or self.place.url),
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def deploy(self, **more: Any) -> None:
        """Run its flow by a worker."""
        flow = "atraining" if self.face in ASYNC_FACES else "training"
        self.deploy_flow(flow, **self._parameters(more))

    def deploy_flow(self, flow: str, **parameters: Any) -> None:
        """Run another flow as that of this scene by a worker."""
        run = run_deployment(
            f"{flow}/{flow}",
            parameters=parameters,
            timeout=0,
            flow_run_name=self.mark,
            as_subflow=False,
        )
        assert isinstance(run, FlowRun)
        self.flow_run_id = run.id

    def begins(self) -> None:
        """Return when its training runs."""
        found = self.place.observer.found
        until(lambda: found.get(self.mark), f"the training of {self.face} to start", START_S)

    def signal_engine(self, number: int) -> None:
        """Send a signal to the process that runs the flow alone."""
        os.kill(self.engines()[-1], number)

    def cancel(self) -> None:
        """Cancel the flow run, as the button in the UI does."""
        self._set(Cancelling())

    def run_again(self) -> None:
        """Run the same flow run again, as an automation or a person does."""
        self._set(Scheduled())

    def clear(self) -> None:
        """Kill all its processes: its flow, its engines, its training."""
        if self.process is not None:
            end(self.process)
        for pid in {*self.engines(), *left_of(self.mark)}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        until(lambda: not left_of(self.mark), "the processes of the scene to be gone")

    def let_end(self) -> None:
        """Let its trainings end at once."""
        (self.directory / "enough").touch()

    # -- results ---------------------------------------------------------------------------

    def journal(self) -> list[dict[str, Any]]:
        """Return the entries of the flow, from its first engine to its last."""
        try:
            lines = (self.directory / "journal").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines]

    def engines(self) -> list[int]:
        """Return the processes that ran the flow, oldest first."""
        return [entry["engine"] for entry in self.journal() if "engine" in entry]

    def engine_lives(self) -> bool:
        """Return whether the last engine is alive."""
        if self.process is not None:
            return self.process.poll() is None
        return is_alive(self.engines()[-1])

    def ended(self) -> dict[str, Any] | None:
        """Return the last entry of the last engine, None before its end."""
        entries = self.journal()
        return entries[-1] if entries and "engine" not in entries[-1] else None

    def state(self) -> str:
        """Return the name of the flow run's state at the API."""
        with get_client(sync_client=True) as client:
            named = FlowRunFilter(name=FlowRunFilterName(any_=[self.mark]))
            (flow_run,) = client.read_flow_runs(flow_run_filter=named)
        return str(flow_run.state_name)

    def records(self) -> list[Record]:
        """Return the records of its runs, oldest first."""
        runs = sorted((self.directory / "state" / "runs").glob("*"))
        return [Record.open(str(path)) for path in runs]

    def read_facts(self) -> dict[str, Any]:
        """Return the main facts of the last record."""
        records = self.records()
        if not records:
            return {}
        record = records[-1]
        ending, verdict = record.ending, record.read_json("verdict.json") or {}
        return {
            "runs": len(records),
            "state": record.state,
            "exit_code": None if ending is None else ending.exit_code,
            "signal": None if ending is None else ending.signal,
            "disposition": verdict.get("disposition"),
            "cause": verdict.get("cause"),
        }

    def _parameters(self, more: dict[str, Any]) -> dict[str, Any]:
        return {"face": self.face, "mark": self.mark, "directory": str(self.directory), **more}

    def _set(self, state: State[Any]) -> None:
        assert self.flow_run_id is not None
        with get_client(sync_client=True) as client:
            client.set_flow_run_state(self.flow_run_id, state, force=True)
