"""The flows of the fault matrix: one training by any of the faces, with a journal on disk."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect_gpualert import TrainingOperation, gpualert_hook, gpualert_run
from prefect_shell import ShellOperation, shell_run_command  # type: ignore[import-untyped]

from tests.observer import MARK

TRAINER = Path(__file__).with_name("trainer.py")
ENOUGH = "TRAINED_ENOUGH"
ASYNC_FACES = ("gpualert_run.awaited", "shell_run_command")


@task
def operate(commands: list[str], env: dict[str, str]) -> list[str]:
    """Run a ShellOperation as its documentation shows it."""
    result: list[str] = ShellOperation(commands=commands, env=env).run()
    return result


@task
def train(commands: list[str], env: dict[str, str], **ours: Any) -> list[str]:
    """Run a TrainingOperation in the same way."""
    result: list[str] = TrainingOperation(commands=commands, env=env, **ours).run()
    return result


@task
def follow(commands: list[str], env: dict[str, str], **ours: Any) -> list[str]:
    """Run a TrainingOperation and follow it line by line."""
    with TrainingOperation(commands=commands, env=env, **ours) as operation:
        run = operation.trigger()
        for _line in run.follow():
            pass
        run.wait_for_completion()
        result: list[str] = run.fetch_result()
        return result


def journal(directory: str, **entry: object) -> None:
    """Append an entry about the flow to a file, which tests read without an API."""
    with Path(directory, "journal").open("a") as file:
        file.write(json.dumps(entry) + "\n")


TRAINS: dict[str, Any] = {"TrainingOperation.run": train, "TrainingRun.follow": follow}


def last_of(result: Any) -> str:
    """Return the last line of the face's result."""
    return str(result[-1] if isinstance(result, list) else result)


def command(how: str, seconds: float) -> str:
    """Return a compound command, so that the shell stays the parent of the training."""
    return f"set -e\n{shlex.join([sys.executable, str(TRAINER), how, str(seconds)])}"


@flow
def training(
    face: str,
    mark: str,
    directory: str,
    how: str = "plain",
    seconds: float = 60.0,
    timeout_s: float | None = None,
    retries: int = 0,
    ours: dict[str, Any] | None = None,
) -> str:
    """Run one training by a face that is called in sync code or submitted."""
    name = face.removesuffix(".submit")
    options: dict[str, Any] = {"timeout_seconds": timeout_s, "retries": retries}
    env = {MARK: mark, ENOUGH: f"{directory}/enough"}
    journal(directory, engine=os.getpid())
    try:
        if name == "gpualert_run":
            ours = {"state_dir": f"{directory}/state", **(ours or {})}
            job: Any = gpualert_run.with_options(**options)
            arguments: dict[str, Any] = {"command": command(how, seconds), "env": env, **ours}
        elif name in TRAINS:
            ours = {"state_dir": f"{directory}/state", **(ours or {})}
            job = TRAINS[name].with_options(**options)
            arguments = {"commands": command(how, seconds).splitlines(), "env": env, **ours}
        else:
            job = operate.with_options(**options)
            arguments = {"commands": command(how, seconds).splitlines(), "env": env}
        value = last_of(job.submit(**arguments).result() if name != face else job(**arguments))
    except BaseException as error:
        journal(directory, raised=type(error).__name__, message=str(error).splitlines()[:1])
        raise
    journal(directory, returned=value)
    return value


@flow
async def atraining(
    face: str,
    mark: str,
    directory: str,
    how: str = "plain",
    seconds: float = 60.0,
    timeout_s: float | None = None,
    retries: int = 0,
    ours: dict[str, Any] | None = None,
) -> str:
    """Run one training by a face that is awaited."""
    options: dict[str, Any] = {"timeout_seconds": timeout_s, "retries": retries}
    env = {MARK: mark, ENOUGH: f"{directory}/enough"}
    arguments: dict[str, Any] = {"command": command(how, seconds), "env": env}
    journal(directory, engine=os.getpid())
    try:
        if face == "gpualert_run.awaited":
            arguments |= {"state_dir": f"{directory}/state", **(ours or {})}
            value = last_of(await gpualert_run.with_options(**options)(**arguments))
        else:
            value = last_of(await shell_run_command.with_options(**options)(**arguments))
    except BaseException as error:
        journal(directory, raised=type(error).__name__, message=str(error).splitlines()[:1])
        raise
    journal(directory, returned=value)
    return value


hooks: Any = [gpualert_hook("mailbox")]


@flow(on_failure=hooks, on_crashed=hooks, on_cancellation=hooks)
def hooked(mark: str, directory: str, seconds: float = 60.0) -> None:
    """Run a training in a flow whose hooks send alerts."""
    journal(directory, engine=os.getpid())
    gpualert_run(command("plain", seconds), env={MARK: mark}, grace=3, notify="none")


def main() -> None:
    """Run one flow here, as a user's script would."""
    parser = argparse.ArgumentParser()
    parser.add_argument("parameters", type=json.loads)
    parameters = parser.parse_args().parameters
    if parameters["face"] in ASYNC_FACES:
        asyncio.run(atraining.with_options(flow_run_name=parameters["mark"])(**parameters))
    else:
        training.with_options(flow_run_name=parameters["mark"])(**parameters)


if __name__ == "__main__":
    main()
