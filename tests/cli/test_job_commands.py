"""Tests of ``job`` and ``jobs``: with a job directory, and by the records of this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpualert_common.job_store.opening import open_store
from gpualert_common.jobs.digests.digest import Digest
from gpualert_common.jobs.job_directory import JobDirectory
from gpualert_common.structs import replace
from tests.jobs.composed_job import END, KEY, compose, end, lose
from tests.supervised import Lab, shell, until

OUT_OF_MEMORY = "CUDA out of memory: 91.6 GiB requested on a 79.2 GiB card"


def write(place: Path, key: str, *digests: Digest) -> None:
    """Write digests into the folder of a job."""
    place.mkdir(exist_ok=True)
    directory = JobDirectory(open_store(str(place)), key)
    for one in digests:
        directory.write_digest(replace(one, job=key))


def make_failure(nodes: int) -> list[Digest]:
    """Return the digests of a job of which node 2 ran out of memory, and the others lost it."""
    digests = [
        replace(lose(node, END + 3.0 + node / 100, nodes), host=f"gpu{node:03d}")
        for node in range(nodes)
        if node != 2
    ]
    culprit = compose(2, nodes, host="gpu002")
    return [*digests, end(culprit, "cuda_oom", END, rank=21, headline=OUT_OF_MEMORY)]


@pytest.fixture
def place(lab: Lab) -> Path:
    """Return a job directory with one job of eight nodes."""
    found = lab.home / "jobs"
    write(found, KEY, *make_failure(8))
    return found


@pytest.mark.parametrize("job", [KEY, "17", "llama", "run-4"], ids=["key", "Slurm", "name", "run"])
def test_names_of_a_job(lab: Lab, place: Path, job: str) -> None:
    """A job is found by its key, its id in Slurm, its name, and the id of one of its runs."""
    done = lab.gpualert("job", job, "--job-dir", str(place), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["job"] == KEY
    assert found["verdict"]["host"] == "gpu002"
    assert found["verdict"]["details"]["rank"] == 21
    assert [one["part"] for one in found["nodes"]] == ["culprit", *["cascade"] * 7]


def test_page(lab: Lab, place: Path) -> None:
    """The page has the culprit first, in the headline and in the table, within 80 columns."""
    done = lab.gpualert("job", KEY, "--job-dir", str(place))
    lines = done.stdout.decode().splitlines()
    assert lines[0].startswith("CUDA out of memory on gpu002 (rank 21): 91.6 GiB")
    table = lines[next(at for at, line in enumerate(lines) if line.startswith("NODE")) :]
    assert len(table) == 9
    assert table[1].split()[:5] == ["gpu002", "16-23", "failed", "culprit", "cuda_oom"]
    assert max(map(len, lines[:-9])) <= 80


def test_folded_table(lab: Lab) -> None:
    """Hundreds of nodes that say the same are one row."""
    place = lab.home / "jobs"
    write(place, "slurm-8.0", *make_failure(100))
    done = lab.gpualert("job", "8", "--job-dir", str(place))
    *_, culprit, rest = done.stdout.decode().splitlines()
    assert culprit.startswith("gpu002 ")
    assert rest.startswith("99 nodes: gpu[000-001,")


def test_markdown(lab: Lab, place: Path) -> None:
    """Markdown has the table of the nodes, and secrets are masked."""
    secret = "hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH"
    write(place, "job-x", end(compose(0, 1), "config", headline=f"Wrong token {secret}"))
    done = lab.gpualert("job", "x", "--job-dir", str(place), "--markdown")
    page = done.stdout.decode()
    assert "| NODE | RANKS |" in page
    assert secret not in page
    assert "redacted" in page


def test_damaged_digest(lab: Lab, place: Path) -> None:
    """A digest that cannot be read counts as missing, and is said."""
    (place / KEY / "digests" / "run-4.json").write_bytes(b'{"job": "slurm-17", "run')
    done = lab.gpualert("job", KEY, "--job-dir", str(place))
    assert b"1 digest: counted as missing" in done.stdout
    found = json.loads(lab.gpualert("job", KEY, "--job-dir", str(place), "--json").stdout)
    assert found["damaged_digests"] == 1
    assert found["verdict"]["details"]["missing_names"] == "node 4"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("job", "slurm-71"), b"no job 'slurm-71' in "),
        (("job", KEY, "--attempt", "9"), b"has no digest of attempt 9"),
    ],
)
def test_unknown_jobs(lab: Lab, place: Path, arguments: tuple[str, ...], message: bytes) -> None:
    """A job or an attempt that does not exist is an error that names the place."""
    done = lab.gpualert(*arguments, "--job-dir", str(place))
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("pbs:1",), b"name a job as slurm:JOBID"),
        (("slurm:1", "--user", "ann"), b"name a job as slurm:JOBID"),
        (("slurm", "--user", ""), b"name a job as slurm:JOBID"),
        (("slurm", "--user", "ann", "--detach"), b"--detach and --run-name are about one job"),
        (("slurm:1", "--poll", "soon"), b"argument --poll: 'soon' is not a duration such as"),
        (("slurm:1", "--poll", "none"), b"argument --poll: 'none' is not a duration such as"),
        (("slurm:1;ls",), b"'1;ls' is not the id of a job of Slurm"),
    ],
)
def test_wrong_watches(lab: Lab, arguments: tuple[str, ...], message: bytes) -> None:
    """A watch of nothing that can be watched is an error, and launches nothing."""
    done = lab.gpualert("watch", *arguments)
    assert done.returncode == 125
    assert message in done.stderr
    assert lab.records() == []


def test_list(lab: Lab, place: Path) -> None:
    """``jobs`` lists the newest jobs, each with its culprit."""
    write(place, "job-other", end(compose(0, 1), "none"))
    done = lab.gpualert("jobs", "--job-dir", str(place), "--json")
    reports = json.loads(done.stdout)["jobs"]
    assert [one["job"] for one in reports] == ["job-other", KEY]
    table = lab.gpualert("jobs", "--job-dir", str(place), "-n", "1").stdout.decode().splitlines()
    assert [line.split()[0] for line in table] == ["JOB", "job-other"]


def test_list_with_a_damaged_job(lab: Lab, place: Path) -> None:
    """``jobs`` names a job of which no digest can be read, and lists the others."""
    folder = place / "job-bad" / "digests"
    folder.mkdir(parents=True)
    (folder / "run-1.json").write_bytes(b'{"job": "job-bad", "run')
    done = lab.gpualert("jobs", "--job-dir", str(place), "--json")
    assert [one["job"] for one in json.loads(done.stdout)["jobs"]] == [KEY]
    assert done.stderr == b"gpualert: job-bad: no digest of it can be read\n"


def test_jobs_of_this_machine(lab: Lab) -> None:
    """Without a job directory, the records of this machine show its jobs."""
    lab.gpualert(
        *("run", "--job", "small", "--", *shell("echo MemoryError; exit 1")),
    )
    listed = json.loads(lab.gpualert("jobs", "--json").stdout)["jobs"]
    assert [one["name"] for one in listed] == ["small"]
    shown = json.loads(lab.gpualert("job", "small", "--json").stdout)
    assert shown["job"] == "job-small"
    assert shown["verdict"]["disposition"] == "failed"
    assert shown["verdict"]["host"] == shown["nodes"][0]["host"]


def test_record_of_a_step_by_its_job(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a directory, Slurm's id of the job shows the step that was recorded here."""
    for name, value in (
        *(("SLURM_JOB_ID", "17"), ("SLURM_STEP_ID", "0"), ("SLURM_CLUSTER_NAME", "c1")),
        *(("SLURM_JOB_NUM_NODES", "1"), ("SLURM_STEP_NUM_NODES", "1")),
    ):
        monkeypatch.setenv(name, value)
    lab.gpualert("run", "--notify", "none", "--", *shell("exit 1"))
    assert lab.json("job", "17", "--json")["job"] == "slurm-c1-17.0"


def test_real_run_in_a_directory(lab: Lab) -> None:
    """A run with a job directory is found there by the name of its job, without an option."""
    place = lab.home / "shared"
    place.mkdir()
    lab.gpualert(
        *("run", "--job", "small", "--job-dir", str(place), "--notify", "none"),
        *("--", *shell("echo 'ValueError: bad shape'; exit 1")),
    )
    until(lambda: [file for file in place.glob("*/digests/*.json") if _is_final(file)], "digest")
    found = json.loads(lab.gpualert("job", "small", "--json").stdout)
    assert found["state"] == "ended"
    place.rename(lab.home / "away")
    done = lab.gpualert("job", "small", "--json")
    assert b"this machine's records show the job" in done.stderr
    assert json.loads(done.stdout)["verdict"] == found["verdict"]


def _is_final(file: Path) -> bool:
    return bool(json.loads(file.read_bytes())["state"] == "ended")
