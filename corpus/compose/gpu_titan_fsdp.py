"""torchtitan-like pretraining with FSDP2, tensor parallelism and torch.compile, torch 2.5 to 2.8."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corpus.compose._gpu_hosts import kernel, xid
from corpus.compose._gpu_tape import Tape, marked, mixed, rank, traceback
from corpus.compose._gpu_torch import Exit, cuda_error, frames, oom, summary, watchdog
from corpus.compose.composed_log import ComposedLog

_BASIS = "sources of torchtitan, PyTorch (FSDP2, inductor, DCP, c10d) and Triton"
_SITE = "/opt/py312/lib/python3.12/site-packages"


def logs() -> Iterator[ComposedLog]:
    """Compilers, meshes that do not fit, checkpoints, one rank's own errors under c10d's noise."""
    yield _triton_not_working()
    yield _ptxas_failed()
    yield _optimizer_step_did_not_fit()
    yield _async_save_over_quota()
    yield _mixed_tensors()
    yield _loss_nan_to_the_end()
    yield _store_gone_after_key_error()
    yield _mesh_of_wrong_size()
    yield _retries_but_finished()
    yield _cancelled_by_scancel()
    yield _cublas_execution_failed()
    yield _compile_workers_stuck()
    yield _remap_failed_on_resume()


def _trace(frames_: str, error: str) -> str:
    return traceback(frames_, error, root="/opt/titan", site=_SITE, carets=True)


def _log(tape: Tape, text: str, level: str = "INFO", at: int = 0) -> str:
    return f"[rank{at}]:[titan] {tape.milli()} - root - {level} - {text}"


def _start(tape: Tape, world: int = 8, mesh: str = "['dp_shard'], [8]") -> None:
    tape.say(
        _log(tape, "Starting job: Llama 3 8B training"),
        _log(
            tape,
            "Enabled features: comm.trace_buf_size=20000 comm.init_timeout_seconds=300 fault_tolerance.enable=False activation_checkpoint.mode=selective experimental.detect_nan=False",
            "INFO",
        ),
        _log(
            tape,
            "ENV[TORCH_NCCL_ASYNC_ERROR_HANDLING] = 3 will be overridden to 3 based on job config",
            "WARNING",
        ),
        _log(tape, f"Building {len(mesh.split(']')[0].split(','))}-D device mesh with {mesh}"),
        _log(
            tape, f"CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB memory, world size {world}"
        ),
        _log(tape, "Model llama3 8B size: 8,030,261,248 total parameters"),
        _log(tape, "Compiling each TransformerBlock with torch.compile"),
        _log(tape, "Applied FSDP to the model"),
        _log(tape, "CUDA memory usage for model: 3.77GiB(4.77%)"),
        _log(
            tape,
            "Trainer is initialized with local batch size 1, global batch size 8, gradient accumulation steps 1, sequence length 8192, total steps 3000 (warmup 200)",
        ),
    )
    tape.wait(55)


def _steps(tape: Tape, numbers: Sequence[int], loss: float = 12.2) -> None:
    for at in numbers:
        tape.wait(14)
        tape.say(
            _log(
                tape,
                f"step: {at:2d}  loss: {tape.near(loss / (1 + at / 500), 0.02):7.4f}  grad_norm: {tape.near(1.7, 0.4):.4f}  memory: 42.22GiB(53.37%)  tps: {tape.near(7021, 0.02):,.0f}  tflops: {tape.near(406, 0.02):.2f}  mfu: {tape.near(41, 0.02):.2f}%",
            )
        )


def _triton_not_working() -> ComposedLog:
    tape = Tape(1701, "2025-02-06 11:10:12")
    _start(tape, 2)
    tape.say(
        rank(
            1,
            _trace(
                """
                train.py:402 <module> | trainer.train()
                train.py:341 train_step | pred = self.model(inputs)
                CALL 2.6
                @torch/_dynamo/eval_frame.py:574 _fn | return fn(*args, **kwargs)
                @torch/_dynamo/output_graph.py:1517 _call_user_compiler | raise BackendCompilerFailed(self.compiler_fn, e).with_traceback(
                @torch/_inductor/scheduler.py:3409 create_backend | raise RuntimeError(
                """,
                "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nRuntimeError: Cannot find a working triton installation. Either the package is not installed or it is too old. More information on installing Triton can be found at https://github.com/openai/triton\n\nSet TORCH_LOGS=\"+dynamo\" and TORCHDYNAMO_VERBOSE=1 for more information\n\n\nYou can suppress this exception and fall back to eager by setting:\n    import torch._dynamo\n    torch._dynamo.config.suppress_errors = True\n",
            ),
        ),
        summary(
            tape, "2.6", "train.py", [Exit(1, 1, 3002)], host="titan-1", killed=[3001], site=_SITE
        ),
    )
    return ComposedLog(
        "triton_not_working",
        "missing_module",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --nproc_per_node 2 train.py",
        versions={"torch": "2.6.0"},
        paper_class="missing_module",
        why="the compiler reports triton absent",
    )


def _ptxas_failed() -> ComposedLog:
    tape = Tape(1702, "2025-03-04 15:20:09")
    _start(tape)
    tape.say(
        rank(
            4,
            _trace(
                """
                train.py:402 <module> | trainer.train()
                train.py:341 train_step | pred = self.model(inputs)
                CALL 2.6
                @torch/_inductor/async_compile.py:305 wait | scope[key] = result.result()
                @torch/_inductor/codecache.py:3508 result | return self.result_fn()
                """,
                "torch._inductor.exc.InductorError: SubprocException: An exception occurred in a subprocess:\n\n"
                + _trace(
                    "@triton/backends/nvidia/compiler.py:332 make_cubin | subprocess.run(ptxas_cmd, check=True, close_fds=False, stderr=flog)",
                    "subprocess.CalledProcessError: Command '['ptxas', '-lineinfo', '-v', '--gpu-name=sm_90a', 'kernel.ptx', '-o', 'kernel.ptx.o']' returned non-zero exit status 255.",
                )
                + "\n\nThe above exception was the direct cause of the following exception:\n\ntriton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error\n`ptxas` stderr:\nptxas kernel.ptx, line 412; error   : Rounding modifier required for instruction 'cvt'\nptxas fatal   : Ptx assembly aborted due to errors\n",
            ),
        ),
        summary(
            tape,
            "2.6",
            "train.py",
            [Exit(4, 1, 3505)],
            host="titan-1",
            killed=[3501, 3502, 3503, 3504, 3506],
            site=_SITE,
        ),
    )
    return ComposedLog(
        "ptxas_failed",
        "compile_error",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --nproc_per_node 8 train.py",
        versions={"torch": "2.6.0", "triton": "3.2.0"},
        paper_class="traceback",
    )


def _optimizer_step_did_not_fit() -> ComposedLog:
    tape = Tape(1703, "2025-05-27 09:00:09")
    _start(tape)
    _steps(tape, [1])
    told = [
        rank(
            at,
            _trace(
                """
                train.py:402 <module> | trainer.train()
                train.py:355 train_step | self.optimizers.step()
                @torch/optim/adam.py:212 _init_group | state["exp_avg_sq"] = torch.zeros_like(
                """,
                oom(
                    "2.7",
                    "128.00 MiB",
                    gpu=at,
                    total="79.10 GiB",
                    free=f"{61 + at}.12 MiB",
                    used="79.03 GiB",
                    allocated="76.70 GiB",
                    idle="810.00 MiB",
                ),
            ),
        )
        for at in (2, 0, 7)
    ]
    tape.say(
        mixed(tape, *told),
        summary(
            tape,
            "2.7",
            "train.py",
            [Exit(2, 1, 702), Exit(0, 1, 700), Exit(7, 1, 707)],
            host="titan-3",
            killed=[701, 703, 704, 705, 706],
            site=_SITE,
        ),
    )
    return ComposedLog(
        "optimizer_step_did_not_fit",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --nproc_per_node 8 train.py",
        versions={"torch": "2.7.0"},
    )


def _async_save_over_quota() -> ComposedLog:
    tape = Tape(1704, "2025-06-30 22:22:40")
    _start(tape)
    _steps(tape, range(10, 510, 50))
    tape.say(
        _log(tape, "Saving the checkpoint (or staging if async is enabled)."),
        rank(
            3,
            _trace(
                """
                @torch/distributed/checkpoint/utils.py:263 all_reduce | local_data = map_fun()
                @torch/distributed/checkpoint/filesystem.py:409 _write_item | torch.save(tensor, cast(IO[bytes], stream))
                """,
                "OSError: [Errno 122] Disk quota exceeded: 'outputs/checkpoint/step-500/__3_0.distcp'",
            ),
        ),
        *(
            rank(
                at,
                "torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([3])",
            )
            for at in (0, 5)
        ),
    )
    tape.wait(601).say(
        mixed(
            tape,
            *(watchdog(tape, "2.7", at, seq=91102, op="GATHER", numel=(2, 16)) for at in (1, 6)),
        )
    )
    tape.say(
        summary(
            tape,
            "2.7",
            "train.py",
            [Exit(6, -6, 806), Exit(1, -6, 801), Exit(3, 1, 803)],
            host="titan-3",
            site=_SITE,
        )
    )
    return ComposedLog(
        "async_save_over_quota",
        "disk_full",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --nproc_per_node 8 train.py",
        versions={"torch": "2.7.1"},
        paper_class="traceback",
    )


def _mixed_tensors() -> ComposedLog:
    tape = Tape(1705, "2024-11-21 19:11:50")
    _start(tape, 8, "['dp_shard', 'tp'], [4, 2]")
    tape.say(
        rank(
            0,
            _trace(
                """
                train.py:402 <module> | trainer.train()
                model/lora.py:40 forward | return base + (x @ self.a.T) @ self.b.T * self.scale
                @torch/distributed/tensor/_dispatch.py:490 unwrap_to_op_info | self._try_replicate_spec_for_scalar_tensor(
                @torch/distributed/tensor/_dispatch.py:482 _try_replicate_spec_for_scalar_tensor | raise RuntimeError(
                """,
                "RuntimeError: aten.mm.default: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling distributed operators!",
            ),
        ),
        summary(
            tape,
            "2.5",
            "train.py",
            [Exit(0, 1, 610)],
            host="titan-2",
            killed=[611, 612, 613],
            site=_SITE,
        ),
    )
    return ComposedLog(
        "mixed_tensors",
        "runtime_error",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --nproc_per_node 8 train.py --lora",
        versions={"torch": "2.5.1"},
    )


def _loss_nan_to_the_end() -> ComposedLog:
    tape = Tape(1706, "2025-01-28 08:30:15")
    _start(tape)
    _steps(tape, range(10, 160, 10))
    for at in range(160, 310, 10):
        tape.wait(14).say(
            _log(
                tape,
                f"step: {at:2d}  loss:     nan  grad_norm:     nan  memory: 42.22GiB(53.37%)  tps: {tape.near(7021, 0.02):,.0f}  tflops: {tape.near(406, 0.02):.2f}  mfu: {tape.near(41, 0.02):.2f}%",
            )
        )
    tape.say(
        _log(tape, "Sleeping 2 seconds for other ranks to complete"),
        _log(tape, "Training completed"),
        _log(tape, "Process group destroyed."),
    )
    return ComposedLog(
        "loss_nan_to_the_end",
        "nan_loss",
        0,
        tape.text(),
        _BASIS,
        command="torchrun --nproc_per_node 8 train.py",
        versions={"torch": "2.6.0"},
        why="completed by its own word, but NaN for the second half",
    )


def _store_gone_after_key_error() -> ComposedLog:
    tape = Tape(1707, "2025-07-22 16:00:58")
    _start(tape)
    _steps(tape, range(10, 210, 10))
    tape.say(
        rank(
            0,
            _trace(
                """
                train.py:402 <module> | trainer.train()
                train.py:371 train | self.metrics.log(step, global_avg["loss"], lr=self.schedulers.last["lr"])
                """,
                "KeyError: 'lr'",
            ),
        )
    )
    for at in (2, 4, 5, 7):
        tape.wait(0.4)
        tape.say(
            f"[rank{at}]:[W{tape.at.month}{tape.when('%d %H:%M:%S')}.{tape.rng.randrange(10**9):09d} TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=69, addr=[localhost]:49{at}12, remote=[localhost]:29500): failed to recv, got 0 bytes",
            frames(
                tape,
                "store",
                first="Exception raised from recvBytes at /pytorch/torch/csrc/distributed/c10d/Utils.hpp:678 (most recent call first):",
                site=_SITE,
            ),
            f'[rank{at}]:[W{tape.at.month}{tape.when("%d %H:%M:%S")}.{tape.rng.randrange(10**9):09d} ProcessGroupNCCL.cpp:1662] [PG ID 0 PG GUID 0(default_pg) Rank {at}] Failed to check the "should dump" flag on TCPStore, (maybe TCPStore server has shut down too early), with error: failed to recv, got 0 bytes',
        )
    tape.say(
        summary(
            tape,
            "2.7",
            "train.py",
            [Exit(0, 1, 900)],
            host="titan-4",
            killed=range(901, 908),
            site=_SITE,
        )
    )
    return ComposedLog(
        "store_gone_after_key_error",
        "traceback",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --nproc_per_node 8 train.py",
        versions={"torch": "2.7.1"},
        why="the store went with rank 0, whose own error stands first",
    )


def _mesh_of_wrong_size() -> ComposedLog:
    tape = Tape(1708, "2024-12-16 12:12:45")
    tape.say(_log(tape, "Starting job: Llama 3 70B training"))
    told = [
        rank(
            at,
            _trace(
                """
                train.py:400 <module> | trainer = Trainer(config)
                train.py:88 __init__ | parallel_dims = ParallelDims(
                <string>:10 __init__
                titan/parallel_dims.py:31 __post_init__ | self._validate()
                titan/parallel_dims.py:54 _validate | assert dp_replicate * dp_shard * cp * tp * pp == self.world_size, (
                """,
                "AssertionError: Invalid parallel dims: dp_replicate(1) * dp_shard(4) * cp(1) * tp(8) * pp(1) != WORLD_SIZE(16)",
            ),
        )
        for at in range(4)
    ]
    tape.say(
        mixed(tape, *told),
        summary(
            tape,
            "2.5",
            "train.py",
            [Exit(at, 1, 40 + at) for at in range(4)],
            host="titan-1",
            site=_SITE,
        ),
    )
    return ComposedLog(
        "mesh_of_wrong_size",
        "config",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --nnodes 2 --nproc_per_node 8 train.py",
        versions={"torch": "2.5.0"},
        paper_class="assertion",
    )


def _retries_but_finished() -> ComposedLog:
    tape = Tape(1709, "2025-08-20 03:03:03")
    _start(tape)
    _steps(tape, range(100, 1600, 100))
    tape.say(
        _log(tape, "14 CUDA memory allocation retries.", "WARNING"),
        _log(tape, "0 CUDA OOM errors thrown.", "WARNING"),
    )
    _steps(tape, range(1600, 3100, 100))
    tape.say(
        _log(
            tape, "Finished saving the checkpoint (or staging if async is enabled)in 19.92 seconds."
        ),
        _log(tape, "Training completed"),
        f"[rank3]:[W{tape.at.month}{tape.when('%d %H:%M:%S')}.118211904 TCPStore.cpp:106] [c10d] sendBytes failed on SocketImpl(fd=4, addr=[localhost]:52100, remote=[localhost]:29500): Broken pipe",
        f'[rank3]:[W{tape.at.month}{tape.when("%d %H:%M:%S")}.118240120 ProcessGroupNCCL.cpp:1730] [PG ID 0 PG GUID 0(default_pg) Rank 3] Failed to check the "should dump" flag on TCPStore, (maybe TCPStore server has shut down too early), with error: Broken pipe',
    )
    return ComposedLog(
        "retries_but_finished",
        "none",
        0,
        tape.text(),
        _BASIS,
        command="torchrun --nproc_per_node 8 train.py",
        versions={"torch": "2.8.0"},
        paper_class=None,
        why="the store's end at exit is harmless, the allocator's retries succeeded",
    )


def _cancelled_by_scancel() -> ComposedLog:
    tape = Tape(1710, "2025-04-09 18:00:26")
    _start(tape)
    _steps(tape, range(100, 700, 100))
    tape.say(
        "slurmstepd: error: *** STEP 55120.0 ON titan-1 CANCELLED AT 2025-04-09T18:02:48 ***",
        "W0409 18:02:48.110000 20111 torch/distributed/elastic/agent/server/api.py:719] Received 15 death signal, shutting down workers",
        "\n".join(
            f"W0409 18:02:48.11{at}000 20111 torch/distributed/elastic/multiprocessing/api.py:897] Sending process {20140 + at} closing signal SIGTERM"
            for at in range(8)
        ),
        _trace(
            '/opt/py312/bin/torchrun:8 <module> | sys.exit(main())\n@torch/distributed/elastic/multiprocessing/api.py:84 _terminate_process_handler | raise SignalException(f"Process {os.getpid()} got signal: {sigval}", sigval=sigval)',
            "torch.distributed.elastic.multiprocessing.api.SignalException: Process 20111 got signal: 15",
        ),
        "srun: error: titan-1: task 0: Terminated",
    )
    return ComposedLog(
        "cancelled_by_scancel",
        "cancelled",
        143,
        tape.text(),
        _BASIS + "; Slurm",
        command="srun torchrun --nproc_per_node 8 train.py",
        versions={"torch": "2.6.0"},
        paper_class=None,
        why="a cancel without a qualifier",
    )


def _cublas_execution_failed() -> ComposedLog:
    tape = Tape(1711, "2025-02-17 20:40:50")
    _start(tape)
    _steps(tape, range(10, 90, 10))
    tape.say(
        rank(
            1,
            _trace(
                """
                train.py:402 <module> | trainer.train()
                train.py:341 train_step | pred = self.model(inputs)
                CALL 2.6
                model/model.py:208 forward | return self.w2(F.silu(self.w1(x)) * self.w3(x))
                CALL 2.6
                @torch/nn/modules/linear.py:125 forward | return F.linear(input, self.weight, self.bias)
                """,
                "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx( handle, opa, opb, m, n, k, &falpha, a, CUDA_R_16BF, lda, b, CUDA_R_16BF, ldb, &fbeta, c, CUDA_R_16BF, ldc, compute_type, CUBLAS_GEMM_DEFAULT_TENSOR_OP)`",
            ),
        ),
        "terminate called after throwing an instance of 'c10::Error'\n  what():  "
        + cuda_error("2.6", "an illegal memory access was encountered").split(": ", 1)[1],
        frames(
            tape,
            "free",
            first="Exception raised from c10_cuda_check_implementation at /pytorch/c10/cuda/CUDAException.cpp:43 (most recent call first):",
            site=_SITE,
        ),
        summary(
            tape,
            "2.6",
            "train.py",
            [Exit(1, -6, 311)],
            host="titan-2",
            killed=[310, 312, 313],
            site=_SITE,
        ),
    )
    return ComposedLog(
        "cublas_execution_failed",
        "cuda_runtime",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --nproc_per_node 8 train.py",
        versions={"torch": "2.6.0"},
    )


def _compile_workers_stuck() -> ComposedLog:
    tape = Tape(1712, "2025-06-12 02:00:09")
    _start(tape, 1)
    tape.say(_log(tape, "Compiling, first step may take minutes"))
    tape.wait(5400).say(
        "watcher: pid 7001 wrote nothing for 5400 s, gpu 0 util 0%, cpu 0%; stacks:",
        marked(
            "    ",
            'Thread 7001 (idle): "MainThread"\n    wait (threading.py:355)\n    result (concurrent/futures/_base.py:451)\n    wait (torch/_inductor/async_compile.py:541)\n    <module> (cwx3q.py:1820)\n    train_step (train.py:341)\nThread 7040 (idle): "SubprocPool read"\n    _recv_msg (torch/_inductor/compile_worker/subproc_pool.py:61)',
        ),
        marked(
            "    ",
            'Process 7033: python -m torch._inductor.compile_worker --pickler=torch._inductor.compile_worker.subproc_pool.SubprocPickler --workers=32 --parent=7001\nThread 7033 (idle): "MainThread"\n    acquire (filelock/_api.py:344)\n    write_atomic (triton/runtime/cache.py:112)',
        ),
        "watcher: giving up, exit 3",
    )
    return ComposedLog(
        "compile_workers_stuck",
        "idle_hang",
        3,
        tape.text(),
        _BASIS + "; py-spy",
        command="watch-run python train.py",
        versions={"torch": "2.7.0"},
        paper_class=None,
        why="the main thread waits for a compile worker that waits for a lock: no collective, no compiler error",
    )


def _remap_failed_on_resume() -> ComposedLog:
    tape = Tape(1713, "2025-09-08 06:10:19")
    _start(tape)
    tape.say(
        _log(tape, "Loading the checkpoint from outputs/checkpoint/step-2500."),
        _log(tape, "Finished loading the checkpoint in 30.11 seconds."),
    )
    _steps(tape, range(2510, 2560, 10))
    tape.say(
        rank(
            5,
            _trace(
                "train.py:402 <module> | trainer.train()\ntrain.py:348 train_step | loss.backward()\n@torch/_tensor.py:648 backward | torch.autograd.backward(",
                "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered\nSearch for `cudaErrorECCUncorrectable' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n",
            ),
        ),
        mixed(
            tape,
            *(
                rank(
                    at,
                    "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:94, remote process exited or there was a network error, NCCL version 2.27.3\nncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\nsocketPollConnect: connect to 10.0.3.7<42100> returned Connection refused, exceeded error retry count after 35 attempts",
                )
                for at in (0, 3, 6)
            ),
        ),
        summary(
            tape,
            "2.8",
            "train.py",
            [Exit(0, 1, 1200), Exit(3, 1, 1203), Exit(5, 1, 1205), Exit(6, 1, 1206)],
            host="titan-7",
            site=_SITE,
        ),
        "$ journalctl -k -b | grep NVRM | tail -2",
        kernel(
            tape,
            "titan-7",
            xid(
                "0000:bb:00",
                64,
                "Row Remapper: Failed to remap row, all reserved rows for bank in use",
                pid=1205,
            ),
            xid("0000:bb:00", 94, "Contained: HBM Memory Error (0x0)", pid=1205),
        ),
    )
    return ComposedLog(
        "remap_failed_on_resume",
        "gpu_hardware",
        1,
        tape.text(),
        _BASIS + "; NVIDIA's Xid catalogue",
        command="torchrun --nproc_per_node 8 train.py",
        versions={"torch": "2.8.0"},
        paper_class="traceback",
        why="the summary's first failure lost its peer; rank 5's card has an uncorrectable error",
    )
