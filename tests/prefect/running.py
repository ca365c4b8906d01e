"""One command in its own flow, run in each of the ways that users run it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from prefect import flow
from prefect_gpualert import gpualert_run

from gpualert_common.record import Record

FACES = pytest.mark.parametrize("way", ["called", "submitted", "awaited"])


def run(way: str, command: str, options: dict[str, Any] | None = None, **arguments: Any) -> Any:
    """Run one command in its own flow, in one of the ways of users."""
    options = options or {}

    @flow
    def called() -> Any:
        job = gpualert_run.with_options(**options)
        return job.submit(command, **arguments).result() if submitted else job(command, **arguments)

    @flow
    async def awaited() -> Any:
        return await gpualert_run.with_options(**options)(command, **arguments)

    submitted = way == "submitted"
    return asyncio.run(awaited()) if way == "awaited" else called()


def records(home: Path) -> list[Record]:
    """Return every record in the state directory, oldest first."""
    return [Record.open(str(path)) for path in sorted((home / "state" / "runs").iterdir())]
