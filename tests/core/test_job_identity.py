"""Tests of the job that a run belongs to, by its option, engine, scheduler or launcher."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualert_common.job_identity import MOST_KEY_CHARS, find_job, make_key, name_slurm_job
from gpualert_common.launch_record import Owner
from gpualert_common.record import Record
from tests.supervised import Lab, python

BATCH = {
    "SLURM_JOB_ID": "17",
    "SLURM_JOB_NUM_NODES": "4",
    "SLURM_NNODES": "4",
    "SLURM_NODEID": "0",
    "SLURM_CLUSTER_NAME": "linux",
}
STEP = {**BATCH, "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_NODES": "4", "SLURM_NODEID": "2"}
POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
RAY = {"runtime_env": {}, "metadata": {"job_submission_id": "raysubmit_ab12", "job_name": "x"}}
TASK: Owner = {
    "key": ("airflow", "dag", "scheduled__2026-11-28", "train", "-1"),
    "number": 3,
    "task": {"engine": "airflow", "workflow": "dag", "task": "train"},
}
TORCHRUN = ("torchrun", "--nnodes=2", "--node-rank", "1", "--rdzv-id=llm", "train.py")


def find(environment: dict[str, str], *command: str, **given: Any) -> dict[str, object]:
    """Return the job of a run, empty for none."""
    return dict(find_job(command or ("python", "train.py"), environment, **given) or {})


@pytest.mark.parametrize(
    ("environment", "key", "name", "place"),
    [
        # One run in the batch script, whatever it starts by srun.
        (BATCH, "slurm-linux-17", "17", (1, 0, 1)),
        # A step on all nodes is a training of its own; a smaller one is a part of the job.
        (STEP, "slurm-linux-17.0", "17.0", (1, 2, 4)),
        (STEP | {"SLURM_STEP_ID": "3"}, "slurm-linux-17.3", "17.3", (1, 2, 4)),
        (STEP | {"SLURM_STEP_NUM_NODES": "1"}, "slurm-linux-17", "17", (1, None, None)),
        # Slurm numbers interactive and batch steps from 0xfffffffa on.
        (STEP | {"SLURM_STEP_ID": "4294967290"}, "slurm-linux-17", "17", (1, 0, 1)),
        (STEP | {"SLURM_RESTART_COUNT": "2"}, "slurm-linux-17.0", "17.0", (3, 2, 4)),
        (
            BATCH | {"SLURM_ARRAY_JOB_ID": "16", "SLURM_ARRAY_TASK_ID": "3"},
            "slurm-linux-16_3",
            "16_3",
            (1, 0, 1),
        ),
        (
            STEP | {"SLURM_JOB_ID": "18", "SLURM_HET_JOB_ID": "17", "SLURM_HET_SIZE": "2"},
            "slurm-linux-17",
            "17",
            (1, None, None),
        ),
        ({"SLURM_JOBID": "17"}, "slurm-17", "17", (1, 0, 1)),
        (
            POD | {"HOSTNAME": "llm-2", "JOB_COMPLETION_INDEX": "2"},
            "kubernetes-llm",
            "llm",
            (None, 2, None),
        ),
        # A TrainJob: the pods of an indexed Job of a JobSet.
        (
            POD
            | {
                "HOSTNAME": "llm-node-0-1",
                "JOB_COMPLETION_INDEX": "1",
                "PET_NNODES": "3",
                "PET_NODE_RANK": "1",
                "POD_NAMESPACE": "team-a",
            },
            "kubernetes-team-a_llm-node-0",
            "llm-node-0",
            (None, 1, 3),
        ),
        # A PyTorchJob: the master is node 0, and worker 0 is node 1.
        (
            POD | {"HOSTNAME": "llm-worker-0", "PET_NNODES": "3", "PET_NODE_RANK": "1"},
            "kubernetes-llm",
            "llm",
            (None, 1, 3),
        ),
        (
            POD | {"HOSTNAME": "llm-master-0", "PET_NNODES": "1:3"},
            "kubernetes-llm",
            "llm",
            (None, None, None),
        ),
        (
            {"RAY_JOB_CONFIG_JSON_ENV_VAR": json.dumps(RAY)},
            "ray-raysubmit_ab12",
            "raysubmit_ab12",
            (None, 0, 1),
        ),
        (
            {
                "TORCHELASTIC_RUN_ID": "llm",
                "GROUP_RANK": "1",
                "GROUP_WORLD_SIZE": "2",
                "TORCHELASTIC_RESTART_COUNT": "1",
            },
            "torchrun-llm",
            "llm",
            (2, 1, 2),
        ),
    ],
)
def test_by_environment(
    environment: dict[str, str],
    key: str,
    name: str,
    place: tuple[int | None, int | None, int | None],
) -> None:
    """Each scheduler names the job, and the place of the run in it as far as it is known."""
    found = find(environment)
    assert (found["key"], found["name"]) == (key, name)
    assert tuple(found.get(part) for part in ("attempt", "node", "nodes")) == place
    assert "directory" not in found


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"SLURM_JOB_ID": "x"},
        {"SLURM_JOB_ID": "9" * 40},
        {"SLURM_JOB_ID": "\u0661\u0667"},
        {"TORCHELASTIC_RUN_ID": "none"},
        {"HOSTNAME": "llm-2", "JOB_COMPLETION_INDEX": "2"},
        POD | {"HOSTNAME": "llm-7f9c-x2v4q"},
        POD | {"HOSTNAME": "node7.cluster", "JOB_COMPLETION_INDEX": "2"},  # on the host's network
        POD | {"HOSTNAME": "worker-1"},
        {"RAY_JOB_CONFIG_JSON_ENV_VAR": "{}"},
        {"RAY_JOB_CONFIG_JSON_ENV_VAR": '{"metadata": {"job_submission_id": 7}}'},
        {"RAY_JOB_CONFIG_JSON_ENV_VAR": "[" * 100_000},
        {"RAY_JOB_CONFIG_JSON_ENV_VAR": "{" + " " * (1 << 20) + "}"},
        {"PET_RDZV_ID": "llm"},
    ],
)
def test_no_job(environment: dict[str, str]) -> None:
    """Without a valid name of a job there is none."""
    assert find(environment) == {}


@pytest.mark.parametrize(
    ("command", "environment", "name", "place"),
    [
        (TORCHRUN, {}, "llm", (1, 2)),
        (("python", "-m", "torch.distributed.run", "--rdzv_id", "llm", "t.py"), {}, "llm", None),
        (("sh", "-c", "torchrun --rdzv-id llm --nnodes 1:4 t.py"), {}, "llm", None),
        (("torchrun", "t.py"), {"PET_RDZV_ID": "llm", "PET_NNODES": "2"}, "llm", (None, 2)),
        (("torchrun", "--rdzv-id=none", "--nnodes=2", "t.py"), {}, None, None),
        (("torchrun", "--nnodes=2", "t.py"), {}, None, None),
        (("python", "train.py", "--rdzv-id=llm"), {}, None, None),
    ],
)
def test_by_command(
    command: tuple[str, ...],
    environment: dict[str, str],
    name: str | None,
    place: tuple[int | None, int] | None,
) -> None:
    """A command that starts torchrun has the job of its rendezvous, unless that has no name."""
    found = find(environment, *command)
    assert found.get("name") == name
    assert (found.get("node"), found.get("nodes")) == (place or (None, None))


def test_order() -> None:
    """The option counts first, then the engine, Slurm, torchrun, Kubernetes and Ray."""
    environment = {
        **STEP,
        **POD,
        "HOSTNAME": "llm-2",
        "JOB_COMPLETION_INDEX": "2",
        "RAY_JOB_CONFIG_JSON_ENV_VAR": json.dumps(RAY),
    }
    origins = [find(environment, *TORCHRUN, name="mine", owner=TASK)["origin"]]
    origins.append(find(environment, *TORCHRUN, owner=TASK)["origin"])
    for prefix in ("SLURM", "", "JOB", "RAY"):
        command = () if prefix in ("JOB", "RAY") else TORCHRUN
        origins.append(find(environment, *command)["origin"])
        environment = {k: v for k, v in environment.items() if not k.startswith(prefix or "-")}
    assert origins == ["option", "engine", "slurm", "torchrun", "kubernetes", "ray"]


def test_option() -> None:
    """A named job takes its places from the scheduler or the launcher; "none" is no job."""
    found = find(STEP | {"SLURM_RESTART_COUNT": "1"}, name="llm 70b", directory="/shared")
    assert found["key"] == make_key("job", "llm 70b")
    assert (found["attempt"], found["node"], found["nodes"]) == (2, 2, 4)
    assert found["directory"] == "/shared"
    of_torchrun = find({}, "torchrun", "--nnodes=2", "--node-rank=1", "t.py", name="llm")
    assert (of_torchrun["node"], of_torchrun["nodes"]) == (1, 2)
    assert find(STEP, name="none", owner=TASK) == {}


def test_engine() -> None:
    """All attempts at one task are one job, of one run at a time; other tasks are other jobs."""
    found = find(STEP, owner=TASK)
    assert (found["name"], found["attempt"], found["nodes"]) == ("dag train", 3, 1)
    assert str(found["key"]).startswith("airflow-dag-scheduled__2026-11-28-train")
    later: Owner = {**TASK, "number": 4}
    assert find({}, owner=later)["key"] == found["key"]
    other: Owner = {**TASK, "key": ("airflow", "dag", "scheduled__2026-11-28", "train", "0")}
    assert find({}, owner=other)["key"] != found["key"]
    assert find({}, owner=Owner(owner="x")) == {}


def test_engine_with_a_name() -> None:
    """Mapped tasks that share a named job are its nodes."""
    mapped: Owner = {**TASK, "task": {"map_index": 2}}
    found = find({}, owner=mapped, name="llm")
    assert (found["origin"], found["attempt"], found["node"]) == ("option", 3, 2)


def test_keys() -> None:
    """A plain name stays readable; names that differ never share a key."""
    assert make_key("job", "llm-70b_v1.2") == "job-llm-70b_v1.2"
    names = [
        "a/b",
        "a:b",
        "a-b",
        "a b",
        "a--b",
        "",
        "a" * 300,
        "a" * 301,
        "ä",
        "\ud800",
        "..",
        "A-B",
    ]
    names += [make_key("job", "a/b").removeprefix("job-")]
    keys = [make_key("job", name) for name in names]
    keys += [make_key("job", "a", "b"), make_key("job", "a-b", ""), make_key("jo", "b-a-b")]
    assert len(set(keys)) == len(keys)
    clusters = [name_slurm_job("17", one)["key"] for one in (None, "a", "a-b", "a/b", "x" * 300)]
    assert len(set(clusters)) == len(clusters)


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_every_key_is_safe(parts: list[str]) -> None:
    """A key is one plain name in a path and in a URL, whatever the parts."""
    key = make_key("job", *parts)
    assert len(key) <= MOST_KEY_CHARS
    assert key.isascii()
    assert all(one.isalnum() or one in "._-" for one in key)
    assert key.startswith("job-")


@given(
    st.dictionaries(
        st.sampled_from([*STEP, "SLURM_RESTART_COUNT", "SLURM_ARRAY_JOB_ID", "HOSTNAME", *POD]),
        st.text(max_size=30) | st.sampled_from(["0", "4", "-1", "1e9", "1" * 15]),
    ),
    st.none() | st.text(min_size=1),
)
def test_any_environment(environment: dict[str, str], name: str | None) -> None:
    """Any values of the variables give a valid job, or none."""
    found = find(environment, name=name)
    if found:
        assert 0 < len(str(found["key"])) <= MOST_KEY_CHARS
        for part in ("attempt", "node", "nodes"):
            assert isinstance(found.get(part, 0), int)


def test_record_has_the_job(lab: Lab) -> None:
    """The record of a run has its job, by the environment of the command."""
    environment = {**os.environ, **STEP}
    done = lab.run("true", env=environment)
    assert done.returncode == 0
    job = lab.record().spec.job
    assert job is not None
    assert job["key"] == "slurm-linux-17.0"
    assert "directory" not in job


def test_record_without_a_job(lab: Lab) -> None:
    """The record of a run without one has none, with a job directory, too."""
    assert lab.call((*PROGRAM_RUN, "--job-dir", "jobs", "--", "true")).returncode == 0
    assert lab.record().spec.job is None


def test_options_of_a_run(lab: Lab) -> None:
    """``--job`` and ``--job-dir`` are in the record; a relative path is one of the caller."""
    options = ("--job", "llm", "--job-dir", "jobs")
    assert lab.call((*PROGRAM_RUN, *options, "--", "true")).returncode == 0
    job = lab.record().spec.job
    assert job == {
        "key": "job-llm",
        "name": "llm",
        "origin": "option",
        "directory": str(lab.home / "jobs"),
    }
    assert not (lab.home / "jobs").exists()


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("ftp://host/jobs", "ftp:// is not supported; use a path, s3://, gs:// or az://"),
        ("gs://bucket/jobs", "gs://bucket/jobs needs gcsfs: pip install gcsfs"),
        ("s3://key:secret@bucket/jobs", "holds a secret"),
    ],
)
def test_wrong_directory(lab: Lab, url: str, problem: str) -> None:
    """A URL of an unknown kind, or one whose package is missing, is an error before the launch."""
    done = lab.call((*PROGRAM_RUN, "--job-dir", url, "--", *python("open('ran', 'w')")))
    assert done.returncode == 125
    assert problem in done.stderr.decode()
    assert "secret@" not in done.stderr.decode()
    assert not (lab.home / "ran").exists()


def test_damaged_job_in_a_record(lab: Lab) -> None:
    """A damaged part of the job in a record counts as missing."""
    assert lab.run("true").returncode == 0
    (path,) = lab.records()
    fields = json.loads((path / "spec.json").read_text())
    (path / "spec.json").write_text(json.dumps(fields | {"job": {"key": 5, "name": "x"}}))
    assert Record.open(str(path)).spec.job == {"name": "x"}


def test_costs_no_import(lab: Lab) -> None:
    """A plain run imports neither fsspec nor a hash for its job before its command starts."""
    code = (
        "import sys\n"
        "from gpualert_common.job_identity import find_job\n"
        "before = set(sys.modules)\n"
        "find_job(('python', 'train.py'), {'SLURM_JOB_ID': '17'}, directory='/x')\n"
        "print(sorted(set(sys.modules) - before))\n"
    )
    done = subprocess.run(python(code), capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "[]"


PROGRAM_RUN = (
    *python("from gpualert_common.cli.main import main; raise SystemExit(main())"),
    "run",
)
