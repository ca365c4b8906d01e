"""Digests of real runs: they appear, are renewed, and are final; no fault of the place touches a
run."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpualert_common.errors import StoreError
from gpualert_common.job_store.opening import open_store
from gpualert_common.jobs.digests.digest import ClockBasis, Digest, DigestState
from gpualert_common.jobs.digests.digest_collection import make_digest
from gpualert_common.jobs.job_directory import JobDirectory
from gpualert_common.jobs.renewal.publication import publish_final, publish_left
from gpualert_common.jobs.renewal.renewal_state import LOST, REACHED, read_state
from gpualert_common.model import Disposition
from gpualert_common.record import EXIT, VERDICT, Record
from gpualert_common.record.marks import UNPUBLISHED, find_state_dir
from gpualert_common.telemetry.source import Sample, SourceEvent
from gpualert_common.telemetry.storage import TelemetryWriter
from tests.job_store.s3_server import BUCKET, client_environment, s3_server
from tests.supervised import Lab, Supervised, shell, until

SECRET = "ghp_" + "a1B2" * 9
TRAINING = (
    'for i in 1 2 3 4; do echo "step $i/100 loss 0.$i"; sleep 0.2; done; '
    "while [ ! -e go ]; do sleep 0.05; done; "
)
FAILURE = "echo 'RuntimeError: CUDA out of memory. Tried to allocate 91.60 GiB.'; exit 3"


class JobOfOneNode:
    """A run with a job directory, and its digest there."""

    def __init__(self, lab: Lab, end: str = FAILURE, place: str | None = None) -> None:
        self.lab = lab
        address = place or str(lab.home / "jobs")
        self.address = address
        self.place = Path(address)
        options = ("--job", "train", "--job-dir", address)
        self.run: Supervised = lab.launch(*shell(TRAINING + end), options=options)
        self.record = self.run.record

    @property
    def directory(self) -> JobDirectory:
        """The job directory, as another node sees it."""
        return JobDirectory(open_store(self.address), "job-train")

    def read(self) -> Digest | None:
        """Return the digest of the run, if there is one."""
        try:
            file = self.directory.find_digest(self.record.run_id)
            found = None if file is None else self.directory.read_digest(file)
        except StoreError:  # before the first digest there is no such place
            return None
        return None if found is None else found.digest

    def await_digest(self, is_wanted: Callable[[Digest], bool], what: str) -> Digest:
        """Return the first digest that is wanted."""

        def find() -> Digest | None:
            found = self.read()
            return found if found is not None and is_wanted(found) else None

        return until(find, what)

    def await_final(self) -> Digest:
        """Return the digest with the end of the run."""
        return self.await_digest(lambda one: one.state is DigestState.ENDED, "a final digest")

    def let_end(self) -> int:
        """Let the command end, and return the exit status of the run."""
        (self.lab.home / "go").touch()
        return self.run.wait()


def test_digest_appears_and_is_final_with_the_verdict(lab: Lab) -> None:
    """The digest of a run is there within seconds, has its progress, and then its verdict."""
    job = JobOfOneNode(lab)
    first = job.await_digest(lambda one: one.progress is not None, "progress")
    assert first.state is DigestState.RUNNING
    assert first.clock.basis is ClockBasis.NONE or first.sequence > 1
    began = job.await_digest(
        lambda one: one.progress is not None and one.progress.position == 4 and one.sequence > 1,
        "the begin of the training",
    )
    assert began.clock.basis is ClockBasis.STORE
    assert abs(began.clock.offset_s) <= began.clock.error_s
    assert job.let_end() == 3
    final = job.await_final()
    assert final.verdict is not None
    assert (final.verdict.cause, final.verdict.disposition) == ("cuda_oom", Disposition.FAILED)
    assert final.sequence >= began.sequence  # equal if the helper is killed before it counts one
    assert final.clock.basis is ClockBasis.STORE
    root = final.observations[0]
    assert (root.cause, root.is_cascade) == ("cuda_oom", False)
    assert root.at is not None
    assert final.ended_at is not None
    assert final.ended_at - 5 < root.at <= final.ended_at
    until(lambda: read_state(job.record).is_final, "the note in the record")
    state_dir = find_state_dir(job.record.path)
    until(lambda: not UNPUBLISHED.list_records(state_dir), "the removal of the mark")


def test_successful_run_without_alerts_publishes_its_end(lab: Lab) -> None:
    """A run that people are not notified of has a final digest, too, and no process that renews a
    digest outlives its run."""
    job = JobOfOneNode(lab, "true")
    job.await_digest(lambda _one: True, "a digest")
    assert any("renewal_program" in command for command in lab.living().values())
    assert publish_final(job.record) is None, "it has no end"
    assert job.let_end() == 0
    assert not any("renewal_program" in command for command in lab.living().values())
    final = job.await_final()
    assert final.verdict is not None
    assert final.verdict.disposition is Disposition.COMPLETED


def test_killed_renewal_goes_on(lab: Lab) -> None:
    """The digest of a run is renewed again after the process that does it was killed."""
    job = JobOfOneNode(lab, "true")
    job.await_digest(lambda _one: True, "a digest")
    for pid, command in lab.living().items():
        if "renewal_program" in command:
            os.kill(pid, signal.SIGKILL)
    last = job.read()
    assert last is not None
    job.await_digest(lambda one: one.sequence > last.sequence, "another renewal")
    assert job.let_end() == 0


@pytest.mark.e2e
def test_digest_in_a_bucket(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an object store digests are as in a directory; its stamps, whole seconds, show the clock
    to half a second."""
    with s3_server(lab.home / "s3.log") as (port, _process):
        for name, value in client_environment(port).items():
            monkeypatch.setenv(name, value)
        job = JobOfOneNode(lab, place=f"s3://{BUCKET}/shared")
        began = job.await_digest(
            lambda one: one.progress is not None and one.sequence > 1, "the second digest"
        )
        assert began.clock.basis is ClockBasis.STORE
        assert abs(began.clock.offset_s) <= began.clock.error_s < 1.5
        assert job.let_end() == 3
        final = job.await_final()
        assert final.verdict is not None
        until(lambda: read_state(job.record).is_final, "the note in the record")


@pytest.mark.e2e
def test_secrets_and_control_characters_stay_on_the_machine(lab: Lab) -> None:
    """Secrets in the command and in the log are masked in a digest, and its texts are plain."""
    end = f"echo 'RuntimeError: token {SECRET} \x1b[31mrefused'; exit 1; : --token {SECRET}"
    job = JobOfOneNode(lab, end)
    job.await_digest(lambda _one: True, "a digest")
    job.let_end()
    final = job.await_final()
    stored = (job.place / "job-train" / "digests" / f"{final.run_id}.json").read_text()
    assert SECRET not in stored
    assert "[redacted" in stored
    assert "\\u001b" not in stored


def test_killed_supervisor_leaves_a_final_digest(lab: Lab) -> None:
    """After SIGKILL of the supervisor, the end of the run is published once it has ended."""
    job = JobOfOneNode(lab)
    job.await_digest(lambda one: one.progress is not None, "a digest")
    job.run.signal(signal.SIGKILL)
    (lab.home / "go").touch()
    final = job.await_final()
    assert final.verdict is not None
    assert final.verdict.cause == "cuda_oom"
    until(lab.is_empty, "the end of all processes")


@pytest.mark.e2e
def test_killed_processes_leave_a_digest_that_is_made_final(lab: Lab) -> None:
    """After SIGKILL of all processes, the digest has no end until somebody recovers the run."""
    job = JobOfOneNode(lab)
    job.await_digest(lambda one: one.progress is not None, "a digest")
    lab.end_everything()
    job.run.process.wait()
    last = job.read()
    assert last is not None
    assert last.state is DigestState.RUNNING
    assert last.verdict is None
    assert lab.gpualert("recover").returncode == 0
    final = job.await_final()
    assert final.verdict is not None
    assert final.sequence > last.sequence


@pytest.mark.nightly
@pytest.mark.parametrize("moment", ["launch", "digest.json", "exit.json", "verdict.json"])
def test_end_is_published_whenever_all_processes_are_killed(lab: Lab, moment: str) -> None:
    """SIGKILL of all processes when a file of the record appears: after `gpualert recover` the job
    has the end of the run."""
    job = JobOfOneNode(lab)
    if moment != "launch":
        job.await_digest(lambda one: one.progress is not None, "a digest")
    if moment in ("exit.json", "verdict.json"):
        (lab.home / "go").touch()
    if moment != "launch":
        until(Path(job.record.path, moment).exists, moment, poll_s=0.001)
    lab.end_everything()
    job.run.process.wait()
    assert lab.gpualert("recover").returncode == 0
    final = job.await_final()
    assert final.verdict is not None
    if moment == "verdict.json":
        assert final.verdict.cause == "cuda_oom"
    state_dir = find_state_dir(job.record.path)
    until(lambda: not UNPUBLISHED.list_records(state_dir), "the removal of the mark")


def break_place(job: JobOfOneNode, fault: str) -> None:
    """Make the job directory of a run unusable."""
    if fault == "removed":
        shutil.rmtree(job.place)
        job.place.touch()
    else:
        shutil.rmtree(job.place / "job-train")
        (job.place / "job-train").symlink_to("/nowhere")


@pytest.mark.e2e
@pytest.mark.parametrize("fault", ["removed", "replaced"])
def test_lost_directory_does_not_touch_the_run(lab: Lab, fault: str) -> None:
    """A job directory that becomes unusable costs the digests and nothing else: status and log are
    those of the command, `gpualert show` names the problem, and a later run publishes the end."""
    job = JobOfOneNode(lab)
    job.await_digest(lambda one: one.progress is not None, "a digest")
    break_place(job, fault)
    began = time.monotonic()
    assert job.let_end() == 3
    assert time.monotonic() - began < 20
    assert job.run.log().endswith(b"Tried to allocate 91.60 GiB.\n")
    job.run.wait_for_event(LOST)
    shown = lab.gpualert("show", job.record.run_id).stdout
    assert b"its directory cannot be written since" in shown
    state_dir = find_state_dir(job.record.path)
    until(lambda: UNPUBLISHED.list_records(state_dir) == [job.record.path], "the mark")
    lab.end_everything()  # the sender
    if fault == "removed":
        job.place.unlink()
    else:
        (job.place / "job-train").unlink()
    assert lab.run("true").returncode == 0
    final = job.await_final()
    assert final.verdict is not None
    until(lambda: not UNPUBLISHED.list_records(state_dir), "the removal of the mark")
    job.run.wait_for_event(REACHED)
    assert b"cannot be written" not in lab.gpualert("show", job.record.run_id).stdout


def test_unusable_directory_from_the_start_does_not_touch_the_run(lab: Lab) -> None:
    """A job directory below a file, as of a mount that is missing: the run is as without one."""
    (lab.home / "file").touch()
    job = JobOfOneNode(lab, place=str(lab.home / "file" / "jobs"))
    job.run.wait_for_event(LOST)
    assert job.let_end() == 3
    assert sum(event.name == LOST for event in job.record.events()) == 1


def test_run_without_a_job_directory_has_no_helper(lab: Lab) -> None:
    """A run that judges alone starts no process for digests, and publishes nothing."""
    assert lab.run("true").returncode == 0
    assert publish_final(lab.record()) is None
    assert not UNPUBLISHED.list_records(find_state_dir(lab.record().path))


@pytest.mark.e2e
def test_mark_of_a_removed_record_is_dropped(lab: Lab) -> None:
    """A mark without a record, or of a run that ended long ago, is removed."""
    job = JobOfOneNode(lab, "true")
    job.await_digest(lambda _one: True, "a digest")
    job.let_end()
    job.await_final()
    state_dir = find_state_dir(job.record.path)
    until(lambda: not UNPUBLISHED.list_records(state_dir), "the removal of the mark")
    gone = os.path.join(state_dir, "runs", "20200101-000000-000000-dead")
    UNPUBLISHED.add(gone)
    path = Path(job.record.path, "exit.json")
    fields = json.loads(path.read_text())
    path.write_text(json.dumps({**fields, "ended_at": time.time() - 30 * 86400}))
    UNPUBLISHED.add(job.record.path)
    publish_left([state_dir])
    assert not UNPUBLISHED.list_records(state_dir)


def test_digest_has_ranks_and_gpus_of_the_telemetry(lab: Lab) -> None:
    """Ends of ranks, their places in the collectives and the load of their GPUs are those that the
    sources report."""
    job = JobOfOneNode(lab, "true")
    job.let_end()
    now = time.time()
    record = Record.open(job.record.path)
    writer = TelemetryWriter(record)
    identities = [
        ("processes", SourceEvent("rank_process", f"rank:{rank}", "", fields, now - 60))
        for rank in (8, 9)
        for fields in ({"pid": rank + 100, "local_rank": rank - 8, "world_size": 16},)
    ]
    stall = {
        "kind": "missing",
        "culprits": [9],
        "waiting": [8],
        "sequence": 41,
        "call": f"all_reduce {SECRET}",
    }
    ends = [
        (
            "processes",
            SourceEvent("rank_ended", "rank:9", "rank 9 died", {"pid": 109, "code": -9}, now),
        ),
        ("flight_recorder", SourceEvent("collective_stall", "job", "", stall, now)),
    ]
    loads = [
        ("nvml", Sample(f"gpu:{gpu}", {"utilization_percent": load, "memory_used_bytes": 1e9}))
        for gpu, load in ((0, 100.0), (1, 4.0))
    ]
    writer.add(now, [*identities, *ends, *loads])
    digest = make_digest(record)
    ranks = {one.rank: one for one in digest.ranks}
    assert digest.world_size == 16
    assert (ranks[8].sequence, ranks[8].completed, ranks[8].code) == (41, 40, None)
    assert ranks[8].pending.startswith("all_reduce [redacted")
    assert (ranks[9].sequence, ranks[9].code, ranks[9].gpu_percent) == (40, -9, 4.0)
    assert digest.telemetry is not None
    assert (digest.telemetry.gpus, digest.telemetry.gpu_percent) == (2, 52.0)
    positions = {"group": "default_pg", "ranks": [{"rank": 8, "entered": 44, "completed": 44}]}
    writer.add(
        now, [("flight_recorder", SourceEvent("collective_positions", "job", "", positions))]
    )
    later = {one.rank: one for one in make_digest(record).ranks}
    assert (later[8].sequence, later[8].completed, later[9].sequence) == (44, 44, 40)
    killed = next(one for one in digest.observations if one.source == "processes")
    assert (killed.cause, killed.rank, killed.is_cascade) == ("killed_unknown", 9, False)
    assert job.let_end() == 0


def test_digest_of_a_large_log_reads_only_its_ends(lab: Lab) -> None:
    """A log of a gigabyte costs a digest no more than a small one."""
    job = JobOfOneNode(lab, "true")
    with Path(job.record.log_path("output.log")).open("ab") as log:
        log.truncate(1 << 30)
        log.seek(1 << 30)
        log.write(b"\nstep 77/100 loss nan\n")
    began = time.process_time()
    digest = make_digest(job.record)
    assert time.process_time() - began < 2
    assert digest.progress is not None
    assert (digest.progress.position, str(digest.progress.loss)) == (77, "nan")
    assert job.let_end() == 0


def test_damaged_end_is_published(lab: Lab) -> None:
    """The last digest of a run whose end or verdict is damaged says that the run has ended."""
    address = str(lab.home / "jobs")
    command = shell("echo step 1/9 loss 0.5; exit 3")
    options = ("--job", "train", "--job-dir", address)
    assert lab.gpualert("run", *options, "--", *command).returncode == 3
    record = lab.record()
    until(lambda: read_state(record).is_final, "the first publication")
    whole = Path(record.path, EXIT).read_bytes()
    for damage in (b"", whole[:-9], b"\xff", b"[]", b'{"schema": 99}', b'{"ended_at": {}}'):
        Path(record.path, EXIT).write_bytes(damage)
        final = publish_final(record)
        assert final is not None
        assert (final.state, final.ended_at) == (DigestState.ENDED, None)
        assert final.verdict is not None
    Path(record.path, VERDICT).write_bytes(b"{")
    UNPUBLISHED.add(record.path)
    publish_left([find_state_dir(record.path)])
    assert not UNPUBLISHED.list_records(find_state_dir(record.path))
    directory = JobDirectory(open_store(address), "job-train")
    file = directory.find_digest(record.run_id)
    assert file is not None
    stored = directory.read_digest(file)
    assert stored is not None
    assert (stored.digest.state, stored.digest.verdict) == (DigestState.ENDED, None)
