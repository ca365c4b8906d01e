"""Tests of the artifacts and events of a training in Prefect."""

from __future__ import annotations

import asyncio
import json
import logging
import shlex
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from prefect import flow, task
from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext
from prefect.variables import Variable
from prefect_gpualert import TrainingOperation, api_posts, gpualert_run, publishing
from prefect_gpualert.artifact_api import ArtifactApi
from prefect_gpualert.artifact_places import ArtifactKind
from prefect_gpualert.report_link import VARIABLE

from tests.prefect import server_objects
from tests.prefect.running import FACES, records
from tests.supervised import until

pytestmark = pytest.mark.usefixtures("harness")

TOKEN = "hf_" + "aB3" * 11 + "x"
OOM = (
    "CUDA out of memory. Tried to allocate 91.60 GiB (GPU 0; 79.15 GiB total capacity; 12.00 GiB "
    "already allocated; 60.00 GiB free; 13.00 GiB reserved in total by PyTorch)"
)
KEY = "gpualert-nightly-gpualert-run"
NOT_ALL = "Prefect does not show all"


def raising(error: str, message: str) -> str:
    """A command that prints a line, and then raises."""
    code = f"print('begun', flush=True)\nraise {error}({message!r})"
    return shlex.join([sys.executable, "-c", code])


class Ended(NamedTuple):
    """The state and the id of a task run."""

    name: str
    task_run_id: UUID
    flow_run_id: UUID | None


def ended(state: Any) -> Ended:
    """Return the parts of a task run's state that tests compare."""
    details = state.state_details
    return Ended(state.name, details.task_run_id, details.flow_run_id)


def nightly(way: str, command: str, **arguments: Any) -> Ended:
    """Run one training in a flow of that name, in one of the ways of users."""

    @flow(name="nightly")
    def called() -> Ended:
        if way == "submitted":
            future = gpualert_run.submit(command, **arguments)
            future.wait()
            return ended(future.state)
        return ended(gpualert_run(command, return_state=True, **arguments))

    @flow(name="nightly")
    async def awaited() -> Ended:
        return ended(await gpualert_run(command, return_state=True, **arguments))

    return asyncio.run(awaited()) if way == "awaited" else called()


# -- at the end ------------------------------------------------------------------------------


@FACES
def test_failed_training(way: str, home: Path) -> None:
    """The task run has a page with verdict, evidence and the paths of the record, and a table of
    the evidence."""
    done = nightly(way, raising("RuntimeError", OOM))
    found = server_objects.artifacts(done.task_run_id)
    assert set(found) == {KEY, f"{KEY}-evidence"}
    for artifact in found.values():
        assert artifact.flow_run_id == done.flow_run_id
        assert "failed: cuda_oom after" in str(artifact.description)
    table = json.loads(server_objects.text_of(found[f"{KEY}-evidence"]))
    (row,) = [row for row in table if row["place"].startswith("`stderr.log:")]
    assert OOM in row["excerpt"]
    page = server_objects.text_of(found[KEY])
    assert page.startswith("## CUDA out of memory: 91.6 GiB requested on a 79.2 GiB card\n")
    assert "exit status 1" in page
    assert "(`stderr.log:" in page
    assert OOM in page
    (record,) = records(home)
    for path in (record.log_path("stdout.log"), record.log_path("stderr.log"), record.path):
        assert f"`{path}`" in page


def test_page_of_a_success_is_short(home: Path) -> None:
    """The page of a training that went well has no advice."""
    found = server_objects.artifacts(nightly("called", "echo fine").task_run_id)
    page = server_objects.text_of(found["gpualert-nightly-gpualert-run"])
    assert page.startswith("## Completed with exit status 0; no failure found\n")
    assert "### Do" not in page
    assert "At fault" not in page


def test_event(home: Path) -> None:
    """The event of the task run has the verdict in its labels and in its payload."""
    done = nightly("called", raising("RuntimeError", OOM))
    event = server_objects.event_of(done.task_run_id)
    labels = {
        name.removeprefix("gpualert."): value
        for name, value in event["resource"].items()
        if name.startswith("gpualert.") and name not in ("gpualert.host", "gpualert.run-id")
    }
    assert labels == {
        "cause": "cuda_oom",
        "family": "B1",
        "disposition": "failed",
        "attribution": "job",
        "retry": "after_fix",
        "final": "true",
    }
    related = {one["prefect.resource.role"]: one for one in event["related"]}
    flow_run = f"prefect.flow-run.{done.flow_run_id}"
    assert related["flow-run"]["prefect.resource.id"] == flow_run
    payload = event["payload"]
    (record,) = records(home)
    assert payload["run_id"] == record.run_id
    assert payload["exit_code"] == 1
    assert payload["details"]["kind"] == "oversize"
    assert any(claim["excerpt"] for claim in payload["shows"])


def test_attempts_share_a_page(home: Path) -> None:
    """A retry updates the artifacts of a training; each attempt has an event; the last is final."""

    @flow(name="again")
    def again() -> Ended:
        return ended(gpualert_run.with_options(retries=1)("exit 3", return_state=True))

    id_ = again().task_run_id
    resource = f"prefect.task-run.{id_}"

    def finals() -> list[str]:
        found = [one["resource"] for one in server_objects.events()]
        return [one["gpualert.final"] for one in found if one["prefect.resource.id"] == resource]

    until(lambda: len(finals()) == 2, "both events")
    assert sorted(finals()) == ["false", "true"]
    shown = {str(one.key): one for one in server_objects.versions_of(id_)}
    assert len(shown) == len(server_objects.versions_of(id_)) == 2
    assert all("attempt 2" in str(artifact.description) for artifact in shown.values())
    page = shown["gpualert-again-gpualert-run"]
    assert records(home)[1].run_id in server_objects.text_of(page)


def test_stopped_training(home: Path) -> None:
    """A training that its task's timeout stopped is published, too."""

    @flow(name="short")
    def short() -> Ended:
        job = gpualert_run.with_options(timeout_seconds=2)
        return ended(job("sleep 60", grace=1, return_state=True))

    done = short()
    assert done.name == "TimedOut"
    found = server_objects.artifacts(done.task_run_id)
    assert "ran out of time" in str(found["gpualert-short-gpualert-run"].description)


def test_mapped_trainings_have_their_own_keys(home: Path) -> None:
    """Each mapped run has artifacts with keys of its own, also if a later one ends first; a
    second run of the flow has the same keys."""

    @flow(name="sweep")
    def sweep() -> list[Ended]:
        job = gpualert_run.with_options(name="seed", task_run_name="seed-{command}")
        futures = job.map(["sleep 2; exit 3", "true", "exit 4"])
        futures.wait()
        return [ended(future.state) for future in futures]

    for _run in range(2):
        shown = [server_objects.artifacts(one.task_run_id) for one in sweep()]
        # On a busy machine a later one may start first.
        assert sorted(min(one) for one in shown) == [
            "gpualert-sweep-seed", "gpualert-sweep-seed-2", "gpualert-sweep-seed-3"
        ]  # fmt: skip
        assert all(set(one) <= {min(one), f"{min(one)}-evidence"} for one in shown)


def test_trainings_of_one_task_have_their_own_keys(home: Path) -> None:
    """Two trainings in a task have two artifacts, which a retry of the task updates."""

    @task(retries=1)
    def both() -> None:
        for command in ("true", "exit 3"):
            gpualert_run.fn(command)

    @flow(name="pair")
    def pair() -> Ended:
        return ended(both(return_state=True))

    found = server_objects.versions_of(pair().task_run_id)
    assert sorted(str(one.key) for one in found) == [
        "gpualert-pair-both", "gpualert-pair-both-2", "gpualert-pair-both-2-evidence"
    ]  # fmt: skip


def test_secrets_are_masked(home: Path) -> None:
    """No artifact and no event contains a secret of the log."""
    command = raising("RuntimeError", f"401 for token {TOKEN}")
    done = nightly("called", command, env={"HF_TOKEN": TOKEN})
    id_ = done.task_run_id
    artifacts = [vars(one) for one in server_objects.artifacts(id_).values()]
    published = f"{artifacts} {server_objects.event_of(id_)}"
    assert "[redacted" in published
    assert TOKEN[:20] not in published


# -- whose it is -----------------------------------------------------------------------------


def test_in_a_flow_without_a_task(home: Path) -> None:
    """A training without a task has its artifacts and its event at the flow run."""

    @flow(name="Über flow: 7")
    def bare() -> UUID:
        gpualert_run.fn("true")
        context = FlowRunContext.get()
        assert context is not None
        assert context.flow_run is not None
        return context.flow_run.id

    found = server_objects.artifacts(bare())
    assert list(found) == ["gpualert-uber-flow-7"]
    assert all(artifact.task_run_id is None for artifact in found.values())


def test_in_a_task_without_a_flow(home: Path) -> None:
    """A training with a task has them at the task run alone."""
    done = ended(gpualert_run("true", return_state=True))
    found = server_objects.artifacts(done.task_run_id)
    assert list(found) == ["gpualert-gpualert-run"]
    assert all(artifact.flow_run_id is None for artifact in found.values())


def test_in_a_users_task(home: Path) -> None:
    """A task that calls the function has the artifacts under its own name."""

    @task(name="训练")
    def mine() -> None:
        gpualert_run.fn("true")

    @flow(name="outer")
    def outer() -> Ended:
        return ended(mine(return_state=True))

    (key,) = server_objects.artifacts(outer().task_run_id)
    assert key.startswith("gpualert-outer-")
    assert key[-8:].isalnum()


def test_nothing_outside_of_runs(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain call of the function publishes nothing, and starts no thread for it."""
    started: list[object] = []
    monkeypatch.setattr(publishing.Publication, "_start", lambda *args: started.append(args))
    assert gpualert_run.fn("echo a") == "a"
    assert not started


@pytest.mark.parametrize("way", ["task", "operation"])
def test_unpublished(way: str, home: Path) -> None:
    """With ``publish=False`` a training has no artifacts and no events."""

    @flow(name="quiet")
    def outer() -> UUID:
        if way == "task":
            gpualert_run("echo a", publish=False)
        else:
            TrainingOperation(commands=["echo a"], publish=False).run()
        context = FlowRunContext.get()
        assert context is not None
        assert context.flow_run is not None
        return context.flow_run.id

    assert not server_objects.artifacts(outer())


# -- while it runs ---------------------------------------------------------------------------

STEPPING = """
import sys, time
for step in range(1, 9):
    print(f"{sys.argv[1]} {step}/10", flush=True)
    time.sleep(0.25)
"""


def stepping(word: str) -> str:
    """Return a command that counts for two seconds."""
    return shlex.join([sys.executable, "-c", STEPPING, word])


def note_posts(monkeypatch: pytest.MonkeyPatch) -> list[tuple[ArtifactKind, str | float]]:
    """Return a list that grows by each post of an artifact."""
    posts: list[tuple[ArtifactKind, str | float]] = []
    post = ArtifactApi.post

    def noting(
        self: ArtifactApi, client: Any, kind: ArtifactKind, data: str | float, text: str
    ) -> None:
        posts.append((kind, data))
        post(self, client, kind, data, text)

    monkeypatch.setattr(ArtifactApi, "post", noting)
    return posts


@FACES
def test_progress(way: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page shows the progress during the training and its verdict afterwards; the artifact of
    the progress keeps the part that was done."""
    monkeypatch.setattr(publishing, "PROGRESS_S", 0.3)
    posts = note_posts(monkeypatch)
    done = nightly(way, stepping("step"))
    found = {str(one.key): one for one in server_objects.versions_of(done.task_run_id)}
    assert set(found) == {KEY, f"{KEY}-progress"}
    assert all("completed" in str(one.description) for one in found.values())
    pages = [str(data).splitlines()[0] for kind, data in posts if kind is ArtifactKind.VERDICT]
    assert server_objects.text_of(found[KEY]).startswith(pages[-1])
    percents = [int(line.split()[1]) for line in pages[:-1]]
    assert percents == sorted(percents)
    assert 1 <= len(percents) <= 8
    shown = [data for kind, data in posts if kind is ArtifactKind.PROGRESS]
    assert shown == [*percents, 80]
    assert found[f"{KEY}-progress"].data == 80


def test_no_progress_in_the_log(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log without progress is published once, at the end."""
    monkeypatch.setattr(publishing, "PROGRESS_S", 0.2)
    posts = note_posts(monkeypatch)
    nightly("called", stepping("thing"))
    assert [kind for kind, _data in posts] == [ArtifactKind.VERDICT]


def test_timeline(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A training that lasts has a page with its losses as a picture, which its end draws again."""
    monkeypatch.setattr(publishing, "TIMELINE_S", 0.3)
    monkeypatch.setattr(publishing, "DEADLINE_S", 60.0)  # on a busy machine
    monkeypatch.setattr(api_posts, "LEAST_DRAWN_S", 0.5)
    posts = note_posts(monkeypatch)
    done = nightly("called", stepping("loss 0.5 step"))
    (artifact,) = [
        one for one in server_objects.versions_of(done.task_run_id) if "-timeline" in str(one.key)
    ]
    assert artifact.key == f"{KEY}-timeline"
    pages = [str(data) for kind, data in posts if kind is ArtifactKind.TIMELINE]
    assert len(pages) in (1, 2)  # pictures are not drawn all the time
    assert server_objects.text_of(artifact) == pages[-1]
    assert pages[-1].startswith("![Timeline of the training](data:image/png;base64,iVBOR")
    assert "| Loss | training |" in pages[-1]
    assert len(pages[-1]) < 400_000


def test_events_have_no_pictures(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prefect stores no page and no picture in its events, which it keeps for a week."""
    monkeypatch.setattr(publishing, "PROGRESS_S", 0.3)
    monkeypatch.setattr(publishing, "DEADLINE_S", 60.0)  # on a busy machine
    monkeypatch.setattr(api_posts, "LEAST_DRAWN_S", 0.5)
    done = nightly("called", stepping("loss 0.5 step"))
    stored = [str(one.data) for one in server_objects.versions_of(done.task_run_id)]
    picture = next(data for data in stored if data.startswith("!["))
    server_objects.event_of(done.task_run_id)
    names = [f"prefect.artifact{end}" for end in (".created", ".updated", "-collection.created")]
    events = [event for name in names for event in server_objects.events(name)]
    assert events
    assert not any(picture[40:200] in json.dumps(event) for event in events)
    assert max(len(json.dumps(event)) for event in events) < 30_000


def test_deleted_artifact_is_made_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a person deletes an artifact, the next update makes it again."""
    monkeypatch.setattr(publishing, "PROGRESS_S", 0.1)
    marker = home / "tried"
    command = f"[ -e {marker} ] && exit 0; touch {marker}; exit 3"

    def delete(_task: Any, task_run: Any, _state: Any) -> bool:
        (artifact,) = [one for one in server_objects.versions_of(task_run.id) if one.key == key]
        with get_client(sync_client=True) as client:
            client.delete_artifact(artifact.id)
        return True

    key = "gpualert-again-gpualert-run"

    @flow(name="again")
    def again() -> Ended:
        job = gpualert_run.with_options(retries=1, retry_condition_fn=delete)
        return ended(job(command, return_state=True))

    page = server_objects.artifacts(again().task_run_id)[key]
    assert "Completed" in server_objects.text_of(page)


def test_link_to_the_report(home: Path) -> None:
    """A variable of the server makes a link to the report of the run, with its host and its id."""
    Variable.set(VARIABLE, "https://gpu.example/{host}/{run_id}", overwrite=True)
    try:
        found = server_objects.artifacts(nightly("called", "exit 3").task_run_id)
    finally:
        Variable.unset(VARIABLE)
    (record,) = records(home)
    page = server_objects.text_of(found[f"{KEY}-report"])
    assert f"](<https://gpu.example/{record.spec.host}/{record.run_id}>)" in page


def test_other_address_of_the_report(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """An address that is none of HTTP makes no link; one warning names the variable."""
    Variable.set(VARIABLE, "javascript:alert(1)//{run_id}", overwrite=True)
    try:
        found = server_objects.artifacts(nightly("called", "exit 3").task_run_id)
    finally:
        Variable.unset(VARIABLE)
    assert set(found) == {KEY, f"{KEY}-evidence"}
    (warning,) = [one.getMessage() for one in caplog.records if NOT_ALL in one.getMessage()]
    assert VARIABLE in warning


def test_retry_replaces_everything(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a retry that succeeds no artifact shows the failure of the first attempt."""
    monkeypatch.setattr(publishing, "PROGRESS_S", 0.1)
    marker = home / "tried"
    command = (
        f"if [ -e {marker} ]; then exit 0; fi; touch {marker}; echo step 4/10; sleep 1; exit 3"
    )

    @flow(name="again")
    def again() -> Ended:
        return ended(gpualert_run.with_options(retries=1)(command, return_state=True))

    found = server_objects.versions_of(again().task_run_id)
    kinds = {str(one.key).removeprefix("gpualert-again-gpualert-run"): one for one in found}
    assert set(kinds) == {"", "-evidence", "-progress"}
    assert len(found) == 3
    assert all("completed" in str(one.description) for one in found)
    assert kinds["-progress"].data == 0
    assert "exit status 3" not in server_objects.text_of(kinds["-evidence"])


def test_wait_is_interrupted(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of the flow interrupts the wait for the API."""
    from prefect_gpualert.api_posts import Poster

    monkeypatch.setattr(Poster, "post_end", lambda *_args: time.sleep(30))

    @flow
    def outer() -> float:
        gpualert_run.fn("true")  # waits, for as long as it may
        (record,) = records(home)
        publication = publishing.begin(record, lambda _text, _level: None)
        publication.publish_end()

        def check() -> None:
            raise KeyboardInterrupt

        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            publication.wait(check)
        return time.monotonic() - began

    monkeypatch.setattr(publishing, "DEADLINE_S", 2.0)
    assert outer() < 1.0


def test_errors_are_logged_once(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An error in the threads is logged once as a warning, without secrets."""
    from prefect_gpualert.api_posts import Poster

    def broken(self: Poster, *_args: object) -> None:
        raise SystemExit(f"no more of {TOKEN}")

    monkeypatch.setattr(publishing, "PROGRESS_S", 0.2)
    monkeypatch.setattr(Poster, "post_end", broken)
    monkeypatch.setattr(Poster, "post_progress", broken)
    assert nightly("called", stepping("step")).name == "Completed"
    logged = [one for one in caplog.records if NOT_ALL in one.getMessage()]
    assert [one.levelno for one in logged] == [logging.WARNING]
    assert "SystemExit: no more of [redacted huggingface]" in logged[0].getMessage()
