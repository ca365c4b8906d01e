"""Operators of 2025 on Kubernetes: Kubeflow Trainer 2, JobSet, Kueue, Volcano and the cards' operators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corpus.compose._cluster_blocks import columns, events, log
from corpus.compose._gpu_hosts import omp
from corpus.compose._gpu_tape import Tape, marked, mixed, traceback
from corpus.compose._gpu_torch import Exit, summary
from corpus.compose.composed_log import ComposedLog

_BASIS = "Kubeflow Trainer 2.0 (TrainJob), JobSet 0.8-0.10, Kueue 0.11-0.14 conditions and events, Volcano 1.11, NVIDIA GPU operator and device plugin 0.17, Kubernetes 1.31-1.33 kubelet and describe formats"
_SITE = "/usr/local/lib/python3.12/site-packages"


def logs() -> Iterator[ComposedLog]:
    """TrainJobs and JobSets as their owners see them: prefixed logs, conditions, events."""
    yield _room_for_the_other_queue()
    yield _plugin_restarted()
    yield _initializer_without_token()
    yield _limit_of_the_container()
    yield _pull_of_a_private_image()
    yield _headless_service_late()
    yield _runtime_patch_unknown()
    yield _local_scratch_pressure()
    yield _kubelet_silent()
    yield _deadline_of_the_set()
    yield _recreated_and_complete()


def _lines(
    tape: Tape, pods: Sequence[str], numbers: range, *, container: str = "node", seconds: float = 9
) -> None:
    for at in numbers:
        tape.wait(seconds)
        for pod in pods:
            tape.say(
                f"[pod/{pod}/{container}] {tape.when('%Y-%m-%dT%H:%M:%S')}.{tape.rng.randrange(10**9):09d}Z INFO step={at} loss={tape.near(1.2 + 2.4 / (1 + at / 60), 0.02):.4f} grad_norm={tape.near(0.9, 0.3):.3f} tokens_per_s={tape.near(21500, 0.03):.0f}"
            )


def _start(tape: Tape, pods: Sequence[str], command: str) -> None:
    tape.say(f"$ {command}")
    for pod in pods:
        tape.say(marked(f"[pod/{pod}/node] ", omp(tape, "2.7")))
    for pod in pods:
        tape.say(
            f"[pod/{pod}/node] {pod}:41:41 [0] NCCL INFO Bootstrap: Using eth0:10.244.{tape.rng.randrange(9)}.{tape.rng.randrange(250)}<0>",
            f"[pod/{pod}/node] NCCL version 2.26.2+cuda12.8",
        )


def _describe(
    tape: Tape,
    pod: str,
    node: str,
    state: Sequence[str],
    rows: Sequence[tuple[str, str, str, str, str]],
    status: str = "Failed",
) -> str:
    return "\n".join(
        (
            f"$ kubectl -n team-a describe pod {pod}",
            f"Name:             {pod}",
            "Namespace:        team-a",
            "Priority:         1000",
            "Priority Class Name:  batch",
            f"Node:             {node}/10.50.1.{tape.rng.randrange(200)}",
            f"Start Time:       {tape.when('%a, %d %b %Y %H:%M:%S +0000')}",
            "Labels:           jobset.sigs.k8s.io/replicatedjob-name=node",
            "                  kueue.x-k8s.io/podset=node",
            f"Status:           {status}",
            *state,
            "Conditions:",
            "  Type                        Status\n  PodReadyToStartContainers   False \n  Initialized                 True \n  Ready                       False \n  ContainersReady             False \n  PodScheduled                True ",
            "QoS Class:                   Burstable",
            "Tolerations:                 node.kubernetes.io/not-ready:NoExecute op=Exists for 300s\n                             node.kubernetes.io/unreachable:NoExecute op=Exists for 300s\n                             nvidia.com/gpu:NoSchedule op=Exists",
            events(rows),
        )
    )


def _room_for_the_other_queue() -> ComposedLog:
    tape = Tape(9701, "2025-09-30 08:00:00")
    pods = ["sft-70b-node-0-0-x8k2p", "sft-70b-node-0-1-4hq7d"]
    _start(
        tape,
        pods,
        "kubectl -n team-a logs -f --prefix -l jobset.sigs.k8s.io/jobset-name=sft-70b --max-log-requests 8",
    )
    _lines(tape, pods, range(10, 261, 10), seconds=25)
    tape.say(
        f"[pod/{pods[1]}/node] W0930 08:11:02.114000 1 torch/distributed/elastic/agent/server/api.py:719] Received 15 death signal, shutting down workers",
        f"[pod/{pods[0]}/node] W0930 08:11:02.140000 1 torch/distributed/elastic/multiprocessing/api.py:900] Sending process 41 closing signal SIGTERM",
        marked(
            f"[pod/{pods[0]}/node] ",
            traceback(
                '@torch/distributed/elastic/multiprocessing/api.py:84 _terminate_process_handler | raise SignalException(f"Process {os.getpid()} got signal: {sigval}", sigval=sigval)',
                "torch.distributed.elastic.multiprocessing.api.SignalException: Process 1 got signal: 15",
                site=_SITE,
            ),
        ),
        '$ kubectl -n team-a get workload jobset-sft-70b-1c0d2 -o jsonpath=\'{range .status.conditions[*]}{.type}{"\\t"}{.status}{"\\t"}{.reason}{"\\t"}{.message}{"\\n"}{end}\'',
        "QuotaReserved\tFalse\tPending\tcouldn't assign flavors to pod set node: insufficient unused quota for nvidia.com/gpu in flavor h100, 8 more needed",
        "Evicted\tTrue\tPreempted\tPreempted to accommodate a workload (UID: 6d1f8a0e-2b64-4c6b-9f6b-9d0f2c0e4a11, JobUID: 11f3) due to reclamation within the cohort; preemptor path: /research/prod; preemptee path: /research/team-a",
        "Preempted\tTrue\tInCohortReclamation\tPreempted to accommodate a workload (UID: 6d1f8a0e-2b64-4c6b-9f6b-9d0f2c0e4a11, JobUID: 11f3) due to reclamation within the cohort",
        "Requeued\tTrue\tPreempted\tPreempted to accommodate a workload",
        "$ kubectl -n team-a get trainjob",
        columns([("NAME", "STATE", "AGE"), ("sft-70b", "Suspended", "14m")]),
    )
    return log(
        tape,
        "room_for_the_other_queue",
        "preempted",
        1,
        _BASIS,
        command="kubectl logs -f --prefix",
        paper_class=None,
        kueue="0.13",
    )


def _plugin_restarted() -> ComposedLog:
    tape = Tape(9702, "2025-06-21 03:00:00")
    pod = "eval-ft-node-0-0-9sdk2"
    tape.say(
        "$ kubectl -n team-a get pods -w",
        columns(
            [
                ("NAME", "READY", "STATUS", "RESTARTS", "AGE"),
                (pod, "0/1", "Pending", "0", "0s"),
                (pod, "0/1", "UnexpectedAdmissionError", "0", "1s"),
            ]
        ),
        _describe(
            tape,
            pod,
            "gpu-b-03",
            [
                "Reason:           UnexpectedAdmissionError",
                "Message:          Pod was rejected: Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu, which is unexpected",
            ],
            [
                (
                    "Normal",
                    "Scheduled",
                    "41s",
                    "default-scheduler",
                    f"Successfully assigned team-a/{pod} to gpu-b-03",
                ),
                (
                    "Warning",
                    "UnexpectedAdmissionError",
                    "41s",
                    "kubelet",
                    "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu, which is unexpected",
                ),
            ],
        ),
        "$ kubectl -n gpu-operator logs ds/nvidia-device-plugin-daemonset --tail 6",
        "I0621 02:57:10.100822       1 health.go:64] Ignoring the following XIDs for health checks: map[13:true 31:true 43:true 45:true 68:true 109:true]",
        "I0621 02:58:33.771025       1 health.go:159] Processing event {Device:{Handle:0x7f2a10} EventType:8 EventData:79 GpuInstanceId:4294967295 ComputeInstanceId:4294967295}",
        "I0621 02:58:33.771120       1 health.go:183] XidCriticalError: Xid=79 on Device=GPU-0a5bd1de-4b5f-a2f7-6e61-f2b5d7c31b2a; marking device as unhealthy.",
        "I0621 02:58:33.771199       1 server.go:262] 'nvidia.com/gpu' device marked unhealthy: GPU-0a5bd1de-4b5f-a2f7-6e61-f2b5d7c31b2a",
        "$ kubectl -n team-a get job eval-ft-node-0 -o wide",
        columns(
            [
                ("NAME", "STATUS", "COMPLETIONS", "DURATION", "AGE", "CONTAINERS"),
                ("eval-ft-node-0", "Failed", "0/1", "61s", "61s", "node"),
            ]
        ),
    )
    return log(
        tape,
        "plugin_restarted",
        "gpu_hardware",
        1,
        _BASIS,
        command="kubectl apply -f eval.yaml && ./follow.sh eval-ft",
        paper_class=None,
        why="Xid 79 made the card unhealthy; the admission error follows",
        device_plugin="0.17.1",
    )


def _initializer_without_token() -> ComposedLog:
    tape = Tape(9703, "2025-08-05 10:00:00")
    pod = "llama-lora-model-initializer-0-0-hq2mx"
    tape.say(
        "$ kubectl -n team-a logs --prefix -l jobset.sigs.k8s.io/jobset-name=llama-lora --all-containers",
        f"[pod/llama-lora-dataset-initializer-0-0-77dkz/dataset-initializer] {tape.when('%Y-%m-%dT%H:%M:%SZ')} INFO [__main__.py:14] Starting dataset initialization",
        f"[pod/llama-lora-dataset-initializer-0-0-77dkz/dataset-initializer] {tape.when('%Y-%m-%dT%H:%M:%SZ')} INFO [huggingface.py:38] Downloading dataset: tatsu-lab/alpaca",
        "[pod/llama-lora-dataset-initializer-0-0-77dkz/dataset-initializer] Fetching 3 files: 100%|██████████| 3/3 [00:01<00:00,  1.92it/s]",
        f"[pod/llama-lora-dataset-initializer-0-0-77dkz/dataset-initializer] {tape.when('%Y-%m-%dT%H:%M:%SZ')} INFO [huggingface.py:47] Dataset has been downloaded",
        f"[pod/{pod}/model-initializer] {tape.when('%Y-%m-%dT%H:%M:%SZ')} INFO [__main__.py:14] Starting pre-trained model initialization",
        f"[pod/{pod}/model-initializer] {tape.when('%Y-%m-%dT%H:%M:%SZ')} INFO [huggingface.py:36] Downloading model: meta-llama/Llama-3.2-3B-Instruct",
        marked(
            f"[pod/{pod}/model-initializer] ",
            traceback(
                """
            /usr/local/lib/python3.11/runpy.py:198 _run_module_as_main | return _run_code(code, main_globals, None,
            /workspace/pkg/initializers/model/__main__.py:31 <module> | main()
            /workspace/pkg/initializers/model/huggingface.py:42 download_model | huggingface_hub.snapshot_download(
            @huggingface_hub/utils/_http.py:426 hf_raise_for_status | raise _format(GatedRepoError, message, response) from e
            """,
                "huggingface_hub.errors.GatedRepoError: 401 Client Error. (Request ID: Root=1-6891d5c2-1a2b3c4d5e6f;0f)\n\nCannot access gated repo for url https://huggingface.co/api/models/meta-llama/Llama-3.2-3B-Instruct/revision/main.\nAccess to model meta-llama/Llama-3.2-3B-Instruct is restricted. You must have access to it and be authenticated to access it. Please log in.",
                root="/workspace",
                site="/usr/local/lib/python3.11/site-packages",
            ),
        ),
        'Error from server (BadRequest): container "node" in pod "llama-lora-node-0-0-v2q9s" is waiting to start: PodInitializing',
        "$ kubectl -n team-a describe trainjob llama-lora | tail -n 12",
        "Status:\n  Conditions:\n    Last Transition Time:  2025-08-05T10:00:41Z\n    Message:               jobset failed due to one or more job failures (first failed job: llama-lora-model-initializer-0)\n    Reason:                FailedJobs\n    Status:                True\n    Type:                  Failed\nEvents:                    <none>",
    )
    return log(
        tape,
        "initializer_without_token",
        "asset",
        1,
        _BASIS,
        command="./submit.sh llama-lora",
        paper_class="traceback",
        trainer="2.0.0",
    )


def _limit_of_the_container() -> ComposedLog:
    tape = Tape(9704, "2025-10-14 17:00:00")
    pods = ["mix-node-0-0-t7x2k", "mix-node-0-1-m2d9w"]
    _start(
        tape,
        pods,
        "kubectl -n team-a logs -f --prefix -l trainer.kubeflow.org/trainjob-ancestor-step=trainer",
    )
    _lines(tape, pods, range(20, 241, 20))
    tape.say(
        marked(
            f"[pod/{pods[0]}/node] ",
            "[rank0]:[W1014 17:03:44.711120018 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=71, addr=[mix-node-0-0.mix]:39320, remote=[mix-node-0-0.mix]:29500): Connection reset by peer\nterminate called after throwing an instance of 'c10::DistBackendError'\n  what():  NCCL error: remote process exited or there was a network error",
        ),
        "$ kubectl -n team-a get pods -l jobset.sigs.k8s.io/jobset-name=mix -o custom-columns=NAME:.metadata.name,PHASE:.status.phase,REASON:.status.containerStatuses[0].state.terminated.reason,CODE:.status.containerStatuses[0].state.terminated.exitCode",
        columns(
            [
                ("NAME", "PHASE", "REASON", "CODE"),
                (pods[0], "Failed", "Error", "134"),
                (pods[1], "Failed", "OOMKilled", "137"),
            ]
        ),
        _describe(
            tape,
            pods[1],
            "gpu-a-08",
            [
                "Containers:",
                "  node:",
                "    State:          Terminated",
                "      Reason:       OOMKilled",
                "      Exit Code:    137",
                "    Limits:",
                "      memory:          160Gi",
                "      nvidia.com/gpu:  8",
            ],
            [
                ("Normal", "Created", "6m", "kubelet", "Created container: node"),
                ("Normal", "Started", "6m", "kubelet", "Started container node"),
            ],
        ),
    )
    return log(
        tape,
        "limit_of_the_container",
        "oom_killer",
        137,
        _BASIS,
        command="./follow.sh mix",
        jobset="0.8.2",
    )


def _pull_of_a_private_image() -> ComposedLog:
    tape = Tape(9705, "2025-04-17 09:00:00")
    pod = "asr-master-0"
    tape.say(
        "$ kubectl -n speech get vcjob asr",
        columns(
            [
                ("NAME", "STATUS", "MINAVAILABLE", "RUNNINGS", "AGE", "QUEUE"),
                ("asr", "Pending", "5", "0", "15m", "gpu"),
            ]
        ),
        *(
            columns(
                [
                    ("NAME", "READY", "STATUS", "RESTARTS", "AGE"),
                    *(
                        (
                            f"asr-worker-{n}",
                            "0/1",
                            "ContainerCreating" if at == 0 else "ImagePullBackOff",
                            "0",
                            f"{at * 5 + 1}m",
                        )
                        for n in range(4)
                    ),
                    (
                        pod,
                        "0/1",
                        "ErrImagePull" if at < 2 else "ImagePullBackOff",
                        "0",
                        f"{at * 5 + 1}m",
                    ),
                ]
            )
            for at in range(3)
        ),
        _describe(
            tape,
            pod,
            "gpu-c-11",
            [
                "Containers:",
                "  master:",
                "    Image:          registry.example.com/speech/asr:2025.4-cu126",
                "    State:          Waiting",
                "      Reason:       ImagePullBackOff",
            ],
            [
                (
                    "Normal",
                    "Scheduled",
                    "15m",
                    "volcano",
                    f"Successfully assigned speech/{pod} to gpu-c-11",
                ),
                (
                    "Normal",
                    "Pulling",
                    "12m (x5 over 15m)",
                    "kubelet",
                    'Pulling image "registry.example.com/speech/asr:2025.4-cu126"',
                ),
                (
                    "Warning",
                    "Failed",
                    "12m (x5 over 15m)",
                    "kubelet",
                    'Failed to pull image "registry.example.com/speech/asr:2025.4-cu126": failed to pull and unpack image "registry.example.com/speech/asr:2025.4-cu126": failed to resolve reference "registry.example.com/speech/asr:2025.4-cu126": pull access denied, repository does not exist or may require authorization: authorization failed: no basic auth credentials',
                ),
                ("Warning", "Failed", "12m (x5 over 15m)", "kubelet", "Error: ErrImagePull"),
                ("Warning", "Failed", "13s (x64 over 15m)", "kubelet", "Error: ImagePullBackOff"),
            ],
            status="Pending",
        ),
        "$ kubectl -n speech get events --field-selector involvedObject.name=asr",
        columns(
            [
                ("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"),
                (
                    "16s",
                    "Warning",
                    "PodGroupPending",
                    "job/asr",
                    "PodGroup speech:asr unschedule,reason: 5/5 tasks in gang unschedulable: pod group is not ready, 5 Pending, 5 minAvailable",
                ),
                ("2s", "Normal", "ExecuteAction", "job/asr", "Start to execute action AbortJob"),
            ]
        ),
        "error: job asr was aborted before it ran",
    )
    return log(
        tape,
        "pull_of_a_private_image",
        "asset",
        1,
        _BASIS,
        command="./submit_volcano.sh asr.yaml",
        paper_class=None,
        why="no cause names an image; an asset by name cannot be had without credentials",
        volcano="1.11",
    )


def _headless_service_late() -> ComposedLog:
    tape = Tape(9706, "2025-11-26 06:00:00")
    pods = [f"pre-node-0-{at}-{tail}" for at, tail in enumerate(("q8xw1", "pp40s", "z7c2d"))]
    _start(
        tape,
        pods,
        "kubectl -n team-a logs --prefix -l jobset.sigs.k8s.io/jobset-name=pre --timestamps=false",
    )
    for pod in pods[1:]:
        for attempt in range(6):
            tape.wait(7)
            tape.say(
                f"[pod/{pod}/node] [W1126 06:0{attempt // 2 + 1}:{10 + attempt}.{tape.rng.randrange(10**9):09d} socket.cpp:767] [c10d] The IPv6 network addresses of (pre-node-0-0.pre, 29500) cannot be retrieved (gai error: -2 - Name or service not known)."
            )
    tape.wait(600)
    tape.say(
        mixed(
            tape,
            *(
                marked(
                    f"[pod/{pod}/node] ",
                    traceback(
                        """
            /usr/local/bin/torchrun:8 <module> | sys.exit(main())
            @torch/distributed/elastic/agent/server/api.py:696 run | result = self._invoke_run(role)
            @torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py:66 next_rendezvous | self._store = TCPStore(  # type: ignore[call-arg]
            """,
                        "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to (pre-node-0-0.pre, 29500).",
                        site=_SITE,
                    ),
                )
                for pod in pods[1:]
            ),
        ),
        "$ kubectl -n team-a get svc,endpoints pre",
        'Error from server (NotFound): services "pre" not found\nError from server (NotFound): endpoints "pre" not found',
    )
    return log(
        tape,
        "headless_service_late",
        "rendezvous",
        1,
        _BASIS,
        command="./follow.sh pre",
        paper_class="traceback",
        jobset="0.9.0",
    )


def _runtime_patch_unknown() -> ComposedLog:
    tape = Tape(9707, "2025-07-10 11:00:00")
    pods = ["gpt-node-0-0-b1k8v"]
    _start(tape, pods, "kubectl -n team-a logs --prefix -l jobset.sigs.k8s.io/jobset-name=gpt")
    tape.say(
        marked(
            f"[pod/{pods[0]}/node] ",
            "+ torchrun --nproc-per-node 4 /workspace/train.py --config /etc/job/config.yaml --gradient_accumulation 8\nusage: train.py [-h] --config CONFIG [--resume RESUME] [--grad-accum N]\n                [--max-steps N] [--lr LR] [--compile {off,default,max}]\n                [--precision {bf16,fp16,fp32}] [--seed SEED] [--out OUT]\ntrain.py: error: unrecognized arguments: --gradient_accumulation 8\nusage: train.py [-h] --config CONFIG [--resume RESUME] [--grad-accum N]\n                [--max-steps N] [--lr LR] [--compile {off,default,max}]\n                [--precision {bf16,fp16,fp32}] [--seed SEED] [--out OUT]\ntrain.py: error: unrecognized arguments: --gradient_accumulation 8",
        ),
        marked(
            f"[pod/{pods[0]}/node] ",
            summary(
                tape,
                "2.7",
                "/workspace/train.py",
                [Exit(0, 2, 41), Exit(1, 2, 42)],
                host="gpt-node-0-0.gpt",
                binary="/usr/local/bin/python",
                site=_SITE,
                launcher="/usr/local/bin/torchrun",
                killed=(43, 44),
            ),
        ),
        _describe(
            tape,
            pods[0],
            "gpu-a-01",
            [
                "Containers:",
                "  node:",
                "    State:          Terminated",
                "      Reason:       Error",
                "      Exit Code:    1",
            ],
            [
                (
                    "Warning",
                    "BackOff",
                    "4s (x3 over 22s)",
                    "kubelet",
                    f"Back-off restarting failed container node in pod {pods[0]}_team-a(5b0c)",
                )
            ],
        ),
    )
    return log(
        tape,
        "runtime_patch_unknown",
        "config",
        1,
        _BASIS,
        command="./submit.sh gpt",
        paper_class=None,
        trainer="2.0.0",
    )


def _local_scratch_pressure() -> ComposedLog:
    tape = Tape(9708, "2025-03-19 22:00:00")
    pods = ["vlm-worker-0"]
    _start(tape, pods, "kubectl -n team-a logs -f --prefix vlm-worker-0")
    _lines(tape, pods, range(5, 181, 5))
    tape.say(
        'rpc error: code = NotFound desc = an error occurred when try to find container "9d20c1": not found',
        _describe(
            tape,
            pods[0],
            "gpu-d-02",
            [
                "Reason:           Evicted",
                "Message:          The node was low on resource: ephemeral-storage. Threshold quantity: 53687091200, available: 50110344Ki. Container pytorch was using 1120433Mi, request is 0, has larger consumption of ephemeral-storage. ",
            ],
            [
                (
                    "Warning",
                    "Evicted",
                    "52s",
                    "kubelet",
                    "The node was low on resource: ephemeral-storage. Threshold quantity: 53687091200, available: 50110344Ki. Container pytorch was using 1120433Mi, request is 0, has larger consumption of ephemeral-storage. ",
                ),
                ("Normal", "Killing", "52s", "kubelet", "Stopping container pytorch"),
                (
                    "Warning",
                    "ExceededGracePeriod",
                    "42s",
                    "kubelet",
                    "Container runtime did not kill the pod within specified grace period.",
                ),
            ],
        ),
        "$ kubectl get node gpu-d-02 -o jsonpath='{.status.conditions[?(@.type==\"DiskPressure\")].status}'",
        "True",
    )
    return log(
        tape,
        "local_scratch_pressure",
        "disk_full",
        137,
        _BASIS,
        command="./follow.sh vlm",
        paper_class=None,
        why="evicted for its own files on the node's disk: room for them must change",
        training_operator="1.9.2",
    )


def _kubelet_silent() -> ComposedLog:
    tape = Tape(9709, "2025-12-15 15:00:00")
    pods = ["rm-node-0-0-kk2s8", "rm-node-0-1-w0qz3"]
    _start(tape, pods, "kubectl -n team-a logs -f --prefix -l jobset.sigs.k8s.io/jobset-name=rm")
    _lines(tape, pods, range(10, 151, 10))
    tape.wait(400)
    tape.say(
        f"[pod/{pods[0]}/node] [rank0]:[E1215 15:17:10.404104071 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4411, OpType=ALLREDUCE, NumelIn=25559081, NumelOut=25559081, Timeout(ms)=600000) ran for 600021 milliseconds before timing out.",
        'error: Get "https://10.50.1.77:10250/containerLogs/team-a/rm-node-0-1-w0qz3/node?follow=true": dial tcp 10.50.1.77:10250: connect: no route to host',
        "$ kubectl get events -A --field-selector reason=NodeNotReady",
        columns(
            [
                ("NAMESPACE", "LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"),
                (
                    "default",
                    "11m",
                    "Normal",
                    "NodeNotReady",
                    "node/gpu-a-22",
                    "Node gpu-a-22 status is now: NodeNotReady",
                ),
                ("team-a", "11m", "Warning", "NodeNotReady", f"pod/{pods[1]}", "Node is not ready"),
                (
                    "team-a",
                    "6m",
                    "Normal",
                    "TaintManagerEviction",
                    f"pod/{pods[1]}",
                    f"Marking for deletion Pod team-a/{pods[1]}",
                ),
            ]
        ),
        "$ kubectl -n team-a get jobset rm",
        columns(
            [
                ("NAME", "TERMINALSTATE", "RESTARTS", "COMPLETED", "SUSPENDED", "AGE"),
                ("rm", "Failed", "0", "", "false", "31m"),
            ]
        ),
    )
    return log(
        tape,
        "kubelet_silent",
        "node_failure",
        1,
        _BASIS,
        command="./follow.sh rm",
        paper_class=None,
        jobset="0.10.1",
    )


def _deadline_of_the_set() -> ComposedLog:
    tape = Tape(9710, "2025-05-29 00:00:00")
    pods = ["night-node-0-0-77csx"]
    _start(tape, pods, "kubectl -n team-a logs -f --prefix -l jobset.sigs.k8s.io/jobset-name=night")
    _lines(tape, pods, range(100, 6001, 100), seconds=355)
    tape.say(
        f"[pod/{pods[0]}/node] W0529 06:00:04.000120 1 torch/distributed/elastic/agent/server/api.py:719] Received 15 death signal, shutting down workers",
        "$ kubectl -n team-a get job night-node-0 -o jsonpath='{.status.conditions}'",
        '[{"lastProbeTime":"2025-05-29T06:00:02Z","message":"Job was active longer than specified deadline","reason":"DeadlineExceeded","status":"True","type":"FailureTarget"},{"message":"Job was active longer than specified deadline","reason":"DeadlineExceeded","status":"True","type":"Failed"}]',
        "$ kubectl -n team-a get events | grep night",
        "2m          Warning   DeadlineExceeded   job/night-node-0   Job was active longer than specified deadline\n2m          Normal    SuccessfulDelete   job/night-node-0   Deleted pod: night-node-0-0-77csx",
    )
    return log(
        tape,
        "deadline_of_the_set",
        "time_limit",
        143,
        _BASIS,
        command="./follow.sh night",
        paper_class=None,
    )


def _recreated_and_complete() -> ComposedLog:
    tape = Tape(9711, "2025-10-01 12:00:00")
    pods = ["tune-node-0-0-aa1", "tune-node-0-1-bb2"]
    _start(tape, pods, "./follow.sh tune")
    _lines(tape, pods, range(10, 61, 10))
    tape.say(
        f"[pod/{pods[1]}/node] RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "jobset/tune: Normal JobSetRestart restarting jobset, attempt 1 of 3: first failed job: tune-node-0",
        "pod/tune-node-0-1-bb2: Warning BackOff Back-off restarting failed container",
        "node/gpu-a-19: Normal NodeNotSchedulable Node gpu-a-19 status is now: NodeNotSchedulable",
    )
    again = ["tune-node-0-0-cc3", "tune-node-0-1-dd4"]
    _start(tape, again, "./follow.sh tune")
    tape.say(f"[pod/{again[0]}/node] INFO resumed from /ckpt/tune/step_50")
    _lines(tape, again, range(60, 301, 10))
    tape.say(
        f"[pod/{again[0]}/node] INFO training finished at step 300, model written to /ckpt/tune/final",
        "jobset/tune: Normal AllJobsCompleted jobset completed successfully",
        columns([("NAME", "STATE", "AGE"), ("tune", "Complete", "41m")]),
    )
    return log(
        tape,
        "recreated_and_complete",
        "none",
        0,
        _BASIS,
        command="./follow.sh tune",
        why="JobSet restarted the run on another node, and it finished",
        jobset="0.10.1",
    )
