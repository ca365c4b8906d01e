"""Tests of the history: fingerprints, baselines, and access without waiting."""

from __future__ import annotations

import errno
import os
import random
import shlex
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gpualert_common import structs
from gpualert_common.history import (
    History,
    IndexResult,
    PastRun,
    Spread,
    compute_baseline,
    compute_fingerprint,
    import_pending,
    index_run,
    make_past_run,
    rebuild,
)
from gpualert_common.history.database import DEADLINE_S, Database
from gpualert_common.history.pending import FOLDER
from gpualert_common.history.runs import MOST, MOST_PER_FINGERPRINT, NAME
from gpualert_common.launch_record import LaunchRecord
from gpualert_common.model import Disposition, Verdict
from gpualert_common.record import EXIT, VERDICT, Record
from tests.faults.conftest import small_disk
from tests.supervised import Lab, python, shell, until
from tests.verdicts import verdict_with

__all__ = ["small_disk"]

TRAINING = "a" * 32
OTHER = "b" * 32


def ended(number: int, of: str = TRAINING, **fields: Any) -> PastRun:
    """Return a successful run; a higher number is a newer run."""
    known: dict[str, Any] = {
        "started_at": 1000.0 * number,
        "ended_at": 1000.0 * number + 500,
        "disposition": "completed",
        "cause": "none",
    }
    return PastRun(f"20261120-101010-{number:06d}-abcd", of, **{**known, **fields})


def numbers(runs: list[PastRun]) -> list[int]:
    """Return the numbers that were given to :func:`ended`."""
    return [int(run.run_id.split("-")[2]) for run in runs]


@pytest.fixture
def place(tmp_path: Path) -> str:
    """A state directory without runs."""
    path = tmp_path / "state"
    path.mkdir(0o700)
    return str(path)


# -- which runs are of one training ------------------------------------------------------------

SAME = {
    "seed": ("python train.py --seed 1 --lr 0.1", "python train.py --seed=77 --lr 0.1"),
    "no seed": ("python train.py --lr 0.1", "python train.py --lr 0.1 --data_seed 3"),
    "seed of Lightning": ("python t.py fit --seed_everything 1", "python t.py fit"),
    "seed of Hydra": ("python t.py seed=1 +trainer.seed=2", "python t.py seed=4 +trainer.seed=5"),
    "port": (
        "torchrun --master_port 29500 --nproc-per-node 8 t.py",
        "torchrun --master-port=29817 --nproc-per-node 8 t.py",
    ),
    "rendezvous": (
        "torchrun --rdzv_id=17 --rdzv_endpoint=n1:29400 --node_rank 0 t.py",
        "torchrun --rdzv_id=18 --rdzv_endpoint=n7:29400 --node_rank 3 t.py",
    ),
    "address": ("python t.py --dist_url tcp://10.0.0.1:1", "python t.py --dist_url tcp://n2:2"),
    "output directory": (
        "python t.py --output_dir runs/2026-11-20/bert",
        "python t.py --output_dir runs/2026-11-21/bert",
    ),
    "output directory of Hydra": (
        "python t.py hydra.run.dir=outputs/2026-11-20/10-11-12",
        "python t.py hydra.run.dir=outputs/2026-11-21/08-00-00",
    ),
    "counter": ("python t.py --log-dir l/version_3", "python t.py --log-dir l/version_12"),
    "job number": ("python t.py --save_dir out/slurm_8123", "python t.py --save_dir out/slurm_9"),
    "commit": ("python t.py --out x-3fa9c1d", "python t.py --out x-00b1c2f"),
    "run name": (
        "python t.py --run_name bert-20261120_101112",
        "python t.py --run_name bert-20261121_080000",
    ),
    "epoch seconds": ("python t.py --tag b-1763633412.17", "python t.py --tag b-1763719812.5"),
    "moment": ("python /jobs/2026-11-20T10:11:12Z/t.py", "python /jobs/2026-11-21T08:00:00Z/t.py"),
    "moment in one word": ("python t.py x20261120101112", "python t.py x20261121080000"),
    "name of TensorBoard": ("python t.py r/Nov20_10-11-12_n1", "python t.py r/Nov21_08-00-00_n1"),
    "UUID": (
        "python t.py 0b0e2f1c-6f0a-4e0e-9d53-2f6d7a0c9b11",
        "python t.py 7c9e6679-7425-40de-944b-e07fc1f90ae7",
    ),
    "run of Airflow": (
        "python t.py s3://b/scheduled__2026-11-20T00:00:00+00:00/x",
        "python t.py s3://b/manual__2026-11-21T08:01:02.123456+00:00_aB3dE6gH/x",
    ),
    "temporary directory": ("bash /tmp/tmpab12cd3_/t.sh", "bash /tmp/tmpzz91k_2p/t.sh"),
    "directory of mktemp": ("bash /tmp/tmp.Ab1Cd2Ef3G/t.sh", "bash /tmp/tmp.Zz9Yy8Xx7W/t.sh"),
    "directory of Airflow": ("bash /s/airflowtmpab12cd3_/t.sh", "bash /s/airflowtmpzz9xk_2p/t.sh"),
    "directory of Prefect": ("bash /s/tmpab12cd3_prefect/t.sh", "bash /s/tmpzz9xk_2pprefect/t.sh"),
    "script of Airflow": ("bash tmpab12cd3_.sh", "bash tmpzz9xk_2p.sh"),
    "date of the data": ("python t.py --date 2026-11-20", "python t.py --date 2026-11-21"),
    "resumed": (
        "python t.py --lr 1 --resume_from_checkpoint out/checkpoint-500",
        "python t.py --lr 1",
    ),
    "resumed by a flag": ("python t.py --resume --lr 1", "python t.py --lr 1"),
    "resumed as Hydra has it": ("python t.py +resume_from=/x/any", "python t.py"),
    "resumed as Lightning has it": ("python t.py fit --ckpt_path last", "python t.py fit"),
    "resumed as nanoGPT has it": ("python t.py --init_from=resume", "python t.py"),
    "id of the tracker": ("python t.py --wandb_id ab12cd34", "python t.py --wandb_id zz99yy88"),
    "log behind >": ("sh -c 'python t.py >2026-11-20.log'", "sh -c 'python t.py >2026-11-21.log'"),
    "log behind tee": (
        "bash -ec 'python t.py 2>&1 | tee l_20261120.txt'",
        "bash -ec 'python t.py 2>&1 | tee l_20261121.txt'",
    ),
    "in a script": (
        "bash -c 'cd /x && SEED=1 MASTER_PORT=29500 python t.py --seed 3; echo done'",
        "bash -c 'cd /x && SEED=2 MASTER_PORT=29501 python t.py --seed 4; echo done'",
    ),
    "other cards": (
        "env CUDA_VISIBLE_DEVICES=0,1 python t.py",
        "env CUDA_VISIBLE_DEVICES=6,7 python t.py",
    ),
}  # fmt: skip

APART = {
    "learning rate": ("python t.py --lr 0.1", "python t.py --lr 0.2"),
    "batch size": ("python t.py --batch_size=8", "python t.py --batch_size=16"),
    "flag": ("python t.py", "python t.py --fp16"),
    "program": ("python a.py", "python b.py"),
    "interpreter": ("python t.py", "/opt/other/bin/python t.py"),
    "configuration": ("python t.py configs/a.yaml", "python t.py configs/b.yaml"),
    "configuration behind a flag": ("python t.py --resume a.yaml", "python t.py --resume b.yaml"),
    "base model": (
        "python t.py --model_name_or_path llama-13b",
        "python t.py --model_name_or_path llama-70b",
    ),
    "base checkpoint": (
        "python t.py --model_name_or_path out/checkpoint-500",
        "python t.py --model_name_or_path out/checkpoint-900",
    ),
    "date of a data set": (
        "python t.py --dataset wikipedia-20220301.en",
        "python t.py --dataset wikipedia-20231101.en",
    ),
    "date behind a dot": (
        "python t.py dataset.name=c4-2024-01-01",
        "python t.py dataset.name=c4-2025-01-01",
    ),
    "range of dates": (
        "python t.py --period 2020-01-01_2021-01-01",
        "python t.py --period 2020-01-01_2022-01-01",
    ),
    "revision": (
        "python t.py --revision 3fa9c1d0b2c4d6e8f0a1b2c3d4e5f60718293a4b",
        "python t.py --revision 00b1c2d3e4f5061728394a5b6c7d8e9fa0b1c2d3",
    ),
    "output of another kind": ("python t.py --output_dir out/a", "python t.py --output_dir out/b"),
    "script that is nobody's": ("bash tmp_trainer.sh", "bash tmp_predict.sh"),
    "directory in /tmp": ("bash /tmp/train_a/t.sh", "bash /tmp/train_b/t.sh"),
    "number that looks like a time": (
        "python t.py --max_tokens 1600000000",
        "python t.py --max_tokens 1700000000",
    ),
    "rank of LoRA": ("python t.py --rank 8", "python t.py --rank 64"),
    "how weights begin": ("python t.py --init_method xavier", "python t.py --init_method zeros"),
    "what it begins with": ("python t.py --init_from=gpt2", "python t.py --init_from=gpt2-xl"),
    "processes": ("torchrun --nproc_per_node 4 t.py", "torchrun --nproc_per_node 8 t.py"),
    "number of cards": (
        "env CUDA_VISIBLE_DEVICES=0 python t.py",
        "env CUDA_VISIBLE_DEVICES=0,1 python t.py",
    ),
    "seed that is none": ("python t.py --seed data/a.json", "python t.py --seed data/b.json"),
    "order": ("python t.py a b", "python t.py b a"),
    "script": ("bash -c 'python a.py'", "bash -c 'python b.py'"),
    "words and script": ("bash -c 'python t.py'", "bash -c python t.py"),
    "name of the run": ("python t.py --run_name bert", "python t.py --run_name gpt"),
}  # fmt: skip


@pytest.mark.parametrize("one", SAME)
def test_same_training(one: str) -> None:
    """Parts that change from run to run do not change the fingerprint."""
    first, second = SAME[one]
    assert compute_fingerprint(shlex.split(first), "/x", None) == compute_fingerprint(
        shlex.split(second), "/x", None
    )


@pytest.mark.parametrize("one", APART)
def test_other_training(one: str) -> None:
    """Two trainings have two fingerprints."""
    first, second = APART[one]
    assert compute_fingerprint(shlex.split(first), "/x", None) != compute_fingerprint(
        shlex.split(second), "/x", None
    )


def test_directory_and_name_count() -> None:
    """Another directory or name means another training; another day does not."""
    command = ["python", "train.py"]
    made = {
        compute_fingerprint(command, "/x", None),
        compute_fingerprint(command, "/x/", None),
        compute_fingerprint(command, "/y", None),
        compute_fingerprint(command, None, None),
        compute_fingerprint(command, "/x", "bert 2026-11-20"),
        compute_fingerprint(command, "/x", "bert 2026-11-21"),
        compute_fingerprint(command, "/x", "gpt 2026-11-21"),
    }
    assert len(made) == 5


@pytest.mark.parametrize(
    "word",
    ["\udcff\0\n", "--seed=" + "1" * 100_000, "a=" * 50_000, "tmp/" * 50_000, "resume_" * 20_000],
)
def test_fingerprint_of_anything(word: str) -> None:
    """Any words have a fingerprint, computed quickly."""
    assert len(compute_fingerprint(["sh", "-c", word, word], word, word)) == 32


# -- rows of the history -----------------------------------------------------------------------

LAUNCH = LaunchRecord(run_id="20261120-1", command=("python", "t.py"), cwd="/x", host="n1")
EXITED = {"started_at": 100.0, "ended_at": 400.0}
WELL = verdict_with(disposition=Disposition.COMPLETED, cause="none", family="G1")


def test_measured_values_of_the_verdict() -> None:
    """The numbers of a run are those of its verdict, under the same names."""
    measured = {"steps": 90, "step_time_s": 0.5, "throughput": 12, "resumed": True, "gpus": 8}
    run = make_past_run(LAUNCH, EXITED, replace(WELL, measured={**measured, "more": "later"}))
    assert run is not None
    assert {name: getattr(run, name) for name in measured} == measured
    assert (run.disposition, run.cause, run.family, run.host) == ("completed", "none", "G1", "n1")
    assert (run.duration_s, run.is_healthy) == (300.0, True)


@pytest.mark.parametrize(
    ("verdict", "gpu_seconds", "wasted"),
    [
        (replace(WELL, measured={"gpus": 8}), 2400.0, 0.0),
        (replace(WELL, measured={"gpus": 8, "gpu_seconds": 7.0}), 7.0, 0.0),
        (verdict_with(cause="cuda_oom", measured={"gpus": 8}), 2400.0, None),
        (verdict_with(cause="x", measured={"gpus": 1, "wasted_gpu_seconds": 9}), 300.0, 9.0),
        (WELL, None, None),
        (None, None, None),
    ],
)
def test_gpu_seconds(
    verdict: Verdict | None, gpu_seconds: float | None, wasted: float | None
) -> None:
    """Without a measurement, GPU-seconds are GPUs times duration; a successful run wasted none."""
    run = make_past_run(LAUNCH, EXITED, verdict)
    assert run is not None
    assert (run.gpu_seconds, run.wasted_gpu_seconds) == (gpu_seconds, wasted)


@pytest.mark.parametrize(
    "launch",
    [
        structs.replace(LAUNCH, supervised=False),
        structs.replace(LAUNCH, command=()),
        structs.replace(LAUNCH, run_id=None),
        structs.replace(LAUNCH, run_id="../x"),
    ],
)
def test_runs_without_a_row(launch: LaunchRecord) -> None:
    """A run that another program supervised, or whose command or times are unknown, has no row."""
    assert make_past_run(launch, EXITED, WELL) is None


def test_watched_process_has_a_row() -> None:
    """A process that gpualert did not start and watched has its GPU-hours, as a run has."""
    watched = structs.replace(LAUNCH, supervised=False, uid=1000)
    run = make_past_run(watched, EXITED, verdict_with(measured={"gpus": 2}))
    assert run is not None
    assert run.duration_s is not None
    assert run.gpu_seconds == 2 * run.duration_s


@pytest.mark.parametrize(
    "wrong", ["7", True, [7], float("nan"), float("inf"), 1 << 62, 1 << 2000, None]
)
def test_number_that_is_not_finite(wrong: object) -> None:
    """A number that is not finite counts as unknown."""
    run = make_past_run(LAUNCH, EXITED, verdict_with(measured={"steps": wrong, "last_loss": wrong}))
    assert run is not None
    assert (run.steps, run.last_loss) == (None, None)


def test_long_names_are_distinguished() -> None:
    """Names and directories of any length are compared as a whole."""
    long = "/x" * 500
    runs = [
        make_past_run(structs.replace(LAUNCH, cwd=long + cwd, name=long + name), EXITED, WELL)
        for cwd in "ab"
        for name in "ab"
    ]
    assert len({run.fingerprint for run in runs if run is not None}) == 4


# -- baselines ---------------------------------------------------------------------------------


def test_baseline() -> None:
    """A baseline has medians and median deviations of the successful runs."""
    times = [10.0, 12.0, 11.0, 30.0]
    runs = [ended(n, step_time_s=value, steps=100) for n, value in enumerate(times)]
    usual = compute_baseline([*runs, ended(9, step_time_s=1.0, cause="nan_loss")])
    assert usual is not None
    assert usual.runs == 4
    assert usual.step_time_s == Spread(11.5, 1.0, 4)
    assert usual.steps == Spread(100, 0, 4)
    assert usual.duration_s == Spread(500.0, 0.0, 4)
    assert usual.throughput is None


@pytest.mark.parametrize("fields", [{"cause": "cuda_oom"}, {"disposition": "killed"}])
def test_no_baseline_of_few(fields: dict[str, str]) -> None:
    """Two successful runs give no baseline, with any number of others."""
    assert compute_baseline([]) is None
    bad = [ended(n, **fields) for n in range(9)]
    assert compute_baseline([ended(10), ended(11), *bad]) is None
    assert compute_baseline([ended(10), ended(11), ended(12), *bad]) is not None


def test_resumed_runs_are_parts() -> None:
    """Steps and duration of a resumed run do not count; its speed does."""
    runs = [ended(n, steps=10, step_time_s=1.0, resumed=n > 1) for n in range(4)]
    usual = compute_baseline(runs)
    assert usual is not None
    assert (usual.steps, usual.duration_s) == (None, None)
    assert usual.step_time_s == Spread(1.0, 0.0, 4)


def test_throughput_of_one_unit() -> None:
    """Throughputs of several units are not mixed; the unit of the newest run counts."""
    tokens = [ended(n, throughput=900.0, throughput_unit="tokens") for n in (9, 8, 7)]
    samples = [ended(n, throughput=3.0, throughput_unit="samples") for n in (6, 5, 4, 3)]
    usual = compute_baseline([*tokens, *samples])
    assert usual is not None
    assert (usual.throughput, usual.throughput_unit) == (Spread(900.0, 0.0, 3), "tokens")


# -- rows --------------------------------------------------------------------------------------


def test_added_run_is_found(place: str) -> None:
    """A run is read back unchanged."""
    full = ended(
        1,
        name="näme \N{SNOWMAN}",
        host="n1",
        family="G1",
        steps=90,
        last_step=99,
        total_steps=100,
        step_time_s=0.25,
        throughput=3.5,
        throughput_unit="samples",
        first_loss=2.5,
        last_loss=0.5,
        best_loss=0.4,
        gpus=8,
        gpu_seconds=4000.0,
        wasted_gpu_seconds=0.0,
        peak_host_memory_bytes=1 << 40,
        peak_gpu_memory_bytes=1 << 36,
        resumed=False,
    )
    bare = ended(2, disposition=None, cause=None, ended_at=None)
    assert History.open(place).add(full, bare) == ""
    assert History.open(place).find_runs(TRAINING) == [bare, full]
    assert History.open(place).read_all() == {run.run_id: run for run in (full, bare)}


def test_newest_first_and_only_older_ones(place: str) -> None:
    """Runs of a training before another run are found, newest first."""
    runs = History.open(place)
    runs.add(*(ended(n, (TRAINING, OTHER)[n % 2]) for n in range(20)))
    assert numbers(runs.find_runs(TRAINING)) == [18, 16, 14, 12, 10, 8, 6, 4, 2, 0]
    assert numbers(runs.find_runs(TRAINING, before=ended(12).run_id, most=3)) == [10, 8, 6]
    assert runs.find_runs("c" * 32) == []


def test_added_run_replaces_its_row(place: str) -> None:
    """A run that is added again replaces its earlier row."""
    runs = History.open(place)
    runs.add(ended(1, cause="killed_unknown"))
    runs.add(ended(1, cause="oom_killer"))
    assert [run.cause for run in runs.find_runs(TRAINING)] == ["oom_killer"]


def test_reading_makes_nothing(place: str) -> None:
    """Reading creates no file and reports no problem."""
    runs = History.open(place)
    assert (runs.find_runs(TRAINING), runs.read_all(), runs.import_pending(), runs.exists) == (
        [],
        {},
        "",
        False,
    )
    assert os.listdir(place) == []


def test_oldest_of_one_training_go_first(place: str) -> None:
    """A frequent training keeps its newest runs and displaces no others."""
    runs = History.open(place)
    runs.add(ended(0, OTHER))
    runs.add(*(ended(n) for n in range(1, MOST_PER_FINGERPRINT + 11)))
    assert numbers(runs.find_runs(TRAINING, most=1000)) == list(
        range(MOST_PER_FINGERPRINT + 10, 10, -1)
    )
    assert numbers(runs.find_runs(OTHER)) == [0]


def test_oldest_of_all_go_first(place: str) -> None:
    """The file is bounded for any number of trainings."""
    runs = History.open(place)
    for first in range(0, MOST + 100, 1000):
        more = range(first, min(first + 1000, MOST + 100))
        assert runs.add(*(ended(n, f"{n // 40:032d}") for n in more)) == ""
    assert numbers(list(runs.read_all().values())) == list(range(100, MOST + 100))


def test_files_are_private(place: str) -> None:
    """Only the owner can read the history, with any umask."""
    before = os.umask(0)
    try:
        with others_having_it(place):
            History.open(place).add(ended(1))
        History.open(place).add(ended(2))
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in Path(place).iterdir()}
    assert modes == {NAME: 0o600, "history.lock": 0o600, FOLDER: 0o700}


def test_launch_does_not_import_sqlite(place: str) -> None:
    """Only a process that opens the file imports SQLite, not one that queues a run."""
    code = (
        "import sys\n"
        "from gpualert_common.history import History, PastRun, queue_run\n"
        f"queue_run({place!r}, PastRun('1', 'x', 1.0))\n"
        "assert 'sqlite3' not in sys.modules\n"
        f"assert History.open({place!r}).import_pending() == ''\n"
        "assert 'sqlite3' in sys.modules\n"
    )
    subprocess.run(python(code), check=True)
    assert list(History.open(place).read_all()) == ["1"]


# -- many at once ------------------------------------------------------------------------------

WRITER = """
import sys
from gpualert_common.history import History, PastRun
place, writer, rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sys.stdin.read()
problems = set()
for row in range(rows):
    number = writer * rows + row
    run = PastRun(f"20261120-101010-{number:06d}-abcd", f"{writer:032d}", 1.0)
    problems.add(History.open(place).add(run))
print(*sorted(problems - {""}), sep="\\n")
"""


def write_at_once(lab: Lab, place: str, writers: int, rows: int) -> list[str]:
    """Return the output of several processes that add runs at the same time."""
    read_fd, write_fd = os.pipe()
    options: dict[str, Any] = {"stdin": read_fd, "stdout": subprocess.PIPE, "text": True}
    started = [
        lab.start((*python(WRITER), place, str(writer), str(rows)), **options)
        for writer in range(writers)
    ]
    os.close(read_fd)
    os.close(write_fd)
    printed = [str(process.communicate(timeout=120)[0]).strip() for process in started]
    assert [process.returncode for process in started] == [0] * writers
    return [text for text in printed if text]


def test_many_writers_lose_nothing(lab: Lab, place: str) -> None:
    """All runs that many processes add at the same time are kept."""
    assert write_at_once(lab, place, writers=20, rows=20) == []
    assert numbers(list(History.open(place).read_all().values())) == list(range(400))
    assert not any(Path(place).glob(f"{FOLDER}/*"))


def test_many_writers_and_a_damaged_file(lab: Lab, place: str) -> None:
    """One process renames a damaged file, once, and no new row is lost."""
    (Path(place) / NAME).write_bytes(b"damaged" * 1000)
    problems = write_at_once(lab, place, writers=10, rows=5)
    assert len(problems) <= 1  # none if a reader that imports queued runs finds the damage
    aside = [path.name for path in Path(place).iterdir() if ".damaged-" in path.name]
    assert aside == [f"{NAME}.damaged-1"]
    assert len(History.open(place).read_all()) == 50


def test_writer_that_is_killed(lab: Lab, place: str) -> None:
    """A writer that is killed leaves a valid file."""
    for killed in range(5):
        process = lab.start((*python(WRITER), place, str(killed), "100000"))
        until(partial(History.open(place).find_runs, f"{killed:032d}"), "its first row")
        process.kill()
        process.wait()
        assert History.open(place).add(ended(killed)) == ""
    assert numbers(History.open(place).find_runs(TRAINING)) == [4, 3, 2, 1, 0]
    with closing(sqlite3.connect(Path(place) / NAME)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


# -- other faults ------------------------------------------------------------------------------


@contextmanager
def others_having_it(place: str) -> Iterator[None]:
    """Lock the file for longer than the deadline."""
    code = (
        "import fcntl, os, sys\n"
        f"fd = os.open({place + '/history.lock'!r}, os.O_RDWR | os.O_CREAT, 0o600)\n"
        "fcntl.flock(fd, fcntl.LOCK_EX)\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(python(code), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield
        process.communicate()


def test_locked_file(place: str) -> None:
    """If the file is locked, a run is queued, and the next process imports it."""
    History.open(place).add(ended(1))
    with others_having_it(place):
        runs = History.open(place)
        assert runs.add(ended(2), ended(3)) == ""
        assert runs.find_runs(TRAINING) == []
        assert runs.problem == f"{place}/{NAME}: locked by another process for {DEADLINE_S:g} s"
        assert rebuild(place).problem == runs.problem
    assert numbers(runs.find_runs(TRAINING)) == [3, 2, 1]
    assert os.listdir(Path(place) / FOLDER) == []


def test_file_locked_by_sqlite(place: str) -> None:
    """A lock of SQLite itself has the same deadline."""
    runs = History.open(place)
    runs.add(ended(1))
    with closing(sqlite3.connect(Path(place) / NAME, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        assert runs.add(ended(2)) == ""
        assert runs.find_runs(TRAINING) == []
        assert "locked" in runs.problem
    assert numbers(runs.find_runs(TRAINING)) == [2, 1]


def test_fork_does_not_hold_the_lock(place: str) -> None:
    """A child that the caller forked meanwhile does not hold the lock."""
    database = Database(place, NAME, application=1, schema=1, tables=())
    pid = database.use(lambda _connection: os.fork())
    if pid == 0:
        signal.pause()
    try:
        assert database.use(lambda _connection: "free") == "free"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_too_many_wait(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue is bounded, and the next run reports that it is full."""
    monkeypatch.setattr("gpualert_common.history.pending.MOST", 3)
    with others_having_it(place):
        problems = [History.open(place).add(ended(n)) for n in range(5)]
    assert problems[:3] == [""] * 3
    assert all("not added: 3 runs wait in " in words for words in problems[3:])


def test_waiting_runs_that_are_damaged(place: str) -> None:
    """Invalid queued files are removed; those of a later release stay."""
    folder = Path(place) / FOLDER
    folder.mkdir(0o700)
    for name, text in {
        "a.json": "{",
        "b.json": '{"schema": 1, "run_id": "../x", "fingerprint": "x", "started_at": 1}',
        "c.json": '{"schema": 2}',
        "d.json": '{"schema": 1, "run_id": "d", "fingerprint": "x", "started_at": 1}',
    }.items():
        (folder / name).write_text(text)
    os.symlink("/etc/passwd", folder / "e.json")
    assert import_pending(place) == ""
    assert list(History.open(place).read_all()) == ["d"]
    assert os.listdir(folder) == ["c.json"]


def damaged_files(place: str) -> Iterator[tuple[str, bytes]]:
    """Return a valid file with many kinds of damage, by kind."""
    path = Path(place) / NAME
    History.open(place).add(*(ended(n, f"{n % 7:032d}") for n in range(200)))
    sound = path.read_bytes()
    path.unlink()
    yield "nothing like it", os.urandom(5000)
    yield "a text", b"not a database\n"
    for size in (1, 15, 16, 99, 100, 101, 4095, 4096, 4097, len(sound) // 2, len(sound) - 1):
        yield f"cut to {size} bytes", sound[:size]
    chance = random.Random(7)
    for turn in range(40):
        flipped = bytearray(sound)
        for _byte in range(chance.choice((1, 20, 500))):
            flipped[chance.randrange(len(flipped))] = chance.randrange(256)
        yield f"bytes flipped, {turn}", bytes(flipped)
    page = bytearray(sound)
    page[4096:8192] = bytes(4096)
    yield "a page lost", bytes(page)


def test_damaged_file(tmp_path: Path, place: str) -> None:
    """Damage never raises; the next run is kept, and the damaged file is renamed and reported."""
    aside = 0
    for what, content in damaged_files(place):
        new = tmp_path / what.replace(" ", "-")
        new.mkdir()
        (new / NAME).write_bytes(content)
        runs = History.open(str(new))
        problems = runs.add(ended(900))
        found = runs.find_runs(TRAINING)
        problems += runs.problem
        kept = [path for path in new.iterdir() if ".damaged-" in path.name]
        assert bool(kept) == ("created again" in problems), what
        if kept:
            assert f"kept as {kept[0].name}" in problems, what
            assert kept[0].read_bytes()[:20] == content[:20], what
            runs.add(ended(900))
            found = runs.find_runs(TRAINING)
        assert numbers(found) == [900], what
        aside += bool(kept)
    assert aside > 20


def test_something_else_in_its_place(place: str) -> None:
    """Any other file in its place is renamed unchanged; the last three are kept."""
    path = Path(place) / NAME
    path.mkdir()
    (path / "file").touch()
    assert "a folder, not a file" in History.open(place).add(ended(1))
    assert (Path(place) / f"{NAME}.damaged-1" / "file").exists()
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE cookies (name)")
    assert "a database of another application" in History.open(place).add(ended(2))
    path.unlink()
    path.symlink_to("/etc/passwd")
    assert "a link, not a file" in History.open(place).add(ended(3))
    assert numbers(History.open(place).find_runs(TRAINING)) == [3]


def test_damaged_files_are_bounded(place: str) -> None:
    """The last three renamed files stay, also if another one cannot be removed."""
    for number in range(6):
        path = Path(place) / NAME
        path.unlink(missing_ok=True)
        path.mkdir() if number == 0 else path.write_text(f"damaged {number}")
        History.open(place).add(ended(number))
    kept = sorted(path.name for path in Path(place).iterdir() if ".damaged-" in path.name)
    assert kept == [f"{NAME}.damaged-{number}" for number in (1, 4, 5, 6)]
    assert (Path(place) / kept[-1]).read_text() == "damaged 5"


def test_newer_file_is_not_changed(place: str) -> None:
    """A file of a newer release is neither read nor changed, and the problem says so."""
    path = Path(place) / NAME
    runs = History.open(place)
    runs.add(ended(1))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 2")
    before = path.read_bytes()
    assert "schema 2 was written by a newer gpualert" in runs.add(ended(2))
    assert runs.find_runs(TRAINING) == []
    assert "upgrade gpualert-common" in runs.problem
    assert path.read_bytes() == before


def test_invalid_rows(place: str) -> None:
    """A value of a wrong type counts as unknown, and an invalid row as absent."""
    runs = History.open(place)
    runs.add(ended(1), ended(2), ended(3))
    with closing(sqlite3.connect(Path(place) / NAME, isolation_level=None)) as connection:
        change = "UPDATE runs SET {} WHERE run_id LIKE '%-{:06d}-%'"
        connection.execute(change.format("gpus = 'eight', name = x'ff', steps = 1e300", 1))
        connection.execute(change.format("started_at = NULL", 2))
    found = runs.find_runs(TRAINING)
    assert numbers(found) == [3, 1]
    assert (found[1].gpus, found[1].name, found[1].steps) == (None, None, None)


NO_LOCKS = """
#include <errno.h>
int flock(int fd, int how) { (void)fd; (void)how; errno = ENOLCK; return -1; }
"""


def test_no_locks(tmp_path: Path, place: str) -> None:
    """On a file system without locks there is no history, with a reason."""
    source, library = tmp_path / "no_locks.c", tmp_path / "no_locks.so"
    source.write_text(NO_LOCKS)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    code = (
        "from gpualert_common.history import History, PastRun\n"
        f"runs = History.open({place!r})\n"
        "print(runs.add(PastRun('1', 'x', 1.0)))\n"
        "print(runs.find_runs('x'), runs.problem)\n"
    )
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    done = subprocess.run(python(code), capture_output=True, text=True, env=environment, check=True)
    no_lock = f"{place}/{NAME}: {os.strerror(errno.ENOLCK)}"
    assert done.stdout == f"{no_lock}; not added\n[] \n"
    assert os.listdir(place) == ["history.lock"]


def test_python_without_sqlite(place: str) -> None:
    """A Python without SQLite has no history and no other problem."""
    History.open(place).add(ended(1))
    code = (
        "import sys\n"
        "sys.modules['_sqlite3'] = None\n"
        "from gpualert_common.history import History, PastRun\n"
        f"runs = History.open({place!r})\n"
        "print(runs.add(PastRun('1', 'x', 1.0)))\n"
        "print(runs.read_all(), runs.problem)\n"
    )
    done = subprocess.run(python(code), capture_output=True, text=True, check=True)
    assert done.stdout.count("this Python has no SQLite") == 2


def test_missing_state_directory(place: str) -> None:
    """Without a state directory nothing is created."""
    gone = f"{place}/gone"
    assert "No such file or directory" in History.open(gone).add(ended(1))
    assert History.open(gone).read_all() == {}
    assert rebuild(gone) == IndexResult(0)
    assert os.listdir(place) == []


@pytest.mark.e2e
def test_full_disk(small_disk: Path) -> None:
    """On a full disk a run is not added, existing rows can be read, and the next run is added."""
    runs = History.open(str(small_disk))
    runs.add(*(ended(n) for n in range(40)))
    filler = small_disk / "filler"
    with open(filler, "wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass
    assert runs.add(ended(50)).endswith("full; not added")
    assert len(runs.find_runs(TRAINING, most=100)) == 40
    assert runs.problem == ""
    filler.unlink()
    assert runs.add(ended(51)) == ""
    assert len(runs.find_runs(TRAINING, most=100)) == 41


@pytest.mark.e2e
def test_disk_that_fills_while_runs_wait(small_disk: Path) -> None:
    """Queued runs on a full disk stay queued, and the file can be read."""
    place = str(small_disk)
    runs = History.open(place)
    runs.add(*(ended(n) for n in range(40)))
    with others_having_it(place):
        runs.add(*(ended(n) for n in range(100, 140)))
    filler = small_disk / "filler"
    with open(filler, "wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass
    assert len(runs.find_runs(TRAINING, most=100)) == 40
    assert "full; 40 runs wait to be added" in runs.problem
    filler.unlink()
    assert len(runs.find_runs(TRAINING, most=100)) == MOST_PER_FINGERPRINT


@pytest.mark.e2e
@pytest.mark.parametrize("lock", [True, False])
def test_read_only_disk(small_disk: Path, lock: bool) -> None:
    """On a read-only disk the history can be read and not changed."""
    runs = History.open(str(small_disk))
    runs.add(ended(1))
    if not lock:
        (small_disk / "history.lock").unlink()
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert "not added" in runs.add(ended(2))
    assert numbers(runs.find_runs(TRAINING)) == [1]
    assert runs.problem == ""


@pytest.mark.e2e
def test_file_of_another_user(place: str) -> None:
    """A file of another user is neither read nor changed."""
    runs = History.open(place)
    runs.add(ended(1))
    os.chown(Path(place) / NAME, 65534, 65534)
    assert "belongs to user 65534" in runs.add(ended(2))
    assert runs.find_runs(TRAINING) == []
    assert (Path(place) / NAME).stat().st_uid == 65534


# -- from the records --------------------------------------------------------------------------


def measure(record: Record, **measured: object) -> None:
    """Add measured values to the verdict of a record."""
    verdict = record.read_json(VERDICT)
    assert verdict is not None
    record.write_json(VERDICT, {**verdict, "measured": measured})


def test_history_is_made_from_the_records(lab: Lab) -> None:
    """A lost file is rebuilt from the records of real runs."""
    command = shell("echo step 1; exit $0")
    for status in ("0", "3", "0"):
        lab.gpualert("run", "--name", "train 2026-11-20", "--", *command, status)
    for path in lab.records():
        measure(Record.open(str(path)), gpus=4, steps=7)
    forget_history(lab)
    assert rebuild(str(lab.state)) == IndexResult(3)
    runs = list(History.open(str(lab.state)).read_all().values())
    assert [run.run_id for run in runs] == [path.name for path in lab.records()]
    assert [run.disposition for run in runs] == ["completed", "failed", "completed"]
    assert {(run.name, run.host, run.steps, run.gpus) for run in runs} == {
        ("train 2026-11-20", os.uname().nodename, 7, 4)
    }
    assert [run.gpu_seconds for run in runs] == [4 * (run.duration_s or 0) for run in runs]
    first, second, third = (run.fingerprint for run in runs)
    assert first == third != second
    assert rebuild(str(lab.state)) == IndexResult(0)


def forget_history(lab: Lab) -> None:
    """Remove all files of the history."""
    for path in lab.state.glob("history.*"):
        path.rmdir() if path.is_dir() else path.unlink()


def test_records_that_are_passed_over(lab: Lab) -> None:
    """Damaged records, runs in progress and other files are skipped."""
    lab.run("true")
    lab.run("true")
    lab.run("true")
    one, two, three = lab.records()
    (one / EXIT).write_text("{")
    (two / VERDICT).write_text("[]")
    (lab.state / "runs" / "file").touch()
    (lab.state / "runs" / "empty").mkdir()
    live = lab.launch("sleep", "1000")
    forget_history(lab)
    assert rebuild(str(lab.state)) == IndexResult(1)
    assert list(History.open(str(lab.state)).read_all()) == [three.name]
    assert index_run(Record.open(live.record.path)) == ""
    assert list(History.open(str(lab.state)).read_all()) == [three.name]


def test_time_for_the_newest_only(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a short deadline the newest records are read; the number of the others is returned."""
    monkeypatch.setattr("gpualert_common.history.indexing._BATCH_RUNS", 1)
    for _run in range(3):
        lab.run("true")
    forget_history(lab)
    clock = iter([0.0, 1.0, 2.0, 3.0])
    monkeypatch.setattr("gpualert_common.history.indexing._now", lambda: next(clock))
    assert rebuild(str(lab.state), deadline_s=2.0) == IndexResult(1, left=2)
    assert list(History.open(str(lab.state)).read_all()) == [lab.records()[-1].name]


def test_run_that_ended_begins_the_history(lab: Lab) -> None:
    """The first indexed run also imports the earlier ones, also after damage."""
    for _run in range(3):
        lab.run("true")
    forget_history(lab)
    newest = Record.open(str(lab.records()[-1]))
    assert index_run(newest) == ""
    assert len(History.open(str(lab.state)).read_all()) == 3
    (lab.state / NAME).write_bytes(b"damaged" * 1000)
    assert f"kept as {NAME}.damaged-1, created again" in index_run(newest)
    assert len(History.open(str(lab.state)).read_all()) == 3
