"""Queued batch work on Kubernetes: Kueue, Volcano, JobSet, Argo and MPIJobs."""

from __future__ import annotations

import json
from collections.abc import Iterator

from corpus.compose._cluster_blocks import columns, events, log
from corpus.compose._gpu_tape import Tape, chained, marked, mixed, traceback
from corpus.compose._gpu_torch import oom
from corpus.compose.composed_log import ComposedLog

_BASIS = "Kueue 0.8-0.12, Volcano 1.8-1.11, JobSet, Argo Workflows 3.5 and MPI Operator conditions and events, kubelet messages"
_SITE = "/usr/lib/python3.12/site-packages"
_ROOT = "/src"


def logs() -> Iterator[ComposedLog]:
    """A shared cluster where queues lend cards to one another."""
    yield _kueue_reclaimed_its_quota()
    yield _volcano_made_room()
    yield _argo_deadline()
    yield _argo_stopped()
    yield _out_of_memory_in_an_init_step()
    yield _card_marked_by_the_detector()
    yield _emptydir_over_its_size()
    yield _secret_not_mounted()
    yield _token_without_the_right()
    yield _resolver_of_the_cluster()
    yield _records_that_do_not_parse()
    yield _card_full_beside_a_neighbour()
    yield _mpijob_lost_a_peer()
    yield _suspended_then_admitted_again()


def _stern(pod: str, text: str) -> str:
    return marked(f"{pod} main ", text)


def _json_steps(tape: Tape, first: int, last: int, every: int, seconds: float = 41) -> list[str]:
    made = []
    for at in range(first, last + 1, every):
        tape.wait(seconds)
        made.append(
            json.dumps(
                {
                    "ts": tape.when("%Y-%m-%dT%H:%M:%SZ"),
                    "level": "info",
                    "step": at,
                    "loss": round(tape.near(3.0 / (1 + at / last), 0.03), 4),
                    "errors_total": 0,
                    "oom_retries": 0,
                }
            )
        )
    return made


def _kueue_reclaimed_its_quota() -> ComposedLog:
    tape = Tape(5001, "2025-03-04 14:00:02")
    tape.say(
        *_json_steps(tape, 100, 1700, 100),
        '{"ts": "2025-03-04T14:11:58Z", "level": "warn", "msg": "SIGTERM, 30 s left, no checkpoint configured"}',
        "$ kubectl -n nlp describe workload job-lm-small-7c1f2 | sed -n '/Conditions/,$p'",
        "  Conditions:",
        "    Last Transition Time:  2025-03-04T14:11:57Z",
        "    Message:               Preempted to accommodate a workload (UID: 5515f7da-d2ea-4851-9e9c-6b8b3333734d, JobUID: 0e1f) due to reclamation within the cohort",
        "    Observed Generation:   1",
        "    Reason:                Preempted",
        "    Status:                True",
        "    Type:                  Evicted",
        "    Last Transition Time:  2025-03-04T14:11:57Z",
        "    Message:               The workload has been evicted",
        "    Reason:                InCohortReclamation",
        "    Status:                True",
        "    Type:                  Preempted",
        events(
            [
                (
                    "Normal",
                    "Admitted",
                    "12m",
                    "kueue-admission",
                    "Admitted by ClusterQueue nlp, wait time since reservation was 0s",
                ),
                (
                    "Normal",
                    "Preempted",
                    "14s",
                    "kueue-admission",
                    "Preempted to accommodate a workload (UID: 5515f7da-d2ea-4851-9e9c-6b8b3333734d) due to reclamation within the cohort",
                ),
                ("Normal", "Suspended", "14s", "job-controller", "Job suspended"),
            ]
        ),
    )
    return log(
        tape,
        "kueue_reclaimed_its_quota",
        "preempted",
        143,
        _BASIS,
        command="kubectl create -f job-lm-small.yaml",
        kueue="0.10",
    )


def _volcano_made_room() -> ComposedLog:
    tape = Tape(5002, "2024-04-21 03:30:00")
    tape.say(
        *(
            _stern(
                f"speech-worker-{n}",
                f"[rank {n}] it {at} ctc {tape.near(1.2, 0.05):.3f} ({tape.when()})",
            )
            for at in range(100, 1100, 100)
            for n in (0, 1)
        ),
        "$ kubectl describe vcjob speech | tail -n 16",
        "Status:",
        "  Min Available:  2",
        "  State:",
        "    Last Transition Time:  2024-04-21T03:48:10Z",
        "    Phase:                 Aborted",
        "    Reason:                PodEvicted",
        events(
            [
                (
                    "Warning",
                    "Evict",
                    "40s",
                    "volcano",
                    "Pod is evicted, because of preempt",
                ),
                (
                    "Normal",
                    "ExecuteAction",
                    "39s",
                    "vc-controller-manager",
                    "Start to execute action AbortJob ",
                ),
                (
                    "Warning",
                    "PodGroupPending",
                    "20s",
                    "volcano",
                    "PodGroup speech: 2/2 tasks in gang unschedulable: pod group is not ready, 2 Releasing, 2 minAvailable",
                ),
            ]
        ),
    )
    return log(
        tape,
        "volcano_made_room",
        "preempted",
        None,
        _BASIS,
        command="vcctl job run -f speech.yaml",
        volcano="1.8",
    )


def _argo_deadline() -> ComposedLog:
    tape = Tape(5003, "2024-11-30 18:00:40")
    tape.say(
        'time="2024-11-30T18:00:40.101Z" level=info msg="Starting Workflow Executor" version=v3.5.8',
        'time="2024-11-30T18:00:40.140Z" level=info msg="Executor initialized" deadline="2024-11-30 19:00:38 +0000 UTC" includeScriptOutput=false',
        *_json_steps(tape, 500, 12000, 500, 149),
        'time="2024-11-30T19:00:38.004Z" level=info msg="Pod exceeded its deadline"',
        'time="2024-11-30T19:00:38.010Z" level=info msg="Received signal 15, forwarding to main" ',
        'time="2024-11-30T19:00:48.391Z" level=info msg="sub-process exited" argo=true error="<nil>"',
        "Error: exit status 143",
        "$ argo get tune-x9 | tail -3",
        "STEP          TEMPLATE  PODNAME        DURATION  MESSAGE",
        " ✖ tune-x9    train     tune-x9-train  1h        Step exceeded its deadline",
    )
    return log(
        tape,
        "argo_deadline",
        "time_limit",
        143,
        _BASIS,
        command="argo submit tune.yaml",
        argo="3.5.8",
    )


def _argo_stopped() -> ComposedLog:
    tape = Tape(5004, "2025-02-19 09:09:09")
    tape.say(
        'time="2025-02-19T09:09:09.300Z" level=info msg="capturing logs" argo=true',
        *_json_steps(tape, 100, 1200, 100, 12),
        'time="2025-02-19T09:11:40.118Z" level=info msg="received signal terminated, stopping main"',
        "Error: exit status 143",
        "$ argo get tune-y2 -o json | jq -r '.status.message, .metadata.labels[\"workflows.argoproj.io/completed\"]'",
        "Stopped with strategy 'Terminate'",
        "true",
        "$ argo list --completed | head -2",
        columns(
            [
                ("NAME", "STATUS", "AGE", "DURATION", "PRIORITY", "MESSAGE"),
                (
                    "tune-y2",
                    "Failed",
                    "3m",
                    "2m",
                    "0",
                    "workflow shutdown with strategy:  Terminate",
                ),
            ]
        ),
    )
    return log(
        tape,
        "argo_stopped",
        "cancelled",
        143,
        _BASIS,
        command="argo terminate tune-y2",
        why="the workflow was terminated by request; no queue wanted its place",
        argo="3.5.8",
    )


def _out_of_memory_in_an_init_step() -> ComposedLog:
    tape = Tape(5005, "2024-08-22 11:30:00")
    tape.say(
        "$ kubectl logs pack-and-train-0 -c pack",
        *(
            f"packing shard {n:3d}/256  docs {n * 40211:9d}  buffer {n * 0.071:.2f} GB"
            for n in range(8, 225, 8)
        ),
        "Killed",
        "$ kubectl get pod pack-and-train-0 -o jsonpath='{.status.initContainerStatuses[0].state}' | jq",
        "{",
        '  "terminated": {',
        '    "exitCode": 137,',
        '    "finishedAt": "2024-08-22T11:41:13Z",',
        '    "reason": "OOMKilled",',
        '    "startedAt": "2024-08-22T11:30:02Z"',
        "  }",
        "}",
        "$ kubectl logs pack-and-train-0 -c main",
        'Error from server (BadRequest): container "main" in pod "pack-and-train-0" is waiting to start: PodInitializing',
    )
    return log(
        tape,
        "out_of_memory_in_an_init_step",
        "oom_killer",
        137,
        _BASIS,
        command="kubectl apply -f pack-and-train.yaml",
        kubernetes="1.29",
    )


def _card_marked_by_the_detector() -> ComposedLog:
    tape = Tape(5006, "2025-05-01 20:14:00")
    tape.say(
        *_json_steps(tape, 1000, 9000, 1000, 110),
        *(
            _stern(
                f"mae-h-{n}",
                traceback(
                    f"""
                    {_ROOT}/main.py:144 <module> | train(cfg)
                    {_ROOT}/main.py:101 train | scaler.step(optimizer)
                    {_SITE}/torch/amp/grad_scaler.py:457 step | retval = self._maybe_opt_step(optimizer, optimizer_state, *args, **kwargs)
                    {_SITE}/torch/amp/grad_scaler.py:351 _maybe_opt_step | if not sum(v.item() for v in optimizer_state["found_inf_per_device"].values()):
                    """,
                    "RuntimeError: CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n",
                ),
            )
            for n in (3,)
        ),
        "$ kubectl describe node h100-17 | sed -n '/^Events/,$p'",
        events(
            [
                (
                    "Warning",
                    "XidError",
                    "2m",
                    "nvidia-xid-monitor",
                    "NVRM: Xid (PCI:0000:9a:00): 95, pid=880124, name=python, Uncontained: HBM Memory Error (0x2), physAddr: 0x81f3c02e40",
                ),
                (
                    "Warning",
                    "GpuUnhealthy",
                    "2m",
                    "nvidia-device-plugin",
                    "XidCriticalError: Xid=95 on Device=GPU-77c1b0aa-2f4e; marking device as unhealthy.",
                ),
                (
                    "Normal",
                    "NodeNotSchedulable",
                    "1m",
                    "kubelet",
                    "Node h100-17 status is now: NodeNotSchedulable",
                ),
            ]
        ),
    )
    return log(
        tape,
        "card_marked_by_the_detector",
        "gpu_hardware",
        1,
        _BASIS + "; NVIDIA's Xid catalogue",
        command="kubectl create -f mae-h.yaml",
        paper_class="runtime_error",
        why="Xid 95 of the same moment: the memory of the card, not the program's access",
        torch="2.6.0",
    )


def _emptydir_over_its_size() -> ComposedLog:
    tape = Tape(5007, "2024-06-30 02:00:00")
    tape.say(
        *_json_steps(tape, 200, 1800, 200, 100),
        '{"ts": "2024-06-30T02:15:02Z", "level": "info", "msg": "profiler trace 41 written to /scratch/trace (2.1 GB)"}',
        "$ kubectl get pod prof-0 -o jsonpath='{.status.reason}: {.status.message}'",
        'Evicted: Usage of EmptyDir volume "scratch" exceeds the limit "100Gi". ',
        events(
            [
                (
                    "Warning",
                    "Evicted",
                    "1m",
                    "kubelet",
                    'Usage of EmptyDir volume "scratch" exceeds the limit "100Gi". ',
                ),
                ("Normal", "Killing", "1m", "kubelet", "Stopping container main"),
            ]
        ),
    )
    return log(
        tape,
        "emptydir_over_its_size",
        "disk_full",
        137,
        _BASIS,
        command="kubectl apply -f prof.yaml",
        why="evicted because its own scratch volume passed its size, not for anyone else's sake",
        kubernetes="1.28",
    )


def _secret_not_mounted() -> ComposedLog:
    tape = Tape(5008, "2025-01-13 08:00:21")
    tape.say(
        "[entrypoint] HF_HOME=/cache WANDB_MODE=offline",
        "[entrypoint] starting: python -m src.train --config /etc/train/config.yaml",
        traceback(
            """
            /usr/lib/python3.12/runpy.py:198 _run_module_as_main | return _run_code(code, main_globals, None,
            src/train.py:171 <module> | main()
            src/train.py:40 main | cfg = OmegaConf.load(args.config)
            @omegaconf/omegaconf.py:189 load | with io.open(os.path.abspath(file_), "r", encoding="utf-8") as f:
            """,
            "FileNotFoundError: [Errno 2] No such file or directory: '/etc/train/config.yaml'",
            root="",
            site=_SITE,
            carets=True,
        ),
        events(
            [
                (
                    "Warning",
                    "FailedMount",
                    "3m (x4 over 4m)",
                    "kubelet",
                    'MountVolume.SetUp failed for volume "train-config" : references non-existent config key: config.yaml',
                ),
                ("Normal", "Started", "20s", "kubelet", "Started container main"),
            ]
        ),
    )
    return log(
        tape,
        "secret_not_mounted",
        "file_not_found",
        1,
        _BASIS + "; OmegaConf",
        command="python -m src.train --config /etc/train/config.yaml",
    )


def _token_without_the_right() -> ComposedLog:
    tape = Tape(5009, "2024-10-15 13:13:00")
    for n in (0, 1):
        tape.say(
            _stern(
                f"sft-job-{n}-x7",
                chained(
                    traceback(
                        """
                        @huggingface_hub/utils/_http.py:409 hf_raise_for_status | response.raise_for_status()
                        @requests/models.py:1024 raise_for_status | raise HTTPError(http_error_msg, response=self)
                        """,
                        "requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://huggingface.co/api/datasets/acme-internal/support-chats/revision/main",
                        site=_SITE,
                    ),
                    traceback(
                        """
                        sft.py:52 <module> | ds = load_dataset("acme-internal/support-chats", split="train")
                        @datasets/load.py:2132 load_dataset | builder_instance = load_dataset_builder(
                        @datasets/load.py:1737 dataset_module_factory | raise DatasetNotFoundError(msg) from e
                        """,
                        "datasets.exceptions.DatasetNotFoundError: Dataset 'acme-internal/support-chats' doesn't exist on the Hub or cannot be accessed.",
                        root=_ROOT,
                        site=_SITE,
                    ),
                    direct=True,
                ),
            )
        )
    tape.say(
        events(
            [
                (
                    "Warning",
                    "BackoffLimitExceeded",
                    "8s",
                    "job-controller",
                    "Job has reached the specified backoff limit",
                ),
            ]
        )
    )
    return log(
        tape,
        "token_without_the_right",
        "asset",
        1,
        _BASIS + "; datasets sources",
        command="kubectl create -f sft-job.yaml",
        paper_class="traceback",
        datasets="3.0.1",
    )


def _resolver_of_the_cluster() -> ComposedLog:
    tape = Tape(5010, "2024-02-27 23:23:00")
    tape.say(
        *_json_steps(tape, 1000, 6000, 1000, 77),
        '{"ts": "2024-02-27T23:31:02Z", "level": "warn", "msg": "mlflow: retry 1, lookup mlflow.platform.svc: Temporary failure in name resolution"}',
        '{"ts": "2024-02-27T23:33:02Z", "level": "warn", "msg": "mlflow: retry 5, lookup mlflow.platform.svc: Temporary failure in name resolution"}',
        traceback(
            """
            main.py:210 <module> | main()
            main.py:166 main | mlflow.log_metrics(metrics, step=step)
            @mlflow/tracking/_tracking_service/client.py:378 log_batch | self.store.log_batch(run_id=run_id, metrics=metrics, params=params, tags=tags)
            @mlflow/utils/rest_utils.py:151 http_request | raise MlflowException(f"API request to {url} failed with exception {e}")
            """,
            "mlflow.exceptions.MlflowException: API request to http://mlflow.platform.svc:5000/api/2.0/mlflow/runs/log-batch failed with exception HTTPConnectionPool(host='mlflow.platform.svc', port=5000): Max retries exceeded with url: /api/2.0/mlflow/runs/log-batch (Caused by NameResolutionError(\"<urllib3.connection.HTTPConnection object at 0x7f7d0c1f3b50>: Failed to resolve 'mlflow.platform.svc' ([Errno -3] Temporary failure in name resolution)\"))",
            root=_ROOT,
            site=_SITE,
        ),
        "$ kubectl -n kube-system get pods -l k8s-app=kube-dns",
        columns(
            [
                ("NAME", "READY", "STATUS", "RESTARTS", "AGE"),
                ("coredns-6d4b75cb6d-8xk2p", "0/1", "CrashLoopBackOff", "41 (2m ago)", "12d"),
                ("coredns-6d4b75cb6d-qz7wv", "0/1", "CrashLoopBackOff", "40 (3m ago)", "12d"),
            ]
        ),
    )
    return log(
        tape,
        "resolver_of_the_cluster",
        "network",
        1,
        _BASIS + "; MLflow client",
        command="python main.py",
        paper_class="traceback",
        mlflow="2.9",
    )


def _records_that_do_not_parse() -> ComposedLog:
    tape = Tape(5011, "2025-04-08 10:40:00")
    tape.say(
        '{"ts": "2025-04-08T10:40:00Z", "level": "info", "msg": "reading 96 files", "strict": true}',
        mixed(
            tape,
            *(
                "\n".join(
                    f"[w{n}] part-{k:05d}.jsonl.zst ok ({tape.rng.randrange(9000, 11000)} records, 0 bad)"
                    for k in range(n * 8, n * 8 + 7)
                )
                for n in range(3)
            ),
        ),
        traceback(
            """
            src/prepare.py:88 <module> | main()
            src/prepare.py:61 main | for record in pool.imap(parse, files):
            /usr/lib/python3.12/multiprocessing/pool.py:873 next | raise value
            """,
            "json.decoder.JSONDecodeError: Unterminated string starting at: line 1 column 11894 (char 11893)",
            root="",
        ),
        'part-00023.jsonl.zst:8812: {"id": "9f1c", "text": "...',
        events(
            [
                (
                    "Warning",
                    "BackOff",
                    "30s (x3 over 2m)",
                    "kubelet",
                    "Back-off restarting failed container main in pod prep-train-0",
                )
            ]
        ),
    )
    return log(
        tape,
        "records_that_do_not_parse",
        "data",
        1,
        _BASIS,
        command="python -m src.prepare --strict",
        paper_class="traceback",
    )


def _card_full_beside_a_neighbour() -> ComposedLog:
    tape = Tape(5012, "2024-12-01 17:17:00")
    tape.say(
        "time-slicing: nvidia.com/gpu.shared replicas=4",
        *_json_steps(tape, 50, 600, 50, 9),
        _stern(
            "embed-ft-0",
            traceback(
                """
                main.py:131 <module> | main()
                main.py:97 main | loss.backward()
                @torch/_tensor.py:581 backward | torch.autograd.backward(
                @torch/autograd/__init__.py:347 backward | _engine_run_backward(
                @torch/autograd/graph.py:825 _engine_run_backward | return Variable._execution_engine.run_backward(  # Calls into the C++ engine to run the backward pass
                """,
                oom(
                    "2.5",
                    "768.00 MiB",
                    total="44.40 GiB",
                    free="411.31 MiB",
                    used="11.02 GiB",
                    allocated="9.71 GiB",
                    idle="902.11 MiB",
                ),
                root=_ROOT,
                site=_SITE,
            ),
        ),
        "$ kubectl get pod embed-ft-0",
        columns(
            [
                ("NAME", "READY", "STATUS", "RESTARTS", "AGE"),
                ("embed-ft-0", "0/1", "CrashLoopBackOff", "2 (14s ago)", "9m"),
            ]
        ),
        "$ kubectl get pod embed-ft-0 -o jsonpath='{.status.containerStatuses[0].lastState.terminated.reason}'",
        "Error",
    )
    return log(
        tape,
        "card_full_beside_a_neighbour",
        "cuda_oom",
        1,
        _BASIS,
        command="kubectl apply -f embed-ft.yaml",
        why="the card was shared by time slices; its memory, not the host's, ran out",
        torch="2.5.1",
    )


def _mpijob_lost_a_peer() -> ComposedLog:
    tape = Tape(5013, "2023-10-18 06:45:00")
    for at in range(10, 130, 10):
        tape.wait(30).say(
            f"[1,0]<stdout>:{tape.when()}  {at}\timages/sec: {tape.near(3110, 0.01):.1f} +/- 2.1 (jitter = 11.8)\t{tape.near(6.9, 0.05):.3f}"
        )
    tape.say(
        *(
            f"[1,{n}]<stderr>:[{tape.when()}.{tape.rng.randrange(10**6):06d}: E horovod/common/operations.cc:697] [{n}]: Horovod background loop uncaught exception: [/opt/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.244.3.18]:11020"
            for n in (0, 1, 4, 5)
        ),
        "--------------------------------------------------------------------------",
        "mpirun detected that one or more processes exited with non-zero status, thus causing",
        "the job to be terminated. The first process to do so was:",
        "",
        "  Process name: [[31100,1],4]",
        "  Exit code:    1",
        "--------------------------------------------------------------------------",
        events(
            [
                (
                    "Normal",
                    "MPIJobRunning",
                    "7m",
                    "mpi-job-controller",
                    "MPIJob train/tf-bench is running",
                ),
                (
                    "Warning",
                    "MPIJobFailed",
                    "4s",
                    "mpi-job-controller",
                    "Job has reached the specified backoff limit",
                ),
            ]
        ),
        columns(
            [
                ("NAME", "READY", "STATUS", "RESTARTS", "AGE"),
                ("tf-bench-launcher-k2x", "0/1", "Error", "0", "7m"),
                ("tf-bench-worker-0", "1/1", "Running", "0", "7m"),
                ("tf-bench-worker-1", "1/1", "Running", "0", "7m"),
            ]
        ),
    )
    return log(
        tape,
        "mpijob_lost_a_peer",
        "collective",
        1,
        _BASIS + "; Horovod",
        command="mpirun -np 8 python tf_cnn_benchmarks.py",
        paper_class="nccl",
        why="all pods still run; nothing but the broken connection is told",
        horovod="0.28",
    )


def _suspended_then_admitted_again() -> ComposedLog:
    tape = Tape(5014, "2025-06-17 09:00:00")
    tape.say(
        *_json_steps(tape, 500, 3000, 500),
        '{"ts": "2025-06-17T09:04:10Z", "level": "warn", "msg": "SIGTERM received, saving"}',
        '{"ts": "2025-06-17T09:04:22Z", "level": "info", "msg": "saved step 3000 to s3://ckpt/mm-9"}',
        '{"ts": "2025-06-17T09:31:40Z", "level": "info", "msg": "restored step 3000 from s3://ckpt/mm-9"}',
    )
    tape.wait(1700).say(
        *_json_steps(tape, 3500, 8000, 500),
        '{"ts": "2025-06-17T09:41:00Z", "level": "info", "msg": "training complete", "exit": 0}',
        "$ kubectl -n mm describe workload job-mm-9 | sed -n '/^Events/,$p'",
        events(
            [
                (
                    "Normal",
                    "Preempted",
                    "37m",
                    "kueue-admission",
                    "Preempted to accommodate a workload (UID: 0aa1) due to prioritization in the ClusterQueue",
                ),
                (
                    "Warning",
                    "Pending",
                    "36m",
                    "kueue-admission",
                    "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor h100, 8 more needed",
                ),
                (
                    "Normal",
                    "Admitted",
                    "10m",
                    "kueue-admission",
                    "Admitted by ClusterQueue mm, wait time since reservation was 0s",
                ),
                ("Normal", "Completed", "5s", "job-controller", "Job completed"),
            ]
        ),
    )
    return log(
        tape,
        "suspended_then_admitted_again",
        "none",
        0,
        _BASIS,
        command="kubectl create -f mm-9.yaml",
        why="preempted once, admitted again, completed",
        kueue="0.12",
    )
