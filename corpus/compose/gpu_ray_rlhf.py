"""Reinforcement learning of language models and Ray Train on GPU nodes, driven by Ray actors."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._gpu_tape import Tape, bar, marked, traceback
from corpus.compose._gpu_torch import cuda_error, oom, watchdog
from corpus.compose.composed_log import ComposedLog

_BASIS = "sources of Ray (core, Train), verl, OpenRLHF, vLLM and PyTorch"
_SITE = "/usr/local/lib/python3.10/dist-packages"


def logs() -> Iterator[ComposedLog]:
    """Actors that run out of a card's or the host's memory, groups that stall, actors that die."""
    yield _update_actor_out_of_memory()
    yield _raylet_killed_for_memory()
    yield _actor_died_unexplained()
    yield _weight_sync_timed_out()
    yield _ratio_exploded()
    yield _batch_not_divisible()
    yield _no_free_gpu_bundle()
    yield _gloo_connect_refused()
    yield _reward_function_failed()
    yield _illegal_access_in_log_probs()
    yield _trial_failures_but_study_done()
    yield _object_store_on_small_shm()


def _ray(tape: Tape) -> None:
    tape.say(
        f"{tape.milli()}\tINFO worker.py:1841 -- Started a local Ray instance. View the dashboard at http://127.0.0.1:8265",
        "(TaskRunner pid=4001) {'actor_rollout_ref': {'actor': {'entropy_coeff': 0.001, 'ppo_max_token_len_per_gpu': 16384, 'clip_ratio': 0.2, 'fsdp_config': {'param_offload': False, 'optimizer_offload': False}, 'loss_agg_mode': 'token-mean'},\n(TaskRunner pid=4001)                        'rollout': {'gpu_memory_utilization': 0.6, 'free_cache_engine': True, 'ignore_eos': False, 'tensor_model_parallel_size': 2}},\n(TaskRunner pid=4001)  'trainer': {'balance_batch': True, 'critic_warmup': 0, 'del_local_ckpt_after_load': False, 'ray_wait_register_center_timeout': 300, 'val_before_train': True}}",
        "(WorkerDict pid=4120) NCCL version 2.21.5+cuda12.4",
        "(WorkerDict pid=4120) Qwen2ForCausalLM contains 7.62B parameters",
        "(WorkerDict pid=4120) Before building vllm rollout, memory allocated (GB): 3.56, memory reserved (GB): 14.61",
        "(WorkerDict pid=4120) After building vllm rollout, memory allocated (GB): 42.31, memory reserved (GB): 43.02 [repeated 7x across cluster] (Ray deduplicates logs by default. Set RAY_DEDUP_LOGS=0 to disable log deduplication, or see https://docs.ray.io/en/master/ray-observability/user-guides/configure-logging.html#log-deduplication for more options.)",
    )


def _steps(tape: Tape, first: int, last: int) -> None:
    for at in range(first, last + 1):
        tape.say(
            f"(TaskRunner pid=4001) step:{at} - global_seqlen/mean:{tape.near(61000, 0.05):.1f} - actor/pg_loss:{tape.near(0.012, 0.9):.4f} - actor/entropy_loss:{tape.near(0.41, 0.1):.3f} - actor/grad_norm:{tape.near(0.31, 0.3):.3f} - critic/rewards/mean:{0.2 + at * 0.004:.3f} - response_length/clip_ratio:{tape.near(0.04, 0.5):.3f} - timing_s/gen:{tape.near(71, 0.05):.1f} - timing_s/update_actor:{tape.near(44, 0.05):.1f}"
        )
    tape.say("(TaskRunner pid=4001) " + bar("Training Progress", last, 435, 131.2))


def _trace(frames: str, error: str) -> str:
    return traceback(frames, error, root="/opt/verl", site=_SITE)


def _driver(tape: Tape, task: str, pid: int, inner: str, error: str) -> None:
    tape.say(
        "Error executing job with overrides: ['algorithm.adv_estimator=grpo', 'data.train_batch_size=512', 'trainer.n_gpus_per_node=8']",
        _trace(
            """
            verl/trainer/main_ppo.py:64 main | run_ppo(config)
            verl/trainer/main_ppo.py:76 run_ppo | ray.get(runner.run.remote(config))
            @ray/_private/worker.py:2771 get | values, debugger_breakpoint = worker.get_objects(object_refs, timeout=timeout)
            @ray/_private/worker.py:919 get_objects | raise value.as_instanceof_cause()
            """,
            f"ray.exceptions.RayTaskError({error}): ray::TaskRunner.run() (pid=4001, ip=10.12.0.8, actor_id=6f0c1e, repr=<main_ppo.TaskRunner object at 0x7f26d40b2e60>)\n"
            f'  File "/opt/verl/verl/trainer/ppo/ray_trainer.py", line 981, in fit\n    {task}\nray.exceptions.RayTaskError({error}): ray::WorkerDict.{task.split(".")[-1].split("(")[0]}() (pid={pid}, ip=10.12.0.8)\n{inner}',
        ),
        "\nSet the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.",
    )


def _update_actor_out_of_memory() -> ComposedLog:
    tape = Tape(1501, "2025-03-20 21:10:00")
    _ray(tape)
    _steps(tape, 1, 12)
    _driver(
        tape,
        "actor_output = self.actor_rollout_wg.update_actor(batch)",
        4123,
        '  File "/opt/verl/verl/workers/actor/dp_actor.py", line 291, in update_policy\n    loss.backward()\n'
        + oom(
            "2.5",
            "7.43 GiB",
            gpu=3,
            free="5.02 GiB",
            used="74.08 GiB",
            allocated="66.60 GiB",
            idle="5.31 GiB",
        ),
        "OutOfMemoryError",
    )
    return ComposedLog(
        "update_actor_out_of_memory",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="python -m verl.trainer.main_ppo",
        versions={"torch": "2.5.1", "ray": "2.43.0"},
    )


def _raylet_killed_for_memory() -> ComposedLog:
    tape = Tape(1502, "2025-04-14 06:22:10")
    _ray(tape)
    _steps(tape, 1, 5)
    tape.say(
        "(raylet) [2025-04-14 06:41:22,871 E 3811 3811] (raylet) node_manager.cc:3071: 1 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: 5e1b0f, IP: 10.12.0.8) over the last time period. To see more information about the Workers killed on this node, use `ray logs raylet.out -ip 10.12.0.8`",
        'Traceback (most recent call last):\n  File "/opt/verl/verl/trainer/main_ppo.py", line 64, in main\n    run_ppo(config)\nray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\nMemory on the node (IP: 10.12.0.8, ID: 5e1b0f) where the task (actor ID: 0b1d, name=WorkerDict.__init__, pid=4125, memory used=180.11GB) was running was 957.31GB / 1007.51GB (0.950174), which exceeds the memory usage threshold of 0.95. Ray killed this worker (ID: 77fa) because it was the most recently scheduled task; to see more information about memory usage on this node, use `ray logs raylet.out -ip 10.12.0.8`.\nTop 10 memory users:\nPID\tMEM(GB)\tCOMMAND\n4120\t181.02\tray::WorkerDict.actor_rollout_save_checkpoint\n4125\t180.11\tray::WorkerDict.actor_rollout_save_checkpoint\nRefer to the documentation on how to address the out of memory issue: https://docs.ray.io/en/latest/ray-core/scheduling/ray-oom-prevention.html.',
    )
    return ComposedLog(
        "raylet_killed_for_memory",
        "oom_killer",
        1,
        tape.text(),
        _BASIS,
        command="python -m verl.trainer.main_ppo",
        versions={"ray": "2.44.1"},
        why="host memory: Ray's monitor killed the actor",
    )


def _actor_died_unexplained() -> ComposedLog:
    tape = Tape(1503, "2025-02-25 15:45:31")
    _ray(tape)
    tape.say(
        "(raylet) A worker died or was killed while executing a task by an unexpected system error. To troubleshoot the problem, check the logs for the dead worker. RayTask ID: ffffffffffffffff969757 Worker ID: fa30bc39b193 Node ID: 077b4d57b1d8 Worker IP address: 10.12.0.8 Worker port: 38471 Worker PID: 4122 Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file. There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage. (2) ray stop --force is called. (3) The worker is crashed unexpectedly due to SIGSEGV or other unexpected errors.",
        _trace(
            "verl/trainer/main_ppo.py:64 main | run_ppo(config)\n@ray/_private/worker.py:921 get_objects | raise value",
            "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n\tclass_name: create_colocated_worker_cls.<locals>.WorkerDict\n\tactor_id: 969757681108\n\tpid: 4122\n\tname: wVd1kTWorkerDict_0:2\n\tnamespace: 9a1f\n\tip: 10.12.0.8\nThe actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file. There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage. (2) ray stop --force is called. (3) The worker is crashed unexpectedly due to SIGSEGV or other unexpected errors.",
        ),
    )
    return ComposedLog(
        "actor_died_unexplained",
        "runtime_error",
        1,
        tape.text(),
        _BASIS,
        command="python -m verl.trainer.main_ppo",
        versions={"ray": "2.42.1"},
        paper_class="runtime_error",
        why="a worker that left without a trace or a signal's name; the three causes are Ray's boilerplate",
    )


def _weight_sync_timed_out() -> ComposedLog:
    tape = Tape(1504, "2025-06-24 10:00:00")
    _ray(tape)
    _steps(tape, 1, 30)
    tape.wait(1801)
    for at in (0, 5):
        tape.say(
            marked(
                f"(WorkerDict pid={4120 + at}) ",
                watchdog(
                    tape,
                    "2.6",
                    at,
                    seq=5530,
                    op="BROADCAST",
                    numel=(544997376, 544997376),
                    timeout_ms=1800000,
                    group="PG ID 4 PG GUID 11",
                    stack=True,
                ),
            )
        )
    tape.say(
        "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n\tclass_name: create_colocated_worker_cls.<locals>.WorkerDict\nThe actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file. There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage. (2) ray stop --force is called. (3) The worker is crashed unexpectedly due to SIGSEGV or other unexpected errors."
    )
    return ComposedLog(
        "weight_sync_timed_out",
        "collective",
        1,
        tape.text(),
        _BASIS,
        command="python -m verl.trainer.main_ppo",
        versions={"torch": "2.6.0", "ray": "2.46.0"},
        paper_class="nccl",
    )


def _ratio_exploded() -> ComposedLog:
    tape = Tape(1505, "2025-05-04 03:10:10")
    _ray(tape)
    _steps(tape, 1, 18)
    tape.say(
        "(WorkerDict pid=4120) WARN: rank 0 grad_norm is not finite: nan",
        "(WorkerDict pid=4124) WARN: rank 4 grad_norm is not finite: nan",
    )
    _driver(
        tape,
        "gen_batch_output = self.actor_rollout_wg.generate_sequences(gen_batch)",
        4124,
        '  File "/opt/verl/verl/workers/rollout/hf_rollout.py", line 96, in _generate_minibatch\n    next_tokens = torch.multinomial(probs, num_samples=1).squeeze(1)\nRuntimeError: probability tensor contains either `inf`, `nan` or element < 0',
        "RuntimeError",
    )
    return ComposedLog(
        "ratio_exploded",
        "nan_loss",
        1,
        tape.text(),
        _BASIS,
        command="python -m verl.trainer.main_ppo",
        versions={"torch": "2.6.0"},
        paper_class="nan_loss",
        why="gradients became NaN, then sampling from the weights failed",
    )


def _batch_not_divisible() -> ComposedLog:
    tape = Tape(1506, "2025-03-01 12:00:59")
    _ray(tape)
    _driver(
        tape,
        "output = self.actor_rollout_wg.compute_log_prob(batch)",
        4001,
        '  File "/opt/verl/verl/protocol.py", line 605, in chunk\n    assert len(self) % chunks == 0, f"only support equal chunk. Got size of DataProto {len(self)} and chunk {chunks}."\nAssertionError: only support equal chunk. Got size of DataProto 500 and chunk 8.',
        "AssertionError",
    )
    return ComposedLog(
        "batch_not_divisible",
        "config",
        1,
        tape.text(),
        _BASIS,
        command="python -m verl.trainer.main_ppo data.train_batch_size=500",
        versions={"verl": "0.3.0"},
        paper_class="assertion",
        why="a batch of 500 over 8 ranks: sizes that do not divide, behind an assert",
    )


def _no_free_gpu_bundle() -> ComposedLog:
    tape = Tape(1507, "2025-01-19 17:17:17")
    tape.say(
        f"{tape.milli()}\tINFO worker.py:1654 -- Connecting to existing Ray cluster at address: 10.12.0.8:6379...",
        "(TaskRunner pid=700) resource pool: {'global_pool': [8, 8]}",
        "(autoscaler) Warning: The following resource request cannot be scheduled right now: {'GPU': 1.0, 'CPU': 1.0}. This is likely due to all cluster resources being claimed by actors. Consider creating fewer actors or adding more nodes to this Ray cluster.",
        _trace(
            """
            verl/trainer/main_ppo.py:160 run | trainer.init_workers()
            verl/trainer/ppo/ray_trainer.py:95 create_resource_pool | self._check_resource_available()
            verl/trainer/ppo/ray_trainer.py:118 _check_resource_available | raise ValueError(
            """,
            "ValueError: Total available GPUs 8.0 is less than total desired GPUs 16",
        ),
    )
    return ComposedLog(
        "no_free_gpu_bundle",
        "config",
        1,
        tape.text(),
        _BASIS,
        command="python -m verl.trainer.main_ppo trainer.nnodes=2",
        versions={"ray": "2.40.0"},
        paper_class="traceback",
        why="two nodes asked of a cluster of one; its cards work",
    )


def _gloo_connect_refused() -> ComposedLog:
    tape = Tape(1508, "2025-07-07 07:07:00")
    _ray(tape)
    tape.say(
        *(
            marked(
                f"(RolloutWorker pid={5100 + at}) ",
                "[W707 07:12:10.711230119 socket.cpp:755] [c10d] The client socket has failed to connect to [10.12.0.8]:51216 (errno: 111 - Connection refused).",
            )
            for at in range(3)
        ),
        marked(
            "(TrainGroup pid=5090) ",
            _trace(
                """
                openrlhf/trainer/ray/ppo_actor.py:102 __init__ | self._model_update_group = init_process_group(backend=backend, init_method=f"tcp://{master_address}:{master_port}", world_size=world_size, rank=0, group_name=group_name)
                @torch/distributed/rendezvous.py:200 _tcp_rendezvous_handler | store = _create_c10d_store(
                """,
                "torch.distributed.DistStoreError: Timed out after 301 seconds waiting for clients. 1/5 clients joined.",
            ),
        ),
    )
    return ComposedLog(
        "gloo_connect_refused",
        "rendezvous",
        1,
        tape.text(),
        _BASIS,
        command="python -m openrlhf.cli.train_ppo_ray",
        versions={"torch": "2.7.0"},
        paper_class="traceback",
    )


def _reward_function_failed() -> ComposedLog:
    tape = Tape(1509, "2025-04-30 14:00:01")
    _ray(tape)
    _steps(tape, 1, 3)
    tape.say(
        "(WorkerDict pid=4121) /usr/local/lib/python3.10/dist-packages/torch/utils/checkpoint.py:87: UserWarning: None of the inputs have requires_grad=True. Gradients will be None [repeated 8x across cluster]"
    )
    _driver(
        tape,
        "reward_result = self.reward_fn(batch, return_dict=True)",
        4001,
        '  File "/opt/verl/recipe/math/reward.py", line 33, in compute_score\n    answer = solution["boxed"].strip()\nKeyError: \'boxed\'',
        "KeyError",
    )
    return ComposedLog(
        "reward_function_failed",
        "traceback",
        1,
        tape.text(),
        _BASIS,
        command="python -m verl.trainer.main_ppo",
        versions={"verl": "0.3.1"},
    )


def _illegal_access_in_log_probs() -> ComposedLog:
    tape = Tape(1510, "2025-08-16 20:20:02")
    _ray(tape)
    _steps(tape, 1, 44)
    tape.say(
        "(WorkerDict pid=4126) [rank6]:[W816 22:09:41.101 CUDAGuardImpl.h:119] Warning: CUDA warning: an illegal memory access was encountered (function destroyEvent)"
    )
    _driver(
        tape,
        "old_log_prob = self.actor_rollout_wg.compute_log_prob(batch)",
        4126,
        '  File "/opt/verl/verl/workers/actor/dp_actor.py", line 144, in _forward_micro_batch\n    torch.cuda.empty_cache()\n'
        + cuda_error("2.6", "an illegal memory access was encountered"),
        "RuntimeError",
    )
    return ComposedLog(
        "illegal_access_in_log_probs",
        "cuda_runtime",
        1,
        tape.text(),
        _BASIS,
        command="python -m verl.trainer.main_ppo",
        versions={"torch": "2.6.0"},
    )


def _trial_failures_but_study_done() -> ComposedLog:
    tape = Tape(1511, "2024-12-05 09:00:00")
    tape.say(
        f"{tape.milli()}\tINFO tune.py:616 -- [output] This uses the legacy output and progress reporter",
        "(TorchTrainer pid=900) Started distributed worker processes: \n(TorchTrainer pid=900) - (node_id=5e1b, ip=10.12.0.8, pid=950) world_rank=0, local_rank=0, node_rank=0",
        f"{tape.milli()}\tERROR tune_controller.py:1331 -- Trial task failed for trial TorchTrainer_3f2a1_00002",
        _trace(
            "@ray/air/execution/_internal/event_manager.py:110 resolve_future | result = ray.get(future)",
            "ray.exceptions.RayTaskError(OutOfMemoryError): ray::_Inner.train() (pid=955, ip=10.12.0.8)\n"
            + oom(
                "2.5",
                "512.00 MiB",
                total="39.39 GiB",
                free="100.06 MiB",
                used="39.28 GiB",
                allocated="38.10 GiB",
            ),
        ),
        "Number of errored trials: 1\n+--------------------------+--------------+\n| Trial name               |   # failures |\n|--------------------------+--------------|\n| TorchTrainer_3f2a1_00002 |            1 |\n+--------------------------+--------------+",
        "TorchTrainer_3f2a1_00002: retried with batch_size=16 (FailureConfig(max_failures=2))",
        *(
            f"Trial TorchTrainer_3f2a1_0000{at} finished iteration 10 at {tape.when()}. Total running time: {at + 3}min 11s\n  loss {1.4 - at * 0.03:.4f}"
            for at in range(5)
        ),
        f"{tape.milli()}\tINFO tune.py:1041 -- Total run time: 811.20 seconds (810.92 seconds for the tuning loop).",
        "best config: {'lr': 0.0003, 'batch_size': 16} loss 1.2800",
    )
    return ComposedLog(
        "trial_failures_but_study_done",
        "none",
        0,
        tape.text(),
        _BASIS,
        command="python tune.py",
        versions={"ray": "2.39.0"},
        why="the failed trial was retried with a smaller batch; the study ended with a best trial",
    )


def _object_store_on_small_shm() -> ComposedLog:
    tape = Tape(1512, "2024-10-01 05:40:31")
    tape.say(
        f"{tape.milli()}\tWARNING services.py:2009 -- WARNING: The object store is using /var/ray instead of /dev/shm because /dev/shm has only 67108864 bytes available. This will harm performance! You may be able to free up space by deleting files in /dev/shm. If you are inside a Docker container, you can increase /dev/shm size by passing '--shm-size=10.24gb' to 'docker run' (or add it to the run_options list in a Ray cluster config). Make sure to set this to more than 30% of available RAM.",
        f"{tape.milli()}\tINFO worker.py:1786 -- Started a local Ray instance.",
        "(WorkerDict pid=310) NCCL version 2.21.5+cuda12.4",
        *(
            marked(
                f"(WorkerDict pid={310 + at}) ",
                f"trainbox:{310 + at}:{390 + at} [{at}] misc/shmutils.cc:87 NCCL WARN Error: failed to extend /dev/shm/nccl-{tape.rng.randrange(10**5):05d}x to 33030532 bytes, error: No space left on device (28)",
            )
            for at in range(2)
        ),
        _trace(
            "verl/trainer/main_ppo.py:64 main | run_ppo(config)\nverl/workers/fsdp_workers.py:110 __init__ | torch.distributed.barrier()",
            "ray.exceptions.RayTaskError(DistBackendError): ray::WorkerDict.__init__() (pid=310, ip=10.12.0.8)\ntorch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:268, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5\nncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. \nLast error:\nError while creating shared memory segment /dev/shm/nccl-41120x (size 33030528), error: No space left on device (28)",
        ),
    )
    return ComposedLog(
        "object_store_on_small_shm",
        "shared_memory",
        1,
        tape.text(),
        _BASIS + "; NCCL",
        command="docker run train python -m verl.trainer.main_ppo",
        versions={"torch": "2.5.1", "ray": "2.37.0"},
        paper_class="nccl",
    )
