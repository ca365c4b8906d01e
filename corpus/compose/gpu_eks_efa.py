"""PyTorchJobs on Kubernetes with EFA or RoCE: pod logs with the cluster's own lines beside them."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._gpu_hosts import kernel, nccl_start, omp, steps, xid
from corpus.compose._gpu_tape import Tape, marked, rank, traceback
from corpus.compose._gpu_torch import Exit, cuda_error, oom, summary, watchdog, watchdog_cuda
from corpus.compose.composed_log import ComposedLog

_BASIS = (
    "sources of the Kubeflow training operator, kubelet, aws-ofi-nccl, libfabric, NCCL and PyTorch"
)
_STEP = (
    "{when} INFO [train] step={step} loss={loss:.4f} gnorm={norm:.2f} lr={lr:.2e} sec={time:.2f}"
)


def logs() -> Iterator[ComposedLog]:
    """Peers that vanish, memory limits, shared memory, DNS of the master, cards that break."""
    yield _unresponsive_receiver()
    yield _pod_over_its_limit()
    yield _shared_memory_under_nccl()
    yield _master_name_unknown()
    yield _spot_node_reclaimed()
    yield _xid_95_uncontained()
    yield _memory_behind_a_network_error()
    yield _launch_failure_of_one_worker()
    yield _device_plugin_gave_nothing()
    yield _s3_shard_unreachable()
    yield _operator_restarted_and_succeeded()
    yield _no_environment_for_ranks()


def _pod(name: str, text: str) -> str:
    return marked(f"{name} ", text)


def _start(tape: Tape, job: str, world: int, version: str = "2.5") -> None:
    tape.say(_pod(f"{job}-master-0", omp(tape, version)))
    tape.wait(8)
    tape.say(
        _pod(
            f"{job}-master-0",
            nccl_start(
                tape,
                f"{job}-master-0",
                (58, 59),
                net="AWS Libfabric",
                version="2.22.3+cuda12.5",
                address="10.1.44.12",
                world=world,
            ),
        ),
        _pod(
            f"{job}-master-0",
            f"config: world={world} restart_policy=OnFailure backoffLimit=3 oom_score_adj=-997 shm=1Gi nccl_async_error_handling=1",
        ),
    )


def _unresponsive_receiver() -> ComposedLog:
    tape = Tape(1301, "2024-12-20 05:00:10")
    _start(tape, "llm", 32)
    tape.say(_pod("llm-master-0", steps(tape, _STEP, range(500, 2500, 250), seconds=300)))
    tape.wait(20).say(
        _pod(
            "llm-worker-1",
            "libfabric:66:1734675010::efa:cq:efa_rdm_cq_handle_error():93<warn> err: 113, prov_err: Unresponsive receiver (reachable by EFA device but handshake failed) (4126)\n"
            "llm-worker-1:66:402 [0] nccl_net_ofi_rdma.c:733 NCCL WARN NET/OFI Request 0x7f3b2c0a8f10 completed with error. RC: 113. Error: 4126 (Unresponsive receiver (reachable by EFA device but handshake failed)). Completed length: 0, Request: { dev: 0, size: 1048576, state: PENDING, type: SEND }\n"
            "llm-worker-1:66:402 [0] NCCL INFO transport/net.cc:1141 -> 2\n"
            "llm-worker-1:66:402 [0] NCCL INFO proxy.cc:697 -> 2",
        ),
        _pod(
            "llm-worker-1",
            rank(
                8,
                "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:2027, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.22.3\nncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. \nLast error:\nNET/OFI Request 0x7f3b2c0a8f10 completed with error. RC: 113. Error: 4126",
            ),
        ),
        _pod(
            "llm-worker-1",
            summary(
                tape,
                "2.5",
                "train.py",
                [Exit(8, -6, 66, 0)],
                host="llm-worker-1",
                killed=[67, 68, 69],
            ),
        ),
    )
    return ComposedLog(
        "unresponsive_receiver",
        "collective",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --nnodes 4 --nproc-per-node 8 train.py",
        versions={"torch": "2.5.1", "aws-ofi-nccl": "1.13"},
        paper_class="nccl",
    )


def _pod_over_its_limit() -> ComposedLog:
    tape = Tape(1302, "2024-09-03 14:11:36")
    _start(tape, "vit", 16)
    tape.say(_pod("vit-master-0", steps(tape, _STEP, range(100, 700, 100), seconds=88)))
    tape.say(
        _pod(
            "vit-master-0",
            "vit-master-0:58:311 [0] misc/socket.cc:47 NCCL WARN socketProgress: Connection closed by remote peer vit-worker-0.default.svc.cluster.local<41822>",
        ),
        _pod("vit-master-0", watchdog(tape, "2.5", 1, seq=9110, numel=(7077888, 7077888))),
        _pod(
            "vit-master-0",
            summary(tape, "2.5", "train.py", [Exit(1, -6, 59)], host="vit-master-0", killed=[58]),
        ),
        "$ kubectl describe pod vit-worker-0\n    State:          Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n      Started:      Tue, 03 Sep 2024 14:11:40 +0000\n      Finished:     Tue, 03 Sep 2024 14:22:02 +0000\n    Restart Count:  0\n    Limits:\n      memory:             96Gi\n      nvidia.com/gpu:     8",
    )
    return ComposedLog(
        "pod_over_its_limit",
        "oom_killer",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --nnodes 2 --nproc-per-node 8 train.py",
        versions={"torch": "2.5.0"},
        why="the worker was killed at its memory limit; the master's time-out is the echo",
    )


def _shared_memory_under_nccl() -> ComposedLog:
    tape = Tape(1303, "2024-01-16 11:08:13")
    tape.say(
        _pod(
            "bert-master-0",
            "bert-master-0:41:41 [0] NCCL INFO Bootstrap : Using eth0:10.2.9.7<0>\nNCCL version 2.19.3+cuda12.3",
        ),
        *(
            _pod(
                "bert-master-0",
                f"bert-master-0:{40 + at}:{60 + at} [{at - 1}] misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-h{at}Tq9x to 9637892 bytes\n"
                f"bert-master-0:{40 + at}:{60 + at} [{at - 1}] misc/shmutils.cc:113 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-h{at}Tq9x (size 9637888)\n"
                f"bert-master-0:{40 + at}:{60 + at} [{at - 1}] NCCL INFO transport/shm.cc:114 -> 2\nbert-master-0:{40 + at}:{60 + at} [{at - 1}] NCCL INFO transport.cc:33 -> 2\nbert-master-0:{40 + at}:{60 + at} [{at - 1}] NCCL INFO init.cc:1222 -> 2",
            )
            for at in (1, 2, 4)
        ),
        _pod(
            "bert-master-0",
            traceback(
                """
                train.py:90 <module> | main()
                train.py:51 main | dist.barrier()
                @torch/distributed/c10d_logger.py:72 wrapper | return func(*args, **kwargs)
                @torch/distributed/distributed_c10d.py:3439 barrier | work = default_pg.barrier(opts=opts)
                """,
                "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1691, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.19.3\nncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. \nLast error:\nError while creating shared memory segment /dev/shm/nccl-h1Tq9x (size 9637888)",
            ),
        ),
        _pod(
            "bert-master-0",
            summary(
                tape,
                "2.2",
                "train.py",
                [Exit(0, 1, 41), Exit(1, 1, 42), Exit(3, 1, 44)],
                host="bert-master-0",
            ),
        ),
    )
    return ComposedLog(
        "shared_memory_under_nccl",
        "shared_memory",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --nproc-per-node 4 train.py",
        versions={"torch": "2.2.0", "nccl": "2.19.3"},
        paper_class="traceback",
    )


def _master_name_unknown() -> ComposedLog:
    tape = Tape(1304, "2024-02-14 09:09:00")
    tape.say(
        _pod(
            "gpt-worker-2",
            f"MASTER_ADDR=gpt-master-0 MASTER_PORT=23456 WORLD_SIZE=4 RANK=3\n[{tape.milli()}] torch.distributed.launcher.api: [INFO] Starting elastic_operator with launch configs:\n  entrypoint       : train.py\n  rdzv_backend     : c10d\n  rdzv_endpoint    : gpt-master-0:23456\n  max_restarts     : 0",
        )
    )
    for _ in range(4):
        tape.wait(15).say(
            _pod(
                "gpt-worker-2",
                "[W socket.cpp:663] [c10d] The IPv6 network addresses of (gpt-master-0, 23456) cannot be retrieved (gai error: -3 - Temporary failure in name resolution).",
            )
        )
    tape.say(
        _pod(
            "gpt-worker-2",
            traceback(
                """
                @torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py:155 _create_tcp_store | store = TCPStore(
                @torch/distributed/elastic/agent/server/api.py:542 _rendezvous | store, group_rank, group_world_size = spec.rdzv_handler.next_rendezvous()
                @torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py:175 _create_tcp_store | raise RendezvousConnectionError(
                """,
                "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed. See inner exception for details.",
            ),
        ),
        "Events:\n  Warning  BackOff  12s (x4 over 63s)  kubelet  Back-off restarting failed container pytorch in pod gpt-worker-2_default",
    )
    return ComposedLog(
        "master_name_unknown",
        "rendezvous",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --rdzv-endpoint gpt-master-0:23456 train.py",
        versions={"torch": "2.1.2"},
        paper_class="traceback",
    )


def _spot_node_reclaimed() -> ComposedLog:
    tape = Tape(1305, "2025-03-29 02:40:51")
    _start(tape, "sd", 16)
    tape.say(
        _pod("sd-master-0", steps(tape, _STEP, range(1000, 3000, 200), seconds=200)),
        "node-termination-handler 2025/03/29 03:14:07 INF Got interruption event from channel {InstanceID:i-0c1b2d3e4f5a67890 InstanceType:p4d.24xlarge} reason=SPOT_ITN",
        "node-termination-handler 2025/03/29 03:14:07 INF Node ip-10-1-60-7.ec2.internal cordoned and drained, pods: sd-worker-0",
        _pod(
            "sd-worker-0",
            "W0329 03:14:08.114000 41 torch/distributed/elastic/agent/server/api.py:704] Received Signals.SIGTERM death signal, shutting down workers\ntorch.distributed.elastic.multiprocessing.api.SignalException: Process 41 got signal: 15",
        ),
        _pod(
            "sd-master-0",
            "sd-master-0:58:330 [0] misc/socket.cc:58 NCCL WARN socketProgress: Connection closed by remote peer sd-worker-0<38210>",
        ),
        _pod("sd-master-0", watchdog(tape, "2.5", 0, seq=44120, numel=(13107200, 13107200))),
    )
    return ComposedLog(
        "spot_node_reclaimed",
        "preempted",
        1,
        tape.text(),
        _BASIS + "; AWS node termination handler",
        command="torchrun --nnodes 2 --nproc-per-node 8 train.py",
        versions={"torch": "2.5.1"},
        paper_class=None,
        why="the spot notice drained the worker; the master's errors follow",
    )


def _xid_95_uncontained() -> ComposedLog:
    tape = Tape(1306, "2025-05-11 19:21:13")
    _start(tape, "moe", 64, "2.6")
    tape.say(_pod("moe-master-0", steps(tape, _STEP, range(300, 1500, 100), seconds=260)))
    tape.say(
        _pod(
            "moe-worker-4",
            rank(
                37,
                traceback(
                    "train.py:90 <module> | main()\ntrain.py:77 main | loss.backward()\n@torch/_tensor.py:626 backward | torch.autograd.backward(",
                    "RuntimeError: NCCL Error 1: unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
                ),
            ),
        ),
        _pod(
            "moe-worker-4",
            watchdog_cuda(
                tape, "2.6", 37, "unspecified launch failure", group="PG ID 0 PG GUID 0(default_pg)"
            ),
        ),
        _pod(
            "moe-worker-0",
            watchdog(tape, "2.6", 5, seq=71002, op="ALLTOALL_BASE", numel=(8388608, 8388608)),
        ),
        "node-problem-detector: journal of ip-10-1-88-3",
        kernel(
            tape,
            "ip-10-1-88-3",
            xid("0000:ab:00", 95, "Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No", pid=4410),
            xid(
                "0000:ab:00",
                48,
                "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at partition 5, subpartition 0.",
            ),
            xid("0000:ab:00", 45, "Ch 00000012", pid=4410),
        ),
        'dcgm-exporter: DCGM_FI_DEV_XID_ERRORS{gpu="5",Hostname="ip-10-1-88-3"} 95',
    )
    return ComposedLog(
        "xid_95_uncontained",
        "gpu_hardware",
        1,
        tape.text(),
        _BASIS + "; NVIDIA's Xid catalogue",
        command="torchrun --nnodes 8 --nproc-per-node 8 train.py",
        versions={"torch": "2.6.0"},
        paper_class="runtime_error",
    )


def _memory_behind_a_network_error() -> ComposedLog:
    tape = Tape(1307, "2024-10-28 08:50:20")
    _start(tape, "t5", 16)
    tape.say(_pod("t5-master-0", steps(tape, _STEP, range(50, 450, 50), seconds=70)))
    for at in (3, 5):
        tape.say(
            _pod(
                "t5-master-0",
                rank(
                    at,
                    f"torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:317, remote process exited or there was a network error, NCCL version 2.22.3\nncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\nsocketProgress: Connection closed by remote peer t5-worker-0<4411{at}>",
                ),
            )
        )
    tape.say(
        _pod(
            "t5-master-0",
            summary(
                tape,
                "2.5",
                "train.py",
                [Exit(3, 1, 61), Exit(5, 1, 63)],
                host="t5-master-0",
                killed=[58, 59, 60, 62],
            ),
        ),
        "===== t5-worker-0 (previous container) =====",
        _pod(
            "t5-worker-0",
            rank(
                12,
                traceback(
                    "train.py:90 <module> | main()\ntrain.py:79 main | optimizer.step()\n@torch/optim/adamw.py:553 _multi_tensor_adamw | exp_avg_sq_sqrt = torch._foreach_sqrt(device_exp_avg_sqs)",
                    oom(
                        "2.5",
                        "2.44 GiB",
                        gpu=4,
                        total="39.39 GiB",
                        free="1.91 GiB",
                        used="37.47 GiB",
                        allocated="35.80 GiB",
                    ),
                ),
            ),
        ),
        _pod(
            "t5-worker-0",
            summary(
                tape,
                "2.5",
                "train.py",
                [Exit(12, 1, 62, 4)],
                host="t5-worker-0",
                killed=[58, 59, 60],
            ),
        ),
    )
    return ComposedLog(
        "memory_behind_a_network_error",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --nnodes 2 --nproc-per-node 8 train.py",
        versions={"torch": "2.5.1"},
        why="the worker's own log, shown last, has the first failure",
    )


def _launch_failure_of_one_worker() -> ComposedLog:
    tape = Tape(1308, "2024-05-31 21:30:42")
    _start(tape, "gnn", 8, "2.2")
    tape.say(
        _pod(
            "gnn-worker-0",
            watchdog_cuda(tape, "2.2", 6, "an illegal memory access was encountered"),
        ),
        _pod(
            "gnn-worker-0",
            "Fatal Python error: Aborted\n\nThread 0x00007fd7b27fc700 (most recent call first):\n  <no Python frame>",
        ),
        _pod(
            "gnn-worker-0",
            traceback(
                "train.py:90 <module> | main()\ntrain.py:70 main | out = conv(x, edge_index)\nops/scatter.py:19 forward | torch.ops.gnn.segment_csr(src, indptr)",
                cuda_error("2.2", "an illegal memory access was encountered"),
            ),
        ),
        _pod(
            "gnn-master-0",
            "[E socket.cpp:922] [c10d] Connection reset by peer while reading from gnn-worker-0",
        ),
        _pod(
            "gnn-worker-0",
            summary(
                tape,
                "2.2",
                "train.py",
                [Exit(6, -6, 60, 2)],
                host="gnn-worker-0",
                killed=[58, 59, 61],
            ),
        ),
        kernel(
            tape,
            "ip-10-1-20-2",
            xid(
                "0000:00:1d",
                31,
                "Ch 0000000b, intr 10000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7fd5_9a000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_WRITE",
                pid=20111,
            ),
        ),
    )
    return ComposedLog(
        "launch_failure_of_one_worker",
        "cuda_runtime",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --nnodes 2 --nproc-per-node 4 train.py",
        versions={"torch": "2.2.2"},
        why="Xid 31 alone is the program's own access",
    )


def _device_plugin_gave_nothing() -> ComposedLog:
    tape = Tape(1309, "2024-06-06 06:06:06")
    tape.say(
        'Events:\n  Normal   Pulled   30s   kubelet  Container image "registry.local/train:cu124" already present on machine\n  Normal   Started  29s   kubelet  Started container pytorch',
        _pod(
            "ft-master-0",
            "NVIDIA_VISIBLE_DEVICES=void\n+ nvidia-smi\n/entry.sh: line 4: nvidia-smi: command not found",
        ),
        _pod("ft-master-0", "INFO  trying to use 8 GPUs as requested"),
        _pod(
            "ft-master-0",
            traceback(
                """
                train.py:90 <module> | main()
                train.py:40 main | dist.init_process_group("nccl")
                @torch/distributed/c10d_logger.py:93 wrapper | func_return = func(*args, **kwargs)
                @torch/distributed/distributed_c10d.py:1527 init_process_group | default_pg, _ = _new_process_group_helper(
                @torch/distributed/distributed_c10d.py:1730 _new_process_group_helper | backend_class = ProcessGroupNCCL(
                """,
                "ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!",
            ),
        ),
    )
    return ComposedLog(
        "device_plugin_gave_nothing",
        "cuda_environment",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --nproc-per-node 8 train.py",
        versions={"torch": "2.4.0"},
        paper_class="traceback",
        why="the container was given no device; nvidia-smi's absence says the same",
    )


def _s3_shard_unreachable() -> ComposedLog:
    tape = Tape(1310, "2025-01-31 10:22:32")
    _start(tape, "clip", 16)
    tape.say(
        _pod("clip-master-0", steps(tape, _STEP, range(100, 500, 100), seconds=80)),
        _pod(
            "clip-worker-0",
            rank(
                9,
                traceback(
                    """
                    train.py:90 <module> | main()
                    train.py:66 main | for batch in loader:
                    @webdataset/tariterators.py:57 url_opener | stream = gopen.gopen(url, **kw)
                    @botocore/httpsession.py:493 send | raise EndpointConnectionError(endpoint_url=request.url, error=e)
                    """,
                    'botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL: "https://train-shards.s3.us-east-1.amazonaws.com/clip/00417.tar"',
                ),
            ),
        ),
        _pod(
            "clip-worker-0",
            summary(
                tape, "2.5", "train.py", [Exit(9, 1, 59, 1)], host="clip-worker-0", killed=[58, 60]
            ),
        ),
    )
    tape.wait(600).say(
        _pod(
            "clip-master-0",
            watchdog(
                tape, "2.5", 2, seq=2011, op="_ALLGATHER_BASE", numel=(131072, 2097152), stack=True
            ),
        )
    )
    return ComposedLog(
        "s3_shard_unreachable",
        "network",
        1,
        tape.text(),
        _BASIS + "; botocore",
        command="torchrun --nnodes 2 --nproc-per-node 8 train.py",
        versions={"torch": "2.5.1"},
        paper_class="traceback",
    )


def _operator_restarted_and_succeeded() -> ComposedLog:
    tape = Tape(1311, "2024-07-20 12:00:00")
    _start(tape, "asr", 8)
    tape.say(
        _pod("asr-master-0", steps(tape, _STEP, range(1000, 4000, 500), seconds=400)),
        _pod(
            "asr-worker-0", watchdog(tape, "2.5", 4, seq=8712, numel=(2097152, 2097152), stack=True)
        ),
        "training-operator 2024-07-20T12:55:31Z INFO PyTorchJob default/asr is restarting because 1 Worker replica(s) failed with retryable exit code 134.",
    )
    _start(tape, "asr", 8)
    tape.say(
        _pod("asr-master-0", "resumed from s3 checkpoint step=3500"),
        _pod(
            "asr-master-0",
            steps(tape, _STEP, range(4000, 10500, 500), seconds=400, loss=2.2, floor=1.2),
        ),
        _pod("asr-master-0", "finished: 10000 steps, wer=6.71, uploaded model.pt"),
        "training-operator 2024-07-20T15:20:01Z INFO PyTorchJob default/asr successfully completed.",
    )
    return ComposedLog(
        "operator_restarted_and_succeeded",
        "none",
        0,
        tape.text(),
        _BASIS,
        command="kubectl apply -f asr.yaml",
        versions={"torch": "2.5.0"},
        why="the operator's restart carried the job to its end",
    )


def _no_environment_for_ranks() -> ComposedLog:
    tape = Tape(1312, "2024-08-01 07:07:44")
    tape.say(
        _pod(
            "seg-master-0",
            "entry: python train.py --dist (PET_NPROC_PER_NODE=8 set by operator, ignored: not launched by torchrun)",
        ),
        _pod(
            "seg-master-0",
            traceback(
                """
                train.py:90 <module> | main()
                train.py:40 main | dist.init_process_group("nccl", init_method="env://")
                @torch/distributed/distributed_c10d.py:1361 init_process_group | store, rank, world_size = next(rendezvous_iterator)
                @torch/distributed/rendezvous.py:246 _env_rendezvous_handler | rank = int(_get_env_or_raise("RANK"))
                @torch/distributed/rendezvous.py:231 _get_env_or_raise | raise _env_error(env_var)
                """,
                "ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable RANK expected, but not set",
            ),
        ),
        "Events:\n  Warning  BackOff  4s (x3 over 40s)  kubelet  Back-off restarting failed container pytorch in pod seg-master-0_default",
    )
    return ComposedLog(
        "no_environment_for_ranks",
        "rendezvous",
        1,
        tape.text(),
        _BASIS,
        command="python train.py --dist",
        versions={"torch": "2.3.1"},
        paper_class="traceback",
        why="the launcher's environment is missing",
    )
