"""Reinforcement learning with rollout engines: verl, slime, NeMo-RL and OpenRLHF over SGLang and vLLM."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._cluster_blocks import log
from corpus.compose._gpu_tape import Tape, bar, marked, traceback
from corpus.compose.composed_log import ComposedLog

_BASIS = "sources and documentation of verl 0.5-0.7, slime, NeMo-RL 0.3, OpenRLHF 0.8, SGLang 0.5, torch_memory_saver 0.0.9, vLLM 0.10 (V1 engine) and Ray 2.48"
_SITE = "/usr/local/lib/python3.12/dist-packages"
_MORE = " [repeated {0}x across cluster]"


def logs() -> Iterator[ComposedLog]:
    """Engines that do not wake, weights that do not arrive, rewards that cannot be computed."""
    yield _wake_after_update()
    yield _names_of_merged_weights()
    yield _weights_by_broadcast()
    yield _reward_batch_unset()
    yield _judge_not_answering()
    yield _resume_on_two_nodes()
    yield _extension_of_another_torch()
    yield _prompts_of_another_set()
    yield _stopped_at_the_terminal()
    yield _slow_but_complete()


def _trace(frames: str, error: str, root: str = "/opt/verl") -> str:
    return traceback(frames, error, root=root, site=_SITE, carets=True)


def _local_ray(tape: Tape) -> None:
    tape.say(
        f"{tape.milli()}\tINFO worker.py:1927 -- Started a local Ray instance. View the dashboard at \x1b[1m\x1b[32m127.0.0.1:8265 \x1b[39m\x1b[22m",
        "/usr/local/lib/python3.12/dist-packages/ray/_private/worker.py:1975: FutureWarning: Tip: In future versions of Ray, Ray will no longer override accelerator visible devices env var if num_gpus=0 or num_gpus=None (default). To enable this behavior and turn off this error message, set RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO=0\n  warnings.warn(",
    )


def _verl_start(tape: Tape, runner: int) -> None:
    _local_ray(tape)
    tape.say(
        marked(
            f"(TaskRunner pid={runner}) ",
            f"""
            TaskRunner hostname: {"trainer-0"}, PID: {runner}
            {{'actor_rollout_ref': {{'actor': {{'clip_ratio_high': 0.28, 'clip_ratio_low': 0.2,
                                             'ppo_mini_batch_size': 128, 'use_dynamic_bsz': True}},
                                   'rollout': {{'enforce_eager': False, 'free_cache_engine': True,
                                               'gpu_memory_utilization': 0.7, 'mode': 'async', 'n': 8}}}},
             'trainer': {{'max_actor_ckpt_to_keep': 3, 'resume_mode': 'auto', 'total_epochs': 2}}}}
            """,
        ),
        f"(TaskRunner pid={runner}) Using dataset class: RLHFDataset",
        f"(TaskRunner pid={runner}) dataset len: 17398",
        f"(TaskRunner pid={runner}) filter dataset len: 17211",
        f"(TaskRunner pid={runner}) Size of train dataloader: 134, Size of val dataloader: 1",
        f"(TaskRunner pid={runner}) Total training steps: 268",
    )


def _verl_workers(tape: Tape, pids: range, engine: str) -> None:
    first = pids[0]
    tape.say(
        f"(WorkerDict pid={first}) Flash Attention 2 only supports torch.float16 and torch.bfloat16 dtypes, but the current dype in Qwen3ForCausalLM is torch.float32. You should run training or inference using Automatic Mixed-Precision via the `with torch.autocast(device_type='torch_device'):` decorator, or load the model with the `torch_dtype` argument.",
        *(
            f"(WorkerDict pid={pid}) [Gloo] Rank {at} is connected to {len(pids) - 1} peer ranks. Expected number of connected peer ranks is : {len(pids) - 1}"
            for at, pid in enumerate(pids)
        ),
        f"(WorkerDict pid={first}) Monkey patch _flash_attention_forward in transformers.integrations.flash_attention"
        + _MORE.format(len(pids)),
        f"(WorkerDict pid={first}) Total steps: 268, num_warmup_steps: 0",
        f"(WorkerDict pid={first}) Actor use_remove_padding=True",
        f"(WorkerDict pid={first}) Before init {engine} rollout, memory allocated (GB): 7.61, memory reserved (GB): 8.04, device memory used/total (GB): 9.88/79.11",
    )


def _verl_steps(tape: Tape, runner: int, first: int, last: int) -> None:
    for at in range(first, last + 1):
        tape.wait(94)
        tape.say(
            f"(TaskRunner pid={runner}) step:{at} - training/global_step:{at} - training/epoch:{at // 134} - critic/score/mean:{tape.near(0.31 + at * 0.002, 0.05):.5f} - critic/score/max:1.0 - critic/score/min:0.0 - actor/entropy:{tape.near(0.38, 0.08):.5f} - actor/kl_loss:{tape.near(0.0021, 0.4):.6f} - actor/pg_clipfrac:{tape.near(0.004, 0.5):.6f} - actor/grad_norm:{tape.near(0.22, 0.3):.5f} - perf/max_memory_allocated_gb:{tape.near(52.1, 0.01):.3f} - response/aborted_ratio:0.0 - response_length/mean:{tape.near(1430, 0.06):.2f} - response_length/clip_ratio:{tape.near(0.06, 0.3):.4f} - timing_s/gen:{tape.near(48, 0.05):.3f} - timing_s/update_weights:{tape.near(3.2, 0.1):.3f} - perf/throughput:{tape.near(2110, 0.04):.2f}"
        )
        tape.say(
            "\r".join(
                f"(TaskRunner pid={runner}) {bar('Training Progress', one, 268, 94.2)}"
                for one in (at,)
            )
        )


def _decode(tape: Tape, actor: str, pid: int, count: int) -> None:
    for _ in range(count):
        tape.wait(2.1)
        tape.say(
            f"({actor} pid={pid}) [{tape.when()} TP0] Decode batch, #running-req: {tape.rng.randrange(40, 120)}, #token: {tape.rng.randrange(60000, 240000)}, token usage: {tape.near(0.44, 0.3):.2f}, cuda graph: True, gen throughput (token/s): {tape.near(6100, 0.1):.2f}, #queue-req: {tape.rng.randrange(3)}, "
        )


def _wake_after_update() -> ComposedLog:
    tape = Tape(9101, "2025-11-04 09:12:40")
    _verl_start(tape, 20114)
    _verl_workers(tape, range(20431, 20439), "sglang")
    _decode(tape, "SGLangHttpServer", 20977, 6)
    _verl_steps(tape, 20114, 1, 14)
    _decode(tape, "SGLangHttpServer", 20977, 4)
    tape.say(
        "(SGLangHttpServer pid=20977) [torch_memory_saver.cpp] CUresult error: 2 (out of memory)  file=csrc/utils.h func=cu_mem_create line=194"
    )
    for attempt in range(1, 4):
        tape.wait(63)
        tape.say(
            f"(WorkerDict pid={20431 + attempt}) WARNING:{tape.milli()}:Async request to resume_memory_occupation timed out (attempt {attempt})"
            + (_MORE.format(7) if attempt > 1 else "")
        )
    tape.say(
        "Error executing job with overrides: ['algorithm.adv_estimator=grpo', 'actor_rollout_ref.rollout.name=sglang', 'actor_rollout_ref.rollout.gpu_memory_utilization=0.85']",
        _trace(
            """
            verl/trainer/main_ppo.py:42 main | run_ppo(config)
            verl/trainer/main_ppo.py:96 run_ppo | ray.get(runner.run.remote(config))
            @ray/_private/worker.py:2858 get | values, debugger_breakpoint = worker.get_objects(object_refs, timeout=timeout)
            @ray/_private/worker.py:958 get_objects | raise value.as_instanceof_cause()
            """,
            """
            ray.exceptions.RayTaskError(RuntimeError): ray::TaskRunner.run() (pid=20114, ip=10.30.1.4, actor_id=51e20ab1c5f2d7e0b1a1f2a601000000, repr=<main_ppo.TaskRunner object at 0x7f0c6c1f9d60>)
              File "/opt/verl/verl/trainer/ppo/ray_trainer.py", line 1102, in fit
                gen_batch_output = self.async_rollout_manager.generate_sequences(gen_batch)
              File "/opt/verl/verl/experimental/agent_loop/agent_loop.py", line 731, in generate_sequences
                self.wake_up()
            ray.exceptions.RayTaskError(RuntimeError): ray::WorkerDict.actor_rollout_wake_up() (pid=20432, ip=10.30.1.4, actor_id=c7be1d92ab0f5c11d4c6e7d201000000, repr=<verl.single_controller.ray.base.WorkerDict object at 0x7ee1d0b3fb90>)
              File "/opt/verl/verl/workers/rollout/sglang_rollout/http_server_engine.py", line 488, in _make_async_request
                raise RuntimeError(f"Failed to complete async request to {endpoint} after {self.max_attempts} attempts")
            RuntimeError: Failed to complete async request to resume_memory_occupation after 3 attempts
            """,
        ),
        "\nSet the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.",
    )
    return log(
        tape,
        "wake_after_update",
        "cuda_oom",
        1,
        _BASIS,
        command="python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.name=sglang",
        why="cuMemCreate found no memory for the cache; the requests time out because of it",
        verl="0.6.0",
        sglang="0.5.3",
    )


def _names_of_merged_weights() -> ComposedLog:
    tape = Tape(9102, "2025-10-13 18:40:02")
    _verl_start(tape, 3310)
    _verl_workers(tape, range(3620, 3624), "vllm")
    who = "(EngineCore_DP0 pid=4102) "
    tape.say(
        f"{who}INFO {tape.when('%m-%d %H:%M:%S')} [core.py:76] Initializing a V1 LLM engine (v0.10.2) with config: model='/models/Qwen3-8B', speculative_config=None, tokenizer='/models/Qwen3-8B', max_seq_len=9216, enable_prefix_caching=True, chunked_prefill_enabled=True",
        f"{who}INFO {tape.when('%m-%d %H:%M:%S')} [gpu_worker.py:298] Available KV cache memory: 33.92 GiB",
        f"{who}INFO {tape.when('%m-%d %H:%M:%S')} [kv_cache_utils.py:864] GPU KV cache size: 246,976 tokens",
        f"{who}Capturing CUDA graphs (mixed prefill-decode, PIECEWISE): 100%|██████████| 67/67 [00:04<00:00, 14.81it/s]",
        f"{who}INFO {tape.when('%m-%d %H:%M:%S')} [cumem.py:228] CuMemAllocator: sleep freed 51.32 GiB memory in total, of which 15.28 GiB is backed up in CPU and the rest 36.04 GiB is discarded directly.",
        f"{who}INFO {tape.when('%m-%d %H:%M:%S')} [executor_base.py:203] It took 2.104417 seconds to wake up tags ['weights'].",
    )
    head = f"{who}ERROR {tape.when('%m-%d %H:%M:%S')} [core.py:710] "
    tape.say(
        head + "EngineCore encountered a fatal error.",
        marked(
            head,
            _trace(
                """
                @vllm/v1/engine/core.py:701 run_engine_core | engine_core.run_busy_loop()
                @vllm/v1/engine/core.py:726 run_busy_loop | self._process_input_queue()
                @vllm/v1/engine/core.py:798 _handle_client_request | self._invoke_utility_method(method_name, call_id, output, enqueue_output)
                @vllm/executor/uniproc_executor.py:58 collective_rpc | answer = run_method(self.driver_worker, method, args, kwargs)
                verl/workers/rollout/vllm_rollout/utils.py:112 update_weights_from_ipc | self.model_runner.model.load_weights(weights)
                @vllm/model_executor/models/qwen3.py:340 load_weights | return loader.load_weights(weights)
                @vllm/model_executor/models/qwen2.py:423 load_weights | param = params_dict[name]
                """,
                "KeyError: 'layers.0.self_attn.qkv_proj.base_layer.weight'",
            ),
        ),
        "(EngineCore_DP0 pid=4102) Process EngineCore_DP0:",
        f"(vLLMHttpServer pid=3877) ERROR {tape.when('%m-%d %H:%M:%S')} [async_llm.py:480] AsyncLLM output_handler failed.",
        marked(
            f"(vLLMHttpServer pid=3877) ERROR {tape.when('%m-%d %H:%M:%S')} [async_llm.py:480] ",
            _trace(
                """
                @vllm/v1/engine/async_llm.py:439 output_handler | outputs = await engine_core.get_output_async()
                @vllm/v1/engine/core_client.py:846 get_output_async | raise self._format_exception(outputs) from None
                """,
                "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.",
            ),
        ),
        f"[rank0]:[W{tape.when('%m%d %H:%M:%S')}.188240413 ProcessGroupNCCL.cpp:1538] Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources. For more info, please see https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())",
        _trace(
            """
            verl/trainer/main_ppo.py:42 main | run_ppo(config)
            @ray/_private/worker.py:958 get_objects | raise value.as_instanceof_cause()
            """,
            "ray.exceptions.RayTaskError(EngineDeadError): ray::TaskRunner.run() (pid=3310, ip=10.30.1.4, actor_id=0ab7c86f21)\nvllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.",
        ),
    )
    return log(
        tape,
        "names_of_merged_weights",
        "traceback",
        1,
        _BASIS,
        command="python3 -m verl.trainer.main_ppo actor_rollout_ref.model.lora_rank=32",
        why="the trainer sends names that the engine has not; EngineDeadError follows",
        vllm="0.10.2",
    )


def _slime_rollouts(tape: Tape, first: int, last: int) -> None:
    for at in range(first, last + 1):
        for done in (16, 64, 128):
            tape.say(f"(RolloutManager pid=7120) {bar('Rollout generation', done, 128, 0.61)}")
        _decode(tape, "SGLangEngine", 7344, 2)
        tape.wait(61)
        tape.say(
            f"(RolloutManager pid=7120) perf {at}: {{'rollout/raw_reward': {tape.near(0.4 + at / 300, 0.1):.6f}, 'rollout/response_len/mean': {tape.near(2900, 0.05):.2f}, 'rollout/truncated': {tape.near(0.05, 0.5):.4f}}}",
            f"(MegatronTrainRayActor pid=7203) step {at}: {{'train/loss': {tape.near(0.003, 0.8):.8f}, 'train/pg_clipfrac': {tape.near(0.0007, 0.6):.8f}, 'train/ppo_kl': {tape.near(0.0004, 0.7):.8f}, 'train/grad_norm': {tape.near(0.17, 0.3):.8f}, 'train/lr-pg_0': 1e-06}}",
            f"(MegatronTrainRayActor pid=7203) [{tape.when()}] timer.py:35 - Timer update_weights end (elapsed: {tape.near(4.1, 0.1):.1f}s)",
        )


def _weights_by_broadcast() -> ComposedLog:
    tape = Tape(9103, "2025-09-29 03:02:11")
    tape.say(
        "-------------------------------------------------------",
        "Job 'raysubmit_8CkzPmJtEwq2LrXd' submitted successfully",
        "-------------------------------------------------------",
        "Tailing logs until the job exits (disable with --no-wait):",
        "Running entrypoint for job raysubmit_8CkzPmJtEwq2LrXd: python3 train_async.py --actor-num-nodes 2 --rollout-num-gpus 16",
        f"{tape.milli()}\tINFO worker.py:1606 -- Using address 10.30.4.11:6379 set in the environment variable RAY_ADDRESS",
    )
    _slime_rollouts(tape, 0, 7)
    tape.say(
        "(MegatronTrainRayActor pid=7203) trainer-1:7203:9940 [0] misc/socket.cc:64 NCCL WARN socketProgress: Connection closed by remote peer rollout-1.rollouts.rl.svc<43410>",
        "(MegatronTrainRayActor pid=7203) trainer-1:7203:9951 [0] transport/net_ib.cc:2087 NCCL WARN NET/IB: Got completion from peer 10.30.4.23<49813> with status=12 opcode=0 len=0 vendor err 129 (Send) localGid fe80::a288:c2ff:fe4a:4e10 remoteGids fe80::a288:c2ff:fe4a:51b8 hca mlx5_3",
        "(MegatronTrainRayActor pid=7203) trainer-1:7203:9951 [0] proxy.cc:1582 NCCL WARN [Service thread] Could not receive type from localRank 0, res=3, closed=0",
        marked(
            "(MegatronTrainRayActor pid=7203) ",
            _trace(
                """
                slime/backends/megatron_utils/actor.py:402 update_weights | self.weight_updater.update_weights()
                slime/backends/megatron_utils/update_weight_utils.py:488 _update_bucket_weights_from_distributed | handle.wait()
                """,
                "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:77, remote process exited or there was a network error, NCCL version 2.27.3\nncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\nNET/IB: Got completion from peer 10.30.4.23<49813> with status=12 opcode=0 len=0 vendor err 129 (Send) localGid fe80::a288:c2ff:fe4a:4e10 remoteGids fe80::a288:c2ff:fe4a:51b8 hca mlx5_3",
                root="/root/slime",
            ),
        ),
        f"(SGLangEngine pid=7344) [{tape.when()} TP0] Failed to update parameter online: NCCL communicator was aborted on rank 3. The full weights of the ModelRunner are partially updated. Please discard the whole weights.",
        f'(SGLangEngine pid=7344) [{tape.when()}] INFO:     10.30.4.11:52114 - "POST /update_weights_from_distributed HTTP/1.1" 400 Bad Request',
        _trace(
            """
            train_async.py:71 <module> | train(args)
            train_async.py:58 train | actor_model.update_weights()
            slime/ray/actor_group.py:122 update_weights | return ray.get([actor.update_weights.remote() for actor in self._actor_handlers])
            @ray/_private/worker.py:958 get_objects | raise value.as_instanceof_cause()
            """,
            "ray.exceptions.RayTaskError(DistBackendError): ray::MegatronTrainRayActor.update_weights() (pid=7203, ip=10.30.4.12, actor_id=86ac10f3)\ntorch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:77, remote process exited or there was a network error, NCCL version 2.27.3",
            root="/root/slime",
        ),
        "",
        "---------------------------------------",
        "Job 'raysubmit_8CkzPmJtEwq2LrXd' failed",
        "---------------------------------------",
        "",
        "Status message: Job entrypoint command failed with exit code 1, last available logs (truncated to 20,000 chars):",
        "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:77, remote process exited or there was a network error, NCCL version 2.27.3",
    )
    return log(
        tape,
        "weights_by_broadcast",
        "collective",
        1,
        _BASIS,
        command="ray job submit -- python3 train_async.py",
        why="a transport error (status 12: retries exceeded) in a formed group; no process of a peer is shown to have died before it",
        torch="2.8.0",
    )


def _reward_batch_unset() -> ComposedLog:
    tape = Tape(9104, "2025-08-20 12:30:00")
    _verl_start(tape, 811)
    tape.say(
        "(TaskRunner pid=811) WARNING 08-20 12:30:41 [interface.py:391] Using 'pin_memory=False' as WSL is detected. This may slow down the performance.",
        "(TaskRunner pid=811) No module named 'vllm._version'\n(TaskRunner pid=811)   from vllm.version import __version__ as VLLM_VERSION",
        "Error executing job with overrides: ['algorithm.adv_estimator=gae', 'reward_model.enable=True', 'reward_model.model.path=/models/Skywork-Reward-8B', 'reward_model.micro_batch_size_per_gpu=null', 'critic.ppo_micro_batch_size_per_gpu=4']",
        _trace(
            """
            verl/trainer/main_ppo.py:42 main | run_ppo(config)
            verl/trainer/main_ppo.py:85 run_ppo | ray.get(runner.run.remote(config))
            @ray/_private/auto_init_hook.py:22 auto_init_wrapper | return fn(*args, **kwargs)
            @ray/_private/client_mode_hook.py:104 wrapper | return func(*args, **kwargs)
            @ray/_private/worker.py:2858 get | values, debugger_breakpoint = worker.get_objects(object_refs, timeout=timeout)
            @ray/_private/worker.py:958 get_objects | raise value.as_instanceof_cause()
            """,
            """
            ray.exceptions.RayTaskError(ValueError): ray::TaskRunner.run() (pid=811, ip=172.17.0.2, actor_id=b2c71d0f0b1c81c39e4a8f1d01000000, repr=<main_ppo.TaskRunner object at 0x7fb4d91ce6c0>)
                       ^^^^^^^^^^^^^^^^^^^^^
              File "/opt/verl/verl/trainer/main_ppo.py", line 251, in run
                trainer = RayPPOTrainer(
              File "/opt/verl/verl/trainer/ppo/ray_trainer.py", line 356, in __init__
                self._validate_config()
              File "/opt/verl/verl/trainer/ppo/ray_trainer.py", line 448, in _validate_config
                check_mutually_exclusive(config.reward_model.micro_batch_size, config.reward_model.micro_batch_size_per_gpu, "reward_model")
              File "/opt/verl/verl/trainer/ppo/ray_trainer.py", line 412, in check_mutually_exclusive
                raise ValueError(
            ValueError: [reward_model] Please set at least one of 'reward_model.micro_batch_size' or 'reward_model.micro_batch_size_per_gpu' if use_dynamic_bsz is not enabled.
            """,
        ),
        "\nSet the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.",
        "(TaskRunner pid=811) wandb: WARNING `resume` will be ignored since W&B syncing is set to `offline`.",
    )
    return log(
        tape,
        "reward_batch_unset",
        "config",
        1,
        _BASIS,
        command="python3 -m verl.trainer.main_ppo reward_model.enable=True",
        paper_class="traceback",
        verl="0.5.0",
    )


def _openrlhf_steps(tape: Tape, first: int, last: int) -> None:
    for at in range(first, last + 1):
        tape.wait(70)
        tape.say(
            f"(PPOTrainer pid=5211) {bar('Generate experience', 4, 4, 9.2)}",
            f"(PPOTrainer pid=5211) {tape.when()}.{tape.rng.randrange(1000):03d} INFO     openrlhf.trainer.ppo_trainer:ppo_trainer.py:271 ✨ Global step {at}: {{'policy_loss': {tape.near(0.02, 0.8):.6f}, 'actor_lr': 5e-07, 'kl': {tape.near(0.004, 0.5):.6f}, 'reward': {tape.near(0.2 + at / 200, 0.1):.4f}, 'response_length': {tape.near(890, 0.1):.1f}}}",
        )


def _judge_not_answering() -> ComposedLog:
    tape = Tape(9105, "2025-07-16 20:01:10")
    _local_ray(tape)
    _openrlhf_steps(tape, 1, 22)
    for attempt in range(5):
        tape.wait(2**attempt)
        tape.say(
            f"(RemoteRewardModel pid=5390) {tape.when()}.{tape.rng.randrange(1000):03d} WARNING  openrlhf.utils.remote_rm_utils:remote_rm_utils.py:24 Request error, please check: HTTPConnectionPool(host='judge-0.judges', port=5000): Max retries exceeded with url: /get_reward (Caused by NewConnectionError('<urllib3.connection.HTTPConnection object at 0x7f{tape.rng.randrange(16**10):010x}>: Failed to establish a new connection: [Errno 111] Connection refused'))"
        )
    tape.say(
        '(PPOTrainer pid=5211) raise Exception(f"Request error for {try_max_times} times, returning None. Please check the API server.")',
        _trace(
            """
            openrlhf/cli/train_ppo_ray.py:508 <module> | train(args)
            openrlhf/cli/train_ppo_ray.py:178 train | ray.get(ppo_trainer.fit.remote())
            @ray/_private/worker.py:958 get_objects | raise value.as_instanceof_cause()
            """,
            """
            ray.exceptions.RayTaskError(Exception): ray::PPOTrainer.fit() (pid=5211, ip=10.2.0.17, actor_id=1b0e, repr=<openrlhf.trainer.ppo_trainer.PPOTrainer object at 0x7f53e0>)
              File "/opt/OpenRLHF/openrlhf/trainer/ppo_utils/experience_maker.py", line 611, in make_experience
                rewards_list = sum(ray.get(r_refs), [])
            ray.exceptions.RayTaskError(Exception): ray::RemoteRewardModel.get_rewards() (pid=5390, ip=10.2.0.17)
              File "/opt/OpenRLHF/openrlhf/utils/remote_rm_utils.py", line 29, in request_api_wrapper
                raise Exception(
            Exception: Request error for 5 times, returning None. Please check the API server.
            """,
            root="/opt/OpenRLHF",
        ),
    )
    return log(
        tape,
        "judge_not_answering",
        "network",
        1,
        _BASIS,
        command="python3 -m openrlhf.cli.train_ppo_ray --remote_rm_url http://judge-0.judges:5000/get_reward",
        paper_class="traceback",
        why="a service outside the process group refuses connections",
        openrlhf="0.8.5",
    )


def _resume_on_two_nodes() -> ComposedLog:
    tape = Tape(9106, "2025-12-01 07:55:00")
    _verl_start(tape, 16022)
    _verl_workers(tape, range(16401, 16409), "vllm")
    tape.say(
        "(TaskRunner pid=16022) Checkpoint tracker file does not exist: /ckpt/dapo-14b/val/latest_checkpointed_iteration.txt",
        "(TaskRunner pid=16022) Found checkpoint: /ckpt/dapo-14b/global_step_120",
        "(TaskRunner pid=16022) Load from checkpoint folder: /ckpt/dapo-14b/global_step_120",
        "(TaskRunner pid=16022) Setting global step to 120",
        "(TaskRunner pid=16022) Resuming from /ckpt/dapo-14b/global_step_120",
        "(WorkerDict pid=16401) [Rank 0] Loading from /ckpt/dapo-14b/global_step_120/actor/model_world_size_16_rank_0.pt",
        _trace(
            """
            verl/trainer/main_ppo.py:42 main | run_ppo(config)
            verl/trainer/main_ppo.py:96 run_ppo | ray.get(runner.run.remote(config))
            @ray/_private/worker.py:958 get_objects | raise value.as_instanceof_cause()
            """,
            """
            ray.exceptions.RayTaskError(FileNotFoundError): ray::TaskRunner.run() (pid=16022, ip=10.30.1.4, actor_id=7c31, repr=<main_ppo.TaskRunner object at 0x7f3d4c>)
              File "/opt/verl/verl/trainer/ppo/ray_trainer.py", line 1002, in fit
                self._load_checkpoint()
              File "/opt/verl/verl/trainer/ppo/ray_trainer.py", line 928, in _load_checkpoint
                self.actor_rollout_wg.load_checkpoint(
            ray.exceptions.RayTaskError(FileNotFoundError): ray::WorkerDict.actor_rollout_load_checkpoint() (pid=16401, ip=10.30.1.4, actor_id=f3a2, repr=<verl.single_controller.ray.base.WorkerDict object at 0x7eb7a0>)
              File "/opt/verl/verl/utils/checkpoint/fsdp_checkpoint_manager.py", line 131, in load_checkpoint
                model_state_dict = torch.load(local_model_path, weights_only=False)
              File "/usr/local/lib/python3.12/dist-packages/torch/serialization.py", line 1479, in load
                with _open_file_like(f, "rb") as opened_file:
            FileNotFoundError: [Errno 2] No such file or directory: '/ckpt/dapo-14b/global_step_120/actor/model_world_size_16_rank_0.pt'
            """,
        ),
        "+ ls /ckpt/dapo-14b/global_step_120/actor",
        *(
            f"{kind}_world_size_8_rank_{at}.pt"
            for kind in ("extra_state", "model", "optim")
            for at in range(8)
        ),
        "fsdp_config.json",
        "huggingface",
    )
    return log(
        tape,
        "resume_on_two_nodes",
        "checkpoint",
        1,
        _BASIS,
        command="bash run_dapo.sh trainer.nnodes=2",
        paper_class="file_not_found",
        why="the checkpoint is of another world size: 8 files, 16 ranks",
        verl="0.7.0",
    )


def _extension_of_another_torch() -> ComposedLog:
    tape = Tape(9107, "2025-06-18 16:20:08")
    _local_ray(tape)
    tape.say(
        "(GRPO pid=910) Setting up compute cluster...",
        "INFO:nemo_rl.distributed.virtual_cluster:Started local cluster with: {'CPU': 112.0, 'GPU': 8.0, 'memory': 1902341885952.0, 'object_store_memory': 200000000000.0}",
        "\n▶ Setting up data...",
        "  ✓ Training dataset loaded with 40315 samples.",
        "  ✓ Validation dataset loaded with 480 samples.",
        "\n▶ Setting up compute cluster...",
        "  ✓ Ray cluster initialized with 1 nodes",
        "\n▶ Setting up model and training...",
        "(VllmGenerationWorker pid=1377) Using CPython 3.12.10\n(VllmGenerationWorker pid=1377) Creating virtual environment at: /opt/ray_venvs/nemo_rl.models.generation.vllm.VllmGenerationWorker",
        "(VllmGenerationWorker pid=1377) warning: The `tool.uv.dev-dependencies` field is deprecated and will be removed in a future release",
    )
    error = "ImportError: /opt/ray_venvs/nemo_rl.models.generation.vllm.VllmGenerationWorker/lib/python3.12/site-packages/vllm/_C.abi3.so: undefined symbol: _ZN3c104cuda9SetDeviceEab"
    tape.say(
        f"(VllmGenerationWorker pid=1377) WARNING {tape.when('%m-%d %H:%M:%S')} [_custom_ops.py:21] Failed to import from vllm._C with {error.split(': ', 1)[0]}('{error.split(': ', 1)[1]}')",
        "(VllmGenerationWorker pid=1377) INFO 06-18 16:22:03 [__init__.py:244] No platform detected, vLLM is running on UnspecifiedPlatform",
        '(raylet) It looks like you\'re creating a detached actor in an anonymous namespace. In order to access this actor in the future, you will need to explicitly connect to this namespace with ray.init(namespace="7c1f1d2c", ...)',
        _trace(
            """
            examples/run_grpo_math.py:241 main | ) = setup(config, tokenizer, dataset, val_dataset)
            nemo_rl/algorithms/grpo.py:338 setup | policy_generation = VllmGeneration(cluster=inference_cluster, config=generation_config)
            nemo_rl/models/generation/vllm.py:1391 __init__ | self.worker_group = RayWorkerGroup(cluster, worker_builder, name_prefix=name_prefix)
            nemo_rl/distributed/worker_groups.py:489 _create_workers_from_bundle_indices | raise RuntimeError("Failed to create worker") from e
            @ray/_private/worker.py:955 get_objects | raise value
            """,
            f"""
            ray.exceptions.ActorDiedError: The actor died because of an error raised in its creation task, ray::lm_policy-0-0:VllmGenerationWorker.__init__() (pid=1377, ip=10.8.0.3, actor_id=aa4f21b00c)
              File "/opt/nemo-rl/nemo_rl/models/generation/vllm.py", line 333, in __init__
                self.llm = vllm.LLM(**llm_kwargs)
              File "/opt/nemo-rl/3rdparty/vllm/vllm/_custom_ops.py", line 1402, in <module>
                import vllm._C
            {error}
            """,
            root="/opt/nemo-rl",
        ),
    )
    return log(
        tape,
        "extension_of_another_torch",
        "dependency",
        1,
        _BASIS,
        command="uv run python examples/run_grpo_math.py --config grpo_math_8B.yaml",
        paper_class="missing_module",
        torch="2.7.0",
    )


def _prompts_of_another_set() -> ComposedLog:
    tape = Tape(9108, "2025-10-02 02:10:00")
    _local_ray(tape)
    tape.say(
        "(TaskRunner pid=6120) TaskRunner hostname: rl-worker-3, PID: 6120",
        "(TaskRunner pid=6120) Using dataset class: RLHFDataset",
        "Generating train split: 41237 examples [00:00, 188201.51 examples/s]",
        "(TaskRunner pid=6120) dataset len: 41237",
        *(
            f"(TaskRunner pid=6120) {bar('Filtering prompts longer than 2048 tokens (num_proc=8)', at, 41237, 0.0002)}"
            for at in (0, 1000, 9000)
        ),
        '(TaskRunner pid=6120) multiprocess.pool.RemoteTraceback: \n(TaskRunner pid=6120) """',
        marked(
            "(TaskRunner pid=6120) ",
            _trace(
                """
                @multiprocess/pool.py:125 worker | result = (True, func(*args, **kwds))
                @datasets/arrow_dataset.py:3501 _map_single | for i, batch in iter_outputs(shard_iterable):
                verl/utils/dataset/rl_dataset.py:176 doc2len | return len(tokenizer.apply_chat_template(doc[prompt_key], add_generation_prompt=True))
                @datasets/formatting/formatting.py:278 __getitem__ | value = self.data[key]
                """,
                "KeyError: 'prompt'",
            ),
        ),
        '(TaskRunner pid=6120) """',
        "(TaskRunner pid=6120) \n(TaskRunner pid=6120) The above exception was the direct cause of the following exception:\n(TaskRunner pid=6120) ",
        _trace(
            """
            verl/trainer/main_ppo.py:42 main | run_ppo(config)
            @ray/_private/worker.py:958 get_objects | raise value.as_instanceof_cause()
            """,
            "ray.exceptions.RayTaskError(KeyError): ray::TaskRunner.run() (pid=6120, ip=10.1.2.3, actor_id=01)\n  File \"/opt/verl/verl/trainer/main_ppo.py\", line 238, in run\n    train_dataset = create_rl_dataset(config.data.train_files, config.data, tokenizer, processor)\nKeyError: 'prompt'",
        ),
        "+ python3 -c \"import pyarrow.parquet as p; print(p.read_schema('/data/r1/train.parquet').names)\"",
        "['question', 'answer', 'source', 'difficulty']",
    )
    return log(
        tape,
        "prompts_of_another_set",
        "data",
        1,
        _BASIS,
        command="bash run_grpo.sh data.train_files=/data/r1/train.parquet",
        paper_class="traceback",
        why="the table has other columns than the program's",
        verl="0.6.1",
    )


def _stopped_at_the_terminal() -> ComposedLog:
    tape = Tape(9109, "2025-09-10 22:00:00")
    _local_ray(tape)
    _slime_rollouts(tape, 0, 5)
    tape.say(
        "^CTraceback (most recent call last):",
        *_trace(
            """
            train.py:88 <module> | train(args)
            train.py:49 train | rollout_data_ref = ray.get(rollout_manager.generate.remote(rollout_id))
            @ray/_private/worker.py:2858 get | values, debugger_breakpoint = worker.get_objects(object_refs, timeout=timeout)
            @ray/_private/worker.py:925 get_objects | ] = self.core_worker.get_objects(
            """,
            "KeyboardInterrupt",
            root="/root/slime",
        ).split("\n")[1:],
        f"(SGLangEngine pid=7344) [{tape.when()}] Subprocess scheduler_0 (pid=7501) crashed with exit code -15. Triggering SIGQUIT for cleanup...",
        "(MegatronTrainRayActor pid=7203) *** SIGTERM received at time=1757541990 on cpu 41 ***\n(MegatronTrainRayActor pid=7203) PC: @     0x7f1d5a691117  (unknown)  (unknown)\n(MegatronTrainRayActor pid=7203)     @     0x7f1d5a642520  (unknown)  (unknown)",
        "(raylet) A worker died or was killed while executing a task by an unexpected system error. To troubleshoot the problem, check the logs for the dead worker. Lease ID: 2e00 Worker ID: 9c0e11 Node ID: 41cb Worker IP address: 10.30.4.11 Worker port: 10021 Worker PID: 7344 Worker exit type: SYSTEM_ERROR Worker exit detail: The leased worker has unrecoverable failure. Worker is requested to be destroyed when it is returned.",
    )
    return log(
        tape,
        "stopped_at_the_terminal",
        "cancelled",
        130,
        _BASIS,
        command="python3 train.py --rollout-num-gpus 8",
        paper_class="traceback",
        why="Ctrl-C; the signals and deaths after it belong to the shutdown",
        sglang="0.5.2",
    )


def _slow_but_complete() -> ComposedLog:
    tape = Tape(9110, "2025-10-21 05:00:00")
    _local_ray(tape)
    for at in range(1, 9):
        tape.wait(88)
        tape.say(
            f"\n{'=' * 25} Step {at}/8 {'=' * 25}",
            "▶ Preparing batch...",
            "▶ Generating responses for batch of size 512...",
        )
        if at in (2, 5):
            tape.say(
                f"(VllmGenerationWorker pid=1402) WARNING {tape.when('%m-%d %H:%M:%S')} [scheduler.py:1754] Sequence group 411 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. This can affect the end-to-end performance. Increase gpu_memory_utilization or tensor_parallel_size to provide more KV cache memory.",
                "(MathEnvironment pid=1333) WARNING: verification of 3 responses timed out, reward set to 0.0: TimeoutError()",
            )
        if at == 6:
            tape.say(
                "(raylet) WARNING: 1 PYTHON worker processes have been started on node: 0a11 with address: 10.8.0.3. This could be a result of using a large number of actors, or due to tasks blocked in ray.get() calls",
                "(MathVerifyWorker pid=1340) Error in math verify: ParseException: Expected end of text, found '\\\\'  (at char 18)\n(MathVerifyWorker pid=1340) Traceback (most recent call last):\n(MathVerifyWorker pid=1340)   File \"/opt/nemo-rl/nemo_rl/environments/math_environment.py\", line 91, in verify\n(MathVerifyWorker pid=1340)     ret_score, _ = self.verify_func([ground_truth_parsable], [response])\n(MathVerifyWorker pid=1340) pyparsing.exceptions.ParseException: Expected end of text",
            )
        tape.say(
            "▶ Processing rewards...",
            "▶ Computing advantages...",
            "▶ Computing logprobs...",
            "▶ Training policy...",
            "\n📊 Training Results:",
            f"  • Loss: {tape.near(0.011, 0.6):.4f}",
            f"  • Avg Reward: {tape.near(0.32 + at * 0.01, 0.05):.4f}",
            f"  • Mean Generation Length: {tape.near(1190, 0.05):.4f}",
            "\n⏱️  Timing:",
            f"  • Total step time: {tape.near(88, 0.05):.2f}s",
            f"  • generation: {tape.near(45, 0.05):.2f}s (51.2%)",
            f"  • policy_training: {tape.near(28, 0.05):.2f}s (31.9%)",
        )
    tape.say(
        "Saving checkpoint for step 8...",
        "Saved checkpoint to results/grpo/step_8",
        "Max number of steps has been reached, stopping training early",
        "(DTensorPolicyWorker pid=1380) [rank0]:[W1021 05:13:12.118 ProcessGroupNCCL.cpp:1538] Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources. For more info, please see https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())",
    )
    return log(
        tape,
        "slow_but_complete",
        "none",
        0,
        _BASIS,
        command="uv run python examples/run_grpo_math.py grpo.max_num_steps=8",
        nemo_rl="0.3.0",
    )
