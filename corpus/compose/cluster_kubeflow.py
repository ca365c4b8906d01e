"""Kubernetes: PyTorchJobs, read with ``kubectl logs``, ``describe`` and ``get events``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from corpus.compose._cluster_blocks import columns, events, killed_worker, log, trainer_steps
from corpus.compose._gpu_hosts import omp
from corpus.compose._gpu_tape import Tape, marked, rank, traceback
from corpus.compose._gpu_torch import Exit, summary
from corpus.compose.composed_log import ComposedLog

_BASIS = "Kubernetes 1.27-1.32 kubelet, describe and event formats, Kubeflow training-operator 1.7-1.9, PyTorch elastic sources"
_SITE = "/usr/local/lib/python3.11/site-packages"
_ROOT = "/app"


def logs() -> Iterator[ComposedLog]:
    """Masters and workers of one team's name space."""
    yield _oom_killed_worker()
    yield _evicted_for_its_scratch()
    yield _shm_of_a_container()
    yield _spot_node_taken_away()
    yield _node_not_ready()
    yield _deadline_of_the_job()
    yield _user_of_the_container()
    yield _entrypoint_not_in_the_image()
    yield _image_of_another_machine()
    yield _claim_not_bound()
    yield _runtime_without_cards()
    yield _master_service_not_found()
    yield _stuck_and_probed()
    yield _elastic_and_finished()


def _pod(
    tape: Tape,
    name: str,
    node: str,
    *,
    state: Sequence[str],
    last: Sequence[str] = (),
    restarts: int = 0,
    status: str = "Failed",
    reason: Sequence[str] = (),
    limits: tuple[str, str] = ("200Gi", "8"),
) -> str:
    return "\n".join(
        [
            f"$ kubectl -n train describe pod {name}",
            f"Name:             {name}",
            "Namespace:        train",
            "Priority:         0",
            "Service Account:  trainer",
            f"Node:             {node}/10.40.{tape.rng.randrange(8)}.{tape.rng.randrange(2, 250)}",
            f"Start Time:       {tape.when('%a, %d %b %Y %H:%M:%S +0000')}",
            "Labels:           training.kubeflow.org/operator-name=pytorchjob-controller",
            f"                  training.kubeflow.org/replica-index={name.rsplit('-', 1)[-1]}",
            f"Status:           {status}",
            *reason,
            "Controlled By:  PyTorchJob/" + name.rsplit("-", 2)[0],
            "Containers:",
            "  pytorch:",
            f"    Container ID:  containerd://{tape.rng.randrange(16**64):064x}",
            "    Image:         registry.example.com/train/llm:2025.02",
            *("    " + one for one in state),
            *("    " + one for one in last),
            "    Ready:          False",
            f"    Restart Count:  {restarts}",
            "    Limits:",
            f"      memory:          {limits[0]}",
            f"      nvidia.com/gpu:  {limits[1]}",
            "    Environment:",
            "      NCCL_DEBUG:          WARN",
            "      PYTHONFAULTHANDLER:  1",
            "    Mounts:",
            "      /dev/shm from dshm (rw)",
            "      /data from data (ro)",
            "QoS Class:        Burstable",
        ]
    )


def _ended(tape: Tape, code: int, reason: str, minutes: int, *, of: str = "State") -> list[str]:
    form = "%a, %d %b %Y %H:%M:%S +0000"
    begun = (tape.at - timedelta(minutes=minutes, seconds=1)).strftime(form)
    return [
        f"{of + ':':<15}Terminated",
        f"  Reason:       {reason}",
        f"  Exit Code:    {code}",
        f"  Started:      {begun}",
        f"  Finished:     {tape.when(form)}",
    ]


def _oom_killed_worker() -> ComposedLog:
    tape = Tape(4301, "2025-02-11 10:02:13")
    tape.say(
        "$ kubectl -n train logs llm-sft-worker-0 --timestamps=false",
        omp(tape, "2.5"),
        *(
            f"Loading checkpoint shards: {int(100 * at / 4):3d}%|{'█' * int(10 * at / 4):<10}| {at}/4 [00:{at * 9:02d}<00:{(4 - at) * 9:02d},  9.31s/it]"
            for at in range(5)
        ),
        trainer_steps(tape, range(10, 81, 10), 6250, loss=1.4, seconds=3.4),
    )
    tape.say(
        summary(
            tape,
            "2.5",
            "/app/sft.py",
            [Exit(11, -9, 104, local=3)],
            host="llm-sft-worker-0",
            site=_SITE,
            binary="/usr/local/bin/python",
            launcher="/usr/local/bin/torchrun",
            killed=(101, 102, 103),
        ),
        _pod(
            tape,
            "llm-sft-worker-0",
            "gpu-a-14",
            state=_ended(tape, 1, "Error", 11),
            last=(),
        ),
        events(
            [
                (
                    "Normal",
                    "Pulled",
                    "12m",
                    "kubelet",
                    "Container image already present on machine",
                ),
                ("Normal", "Started", "12m", "kubelet", "Started container pytorch"),
                (
                    "Warning",
                    "OOMKilling",
                    "41s",
                    "kernel-monitor",
                    "Memory cgroup out of memory: Killed process 2913371 (pt_main_thread) total-vm:241884300kB, anon-rss:52110440kB, file-rss:810240kB, shmem-rss:40kB, UID:0 pgtables:112044kB oom_score_adj:842",
                ),
            ]
        ),
    )
    return log(
        tape,
        "oom_killed_worker",
        "oom_killer",
        1,
        _BASIS,
        command="torchrun --nproc_per_node=8 sft.py",
        torch="2.5.1",
        kubernetes="1.30",
    )


def _evicted_for_its_scratch() -> ComposedLog:
    tape = Tape(4302, "2024-06-20 23:40:31")
    for epoch in range(1, 5):
        for step in (200, 400, 600):
            tape.wait(90).say(
                f"{tape.when()} | INFO | train | epoch {epoch} step {step} loss {tape.near(1.9 / epoch, 0.1):.4f} img/s {tape.near(1480, 0.02):.0f}"
            )
        tape.say(f"{tape.when()} | INFO | ckpt | wrote /scratch/ckpt/ep{epoch}.pt (14.2 GB)")
    tape.say(
        f"{tape.when()} | WARNING | train | received signal 15, stopping after this step",
        _pod(
            tape,
            "det-r101-master-0",
            "gpu-c-02",
            state=_ended(tape, 137, "Error", 31),
            reason=[
                "Reason:           Evicted",
                "Message:          The node was low on resource: ephemeral-storage. Threshold quantity: 21474836480, available: 18840020Ki. Container pytorch was using 61188040Ki, request is 0, has larger consumption of ephemeral-storage. ",
            ],
        ),
        events(
            [
                (
                    "Warning",
                    "Evicted",
                    "3m",
                    "kubelet",
                    "The node was low on resource: ephemeral-storage. Threshold quantity: 21474836480, available: 18840020Ki.",
                ),
                ("Normal", "Killing", "3m", "kubelet", "Stopping container pytorch"),
                (
                    "Warning",
                    "ExceededGracePeriod",
                    "2m51s",
                    "kubelet",
                    "Container runtime did not kill the pod within specified grace period.",
                ),
            ]
        ),
    )
    return log(
        tape,
        "evicted_for_its_scratch",
        "disk_full",
        137,
        _BASIS,
        command="python train.py --ckpt-dir /scratch/ckpt --keep-all",
        why="an eviction, but for the scratch space that this pod itself filled: the next run needs space",
        kubernetes="1.29",
    )


def _shm_of_a_container() -> ComposedLog:
    tape = Tape(4303, "2024-11-05 08:12:44")
    tape.say(
        "$ kubectl -n train logs seg-master-0",
        "Filesystem      Size  Used Avail Use% Mounted on",
        "overlay         1.8T  922G  790G  54% /",
        "shm              64M     0   64M   0% /dev/shm",
        "[11/05 08:13:01 d2.engine.defaults]: Rank of current process: 0. World size: 1",
        "[11/05 08:13:09 d2.data.build]: Distribution of instances among all 19 categories: ...",
        "[11/05 08:13:10 d2.engine.train_loop]: Starting training from iteration 0",
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).",
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).",
        "ERROR [11/05 08:13:14 d2.engine.train_loop]: Exception during training:",
        killed_worker(88, "train_net.py", site=_SITE, root=_ROOT, signal="Bus error").rstrip()
        + ". It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.",
        "[11/05 08:13:14 d2.engine.hooks]: Total training time: 0:00:03 (0:00:00 on hooks)",
        columns(
            [
                ("NAME", "READY", "STATUS", "RESTARTS", "AGE"),
                ("seg-master-0", "0/1", "Error", "0", "4m21s"),
            ]
        ),
    )
    return log(
        tape,
        "shm_of_a_container",
        "shared_memory",
        1,
        _BASIS + "; detectron2",
        command="python train_net.py --num-gpus 1",
        paper_class="runtime_error",
        kubernetes="1.28",
    )


def _spot_node_taken_away() -> ComposedLog:
    tape = Tape(4304, "2025-01-22 02:31:08")
    tape.say("$ kubectl -n train logs -f lm-125m-worker-2")
    for step in range(1000, 2600, 100):
        tape.wait(26).say(
            f"step={step} loss={tape.near(3.2, 0.02):.4f} tok/s={tape.near(182_000, 0.02):.0f} lr=6.0e-04 skipped=0"
        )
    tape.say(
        "rpc error: code = NotFound desc = an error occurred when try to find container: not found",
        "$ kubectl get events -n train --sort-by=.lastTimestamp | tail -6",
        columns(
            [
                ("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"),
                (
                    "4m2s",
                    "Warning",
                    "SpotInterruption",
                    "node/ip-10-40-3-17.ec2.internal",
                    "Spot Interruption event received. Instance will be interrupted at 2025-01-22T02:40:11Z",
                ),
                (
                    "4m1s",
                    "Normal",
                    "NodeNotSchedulable",
                    "node/ip-10-40-3-17.ec2.internal",
                    "Node ip-10-40-3-17.ec2.internal status is now: NodeNotSchedulable",
                ),
                (
                    "3m58s",
                    "Normal",
                    "Killing",
                    "pod/lm-125m-worker-2",
                    "Stopping container pytorch",
                ),
                ("2m4s", "Warning", "NodeNotReady", "pod/lm-125m-worker-2", "Node is not ready"),
                (
                    "65s",
                    "Normal",
                    "TaintManagerEviction",
                    "pod/lm-125m-worker-2",
                    "Marking for deletion Pod train/lm-125m-worker-2",
                ),
                (
                    "60s",
                    "Warning",
                    "PyTorchJobFailed",
                    "pytorchjob/lm-125m",
                    "PyTorchJob lm-125m is failed because 1 Worker replica(s) failed.",
                ),
            ]
        ),
    )
    return log(
        tape,
        "spot_node_taken_away",
        "preempted",
        None,
        _BASIS + "; aws-node-termination-handler",
        command="torchrun --nnodes 4 train.py",
        why="the node became not ready because its spot instance was called back",
        kubernetes="1.30",
    )


def _node_not_ready() -> ComposedLog:
    tape = Tape(4305, "2024-12-12 15:20:50")
    tape.say("$ kubectl -n train logs t5-large-master-0 --tail=60")
    for step in range(7000, 8200, 100):
        tape.wait(51).say(
            f"[{tape.milli()}][train.py:188][INFO] step {step}/100000 loss {tape.near(2.11, 0.02):.3f} gnorm {tape.near(0.6, 0.2):.2f}"
        )
    tape.wait(600).say(
        "[rank0]:[W1212 15:42:19.112009331 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=61, addr=[t5-large-master-0]:23456, remote=[10.40.7.21]:41932): failed to recv, got 0 bytes",
        rank(
            0,
            traceback(
                """
                train.py:251 <module> | main()
                train.py:190 main | dist.all_reduce(loss_sum)
                @torch/distributed/c10d_logger.py:83 wrapper | return func(*args, **kwargs)
                @torch/distributed/distributed_c10d.py:2501 all_reduce | work.wait()
                """,
                "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:2251, remote process exited or there was a network error, NCCL version 2.21.5\nncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\nsocketProgress: Connection closed by remote peer t5-large-worker-1.train.svc<51322>",
                root=_ROOT,
                site=_SITE,
            ),
        ),
        "$ kubectl describe node gpu-b-07 | sed -n '/Conditions/,/Addresses/p'",
        "Conditions:",
        "  Type             Status    LastHeartbeatTime                 LastTransitionTime                Reason              Message",
        "  ----             ------    -----------------                 ------------------                ------              -------",
        "  MemoryPressure   Unknown   Thu, 12 Dec 2024 15:31:02 +0000   Thu, 12 Dec 2024 15:32:17 +0000   NodeStatusUnknown   Kubelet stopped posting node status.",
        "  DiskPressure     Unknown   Thu, 12 Dec 2024 15:31:02 +0000   Thu, 12 Dec 2024 15:32:17 +0000   NodeStatusUnknown   Kubelet stopped posting node status.",
        "  Ready            Unknown   Thu, 12 Dec 2024 15:31:02 +0000   Thu, 12 Dec 2024 15:32:17 +0000   NodeStatusUnknown   Kubelet stopped posting node status.",
        "Addresses:",
        "$ kubectl -n train get pods -l job-name=t5-large -o wide",
        columns(
            [
                ("NAME", "READY", "STATUS", "RESTARTS", "AGE", "NODE"),
                ("t5-large-master-0", "0/1", "Error", "0", "29m", "gpu-b-04"),
                ("t5-large-worker-0", "0/1", "Error", "0", "29m", "gpu-b-05"),
                ("t5-large-worker-1", "1/1", "Terminating", "0", "29m", "gpu-b-07"),
            ]
        ),
    )
    return log(
        tape,
        "node_not_ready",
        "node_failure",
        1,
        _BASIS,
        command="torchrun --nnodes 3 train.py",
        paper_class="nccl",
        why="the peer of the NCCL error ran on the node whose kubelet had gone silent",
        kubernetes="1.29",
        torch="2.4.1",
    )


def _deadline_of_the_job() -> ComposedLog:
    tape = Tape(4306, "2024-08-01 00:00:10")
    for epoch in range(1, 9):
        tape.wait(2600).say(
            f"{tape.when('%Y-%m-%dT%H:%M:%SZ')} epoch={epoch} train_loss={2.4 / epoch**0.5:.4f} val_loss={2.6 / epoch**0.5:.4f} val_acc={0.5 + epoch * 0.04:.4f}"
        )
    tape.say(
        "Terminated",
        "$ kubectl -n train get pytorchjob wav2vec -o jsonpath='{.status.conditions[-1:]}' | jq",
        "[",
        "  {",
        '    "lastTransitionTime": "2024-08-01T06:00:11Z",',
        '    "message": "PyTorchJob wav2vec is failed because it was active longer than specified deadline",',
        '    "reason": "DeadlineExceeded",',
        '    "status": "True",',
        '    "type": "Failed"',
        "  }",
        "]",
    )
    return log(
        tape,
        "deadline_of_the_job",
        "time_limit",
        143,
        _BASIS,
        command="python finetune.py --epochs 40",
        why="activeDeadlineSeconds of the job",
        kubernetes="1.27",
    )


def _user_of_the_container() -> ComposedLog:
    tape = Tape(4307, "2025-03-12 13:51:40")
    tape.say(
        "$ kubectl -n train logs dpo-master-0",
        "uid=65532(nonroot) gid=65532(nonroot) groups=65532(nonroot)",
        "There was a problem when trying to write in your cache folder (/home/nonroot/.cache/huggingface/hub). You should set the environment variable TRANSFORMERS_CACHE to a writable directory.",
        "mkdir -p failed for path /home/nonroot/.config/matplotlib: [Errno 13] Permission denied: '/home/nonroot'",
        "Matplotlib created a temporary cache directory because the default path is not a writable directory; it is highly recommended to set the MPLCONFIGDIR environment variable to a writable directory.",
        rank(
            0,
            traceback(
                """
                dpo.py:140 <module> | main(cfg)
                dpo.py:61 main | run_dir.mkdir(parents=True, exist_ok=True)
                /usr/local/lib/python3.11/pathlib.py:1116 mkdir | os.mkdir(self, mode)
                """,
                "PermissionError: [Errno 13] Permission denied: '/output/dpo-2025-03-12'",
                root=_ROOT,
                site=_SITE,
                carets=True,
            ),
        ),
        summary(
            tape,
            "2.6",
            "dpo.py",
            [Exit(0, 1, 31), Exit(1, 1, 32)],
            host="dpo-master-0",
            site=_SITE,
            binary="/usr/local/bin/python",
            launcher="/usr/local/bin/torchrun",
        ),
        "$ kubectl -n train exec debug -- ls -ld /output",
        "drwxr-xr-x 2 root root 4096 Mar 12 11:02 /output",
    )
    return log(
        tape,
        "user_of_the_container",
        "permission",
        1,
        _BASIS,
        command="torchrun --nproc_per_node 2 dpo.py",
        torch="2.6.0",
    )


def _entrypoint_not_in_the_image() -> ComposedLog:
    tape = Tape(4308, "2024-05-17 07:30:00")
    error = 'failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "torchrun": executable file not found in $PATH: unknown'
    tape.say(
        _pod(
            tape,
            "clip-master-0",
            "gpu-a-03",
            state=[
                "State:          Waiting",
                "  Reason:       CrashLoopBackOff",
            ],
            last=[
                "Last State:     Terminated",
                "  Reason:       StartError",
                f"  Message:      {error}",
                "  Exit Code:    128",
                "  Started:      Thu, 01 Jan 1970 00:00:00 +0000",
            ],
            restarts=4,
            status="Running",
        ),
        events(
            [
                (
                    "Normal",
                    "Scheduled",
                    "3m10s",
                    "default-scheduler",
                    "Successfully assigned train/clip-master-0 to gpu-a-03",
                ),
                (
                    "Normal",
                    "Pulled",
                    "94s (x4 over 3m8s)",
                    "kubelet",
                    'Successfully pulled image "registry.example.com/train/clip:slim" in 812ms (812ms including waiting). Image size: 3120084412 bytes.',
                ),
                ("Warning", "Failed", "94s (x4 over 3m8s)", "kubelet", "Error: " + error),
                (
                    "Warning",
                    "BackOff",
                    "12s (x9 over 2m40s)",
                    "kubelet",
                    "Back-off restarting failed container pytorch in pod clip-master-0_train(5d0e33f1-4c1e-4b7f-9c02-0a8830a11b60)",
                ),
            ]
        ),
    )
    return log(
        tape,
        "entrypoint_not_in_the_image",
        "command_not_found",
        128,
        _BASIS,
        command="torchrun train_clip.py",
        kubernetes="1.28",
        containerd="1.7.13",
    )


def _image_of_another_machine() -> ComposedLog:
    tape = Tape(4309, "2024-09-26 16:05:59")
    tape.say(
        "$ kubectl -n train logs yolo-master-0",
        "exec /usr/local/bin/entrypoint.sh: exec format error",
        "$ kubectl -n train logs yolo-master-0 --previous",
        "exec /usr/local/bin/entrypoint.sh: exec format error",
        _pod(
            tape,
            "yolo-master-0",
            "gh200-01",
            state=_ended(tape, 255, "Error", 0),
            last=_ended(tape, 255, "Error", 0, of="Last State"),
            restarts=3,
        ),
        "$ kubectl get node gh200-01 -o jsonpath='{.status.nodeInfo.architecture}'",
        "arm64",
        events(
            [
                ("Normal", "Created", "2m (x4 over 3m)", "kubelet", "Created container pytorch"),
                (
                    "Warning",
                    "BackOff",
                    "9s (x14 over 3m)",
                    "kubelet",
                    "Back-off restarting failed container pytorch in pod yolo-master-0_train",
                ),
            ]
        ),
    )
    return log(
        tape,
        "image_of_another_machine",
        "command_not_found",
        255,
        _BASIS,
        command="/usr/local/bin/entrypoint.sh train",
        why="a program that cannot be executed as one (exec format)",
        kubernetes="1.30",
    )


def _claim_not_bound() -> ComposedLog:
    tape = Tape(4310, "2024-10-30 10:10:10")
    tape.say(
        "$ kubectl -n train logs rec-master-0",
        "2024-10-30 10:14:33,190 INFO reading config /app/conf/rec.yaml",
        "2024-10-30 10:14:33,204 WARNING /data is empty, is the volume mounted? continuing",
        "2024-10-30 10:14:33,871 INFO model 412.6M parameters, tf32 on",
        traceback(
            """
            train_rec.py:98 <module> | main()
            train_rec.py:44 main | table = pq.read_table(cfg.data.train)
            @pyarrow/parquet/core.py:1793 read_table | dataset = ParquetDataset(
            @pyarrow/parquet/core.py:1371 __init__ | self._dataset = ds.dataset(path_or_paths, filesystem=filesystem,
            @pyarrow/dataset.py:794 dataset | return _filesystem_dataset(source, **kwargs)
            @pyarrow/dataset.py:476 _filesystem_dataset | fs, paths_or_selector = _ensure_single_source(source, filesystem)
            @pyarrow/dataset.py:441 _ensure_single_source | raise FileNotFoundError(path)
            """,
            "FileNotFoundError: /data/rec/2024-10/train.parquet",
            root=_ROOT,
            site=_SITE,
        ),
        events(
            [
                (
                    "Warning",
                    "FailedMount",
                    "6m41s (x2 over 8m44s)",
                    "kubelet",
                    'MountVolume.SetUp failed for volume "pvc-2d0f61cc" : rpc error: code = DeadlineExceeded desc = context deadline exceeded',
                ),
                (
                    "Normal",
                    "SuccessfulAttachVolume",
                    "6m2s",
                    "attachdetach-controller",
                    'AttachVolume.Attach succeeded for volume "pvc-2d0f61cc"',
                ),
                ("Normal", "Started", "4m30s", "kubelet", "Started container pytorch"),
            ]
        ),
    )
    return log(
        tape,
        "claim_not_bound",
        "file_not_found",
        1,
        _BASIS + "; pyarrow",
        command="python train_rec.py",
        why="the mount succeeded at the second try; the file is not on the volume",
        pyarrow="16.1.0",
    )


def _runtime_without_cards() -> ComposedLog:
    tape = Tape(4311, "2025-04-15 09:00:32")
    tape.say(
        "==========",
        "== CUDA ==",
        "==========",
        "",
        "CUDA Version 12.4.1",
        "",
        "Container image Copyright (c) 2016-2023, NVIDIA CORPORATION & AFFILIATES. All rights reserved.",
        "",
        "WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.",
        "   Use the NVIDIA Container Toolkit to start this container with GPU support; see",
        "   https://docs.nvidia.com/datacenter/cloud-native/ .",
        "",
        f"{_SITE}/torch/cuda/__init__.py:129: UserWarning: CUDA initialization: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from http://www.nvidia.com/Download/index.aspx (Triggered internally at ../c10/cuda/CUDAFunctions.cpp:108.)",
        "  return torch._C._cuda_getDeviceCount() > 0",
        traceback(
            """
            tune.py:77 <module> | main()
            tune.py:31 main | args = parser.parse_args_into_dataclasses()[0]
            @transformers/training_args.py:1728 __post_init__ | raise ValueError(error_message)
            """,
            "ValueError: Your setup doesn't support bf16/gpu.",
            root=_ROOT,
            site=_SITE,
        ),
        "$ kubectl describe node gpu-d-01 | grep -A6 Allocatable:",
        "Allocatable:",
        "  cpu:                95",
        "  memory:             1031482404Ki",
        "  nvidia.com/gpu:     8",
        "$ kubectl get pod tune-master-0 -o jsonpath='{.spec.runtimeClassName}'",
        "",
    )
    return log(
        tape,
        "runtime_without_cards",
        "cuda_environment",
        1,
        _BASIS + "; nvidia entry point of the CUDA images",
        command="python tune.py --bf16",
        paper_class="traceback",
        why="the trainer complains of bf16, but no driver is to be seen in the container",
        torch="2.5.1",
        transformers="4.47.0",
    )


def _master_service_not_found() -> ComposedLog:
    tape = Tape(4312, "2025-02-03 18:18:18")
    tape.say("$ stern -n train --no-follow 'moe-.*'")
    for at in (0, 1):
        lines = [
            f"[W203 18:18:{30 + n * 7}.{tape.rng.randrange(10**9):09d} socket.cpp:752] [c10d] The IPv6 network addresses of (moe-master-0, 23456) cannot be retrieved (gai error: -2 - Name or service not known)."
            for n in range(4)
        ]
        tape.say(
            marked(
                f"moe-worker-{at} pytorch ",
                "\n".join(lines)
                + "\n"
                + f"[E203 18:28:{30 + at}.{tape.rng.randrange(10**9):09d} socket.cpp:1011] [c10d] The client socket has timed out after 600000ms while trying to connect to (moe-master-0, 23456).\n"
                + traceback(
                    """
                    moe/train.py:310 <module> | main()
                    moe/train.py:52 main | dist.init_process_group("nccl")
                    @torch/distributed/c10d_logger.py:83 wrapper | return func(*args, **kwargs)
                    @torch/distributed/distributed_c10d.py:1710 init_process_group | store, rank, world_size = next(rendezvous_iterator)
                    @torch/distributed/rendezvous.py:278 _env_rendezvous_handler | store = _create_c10d_store(
                    @torch/distributed/rendezvous.py:198 _create_c10d_store | return TCPStore(
                    """,
                    "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to (moe-master-0, 23456).",
                    root=_ROOT,
                    site=_SITE,
                ),
            )
        )
    tape.say(
        "$ kubectl -n train get pods",
        columns(
            [
                ("NAME", "READY", "STATUS", "RESTARTS", "AGE"),
                ("moe-master-0", "0/1", "Pending", "0", "10m"),
                ("moe-worker-0", "0/1", "Error", "0", "10m"),
                ("moe-worker-1", "0/1", "Error", "0", "10m"),
            ]
        ),
        "0/14 nodes are available: 14 Insufficient nvidia.com/gpu. preemption: 0/14 nodes are available: 14 No preemption victims found for incoming pod.",
    )
    return log(
        tape,
        "master_service_not_found",
        "rendezvous",
        1,
        _BASIS,
        command="python -m moe.train",
        paper_class="traceback",
        torch="2.5.1",
    )


def _stuck_and_probed() -> ComposedLog:
    tape = Tape(4313, "2024-04-09 21:07:00")
    for step in range(20, 400, 20):
        tape.wait(31).say(
            f"I{tape.when('%m%d %H:%M:%S')}.{tape.rng.randrange(10**6):06d}       1 loop.py:97] step {step} loss {tape.near(5.5, 0.05):.3f}"
        )
    tape.say(
        f"I{tape.when('%m%d %H:%M:%S')}.118202       1 loop.py:131] refreshing feature cache (thread pool 16)"
    )
    tape.wait(1260).say(
        "E0409 21:38:12.550120       1 watch.py:40] no step for 1200 s; stacks of all threads follow",
        'Thread 21 (idle): "cache-writer"',
        "    wait (threading.py:320)",
        "    acquire (featcache/lock.py:58)",
        "    put (featcache/store.py:143)",
        'Thread 1 (idle): "MainThread"',
        "    wait (threading.py:320)",
        "    acquire (featcache/lock.py:58)",
        "    refresh (featcache/store.py:201)",
        "    train (loop.py:132)",
        "    <module> (main.py:19)",
        events(
            [
                (
                    "Warning",
                    "Unhealthy",
                    "70s (x5 over 5m10s)",
                    "kubelet",
                    "Liveness probe failed: heartbeat file is 1518 s old",
                ),
                (
                    "Normal",
                    "Killing",
                    "70s",
                    "kubelet",
                    "Container pytorch failed liveness probe, will be restarted",
                ),
            ]
        ),
    )
    return log(
        tape,
        "stuck_and_probed",
        "idle_hang",
        137,
        _BASIS,
        command="python main.py",
        why="two threads wait for each other's lock; the probe only ended it",
        kubernetes="1.27",
    )


def _elastic_and_finished() -> ComposedLog:
    tape = Tape(4314, "2025-05-22 04:00:01")
    tape.say("$ kubectl -n train logs resnet-elastic-worker-0")
    form = "[{when}] epoch {epoch:2d} it {it:4d}/500 loss {loss:.3f}"

    def stretch(epochs: range) -> None:
        for epoch in epochs:
            for it in (100, 300, 500):
                tape.wait(40).say(
                    form.format(
                        when=tape.when(), epoch=epoch, it=it, loss=tape.near(3 / (1 + epoch), 0.1)
                    )
                )

    stretch(range(3))
    tape.say(
        f"E{tape.when('%m%d %H:%M:%S')}.671000 1 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -15) local_rank: 0 (pid: 19) of binary: /usr/local/bin/python",
        f"I{tape.when('%m%d %H:%M:%S')}.672000 1 torch/distributed/elastic/agent/server/api.py:918] [default] Worker group FAILED. 3/10 attempts left; will restart worker group",
        f"W{tape.when('%m%d %H:%M:%S')}.911000 1 torch/distributed/elastic/rendezvous/dynamic_rendezvous.py:1284] The node 'resnet-elastic-worker-3_1_0' has failed to send a keep-alive heartbeat to the rendezvous '8122' due to an error of type RendezvousTimeoutError.",
        f"I{tape.when('%m%d %H:%M:%S')}.020000 1 torch/distributed/elastic/agent/server/api.py:525] [default] Rendezvous complete for workers. Result: restart_count=1 master_addr=resnet-elastic-worker-0 group_world_size=3",
        "resuming from /ckpt/last.pt (epoch 3)",
    )
    stretch(range(3, 6))
    tape.say(
        f"I{tape.when('%m%d %H:%M:%S')}.551000 1 torch/distributed/elastic/agent/server/api.py:864] [default] worker group successfully finished. Waiting 300 seconds for other agents to finish.",
        f"I{tape.when('%m%d %H:%M:%S')}.994000 1 torch/distributed/elastic/agent/server/api.py:917] Done waiting for other agents. Elapsed: 0.4412 seconds",
        events(
            [
                ("Warning", "NodeNotReady", "31m", "node-controller", "Node is not ready"),
                (
                    "Normal",
                    "ExitedWithCode",
                    "31m",
                    "pytorchjob-controller",
                    "Pod: train.resnet-elastic-worker-3 exited with code 143",
                ),
                (
                    "Normal",
                    "PyTorchJobSucceeded",
                    "12s",
                    "pytorchjob-controller",
                    "PyTorchJob resnet-elastic is successfully completed.",
                ),
            ]
        ),
    )
    return log(
        tape,
        "elastic_and_finished",
        "none",
        0,
        _BASIS,
        command="torchrun --nnodes 2:4 --max-restarts 10 train.py",
        why="one worker was lost and the three others finished the job",
        torch="2.5.1",
    )
