"""Views of invented runs, to try templates on."""

from __future__ import annotations

from gpualert_common.model import Artifact, Fate
from gpualert_common.report.alerted_job import AlertedJob, JobRow
from gpualert_common.report.run_view import RunView
from gpualert_common.report.task_view import TaskView
from gpualert_common.report.verdict_view import EvidenceItem
from gpualert_common.structs import replace

_RUN = "20261121-023010-412733-9c1e"
_RECORD = f"/var/lib/gpualert/runs/{_RUN}"


FAILED = RunView(
    run_id=_RUN,
    job="train-llm",
    host="gpu-17.example.org",
    command="torchrun --nproc-per-node 8 train.py --config configs/7b.yaml",
    cwd="/srv/projects/llm",
    attempt=2,
    final=False,
    state="up_for_retry",
    task=TaskView(
        name="nightly.train_llm[3]",
        engine="Airflow",
        workflow="nightly",
        workflow_run="scheduled__2026-11-21",
        map_index=3,
        owner="language-models",
        url="https://airflow.example.org/dags/nightly/grid",
    ),
    disposition="failed",
    cause="cuda_oom",
    headline="CUDA out of memory: 2.0 GiB requested on a 79.2 GiB card",
    confidence=0.95,
    attribution="job",
    retry="after_fix",
    exit_status="exit status 1",
    started_at=1795228210.0,
    ended_at=1795239310.0,
    duration_s=11100.0,
    implies="The GPU had too little free memory for an allocation of the program. The same "
    "command on the same card fails again.",
    cannot_decide=("which tensor or setting to reduce",),
    do=(
        "lower the batch size or sequence length, or turn on gradient checkpointing",
        "shard the model or its optimizer (FSDP, ZeRO), or use a card with more memory",
    ),
    shows=(
        EvidenceItem("it ended with exit status 1", "exit status"),
        EvidenceItem(
            "torch.OutOfMemoryError was raised in forward (model.py:212)",
            "output.log:812, rank 3",
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        ),
    ),
    warnings=("2 processes of the run outlived it",),
    log_path=f"{_RECORD}/output.log",
    log_paths=(f"{_RECORD}/output.log",),
    logs=(f"{_RECORD}/output.log",),
    log_bytes=1_482_911,
    log_tail=(
        "[rank3]:   File \"/srv/projects/llm/model.py\", line 212, in forward",
        "[rank3]:     scores = torch.matmul(q, k.transpose(-2, -1)) * self.scale",
        "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        "E1121 05:35:08 elastic_launch: failed (exitcode: 1) local_rank: 3 (pid: 48213)",
    ),
    record_path=_RECORD,
    next_command=f"gpualert show {_RUN}",
    artifacts=(
        Artifact("/srv/projects/llm/metrics.json", "metrics.json", 12_698, Fate.ATTACHED,
                 sha256="3f2a9c01b7de" + "0" * 52, sent_bytes=12_698),
        Artifact("/srv/projects/llm/out/eval.csv", "out/eval.csv", 48_112_640, Fate.TRUNCATED,
                 "larger than a message may be; head and tail kept", sent_bytes=262_144,
                 redactions=1),
        Artifact("/srv/projects/llm/out/step_12000.pt", "out/step_12000.pt", 14_495_514_624,
                 Fate.LEFT_IN_PLACE, "a checkpoint"),
    ),
    beyond_cap=812,
    notes=("the search stopped after 20,000 files",),
    redactions=3,
)  # fmt: skip
"""A second attempt that ran out of memory, with a value in every field of a message."""

COMPLETED = replace(
    FAILED,
    attempt=1,
    final=True,
    state=None,
    task=None,
    disposition="completed",
    cause="none",
    headline="Completed with exit status 0; no failure found",
    attribution="none",
    retry="no",
    exit_status="exit status 0",
    implies="The program exited by itself and reported success.",
    do=("nothing",),
    shows=(EvidenceItem("it ended with exit status 0", "exit status"),),
    warnings=(),
    log_tail=("epoch 3 of 3, loss 1.842", "saved out/final.pt"),
    beyond_cap=0,
    notes=(),
    redactions=0,
)
"""A successful run without an engine."""

UNEXPLAINED = replace(
    COMPLETED,
    job="python train.py",
    command="python train.py",
    cwd="",
    disposition="unknown",
    cause="unknown",
    headline="Ended with an unknown exit status; no verdict could be made",
    confidence=0.0,
    attribution="unknown",
    retry="unknown",
    exit_status="not known",
    ended_at=None,
    duration_s=None,
    implies="",
    cannot_decide=(),
    do=(),
    shows=(),
    log_path="",
    log_paths=(),
    logs=(),
    log_bytes=0,
    log_tail=(),
    artifacts=(),
)
"""A run about which almost nothing is known: every optional part is empty."""

JOB = replace(
    FAILED,
    job="llama-70b",
    host="gpu7",
    attempt=1,
    final=True,
    state=None,
    task=None,
    headline="CUDA out of memory on gpu7 (rank 61): 2.0 GiB requested on a 79.2 GiB card",
    shows=(
        EvidenceItem(
            "CUDA out of memory: 2.0 GiB requested on a 79.2 GiB card",
            "digest of gpu7, rank 61",
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        ),
    ),
    warnings=(),
    log_tail=(),
    next_command="gpualert job slurm-48213",
    artifacts=(),
    beyond_cap=0,
    notes=(),
    redactions=0,
    alerted_job=AlertedJob(
        key="slurm-48213",
        name="llama-70b",
        attempt=1,
        number=1,
        culprit="gpu7",
        rank="61",
        culprit_record="/var/lib/gpualert/runs/20261121-023011-120440-77ab",
        is_here=False,
        sender="gpu0",
        node_count=64,
        expected_nodes=64,
        rows=(
            JobRow(nodes="gpu7", count=1, ranks="56-63", state="failed", part="culprit",
                   cause="cuda_oom", since_root="+0.0s", last_step="11999", is_culprit=True),
            JobRow(nodes="gpu[0-6,8-63]", count=63, ranks="0-55, 64-511", state="failed",
                   part="cascade", cause="collective", since_root="+1.2s to +4.8s",
                   last_step="11999", is_culprit=False),
        ),
        table=(
            "NODE                     STATE   PART     CAUSE           SINCE ROOT",
            "gpu7                     failed  culprit  cuda_oom             +0.0s",
            "63 nodes: gpu[0-6,8-63]  failed  cascade  collective  +1.2s to +4.8s",
        ),
    ),
)  # fmt: skip
"""A job of 64 nodes, whose alert another node sends than the one at fault."""

SAMPLES = {"failed": FAILED, "completed": COMPLETED, "unexplained": UNEXPLAINED, "job": JOB}
