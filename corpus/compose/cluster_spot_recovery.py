"""Rented machines and CI runners: SkyPilot, dstack, Modal, HyperPod, GitHub and GitLab runners."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._cluster_blocks import log, trainer_steps
from corpus.compose._gpu_hosts import steps
from corpus.compose._gpu_tape import Tape, marked, traceback
from corpus.compose.composed_log import ComposedLog

_BASIS = "sources and documentation of SkyPilot 0.9-0.10 (managed jobs), dstack 0.19, Modal client 1.1, SageMaker HyperPod, EC2 spot interruption notices, GitHub Actions runner 2.32x, GitLab runner 17-18"


def logs() -> Iterator[ComposedLog]:
    """Runs that a cloud or a runner ended, or did not let begin."""
    yield _spot_and_no_other()
    yield _quota_of_the_region()
    yield _setup_of_the_task()
    yield _dstack_instance_gone()
    yield _function_time_out()
    yield _runner_shut_down()
    yield _runner_lost()
    yield _pipeline_longer_than_allowed()
    yield _runner_cancelled_by_newer()
    yield _health_check_of_the_node()
    yield _recovered_twice()


def _sky(name: str, pid: int, text: str) -> str:
    return marked(f"({name}, pid={pid}) ", text)


_STEP = "step {step}/12000 loss {loss:.4f} lr {lr:.2e} {time:.2f}s/step"


def _launch(tape: Tape, name: str, region: str) -> None:
    tape.say(
        "\x1b[33m├── \x1b[0m\x1b[2mWaiting for task resources on 1 node.\x1b[0m",
        "\x1b[33m└── \x1b[0mJob started. Streaming logs... \x1b[2m(Ctrl-C to exit log streaming; job will not be killed)\x1b[0m",
        _sky(
            name,
            2311,
            f"+ nvidia-smi -L\nGPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-{tape.rng.randrange(16**8):08x}-11d2)\n+ python train.py --resume auto --out s3://ckpt-{region}/{name}",
        ),
    )


def _spot_and_no_other() -> ComposedLog:
    tape = Tape(9801, "2025-06-08 04:00:00")
    _launch(tape, "vit-l", "use1")
    tape.say(_sky("vit-l", 2311, steps(tape, _STEP, range(50, 2251, 50), seconds=60)))
    tape.say(
        _sky(
            "vit-l",
            2311,
            'spot-watcher: {"action": "terminate", "time": "2025-06-08T04:47:31Z"}\nspot-watcher: sending SIGTERM to 2388\nsaving emergency checkpoint at step 2261 ... done\nTerminated',
        ),
        "Cluster is preempted or failed. Recovering...",
        "⚙︎ Job submitted, ID: 4",
        f"I {tape.wait(63).when('%m-%d %H:%M:%S')} recovery_strategy.py:497] Failed to launch a cluster with error: sky.exceptions.ResourcesUnavailableError: Failed to acquire resources in all zones in us-east-1 for {{AWS(p4de.24xlarge[Spot], {{'A100-80GB': 8}})}}. )",
        f"I {tape.wait(63).when('%m-%d %H:%M:%S')} recovery_strategy.py:510] Retrying to launch the cluster in 60.0 seconds.",
        f"I {tape.wait(63).when('%m-%d %H:%M:%S')} recovery_strategy.py:497] Failed to launch a cluster with error: sky.exceptions.ResourcesUnavailableError: InsufficientInstanceCapacity",
        f"E {tape.wait(63).when('%m-%d %H:%M:%S')} controller.py:599] Failed to recover the job after 3 attempts.",
        "✗ Job finished (status: FAILED_NO_RESOURCE).",
        "Failure reason: Failed to provision all possible launchable resources. Relax the task's resource requirements",
    )
    return log(
        tape,
        "spot_and_no_other",
        "preempted",
        100,
        _BASIS,
        command="sky jobs logs 17 --follow",
        paper_class=None,
        why="the spot machine was taken; that no other could be had follows",
        skypilot="0.10.0",
    )


def _quota_of_the_region() -> ComposedLog:
    tape = Tape(9802, "2025-10-22 10:00:00")
    tape.say(
        "YAML to run: train.yaml",
        "Managed job 'mixtral' will be launched on (estimated):",
        "Considered resources (1 node):\n------------------------------------------------------------------------------------------\n INFRA                  INSTANCE          vCPUs   Mem(GB)   GPUS     COST ($)   CHOSEN   \n------------------------------------------------------------------------------------------\n GCP (us-central1-a)    a3-highgpu-8g     208     1872      H100:8   88.25         ✔     \n AWS (us-west-2)        p5.48xlarge       192     2048      H100:8   98.32               \n------------------------------------------------------------------------------------------",
        "⚙︎ Launching managed job 'mixtral' from jobs controller...",
        *(
            f"W {tape.when('%m-%d')} 10:0{at}:12 instance.py:233] Failed to create instance in {zone}: [code=QUOTA_EXCEEDED] Quota 'NVIDIA_H100_GPUS' exceeded.  Limit: 0.0 in region {zone[:-2]}."
            for at, zone in enumerate(
                ("us-central1-a", "us-central1-c", "us-east4-b", "europe-west4-b")
            )
        ),
        "W 10-22 10:05:40 cloud_vm_ray_backend.py:1041] VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of 0 allows for the instance bucket that the specified instance type belongs to.",
        "sky.exceptions.ResourcesUnavailableError: Failed to provision all possible launchable resources. Relax the task's resource requirements: 1x <Cloud>({'H100': 8})",
        "To keep retrying until the cluster is up, use the `--retry-until-up` flag.",
        "Reasons for provision failures (for details, please check the log above):\nResource                                            Reason\nGCP(a3-highgpu-8g, {'H100': 8})                     Quota 'NVIDIA_H100_GPUS' exceeded. Limit: 0.0\nAWS(p5.48xlarge, {'H100': 8})                       VcpuLimitExceeded",
        "✗ Job finished (status: FAILED_PRECHECKS).",
    )
    return log(
        tape,
        "quota_of_the_region",
        "config",
        1,
        _BASIS,
        command="sky jobs launch train.yaml",
        paper_class="traceback",
        why="the request asks for what the account has a limit of 0 for; nothing ran. No cause names quotas of machines",
        skypilot="0.9.3",
    )


def _setup_of_the_task() -> ComposedLog:
    tape = Tape(9803, "2025-03-26 12:00:00")
    tape.say(
        "⚙︎ Launching on Lambda us-west-3.",
        "├── Instance is up.",
        "└── Docker container is up.",
        "✓ Cluster launched: exp-71c0.  View logs: sky logs --provision exp-71c0",
        "⚙︎ Syncing files.\n  Syncing workdir (to 1 node): . -> ~/sky_workdir\n✓ Synced workdir.",
        marked(
            "(setup pid=1977) ",
            "Using CPython 3.11.11\nCreating virtual environment at: .venv\n  \u00d7 No solution found when resolving dependencies:\n  ╰─▶ Because vllm==0.8.1 depends on torch==2.6.0 and your project depends on\n      torch==2.5.1, we can conclude that your project and vllm==0.8.1 are\n      incompatible.\n      And because your project depends on vllm==0.8.1, we can conclude that\n      your project's requirements are unsatisfiable.",
        ),
        "ERROR: Job 1's setup failed with return code list: [1]",
        "✗ Job finished (status: FAILED_SETUP).",
        "sky.exceptions.CommandError: Command /bin/bash -i /tmp/sky_setup_sky-2025-03-26-12-00-44 2>&1 failed with return code 1.",
    )
    return log(
        tape,
        "setup_of_the_task",
        "dependency",
        1,
        _BASIS,
        command="sky launch -c exp task.yaml",
        paper_class=None,
        skypilot="0.8.1",
    )


def _dstack_instance_gone() -> ComposedLog:
    tape = Tape(9804, "2025-08-28 21:00:00")
    tape.say(
        " Project          main\n User             ml\n Configuration    train.dstack.yml\n Type             task\n Resources        gpu=H100:80GB:8\n Spot policy      auto\n Max duration     48h\n Retry policy     off",
        " #  BACKEND            RESOURCES                                    INSTANCE TYPE      PRICE\n 1  runpod (CA-MTL-1)  cpu=128 mem=2008GB disk=200GB H100:80GB:8 (spot)  NVIDIA H100 80GB HBM3  $17.52",
        "quiet-llama-2 provisioning completed (running)",
        trainer_steps(tape, range(10, 251, 10), 7240, loss=1.3, seconds=4.2),
        "Run failed with error code INTERRUPTED_BY_NO_CAPACITY.\nError: Instance was interrupted by the backend (spot).\nCheck CLI, server, and run logs for more details.",
    )
    return log(
        tape,
        "dstack_instance_gone",
        "preempted",
        1,
        _BASIS,
        command="dstack apply -f train.dstack.yml",
        paper_class=None,
        dstack="0.19.25",
    )


def _function_time_out() -> ComposedLog:
    tape = Tape(9805, "2025-07-15 13:00:00")
    tape.say(
        "✓ Initialized. View run at https://modal.com/apps/lab/main/ap-7QpX2",
        "✓ Created objects.\n├── 🔨 Created mount /home/dev/proj\n├── 🔨 Created mount /home/dev/proj/src\n└── 🔨 Created function train.",
        "Runner [ta-01K06] started, gpu=A100-80GB timeout=14400",
        steps(
            tape,
            "{when} step={step} train/loss={loss:.4f} train/grad_norm={norm:.3f}",
            range(100, 5001, 100),
            seconds=286,
        ),
        "Task's current input in-01K06PSW hit its timeout of 14400s",
        traceback(
            """
            /home/dev/.venv/bin/modal:10 <module> | sys.exit(main())
            @modal/cli/run.py:471 f | func.remote(*args, **kwargs)
            @modal/_functions.py:1671 remote | return await self._call_function(args, kwargs)
            @modal/_utils/function_utils.py:509 _process_result | raise FunctionTimeoutError(result.exception)
            """,
            "modal.exception.FunctionTimeoutError: Task's current input in-01K06PSW hit its timeout of 14400s",
            site="/home/dev/.venv/lib/python3.12/site-packages",
        ),
        'Stopping app - uncaught exception raised locally: FunctionTimeoutError("Task\'s current input in-01K06PSW hit its timeout of 14400s").',
    )
    return log(
        tape,
        "function_time_out",
        "time_limit",
        1,
        _BASIS,
        command="modal run train.py",
        paper_class="traceback",
        modal="1.1.0",
    )


def _gh(tape: Tape, text: str) -> str:
    return "\n".join(
        f"{tape.when('%Y-%m-%dT%H:%M:%S')}.{tape.rng.randrange(10**7):07d}Z {line}"
        for line in text.split("\n")
    )


def _gh_start(tape: Tape) -> None:
    tape.say(
        _gh(
            tape,
            "Current runner version: '2.328.0'\nRunner name: 'gpu-spot-7'\nRunner group name: 'gpu'\nMachine name: 'ip-10-0-41-7'\n##[group]GITHUB_TOKEN Permissions\nContents: read\n##[endgroup]\nSecret source: Actions\nPrepare workflow directory\nPrepare all required actions\nComplete job name: nightly-train (a10g)\n##[group]Run actions/checkout@v4\nwith:\n  fetch-depth: 1\n##[endgroup]\nSyncing repository: lab/recipes",
        ),
        _gh(
            tape,
            "##[group]Run python train.py --config ci/nightly.yaml\n\x1b[36;1mpython train.py --config ci/nightly.yaml\x1b[0m\nshell: /usr/bin/bash -e {0}\n##[endgroup]",
        ),
    )


def _gh_steps(tape: Tape, last: int) -> None:
    for at in range(10, last + 1, 10):
        tape.wait(14)
        tape.say(
            _gh(
                tape,
                f"[{at}/2000] loss={tape.near(2 + 4 / (1 + at / 90), 0.02):.4f} err_rate={tape.near(0.4, 0.1):.3f} it/s={tape.near(0.7, 0.03):.2f}",
            )
        )


def _runner_shut_down() -> ComposedLog:
    tape = Tape(9806, "2025-09-12 02:00:00")
    _gh_start(tape)
    _gh_steps(tape, 620)
    tape.say(
        _gh(
            tape,
            "EC2 spot interruption notice received (action=terminate), runner will be retired\n##[error]The runner has received a shutdown signal. This can happen when the runner service is stopped, or a manually started runner is canceled.\n##[error]Process completed with exit code 143.\nCleaning up orphan processes\nTerminate orphan process: pid (4102) (python)",
        )
    )
    return log(
        tape,
        "runner_shut_down",
        "preempted",
        143,
        _BASIS,
        command="python train.py --config ci/nightly.yaml",
        paper_class=None,
        runner="2.328.0",
    )


def _runner_lost() -> ComposedLog:
    tape = Tape(9807, "2025-04-03 02:00:00")
    _gh_start(tape)
    _gh_steps(tape, 440)
    tape.say(
        _gh(
            tape,
            "##[error]The self-hosted runner lost communication with the server. Verify the machine is running and has a healthy network connection. Anything in your workflow that terminates the runner process, starves it for CPU/Memory, or blocks its network access can cause this error.",
        ),
        "$ gh api repos/lab/recipes/actions/runners --jq '.runners[]|[.name,.status]|@tsv'",
        "gpu-rack-2\toffline\ngpu-rack-3\tonline",
        "$ ipmitool -H gpu-rack-2-bmc sel list last 3",
        " 41c | 04/03/2025 | 02:09:58 | Power Supply #0x71 | Failure detected | Asserted\n 41d | 04/03/2025 | 02:09:58 | Power Unit #0x70 | Redundancy Lost | Asserted\n 41e | 04/03/2025 | 02:10:01 | Power Unit #0x70 | Power off/down | Asserted",
    )
    return log(
        tape,
        "runner_lost",
        "node_failure",
        None,
        _BASIS,
        command="python train.py --config ci/nightly.yaml",
        paper_class=None,
        why="the machine lost its power",
    )


def _pipeline_longer_than_allowed() -> ComposedLog:
    tape = Tape(9808, "2025-05-05 05:00:00")
    tape.say(
        'Running with gitlab-runner 17.11.0 (0f67ff19)\n  on gpu-docker-3 x7Yq2Lm_, system ID: s_1f9be0\nPreparing the "docker" executor\nUsing Docker executor with image registry.example.com/ml/train:cu124 ...\nPreparing environment\nRunning on runner-x7yq2lm-project-411-concurrent-0 via gpu-docker-3...\nGetting source from Git repository\nFetching changes with git depth set to 20...\nExecuting "step_script" stage of the job script\n$ python -m regress.train --suite full',
        steps(
            tape,
            "suite=full case={step}/900 loss={loss:.4f} norm={norm:.3f} [{time:.2f}s] ok",
            range(5, 301, 5),
            seconds=60,
        ),
        "WARNING: step_script could not run to completion because the timeout was exceeded. For more control over job and script timeouts see: https://docs.gitlab.com/ci/runners/configure_runners/#set-script-and-after_script-timeouts",
        "Running after_script\n$ nvidia-smi --query-gpu=memory.used --format=csv\nmemory.used [MiB]\n14022 MiB",
        "Cleaning up project directory and file based variables",
        "ERROR: Job failed: execution took longer than 1h0m0s seconds",
    )
    return log(
        tape,
        "pipeline_longer_than_allowed",
        "time_limit",
        1,
        _BASIS,
        command="python -m regress.train --suite full",
        paper_class=None,
        gitlab_runner="17.11",
    )


def _runner_cancelled_by_newer() -> ComposedLog:
    tape = Tape(9809, "2025-11-20 16:00:00")
    _gh_start(tape)
    _gh_steps(tape, 150)
    tape.say(
        _gh(
            tape,
            "Canceling since a higher priority waiting request for 'train-refs/pull/88/merge' exists\n##[error]The operation was canceled.\n##[group]Run actions/upload-artifact@v4\nwith:\n  name: logs\n  if-no-files-found: warn\n##[endgroup]\n##[warning]No files were found with the provided path: out/logs. No artifacts will be uploaded.\nPost job cleanup.\nCleaning up orphan processes\nTerminate orphan process: pid (771) (python)",
        )
    )
    return log(
        tape,
        "runner_cancelled_by_newer",
        "cancelled",
        143,
        _BASIS,
        command="python train.py --config ci/nightly.yaml",
        paper_class=None,
        why="the engine stopped it for a newer commit; not a scheduler's preemption of a resource",
    )


def _health_check_of_the_node() -> ComposedLog:
    tape = Tape(9810, "2025-12-08 09:00:00")
    tape.say(
        "[HyperPod] submitting with --auto-resume=1",
        steps(
            tape,
            "0: {when} [trainer] iter {step:>6} | loss {loss:.4f} | gnorm {norm:.3f} | {time:.2f} s/iter",
            range(10, 401, 10),
            seconds=70,
        ),
        "3: [rank27]: torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered\n3: CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\n3: For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n3: Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n",
        "[Auto Resume] Info: JobID: 58 StepID: 0 Initiating communication with cluster agent to diagnose health of nodes",
        "[Auto Resume] Info: JobID: 58 StepID: 0 Response from cluster agent: JobId=58, ResumeAction=RETRYSTEP",
        "[Auto Resume] Info: JobID: 58 StepID: 0 Job failed - replacing nodes",
        "[Auto Resume] Error: JobID: 58 StepID: 0 Failed to replace node(s) [ip-10-1-22-9] within 3600 seconds: insufficient capacity for ml.p5.48xlarge",
        "srun: error: ip-10-1-22-9: task 3: Exited with exit code 1",
        "srun: Terminating StepId=58.0",
        "slurmstepd: error: *** STEP 58.0 ON ip-10-1-14-2 CANCELLED AT 2025-12-08T11:01:12 DUE TO TASK FAILURE ***",
    )
    return log(
        tape,
        "health_check_of_the_node",
        "gpu_hardware",
        1,
        _BASIS,
        command="srun --auto-resume=1 -l ./train.sh",
        paper_class="cuda_runtime",
    )


def _recovered_twice() -> ComposedLog:
    tape = Tape(9811, "2025-02-15 00:00:00")
    for turn, (first, last) in enumerate(((0, 900), (900, 1500), (1500, 2400))):
        _launch(tape, "dino", "usw2")
        if turn:
            tape.say(_sky("dino", 2311, f"resuming from s3://ckpt-usw2/dino/step_{first}"))
        tape.say(
            _sky(
                "dino",
                2311,
                steps(
                    tape,
                    "step {step}/2400 loss {loss:.4f} lr {lr:.2e} {time:.2f}s/step",
                    range(first + 50, last + 1, 50),
                    loss=6.2 - turn,
                    seconds=50,
                ),
            )
        )
        if turn < 2:
            tape.say(
                "Cluster is preempted or failed. Recovering...",
                f"W {tape.when('%m-%d %H:%M:%S')} recovery_strategy.py:497] Failed to launch a cluster with error: ResourcesUnavailableError('no spot capacity in us-west-2b')",
                "✓ Recovered in 411 seconds.",
            )
    tape.say(
        _sky(
            "dino",
            2311,
            "training done, uploading final weights\nupload complete: s3://ckpt-usw2/dino/final.pt",
        ),
        "✓ Job finished (status: SUCCEEDED).",
    )
    return log(
        tape,
        "recovered_twice",
        "none",
        0,
        _BASIS,
        command="sky jobs logs 3 --follow",
        why="two losses of the machine that the controller recovered from",
        skypilot="0.8.0",
    )
