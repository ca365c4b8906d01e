"""DeepSpeed's launcher and ZeRO on A100 and RTX nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corpus.compose._gpu_hosts import kernel
from corpus.compose._gpu_tape import Tape, chained, marked, mixed, rank, traceback
from corpus.compose._gpu_torch import oom, watchdog
from corpus.compose.composed_log import ComposedLog

_BASIS = "sources of DeepSpeed, PyTorch's cpp_extension, NCCL and the Linux kernel"
_SITE = "/opt/miniconda/envs/ds/lib/python3.10/site-packages"
_ROOT = "/data/llm"


def logs() -> Iterator[ComposedLog]:
    """Extensions that do not build, scales that run out, memory of both kinds, networks."""
    yield _other_cuda_toolkit()
    yield _ninja_failed()
    yield _loss_scale_at_minimum()
    yield _oom_in_gather()
    yield _killed_without_a_word()
    yield _killed_and_the_kernel_says_why()
    yield _batch_sizes_disagree()
    yield _half_parameters_float_input()
    yield _infiniband_retry_exceeded()
    yield _overflow_then_steady()
    yield _host_not_resolved()
    yield _pinned_memory_refused()


def _launch(tape: Tape, gpus: int, script: str, hosts: Sequence[str] = ("localhost",)) -> None:
    world = {host: list(range(gpus)) for host in hosts}
    tape.say(
        f"[{tape.milli()}] [INFO] [real_accelerator.py:203:get_accelerator] Setting ds_accelerator to cuda (auto detect)",
        f"[{tape.milli()}] [WARNING] [runner.py:212:fetch_hostfile] Unable to find hostfile, will proceed with training with local resources only.",
        f"[{tape.milli()}] [INFO] [runner.py:568:main] cmd = /opt/miniconda/envs/ds/bin/python -u -m deepspeed.launcher.launch --world_info=eyJsb2NhbGhvc3QiOiBbMCwgMSwgMiwgM119 --master_addr=127.0.0.1 --master_port=29500 --enable_each_rank_log=None {script} --deepspeed ds_zero.json",
        f"[{tape.milli()}] [INFO] [launch.py:145:main] WORLD INFO DICT: {world}",
        f"[{tape.milli()}] [INFO] [launch.py:151:main] nnodes={len(hosts)}, num_local_procs={gpus}, node_rank=0",
        f"[{tape.milli()}] [INFO] [launch.py:163:main] dist_world_size={gpus * len(hosts)}",
        f"[{tape.milli()}] [INFO] [launch.py:165:main] Setting CUDA_VISIBLE_DEVICES={','.join(map(str, range(gpus)))}",
    )
    tape.wait(9).say(
        f"[{tape.milli()}] [INFO] [comm.py:637:init_distributed] cdb=None",
        f"[{tape.milli()}] [INFO] [comm.py:668:init_distributed] Initializing TorchBackend in DeepSpeed with backend nccl",
    )


def _config(tape: Tape, stage: int, *, scale: int = 16) -> None:
    tape.say(
        f"[{tape.milli()}] [INFO] [logging.py:96:log_dist] [Rank 0] DeepSpeed info: version=0.14.4, git-hash=unknown, git-branch=unknown",
        *(
            f"[{tape.milli()}] [INFO] [config.py:1003:print]   {line}"
            for line in (
                "amp_enabled .................. False",
                "checkpoint_tag_validation_fail  False",
                f"dynamic_loss_scale_args ...... {{'init_scale': {2**scale}, 'scale_window': 1000, 'delayed_shift': 2, 'consecutive_hysteresis': False, 'min_scale': 1}}",
                "fp16_auto_cast ............... False",
                "fp16_enabled ................. True",
                "loss_scale ................... 0",
                "memory_breakdown ............. False",
                "nebula_config ................ enabled=False persistent_storage_path=None persistent_time_interval=100 num_of_version_in_retention=2 enable_nebula_load=True load_path=None",
                f"zero_optimization_stage ...... {stage}",
                "zero_force_ds_cpu_optimizer .. True",
            )
        ),
    )


def _steps(tape: Tape, numbers: Sequence[int], loss: float = 2.2) -> None:
    for at in numbers:
        tape.wait(35)
        tape.say(
            f"[{tape.milli()}] [INFO] [logging.py:96:log_dist] [Rank 0] step={at}, skipped=0, lr=[{1e-5 * (1 - at / 9000):.6e}], mom=[(0.9, 0.95)]",
            f"steps: {at} loss: {tape.near(loss * (1 - at / 4000), 0.02):.4f} iter time (s): {tape.near(3.51, 0.02):.3f} samples/sec: {tape.near(18.2, 0.02):.3f}",
        )


def _dead(
    tape: Tape, pids: Sequence[int], code: int, script: str = "train_sft.py", local: int = 0
) -> None:
    tape.wait(2)
    tape.say(
        *(
            f"[{tape.milli()}] [INFO] [launch.py:319:sigkill_handler] Killing subprocess {pid}"
            for pid in pids
        ),
        f"[{tape.milli()}] [ERROR] [launch.py:325:sigkill_handler] ['/opt/miniconda/envs/ds/bin/python', '-u', '{script}', '--local_rank={local}', '--deepspeed', 'ds_zero.json'] exits with return code = {code}",
    )


def _trace(frames: str, error: str) -> str:
    return traceback(frames, error, root=_ROOT, site=_SITE)


def _other_cuda_toolkit() -> ComposedLog:
    tape = Tape(601, "2024-04-11 10:44:08")
    _launch(tape, 2, "train_sft.py")
    tape.say(
        " [WARNING]  sparse_attn requires a torch version >= 1.5 and < 2.0 but detected 2.2",
        " [WARNING]  using untested triton version (2.2.0), only 1.0.0 is known to be compatible",
        mixed(
            tape,
            *(
                _trace(
                    """
                    train_sft.py:211 <module> | main()
                    train_sft.py:150 main | optimizer = DeepSpeedCPUAdam(groups, lr=args.lr, betas=(0.9, 0.95))
                    @deepspeed/ops/adam/cpu_adam.py:94 __init__ | self.ds_opt_adam = CPUAdamBuilder().load()
                    @deepspeed/ops/op_builder/builder.py:479 load | return self.jit_load(verbose)
                    @deepspeed/ops/op_builder/builder.py:488 jit_load | assert_no_cuda_mismatch(self.name)
                    @deepspeed/ops/op_builder/builder.py:104 assert_no_cuda_mismatch | raise CUDAMismatchException(
                    """,
                    "deepspeed.ops.op_builder.builder.CUDAMismatchException: >- DeepSpeed Op Builder: Installed CUDA version 11.5 does not match the version torch was compiled with 12.1, unable to compile cuda/cpp extensions without a matching cuda version.",
                )
                for _ in range(2)
            ),
        ),
        "Exception ignored in: <function DeepSpeedCPUAdam.__del__ at 0x7f1f0c3b2d40>",
        _trace(
            "@deepspeed/ops/adam/cpu_adam.py:102 __del__ | self.ds_opt_adam.destroy_adam(self.opt_id)",
            "AttributeError: 'DeepSpeedCPUAdam' object has no attribute 'ds_opt_adam'",
        ),
    )
    _dead(tape, (3321, 3322), 1, local=1)
    return ComposedLog(
        "other_cuda_toolkit",
        "cuda_environment",
        1,
        tape.text(),
        _BASIS,
        command="deepspeed --num_gpus 2 train_sft.py",
        versions={"torch": "2.2.0", "deepspeed": "0.14.0"},
        paper_class="traceback",
    )


def _ninja_failed() -> ComposedLog:
    tape = Tape(602, "2024-05-13 12:01:39")
    _launch(tape, 4, "train_sft.py")
    tape.say(
        "Using /home/user/.cache/torch_extensions/py310_cu121 as PyTorch extensions root...",
        "Detected CUDA files, patching ldflags",
        "Emitting ninja build file /home/user/.cache/torch_extensions/py310_cu121/fused_adam/build.ninja...",
        "Building extension module fused_adam...",
        "Allowing ninja to set a default number of workers... (overridable by setting the environment variable MAX_JOBS=N)",
        f"[1/3] /usr/local/cuda/bin/nvcc  -DTORCH_EXTENSION_NAME=fused_adam -DTORCH_API_INCLUDE_EXTENSION_H -I{_SITE}/deepspeed/ops/csrc/includes -isystem {_SITE}/torch/include -isystem /usr/local/cuda/include -D_GLIBCXX_USE_CXX11_ABI=0 --expt-relaxed-constexpr -O3 --use_fast_math -std=c++17 -c {_SITE}/deepspeed/ops/csrc/adam/multi_tensor_adam.cu -o multi_tensor_adam.cuda.o",
        "FAILED: multi_tensor_adam.cuda.o",
        "In file included from /usr/local/cuda/include/cuda_runtime.h:83,\n                 from <command-line>:\n/usr/local/cuda/include/crt/host_config.h:132:2: error: #error -- unsupported GNU version! gcc versions later than 12 are not supported! The nvcc flag '-allow-unsupported-compiler' can be used to override this version check; however, using an unsupported host compiler may cause compilation failure or incorrect run time execution. Use at your own risk.\n  132 | #error -- unsupported GNU version! gcc versions later than 12 are not supported!\n      |  ^~~~~",
        "ninja: build stopped: subcommand failed.",
        chained(
            _trace(
                "@torch/utils/cpp_extension.py:2096 _run_ninja_build | subprocess.run(\n/opt/miniconda/envs/ds/lib/python3.10/subprocess.py:526 run | raise CalledProcessError(retcode, process.args,",
                "subprocess.CalledProcessError: Command '['ninja', '-v']' returned non-zero exit status 1.",
            ),
            _trace(
                """
                train_sft.py:211 <module> | main()
                train_sft.py:152 main | optimizer = FusedAdam(groups, lr=args.lr)
                @deepspeed/ops/adam/fused_adam.py:94 __init__ | fused_adam_cuda = FusedAdamBuilder().load()
                @deepspeed/ops/op_builder/builder.py:523 jit_load | op_module = load(name=self.name,
                @torch/utils/cpp_extension.py:2112 _run_ninja_build | raise RuntimeError(message) from e
                """,
                "RuntimeError: Error building extension 'fused_adam'",
            ),
            direct=True,
        ),
        "Loading extension module fused_adam...",
        *(
            rank(
                at,
                _trace(
                    "train_sft.py:152 main | optimizer = FusedAdam(groups, lr=args.lr)\n@torch/utils/cpp_extension.py:2136 _import_module_from_library | module = importlib.util.module_from_spec(spec)",
                    "ImportError: /home/user/.cache/torch_extensions/py310_cu121/fused_adam/fused_adam.so: cannot open shared object file: No such file or directory",
                ),
            )
            for at in (1, 3)
        ),
    )
    _dead(tape, (810, 811, 812, 813), 1, local=3)
    return ComposedLog(
        "ninja_failed",
        "compile_error",
        1,
        tape.text(),
        _BASIS,
        command="deepspeed --num_gpus 4 train_sft.py",
        versions={"torch": "2.3.0", "deepspeed": "0.14.2"},
        paper_class="runtime_error",
        why="the compiler refused on rank 0; the others then lacked the built file",
    )


def _loss_scale_at_minimum() -> ComposedLog:
    tape = Tape(603, "2023-09-17 02:30:55")
    _launch(tape, 8, "train_sft.py")
    _config(tape, 2)
    _steps(tape, range(10, 120, 10))
    scale = 65536
    while scale > 1:
        tape.wait(4).say(
            f"[{tape.milli()}] [INFO] [loss_scaler.py:190:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {scale}, reducing to {scale // 2}"
        )
        scale //= 2
    tape.say(
        _trace(
            """
            train_sft.py:211 <module> | main()
            train_sft.py:188 main | engine.step()
            @deepspeed/runtime/engine.py:2053 step | self._take_model_step(lr_kwargs)
            @deepspeed/runtime/engine.py:1960 _take_model_step | self.optimizer.step()
            @deepspeed/runtime/zero/stage_1_and_2.py:1724 step | self._update_scale(self.overflow)
            @deepspeed/runtime/fp16/loss_scaler.py:175 update_scale | raise Exception(
            """,
            "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.",
        )
    )
    _dead(tape, range(4100, 4108), 1, local=7)
    return ComposedLog(
        "loss_scale_at_minimum",
        "nan_loss",
        1,
        tape.text(),
        _BASIS,
        command="deepspeed --num_gpus 8 train_sft.py",
        versions={"torch": "2.0.1", "deepspeed": "0.10.3"},
        paper_class="nan_loss",
    )


def _oom_in_gather() -> ComposedLog:
    tape = Tape(604, "2024-08-19 17:20:05")
    _launch(tape, 4, "train_rm.py")
    _config(tape, 3)
    _steps(tape, range(1, 6))
    tape.say(
        f"[{tape.milli()}] [WARNING] [stage3.py:2069:step] 3 pytorch allocator cache flushes since last step. this happens when there is high memory pressure and is detrimental to performance. if this is happening frequently consider adjusting settings to reduce memory consumption. If you are unable to make the cache flushes go away consider adding get_accelerator().empty_cache() calls in your training loop to ensure that all ranks flush their caches at the same time",
        rank(
            2,
            _trace(
                """
                train_rm.py:160 <module> | main()
                train_rm.py:133 main | engine.backward(loss)
                @deepspeed/runtime/zero/partitioned_param_coordinator.py:322 fetch_sub_module | self.__all_gather_params(params_to_fetch, forward)
                @deepspeed/runtime/zero/partition_parameters.py:1287 all_gather_coalesced | flat_tensor = torch.empty(partition_sz * self.num_partitions,
                """,
                oom(
                    "2.3",
                    "1002.00 MiB",
                    gpu=2,
                    total="23.68 GiB",
                    free="405.12 MiB",
                    used="23.27 GiB",
                    allocated="20.96 GiB",
                    idle="1.83 GiB",
                ),
            ),
        ),
    )
    _dead(tape, (9001, 9002, 9003, 9004), 1, "train_rm.py", 3)
    return ComposedLog(
        "oom_in_gather",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="deepspeed --num_gpus 4 train_rm.py",
        versions={"torch": "2.3.1", "deepspeed": "0.14.4"},
    )


def _killed_without_a_word() -> ComposedLog:
    tape = Tape(605, "2024-01-09 21:10:00")
    _launch(tape, 4, "train_sft.py")
    _config(tape, 3)
    tape.say(
        "Loading extension module cpu_adam...\nTime to load cpu_adam op: 2.8812179565429688 seconds",
        f"[{tape.milli()}] [INFO] [utils.py:800:see_memory_usage] Before creating fp32 partitions",
        f"[{tape.milli()}] [INFO] [utils.py:801:see_memory_usage] MA 0.0 GB         Max_MA 0.49 GB         CA 0.49 GB         Max_CA 0 GB ",
        f"[{tape.milli()}] [INFO] [utils.py:808:see_memory_usage] CPU Virtual Memory:  used = 231.18 GB, percent = 91.9%",
    )
    _dead(tape, (6100, 6101, 6102, 6103), -9, local=3)
    return ComposedLog(
        "killed_without_a_word",
        "killed_unknown",
        247,
        tape.text(),
        _BASIS,
        command="deepspeed --num_gpus 4 train_sft.py",
        versions={"torch": "2.1.2", "deepspeed": "0.12.6"},
        why="SIGKILL at 92 % of host memory, yet nothing says that it was for memory",
    )


def _killed_and_the_kernel_says_why() -> ComposedLog:
    tape = Tape(606, "2024-01-10 08:15:44")
    _launch(tape, 4, "train_sft.py")
    _config(tape, 3)
    tape.say(
        f"[{tape.milli()}] [INFO] [utils.py:808:see_memory_usage] CPU Virtual Memory:  used = 244.02 GB, percent = 97.0%"
    )
    _dead(tape, (7100, 7101, 7102, 7103), -9, local=3)
    tape.say(
        "$ journalctl -k --since -5min",
        kernel(
            tape,
            "llm01",
            "python invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0",
            "CPU: 18 PID: 7102 Comm: python Tainted: P           OE     5.15.0-91-generic #101-Ubuntu",
            "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/user.slice/user-1000.slice/session-11.scope,task=python,pid=7103,uid=1000",
            "Out of memory: Killed process 7103 (python) total-vm:98213044kB, anon-rss:64120980kB, file-rss:73216kB, shmem-rss:12288kB, UID:1000 pgtables:130788kB oom_score_adj:0",
        ),
    )
    return ComposedLog(
        "killed_and_the_kernel_says_why",
        "oom_killer",
        247,
        tape.text(),
        _BASIS,
        command="deepspeed --num_gpus 4 train_sft.py",
        versions={"torch": "2.1.2", "deepspeed": "0.12.6"},
    )


def _batch_sizes_disagree() -> ComposedLog:
    tape = Tape(607, "2024-03-07 15:45:01")
    _launch(tape, 6, "train_sft.py")
    told = [
        _trace(
            """
            train_sft.py:211 <module> | main()
            train_sft.py:160 main | engine, optimizer, _, _ = deepspeed.initialize(
            @deepspeed/__init__.py:171 initialize | config_class = DeepSpeedConfig(config, mpu)
            @deepspeed/runtime/config.py:770 __init__ | self._configure_train_batch_size()
            @deepspeed/runtime/config.py:947 _configure_train_batch_size | self._batch_assertion()
            @deepspeed/runtime/config.py:895 _batch_assertion | assert train_batch == micro_batch * grad_acc * self.world_size, (
            """,
            "AssertionError: Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size 64 != 2 * 4 * 6",
        )
        for _ in range(3)
    ]
    tape.say(mixed(tape, *told))
    _dead(tape, range(220, 226), 1, local=5)
    return ComposedLog(
        "batch_sizes_disagree",
        "config",
        1,
        tape.text(),
        _BASIS,
        command="deepspeed --num_gpus 6 train_sft.py",
        versions={"torch": "2.2.1", "deepspeed": "0.13.4"},
        paper_class="assertion",
    )


def _half_parameters_float_input() -> ComposedLog:
    tape = Tape(608, "2024-06-21 11:59:32")
    _launch(tape, 2, "train_vlm.py")
    _config(tape, 2)
    tape.say(
        rank(
            1,
            _trace(
                """
                train_vlm.py:97 <module> | main()
                train_vlm.py:80 main | loss = engine(pixel_values=batch["pixels"], input_ids=batch["ids"])
                CALL 2.3
                @deepspeed/runtime/engine.py:1855 forward | loss = self.module(*inputs, **kwargs)
                CALL 2.3
                models/tower.py:41 forward | patches = self.patch_embedding(pixel_values)
                CALL 2.3
                @torch/nn/modules/conv.py:460 forward | return self._conv_forward(input, self.weight, self.bias)
                """,
                "RuntimeError: Input type (torch.cuda.FloatTensor) and weight type (torch.cuda.HalfTensor) should be the same",
            ),
        )
    )
    _dead(tape, (51, 52), 1, "train_vlm.py", 1)
    return ComposedLog(
        "half_parameters_float_input",
        "dtype_mismatch",
        1,
        tape.text(),
        _BASIS,
        command="deepspeed --num_gpus 2 train_vlm.py",
        versions={"torch": "2.3.1"},
        paper_class="runtime_error",
    )


def _infiniband_retry_exceeded() -> ComposedLog:
    tape = Tape(609, "2024-11-23 19:07:29")
    _launch(tape, 8, "train_sft.py", ("llm01", "llm02"))
    _config(tape, 3)
    _steps(tape, range(100, 600, 100))
    tape.wait(29).say(
        marked(
            "llm02: ",
            "llm02:4418:4631 [2] ib_plugin.c:1555 NCCL WARN NET/IB: Got completion from peer 192.168.40.11<38426> with status=12 opcode=1 len=0 vendor err 129 (Send) localGid ::ffff:192.168.40.12 remoteGids::ffff:192.168.40.11\n"
            "llm02:4418:4631 [2] NCCL INFO transport/net.cc:1163 -> 6\n"
            "llm02:4418:4631 [2] NCCL INFO proxy.cc:707 -> 6\n"
            "llm02:4418:4631 [2] NCCL INFO proxy.cc:892 -> 6 [Progress Thread]",
        ),
        marked(
            "llm02: ",
            rank(
                10,
                "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1970, remote process exited or there was a network error, NCCL version 2.20.5\nncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\nNET/IB: Got completion from peer 192.168.40.11<38426> with status=12 opcode=1 len=0 vendor err 129 (Send)",
            ),
        ),
        marked(
            "llm02: ",
            f"[{tape.milli()}] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 4416\n[{tape.milli()}] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 4418",
        ),
        "pdsh@llm01: llm02: ssh exited with exit code 1",
    )
    tape.wait(595).say(
        marked(
            "llm01: ",
            watchdog(tape, "2.4", 3, seq=20711, op="_ALLGATHER_BASE", numel=(819200, 13107200)),
        )
    )
    return ComposedLog(
        "infiniband_retry_exceeded",
        "collective",
        1,
        tape.text(),
        _BASIS,
        command="deepspeed --hostfile hosts train_sft.py",
        versions={"torch": "2.4.0"},
        paper_class="nccl",
    )


def _overflow_then_steady() -> ComposedLog:
    tape = Tape(610, "2023-11-04 08:00:41")
    _launch(tape, 4, "train_sft.py")
    _config(tape, 2)
    scale = 65536
    for _ in range(5):
        tape.wait(4).say(
            f"[{tape.milli()}] [INFO] [loss_scaler.py:190:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {scale}, reducing to {scale // 2}"
        )
        scale //= 2
    _steps(tape, range(10, 400, 30))
    tape.say(
        f"[{tape.milli()}] [WARNING] [lr_schedules.py:683:get_lr] Attempting to get learning rate from scheduler before it has started",
        f"[{tape.milli()}] [INFO] [torch_checkpoint_engine.py:33:commit] [Torch] Checkpoint global_step400 is ready now!",
        "final eval loss 1.7733",
        f"[{tape.milli()}] [INFO] [launch.py:348:main] Process 12044 exits successfully.",
        f"[{tape.milli()}] [INFO] [launch.py:348:main] Process 12046 exits successfully.",
        f"[{tape.milli()}] [INFO] [launch.py:348:main] Process 12045 exits successfully.",
        f"[{tape.milli()}] [INFO] [launch.py:348:main] Process 12043 exits successfully.",
    )
    return ComposedLog(
        "overflow_then_steady",
        "none",
        0,
        tape.text(),
        _BASIS,
        command="deepspeed --num_gpus 4 train_sft.py",
        versions={"torch": "2.1.0", "deepspeed": "0.12.2"},
        why="the scale settled after five skipped steps",
    )


def _host_not_resolved() -> ComposedLog:
    tape = Tape(611, "2024-09-26 09:33:33")
    tape.say(
        f"[{tape.milli()}] [INFO] [runner.py:463:main] Using IP address of 192.168.40.11 for node llm01",
        f"[{tape.milli()}] [INFO] [multinode_runner.py:81:get_cmd] Running on the following workers: llm01,llm03",
        f"[{tape.milli()}] [INFO] [runner.py:568:main] cmd = pdsh -S -f 1024 -w llm01,llm03 export NCCL_SOCKET_IFNAME=bond0; cd {_ROOT}; python -u -m deepspeed.launcher.launch --node_rank=%n --master_addr=llm01.cluster.lan --master_port=29500 train_sft.py",
        marked(
            "llm03: ",
            "[W socket.cpp:697] [c10d] The IPv6 network addresses of (llm01.cluster.lan, 29500) cannot be retrieved (gai error: -2 - Name or service not known).",
        ),
        marked(
            "llm03: ",
            "[W socket.cpp:697] [c10d] The IPv4 network addresses of (llm01.cluster.lan, 29500) cannot be retrieved (gai error: -2 - Name or service not known).",
        ),
    )
    tape.wait(60).say(
        marked(
            "llm03: ",
            _trace(
                """
                train_sft.py:211 <module> | main()
                train_sft.py:44 main | deepspeed.init_distributed()
                @deepspeed/comm/comm.py:670 init_distributed | cdb = TorchBackend(dist_backend, timeout, init_method, rank, world_size)
                @deepspeed/comm/torch.py:121 __init__ | self.init_process_group(backend, timeout, init_method, rank, world_size)
                @torch/distributed/rendezvous.py:189 _create_c10d_store | return TCPStore(
                """,
                "torch.distributed.DistNetworkError: The client socket has failed to connect to any network address of (llm01.cluster.lan, 29500). The IPv6 network addresses of (llm01.cluster.lan, 29500) cannot be retrieved (gai error: -2 - Name or service not known). The IPv4 network addresses of (llm01.cluster.lan, 29500) cannot be retrieved (gai error: -2 - Name or service not known).",
            ),
        ),
        marked(
            "llm03: ",
            f"[{tape.milli()}] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 1720",
        ),
        "pdsh@llm01: llm03: ssh exited with exit code 1",
    )
    return ComposedLog(
        "host_not_resolved",
        "rendezvous",
        1,
        tape.text(),
        _BASIS,
        command="deepspeed --hostfile hosts train_sft.py",
        versions={"torch": "2.2.0", "deepspeed": "0.14.0"},
        paper_class="traceback",
    )


def _pinned_memory_refused() -> ComposedLog:
    tape = Tape(612, "2024-10-30 13:13:07")
    _launch(tape, 2, "train_sft.py")
    _config(tape, 3)
    tape.say(
        rank(
            0,
            _trace(
                """
                train_sft.py:211 <module> | main()
                train_sft.py:160 main | engine, optimizer, _, _ = deepspeed.initialize(
                @deepspeed/runtime/zero/stage3.py:560 _create_fp16_partitions_with_defragmentation | self.grad_partitions_flat_buffer = get_accelerator().pin_memory(self.grad_partitions_flat_buffer)
                @deepspeed/accelerator/cuda_accelerator.py:297 pin_memory | return tensor.pin_memory()
                """,
                "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 58411040768 bytes. Error code 12 (Cannot allocate memory)",
            ),
        )
    )
    _dead(tape, (301, 302), 1, local=1)
    return ComposedLog(
        "pinned_memory_refused",
        "host_oom",
        1,
        tape.text(),
        _BASIS,
        command="deepspeed --num_gpus 2 train_sft.py",
        versions={"torch": "2.4.1"},
        paper_class="ram_oom",
    )
