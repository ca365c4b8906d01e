"""Orchestrators of their own: Ray clusters, SkyPilot and Determined."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._cluster_blocks import log
from corpus.compose._gpu_tape import Tape, marked, traceback
from corpus.compose._gpu_torch import oom
from corpus.compose.composed_log import ComposedLog

_BASIS = "Ray 2.9-2.44 (raylet, Train v1 and v2), SkyPilot 0.5-0.10 controller and task lines, Determined 0.26-0.38 task logs"
_RAY = "/home/ray/anaconda3/lib/python3.11/site-packages"
_SKY = "/home/ubuntu/miniconda3/envs/train/lib/python3.10/site-packages"
_DET = "/opt/conda/lib/python3.10/site-packages"


def logs() -> Iterator[ComposedLog]:
    """Clusters that start and stop machines by themselves."""
    yield _ray_memory_monitor()
    yield _ray_worker_gone()
    yield _ray_module_of_the_driver()
    yield _ray_node_dead()
    yield _ray_descriptors()
    yield _ray_recovered()
    yield _sky_preempted_for_good()
    yield _sky_setup_without_network()
    yield _sky_checkpoint_of_another_size()
    yield _sky_nothing_visible()
    yield _sky_recovered()
    yield _determined_glibc()
    yield _determined_metric_nan()
    yield _determined_card_memory()
    yield _determined_unknown_field()
    yield _determined_idle()


def _identity(tape: Tape, digits: int = 56) -> str:
    return f"{tape.rng.randrange(16**digits):0{digits}x}"


def _ray_start(tape: Tape, trial: str = "TorchTrainer_8c1d2_00000") -> None:
    tape.say(
        f"{tape.milli()}\tINFO job_manager.py:530 -- Runtime env is setting up.",
        f"{tape.milli()}\tINFO worker.py:1514 -- Using address 10.12.0.4:6379 set in the environment variable RAY_ADDRESS",
        f"{tape.milli()}\tINFO worker.py:1654 -- Connecting to existing Ray cluster at address: 10.12.0.4:6379...",
        f"{tape.milli()}\tINFO worker.py:1832 -- Connected to Ray cluster. View the dashboard at http://10.12.0.4:8265 ",
        f"View detailed results here: /mnt/cluster_storage/ray_results/{trial}",
        f"Training started with configuration: max_failures=0, storage_path=/mnt/cluster_storage, {trial}",
        "(RayTrainWorker pid=2201, ip=10.12.0.9) Setting up process group for: env:// [rank=0, world_size=4]",
        "(TorchTrainer pid=2110, ip=10.12.0.9) Started distributed worker processes: ",
        *(
            f"(TorchTrainer pid=2110, ip=10.12.0.9) - (node_id=7b0e{n}c, ip=10.12.0.{9 + n // 2}, pid={2201 + n}) world_rank={n}, local_rank={n % 2}, node_rank={n // 2}"
            for n in range(4)
        ),
    )


def _ray_progress(tape: Tape, first: int, last: int) -> None:
    for at in range(first, last + 1):
        tape.wait(61).say(
            f"(RayTrainWorker pid=2201, ip=10.12.0.9) [{tape.when()}] iter {at * 50} loss={tape.near(3.4 / (1 + at / 20), 0.02):.4f} tok/s={tape.near(41000, 0.02):.0f} [repeated 4x across cluster]"
        )


def _ray_memory_monitor() -> ComposedLog:
    tape = Tape(4901, "2024-03-26 10:22:31")
    _ray_start(tape)
    _ray_progress(tape, 1, 14)
    node, worker = _identity(tape), _identity(tape)
    tape.say(
        f"(raylet, ip=10.12.0.10) [{tape.milli()} E 311 311] (raylet) node_manager.cc:3069: 1 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: {node}, IP: 10.12.0.10) over the last time period. To see more information about the Workers killed on this node, use `ray logs raylet.out -ip 10.12.0.10`",
        "(raylet, ip=10.12.0.10) ",
        "(raylet, ip=10.12.0.10) Refer to the documentation on how to address the out of memory issue: https://docs.ray.io/en/latest/ray-core/scheduling/ray-oom-prevention.html. Consider provisioning more memory on this node or reducing task parallelism by requesting more CPUs per task. To adjust the kill threshold, set the environment variable `RAY_memory_usage_threshold` when starting Ray. To disable worker killing, set the environment variable `RAY_memory_monitor_refresh_ms` to zero.",
        traceback(
            f"""
            /home/ray/train.py:133 <module> | result = trainer.fit()
            {_RAY}/ray/train/base_trainer.py:638 fit | raise TrainingFailedError(
            """,
            f"ray.train.base_trainer.TrainingFailedError: The Ray Train run failed. Please inspect the previous error messages for a cause.\nray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\nMemory on the node (IP: 10.12.0.10, ID: {node}) where the task (actor ID: 41617bc740ae9ca27726b37f02000000, name=RayTrainWorker.__init__, pid=2203, memory used=71.88GB) was running was 118.91GB / 124.36GB (0.956175), which exceeds the memory usage threshold of 0.95. Ray killed this worker (ID: {worker}) because it was the most recently scheduled task; to see more information about memory usage on this node, use `ray logs raylet.out -ip 10.12.0.10`.\nTop 10 memory users:\nPID\tMEM(GB)\tCOMMAND\n2203\t71.88\tray::RayTrainWorker._RayTrainWorker__execute\n2204\t38.02\tray::RayTrainWorker._RayTrainWorker__execute\n311\t0.41\t/home/ray/anaconda3/lib/python3.11/site-packages/ray/core/src/ray/raylet/raylet",
        ),
    )
    return log(
        tape,
        "ray_memory_monitor",
        "oom_killer",
        1,
        _BASIS,
        command="ray job submit -- python train.py",
        paper_class="oom_killer",
        ray="2.10.0",
    )


def _ray_worker_gone() -> ComposedLog:
    tape = Tape(4902, "2024-08-05 23:01:12")
    _ray_start(tape)
    _ray_progress(tape, 1, 9)
    told = "The actor died unexpectedly before finishing this task.\n\tclass_name: RayTrainWorker\n\tactor_id: 9e12cf10aa7d11e7b5d0f0a901000000\n\tpid: 2202\n\tnamespace: 1f0d7d\n\tip: 10.12.0.9\nThe actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file. There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage. (2) ray stop --force is called. (3) The worker is crashed unexpectedly due to SIGSEGV or other unexpected errors."
    tape.say(
        f"(raylet, ip=10.12.0.9) A worker died or was killed while executing a task by an unexpected system error. To troubleshoot the problem, check the logs for the dead worker. RayTask ID: {_identity(tape, 48)} Worker ID: {_identity(tape)} Node ID: {_identity(tape)} Worker IP address: 10.12.0.9 Worker port: 10031 Worker PID: 2202 Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file. There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage. (2) ray stop --force is called. (3) The worker is crashed unexpectedly due to SIGSEGV or other unexpected errors.",
        traceback(
            f"""
            /home/ray/train.py:133 <module> | result = trainer.fit()
            {_RAY}/ray/train/base_trainer.py:638 fit | raise TrainingFailedError(
            """,
            "ray.train.base_trainer.TrainingFailedError: The Ray Train run failed. Please inspect the previous error messages for a cause.\nray.exceptions.ActorDiedError: "
            + told,
        ),
        "$ ray logs raylet.out -ip 10.12.0.9 | tail -2",
        "[2024-08-05 23:10:44,011 I 298 298] (raylet) node_manager.cc:1481: NodeManager::DisconnectClient, disconnect_type=1, has creation task exception = false",
        "[2024-08-05 23:10:44,014 I 298 298] (raylet) worker_pool.cc:700: worker 2202 exited, memory usage of the node 31.20GB / 124.36GB",
    )
    return log(
        tape,
        "ray_worker_gone",
        "runtime_error",
        1,
        _BASIS,
        command="ray job submit -- python train.py",
        paper_class="runtime_error",
        why="the worker left without a trace: Ray names no signal, and only lists what might have been",
        ray="2.32",
    )


def _ray_module_of_the_driver() -> ComposedLog:
    tape = Tape(4903, "2023-11-29 14:40:10")
    _ray_start(tape)
    tape.say(
        traceback(
            f"""
            /home/ray/train.py:98 <module> | result = trainer.fit()
            {_RAY}/ray/train/base_trainer.py:668 fit | raise result.error
            """,
            "ray.exceptions.RayTaskError(ModuleNotFoundError): \x1b[36mray::_Inner.train()\x1b[39m (pid=2110, ip=10.12.0.9, actor_id=af0c91, repr=TorchTrainer)\n"
            "  At least one of the input arguments for this task could not be computed:\n"
            "ray.exceptions.RaySystemError: System error: No module named 'featlib'\n"
            "traceback: Traceback (most recent call last):\n"
            "ModuleNotFoundError: No module named 'featlib'",
        ),
        "ls: featlib  train.py  (driver's working directory; runtime_env={})",
    )
    return log(
        tape,
        "ray_module_of_the_driver",
        "missing_module",
        1,
        _BASIS,
        command="python train.py",
        why="the user's own package was not shipped to the workers",
        ray="2.8.1",
    )


def _ray_node_dead() -> ComposedLog:
    tape = Tape(4904, "2024-12-03 04:14:51")
    _ray_start(tape)
    _ray_progress(tape, 1, 20)
    node = _identity(tape)
    tape.say(
        f"(raylet, ip=10.12.0.4) [{tape.milli()} E 201 201] (gcs_server) gcs_health_check_manager.cc:108: Node {node} is dead because the health check failed: DEADLINE_EXCEEDED",
        "(autoscaler +21m11s) Removing 1 nodes of type gpu-a10g (terminated by provider: instance i-0d93 failed status checks 1/2, system reachability).",
        f"(raylet) The node with node id: {node} and address: 10.12.0.10 and node name: 10.12.0.10 has been marked dead because the detector has missed too many heartbeats from it. This can happen when a \t(1) raylet crashes unexpectedly (OOM, etc.) \n\t(2) raylet has lagging heartbeats due to slow network or busy workload.",
        traceback(
            f"""
            /home/ray/train.py:133 <module> | result = trainer.fit()
            {_RAY}/ray/train/base_trainer.py:638 fit | raise TrainingFailedError(
            """,
            f"ray.train.base_trainer.TrainingFailedError: The Ray Train run failed. Please inspect the previous error messages for a cause.\nray.exceptions.ActorDiedError: The actor died because its node has died. Node Id: {node}\n\tthe actor's node was terminated unexpectedly: health check failed due to missing too many heartbeats",
        ),
    )
    return log(
        tape,
        "ray_node_dead",
        "node_failure",
        1,
        _BASIS,
        command="ray job submit -- python train.py",
        paper_class="traceback",
        why="the provider says that the machine failed its checks",
        ray="2.38",
    )


def _ray_descriptors() -> ComposedLog:
    tape = Tape(4905, "2023-05-17 09:50:13")
    tape.say(
        f"{tape.milli()}\tINFO worker.py:1625 -- Started a local Ray instance.",
        f"{tape.milli()}\tWARNING tune.py:146 -- The maximum number of pending trials has been automatically set to the number of available cluster CPUs, which is high (211 CPUs/pending trials).",
        *(
            f"(train_fn pid={31000 + n}) trial {n:05d} lr={0.1 / (n + 1):.5f} acc={tape.near(0.7, 0.1):.4f}"
            for n in range(0, 120, 6)
        ),
        "(raylet) [2023-05-17 09:58:30,117 E 30211 30240] (raylet) logging.cc:97: Unhandled exception: N5boost10wrapexceptINS_6system12system_errorEEE. what(): accept: Too many open files [system:24 at external/boost/boost/asio/detail/reactive_socket_service.hpp:430:5 in function 'do_accept']",
        "(raylet) [2023-05-17 09:58:30,121 E 30211 30240] (raylet) logging.cc:104: Stack trace: ",
        "(raylet)  /home/ray/anaconda3/lib/python3.11/site-packages/ray/core/src/ray/raylet/raylet(+0x4f1b2a) [0x55d1a9e1cb2a] ray::operator<<()",
        "(raylet)  /lib/x86_64-linux-gnu/libc.so.6(abort+0xd3) [0x7f2e89a287f3] abort",
        f"{tape.milli()}\tERROR tune.py:941 -- Trials did not complete: [train_fn_1c0d2_00114, train_fn_1c0d2_00117]",
        traceback(
            f"""
            /home/ray/sweep.py:61 <module> | tuner.fit()
            {_RAY}/ray/tune/tuner.py:347 fit | return self._local_tuner.fit()
            {_RAY}/ray/_private/worker.py:2523 get | raise value
            """,
            "ray.exceptions.LocalRayletDiedError: The task's local raylet died. Check raylet.out for more information.",
        ),
    )
    return log(
        tape,
        "ray_descriptors",
        "too_many_files",
        1,
        _BASIS,
        command="python sweep.py",
        paper_class="traceback",
        why="the raylet died for want of descriptors; its death is what the driver saw",
        ray="2.4.0",
    )


def _ray_recovered() -> ComposedLog:
    tape = Tape(4906, "2025-03-18 16:02:40")
    _ray_start(tape, "TorchTrainer_0be17_00000")
    _ray_progress(tape, 1, 6)
    tape.say(
        "(TrainController pid=2110) [FailurePolicy] Decision: FailureDecision.RETRY, Error source: worker group, Error count / maximum errors allowed: 1/3, Error: Training failed due to worker errors:",
        "(TrainController pid=2110) [Rank 2]",
        "(TrainController pid=2110) Traceback (most recent call last):",
        "(TrainController pid=2110) ray.exceptions.ActorDiedError: The actor died because its node has died. Node Id: 11d0c7. the actor's node was preempted by the cloud provider (spot)",
        "(TrainController pid=2110) Attempting to start training worker group of size 4 with the following resources: [{'CPU': 8, 'GPU': 1}] * 4",
        "(RayTrainWorker pid=3302, ip=10.12.0.9) restored checkpoint_000003 (iter 300)",
    )
    _ray_progress(tape, 7, 15)
    tape.say(
        "(TrainController pid=2110) [State Transition] RUNNING -> FINISHED.",
        "Result(metrics={'loss': 1.9402, 'iter': 750}, path='/mnt/cluster_storage/ray_results/TorchTrainer_0be17_00000', error=None)",
    )
    return log(
        tape,
        "ray_recovered",
        "none",
        0,
        _BASIS,
        command="ray job submit -- python train.py",
        why="a spot node was lost, the failure policy retried, the run finished",
        ray="2.44",
    )


def _sky(line: str) -> str:
    return f"(train, pid=9921) {line}"


def _sky_preempted_for_good() -> ComposedLog:
    tape = Tape(4907, "2024-01-30 07:00:12")
    tape.say(
        *(
            _sky(f"step {at} loss {tape.near(2.2, 0.02):.3f} it/s {tape.near(3.1, 0.02):.2f}")
            for at in range(100, 1600, 100)
        ),
        "Shared connection to 34.122.8.19 closed.",
        "$ sky jobs logs --controller 41 | tail -14",
    )
    for line in (
        "utils.py:92] === Checking the job status... ===",
        "utils.py:103] Failed to connect to the cluster. Retrying...",
        "controller.py:272] Cluster is preempted or failed (status: INIT). Recovering...",
        "state.py:410] === Recovering... ===",
        "recovery_strategy.py:321] Failed to launch a cluster with error: sky.exceptions.ResourcesUnavailableError: Failed to acquire resources in all zones in us-central1 for {GCP(a2-highgpu-8g[Spot], {'A100': 8})}.",
        "recovery_strategy.py:333] No retry left: max_restarts_on_errors=0, recovery strategy FAILOVER exhausted.",
        "controller.py:330] Task 0 failed to recover: FAILED_NO_RESOURCE",
    ):
        tape.wait(24).say(f"I {tape.when('%m-%d %H:%M:%S')} {line}")
    tape.say("✓ Managed job finished: 41 (status: FAILED_NO_RESOURCE).")
    return log(
        tape,
        "sky_preempted_for_good",
        "preempted",
        None,
        _BASIS,
        command="sky jobs launch train.yaml",
        why="the spot cluster was taken away and no other was to be had",
        skypilot="0.6",
    )


def _sky_setup_without_network() -> ComposedLog:
    tape = Tape(4908, "2025-06-03 12:12:50")
    tape.say(
        "├── Waiting for task resources on 2 nodes.",
        "└── Job started. Streaming logs... (Ctrl-C to exit log streaming; job will not be killed)",
        *(
            f"(setup pid=1840, ip=10.8.0.3) WARNING: Retrying (Retry(total={n}, connect=None, read=None, redirect=None, status=None)) after connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f21c8{n}d10>: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/transformers/"
            for n in (4, 3, 2, 1, 0)
        ),
        "(setup pid=1840, ip=10.8.0.3) ERROR: Could not find a version that satisfies the requirement transformers==4.51.3 (from versions: none)",
        "(setup pid=1840, ip=10.8.0.3) ERROR: No matching distribution found for transformers==4.51.3",
        "ERROR: Job 1's setup failed. Failed workers: (pid=1840, returncode=1). See error logs above for more details.",
        "(setup pid=2061) Successfully installed transformers-4.51.3",
        "✓ Job finished (status: FAILED_SETUP).",
        "command terminated with exit code 100",
    )
    return log(
        tape,
        "sky_setup_without_network",
        "network",
        100,
        _BASIS + "; pip",
        command="sky launch train.yaml",
        paper_class=None,
        why="pip's last word is a missing version, but the index could not be resolved",
        skypilot="0.10",
    )


def _sky_checkpoint_of_another_size() -> ComposedLog:
    tape = Tape(4909, "2024-04-12 18:33:00")
    tape.say(
        _sky("resuming from /checkpoint/last.pt (gs://ckpt-llm/run-7)"),
        marked(
            "(head, rank=0, pid=9921) ",
            traceback(
                f"""
                /home/ubuntu/sky_workdir/train.py:201 <module> | main()
                /home/ubuntu/sky_workdir/train.py:77 main | model.load_state_dict(torch.load(path, map_location="cpu")["model"])
                {_SKY}/torch/nn/modules/module.py:2153 load_state_dict | raise RuntimeError('Error(s) in loading state_dict for {{}}:\\n\\t{{}}'.format(
                """,
                "RuntimeError: Error(s) in loading state_dict for GPT:\n\tsize mismatch for wte.weight: copying a param with shape torch.Size([50304, 768]) from checkpoint, the shape in current model is torch.Size([50257, 768]).\n\tsize mismatch for lm_head.weight: copying a param with shape torch.Size([50304, 768]) from checkpoint, the shape in current model is torch.Size([50257, 768]).",
            ),
        ),
        "ERROR: Job 1 failed with return code list: [1, 137] ",
        "I 04-12 18:34:40 controller.py:221] The user job failed. Please check the logs below.",
        "✓ Job finished (status: FAILED).",
        "✓ Managed job finished: 58 (status: FAILED).",
    )
    return log(
        tape,
        "sky_checkpoint_of_another_size",
        "checkpoint",
        1,
        _BASIS,
        command="sky jobs launch train.yaml",
        paper_class="runtime_error",
        why="the 137 is the other node that SkyPilot stopped",
        torch="2.2.1",
    )


def _sky_nothing_visible() -> ComposedLog:
    tape = Tape(4910, "2024-07-01 10:10:00")
    tape.say(
        _sky("SKYPILOT_NUM_GPUS_PER_NODE=1 CUDA_VISIBLE_DEVICES=1"),
        _sky("docker: using image train:cu121"),
        marked(
            "(train, pid=9921) ",
            traceback(
                f"""
                /app/main.py:14 <module> | torch.cuda.set_device(0)
                {_SKY}/torch/cuda/__init__.py:399 set_device | torch._C._cuda_setDevice(device)
                {_SKY}/torch/cuda/__init__.py:293 _lazy_init | torch._C._cuda_init()
                """,
                "RuntimeError: No CUDA GPUs are available",
            ),
        ),
        "ERROR: Job 3 failed with return code list: [1] ",
        "✓ Job finished (status: FAILED).",
    )
    return log(
        tape,
        "sky_nothing_visible",
        "cuda_environment",
        1,
        _BASIS,
        command="sky exec -c dev train.yaml",
        paper_class="runtime_error",
        torch="2.1.2",
    )


def _sky_recovered() -> ComposedLog:
    tape = Tape(4911, "2024-05-05 00:00:31")

    def stretch(first: int, last: int) -> list[str]:
        return [
            _sky(f"step {at} loss {tape.near(5.0 / (1 + at / 900), 0.02):.3f}")
            for at in range(first, last, 100)
        ]

    tape.say(
        *stretch(100, 1200),
        "Cluster is preempted. Recovering...",
        "WARNING: The job's cluster was preempted; the controller is looking for new resources.",
        _sky("found /checkpoint/step_1000.pt"),
        *stretch(1100, 2500),
        _sky("Terminated background prefetcher (exit -15)"),
        _sky("saved final model to /checkpoint/final"),
        "✓ Job finished (status: SUCCEEDED).",
        "✓ Managed job finished: 60 (status: SUCCEEDED).",
        "#RECOVERIES 1",
    )
    return log(
        tape,
        "sky_recovered",
        "none",
        0,
        _BASIS,
        command="sky jobs launch train.yaml",
        why="one recovery, then the end of the training",
        skypilot="0.5",
    )


def _det(tape: Tape, *texts: str, rank: int | None = 0, container: str = "6a0b31c2") -> str:
    shown = []
    for text in texts:
        for line in text.split("\n"):
            tape.wait(0.02)
            where = "" if rank is None else f"[rank={rank}] "
            shown.append(
                f"[{tape.when('%Y-%m-%dT%H:%M:%S')}.{tape.at.microsecond:06d}Z] {container} {where}|| {line}"
            )
    return "\n".join(shown)


def _det_start(tape: Tape, trial: int) -> None:
    tape.say(
        _det(
            tape,
            f"INFO: Scheduling Trial {trial} (Experiment {trial}) (id: {trial}.0c9b1d.1)",
            f"INFO: Trial {trial} (Experiment {trial}) was assigned to an agent",
            "INFO: image already found, skipping pull phase: docker.io/determinedai/environments:cuda-11.8-pytorch-2.0-gpu-0.27.1",
            "INFO: copying files to container: /run/determined",
            "INFO: Resources for Trial have started",
            "INFO: [38] root: Running task container on agent_id=gpu-agent-3, hostname=gpu-agent-3 with visible GPUs ['GPU-0c3d5f2a', 'GPU-7be2b1a0']",
            "+ test -f startup-hook.sh",
            rank=None,
        )
    )


def _det_end(tape: Tape, code: int, *more: str) -> None:
    tape.say(
        _det(
            tape,
            *more,
            f"ERROR: Trial crashed: resources failed with non-zero exit code: container failed with non-zero exit code: {code} (exit code {code})",
            "INFO: forcibly killing allocation's remaining resources (reason: the trial exited)",
            rank=None,
        ),
        "Trial log stream ended. To reopen log stream, run: det trial logs -f 211",
    )


def _determined_glibc() -> ComposedLog:
    tape = Tape(4912, "2024-02-12 13:00:22")
    _det_start(tape, 211)
    tape.say(
        _det(
            tape,
            "+ pip install -q ./wheels/torch_scatter-2.1.2+pt20cu118-cp310-cp310-linux_x86_64.whl",
            traceback(
                f"""
                /run/determined/workdir/model_def.py:6 <module> | from torch_scatter import scatter_mean
                {_DET}/torch_scatter/__init__.py:16 <module> | torch.ops.load_library(spec.origin)
                {_DET}/torch/_ops.py:643 load_library | ctypes.CDLL(path)
                """,
                f"OSError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.32' not found (required by {_DET}/torch_scatter/_version_cuda.so)",
            ),
        )
    )
    _det_end(tape, 1)
    return log(
        tape,
        "determined_glibc",
        "dependency",
        1,
        _BASIS,
        command="det e create gnn.yaml .",
        paper_class="traceback",
        determined="0.27.1",
    )


def _determined_metric_nan() -> ComposedLog:
    tape = Tape(4913, "2024-06-06 06:06:00")
    _det_start(tape, 340)
    for at in range(100, 1500, 100):
        tape.wait(31).say(
            _det(
                tape,
                f"INFO: [77] determined.pytorch: report_training_metrics(steps_completed={at}, metrics={{'loss': {tape.near(1.9, 0.05):.4f}}})",
            )
        )
    for at in (1500, 1600):
        tape.say(
            _det(
                tape,
                f"INFO: [77] determined.pytorch: report_training_metrics(steps_completed={at}, metrics={{'loss': nan}})",
            )
        )
    tape.say(
        _det(
            tape,
            traceback(
                f"""
                {_DET}/determined/exec/harness.py:144 main | controller.run()
                {_DET}/determined/pytorch/_pytorch_trial.py:391 run | self._run()
                /run/determined/workdir/model_def.py:101 train_batch | raise FloatingPointError("loss is nan for 200 batches")
                """,
                "FloatingPointError: loss is nan for 200 batches",
            ),
        )
    )
    _det_end(tape, 1)
    return log(
        tape,
        "determined_metric_nan",
        "nan_loss",
        1,
        _BASIS,
        command="det e create lm.yaml .",
        determined="0.33",
    )


def _determined_card_memory() -> ComposedLog:
    tape = Tape(4914, "2024-09-09 19:19:19")
    _det_start(tape, 402)
    tape.say(_det(tape, "batch size tuned by searcher: global_batch_size=512"))
    for rank in (0, 1):
        tape.say(
            _det(
                tape,
                traceback(
                    f"""
                    {_DET}/determined/pytorch/_pytorch_trial.py:812 _train_batch | tr_metrics = self.trial.train_batch(batch, epoch_idx, batch_idx)
                    /run/determined/workdir/model_def.py:88 train_batch | out = self.model(batch["image"])
                    {_DET}/torchvision/models/resnet.py:154 forward | out = self.relu(out)
                    """,
                    oom(
                        "2.4",
                        "1.53 GiB",
                        gpu=rank,
                        total="23.69 GiB",
                        free="1.02 GiB",
                        used="22.66 GiB",
                        allocated="21.90 GiB",
                        idle="301.11 MiB",
                    ),
                ),
                rank=rank,
            )
        )
    _det_end(tape, 1, "INFO: trial 402 will be restarted (restarts 5/5 used)")
    return log(
        tape,
        "determined_card_memory",
        "cuda_oom",
        1,
        _BASIS,
        command="det e create asha.yaml .",
        torch="2.4.1",
    )


def _determined_unknown_field() -> ComposedLog:
    tape = Tape(4915, "2025-01-21 11:00:10")
    _det_start(tape, 455)
    tape.say(
        _det(
            tape,
            "+ python3 -m determined.exec.launch --trial finetune:Trial",
            traceback(
                f"""
                {_DET}/determined/exec/harness.py:98 main | trial_inst = trial_class(context)
                /run/determined/workdir/finetune.py:31 __init__ | self.lr = context.get_hparam("learning_rate")
                {_DET}/determined/_trial_context.py:101 get_hparam | raise ValueError(
                """,
                "ValueError: Could not find name 'learning_rate' in experiment hyperparameters. Please check your experiment configuration 'hyperparameters' section.",
            ),
        )
    )
    _det_end(tape, 1)
    return log(
        tape,
        "determined_unknown_field",
        "config",
        1,
        _BASIS,
        command="det e create ft.yaml .",
        paper_class="traceback",
        determined="0.38",
    )


def _determined_idle() -> ComposedLog:
    tape = Tape(4916, "2023-08-22 02:11:01")
    _det_start(tape, 118)
    for at in range(100, 900, 100):
        tape.wait(19).say(
            _det(
                tape,
                f"INFO: [77] determined.pytorch: report_training_metrics(steps_completed={at}, metrics={{'loss': {tape.near(0.8, 0.05):.4f}}})",
            )
        )
    tape.wait(14000).say(
        _det(
            tape,
            "WARNING: [41] hangwatch: no metrics for 14000 s, cpu 0.2 %, gpu util 0 %; py-spy dump of pid 77:",
            'Thread 77 (idle): "MainThread"',
            "    _recv (multiprocessing/connection.py:379)",
            "    recv (multiprocessing/connection.py:250)",
            "    get (augment/service.py:66)",
            "    __getitem__ (augment/dataset.py:41)",
            "    train_batch (model_def.py:90)",
            'Thread 301 (idle): "augment-service"',
            "    acquire (logging/__init__.py:917)",
            "    handle (logging/__init__.py:969)",
            "    _serve (augment/service.py:103)",
            "INFO: [41] hangwatch: sending SIGKILL",
        )
    )
    _det_end(tape, 137)
    return log(
        tape,
        "determined_idle",
        "idle_hang",
        137,
        _BASIS + "; py-spy",
        command="det e create aug.yaml .",
        paper_class=None,
        why="the loader waited for a thread that waited for logging's lock after a fork; the watch's kill came later",
        determined="0.23",
    )
