"""torch.compile, Triton kernels and extensions built at run time, torch 2.6 to 2.8 and Triton 3.2 to 3.4."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._cluster_blocks import log
from corpus.compose._gpu_hosts import steps
from corpus.compose._gpu_tape import Tape, traceback
from corpus.compose.composed_log import ComposedLog

_BASIS = "sources and documentation of PyTorch 2.6-2.8 (dynamo, inductor, cudagraph trees, cpp_extension), Triton 3.2-3.4, ptxas and nvcc 12.8, flash-attn 2.8"
_SITE = "/home/dev/.venv/lib/python3.12/site-packages"
_ROOT = "/home/dev/proj"
_VERBOSE = '\nSet TORCHDYNAMO_VERBOSE=1 for the internal stack trace (please do this especially if you\'re reporting a bug to PyTorch). For even more developer context, set TORCH_LOGS="+dynamo"\n'


def logs() -> Iterator[ComposedLog]:
    """Kernels that do not fit, do not build, or fail beside another that does."""
    yield _shared_memory_of_a_block()
    yield _assembler_of_another_age()
    yield _autotune_and_then_a_key()
    yield _overwritten_output()
    yield _host_compiler_fails()
    yield _wheel_against_other_headers()
    yield _headers_in_a_full_cache()
    yield _fake_tensor_shapes()
    yield _workers_of_the_compiler_killed()
    yield _failed_choices_only()
    yield _arch_not_in_the_list()


def _trace(frames: str, error: str) -> str:
    return traceback(frames, error, root=_ROOT, site=_SITE, carets=True)


def _model(tape: Tape, name: str, width: int, depth: int) -> None:
    tape.say(
        f"{name}(",
        f"  (embed): Embedding({tape.rng.choice((32000, 50304, 65536))}, {width})",
        f"  (blocks): ModuleList((0-{depth - 1}): {depth} x Block(",
        f"      (norm1): RMSNorm(({width},), eps=1e-05, elementwise_affine=True)",
        f"      (mix): Attention((qkv): Linear(in_features={width}, out_features={3 * width}, bias=False))",
        f"      (mlp): SwiGLU((w1): Linear(in_features={width}, out_features={4 * width}, bias=False))",
        "  ))",
        ")",
        f"trainable parameters: {12 * depth * width * width:,}",
    )
    for group in ("decay", "no_decay"):
        tape.say(f"optimizer group {group}: {tape.rng.randrange(40, 300)} tensors")
    tape.say(
        f"train set: {tape.rng.randrange(20_000, 900_000):,} rows, batch {tape.rng.choice((8, 16, 64))}, {tape.rng.randrange(900, 9000):,} batches per epoch",
        f"workers {tape.rng.choice((4, 8))}, pin_memory on, persistent_workers on",
    )


def _choices(tape: Tape, name: str, shapes: str, *, failed: int = 2) -> None:
    for at in range(failed):
        tape.say(
            f"E{tape.when('%m%d %H:%M:%S')}.{tape.rng.randrange(1000):03d}000 8812 torch/_inductor/select_algorithm.py:2100] [0/0] Exception out of resource: shared memory, Required: {tape.rng.choice((245760, 262144, 294912))}, Hardware limit: 232448. Reducing block sizes or `num_stages` may help. for benchmark choice TritonTemplateCaller(/tmp/torchinductor_dev/{tape.rng.choice('abcdk')}{at}/c{tape.rng.randrange(16**8):08x}.py, ACC_TYPE='tl.float32', ALLOW_TF32=False, BLOCK_K=128, BLOCK_M=128, BLOCK_N={128 * (at + 1)}, EVEN_K=True, GROUP_M=8, num_stages=5, num_warps=8)"
        )
    tape.say(
        f"AUTOTUNE {name}({shapes})",
        "strides: [4096, 1], [1, 4096]",
        "dtypes: torch.bfloat16, torch.bfloat16",
    )
    best = tape.near(0.31, 0.3)
    for at in range(8):
        kind = "mm " if at == 2 else f"triton_mm_{tape.rng.randrange(40)} "
        tape.say(
            f"  {kind}{best * (1 + at * 0.04):.4f} ms {100 / (1 + at * 0.04):.1f}% "
            + (
                ""
                if at == 2
                else "ACC_TYPE='tl.float32', ALLOW_TF32=False, BLOCK_K=64, BLOCK_M=128, BLOCK_N=256, EVEN_K=True, GROUP_M=8, num_stages=3, num_warps=8"
            )
        )
    tape.say(
        f"SingleProcess AUTOTUNE benchmarking takes {tape.near(2.8, 0.2):.4f} seconds and {tape.near(1.1, 0.3):.4f} seconds precompiling for 20 choices"
    )


def _shared_memory_of_a_block() -> ComposedLog:
    tape = Tape(9501, "2025-06-03 11:00:00")
    _model(tape, "HybridLM", 1536, 24)
    tape.say(
        "torch 2.7.0+cu128 triton 3.3.0 NVIDIA GeForce RTX 5090",
        "model: 412.3M params, hybrid (24 layers, linear attention 18)",
        _trace(
            """
            train.py:233 <module> | main(parse())
            train.py:171 main | loss = model(batch["ids"], labels=batch["ids"]).loss
            CALL 2.7
            @fla/layers/gated_deltanet.py:271 forward | o, recurrent_state = chunk_gated_delta_rule(
            @fla/ops/gated_delta_rule/chunk_bwd.py:188 prepare_wy_repr_bwd | prepare_wy_repr_bwd_kernel[(NT, B * H)](
            @triton/runtime/jit.py:347 <lambda> | return lambda *args, **kwargs: self.run(grid=grid, warmup=False, *args, **kwargs)
            @triton/runtime/autotuner.py:239 run | benchmark()
            @triton/runtime/autotuner.py:457 run | return self.fn.run(*args, **kwargs)
            @triton/runtime/jit.py:591 run | kernel.run(grid_0, grid_1, grid_2, stream, kernel.function, kernel.packed_metadata,
            @triton/compiler/compiler.py:413 __getattribute__ | self._init_handles()
            @triton/compiler/compiler.py:401 _init_handles | raise OutOfResources(self.metadata.shared, max_shared, "shared memory")
            """,
            "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 131072, Hardware limit: 101376. Reducing block sizes or `num_stages` may help.",
        ),
    )
    return log(
        tape,
        "shared_memory_of_a_block",
        "compile_error",
        1,
        _BASIS,
        command="python train.py --arch gdn-400m",
        paper_class="traceback",
        why="a Triton kernel does not fit the card's multiprocessor; neither /dev/shm nor the card's memory",
        torch="2.7.0",
        triton="3.3.0",
    )


def _assembler_of_another_age() -> ComposedLog:
    tape = Tape(9502, "2025-03-27 18:00:00")
    tape.say(
        "+ nvidia-smi -L",
        "GPU 0: NVIDIA B200 (UUID: GPU-8d1d11c5-02b8-3e41-90a7-a6ab7cf1f1d0)",
        "+ export TRITON_PTXAS_PATH=/usr/local/cuda-12.4/bin/ptxas",
        "+ python pretrain.py model=1b compile=true",
        "[2025-03-27 18:00:44,019][root][INFO] - parameters: 1,235,814,400",
        "[2025-03-27 18:00:46,440][root][INFO] - compiling model with mode=max-autotune-no-cudagraphs",
        _trace(
            """
            pretrain.py:141 main | trainer.fit()
            src/trainer.py:208 fit | loss = self.step(batch)
            @torch/_dynamo/eval_frame.py:655 _fn | return fn(*args, **kwargs)
            @torch/_dynamo/output_graph.py:1487 _call_user_compiler | raise BackendCompilerFailed(
            @torch/_inductor/compile_fx.py:739 _compile_fx_inner | raise InductorError(e, currentframe()).with_traceback(
            @torch/_inductor/runtime/triton_heuristics.py:620 _precompile_config | binary = triton.compile(*compile_args, **compile_kwargs)
            @triton/backends/nvidia/compiler.py:381 make_cubin | raise PTXASError(f'{error}\\n'
            """,
            "torch._inductor.exc.InductorError: PTXASError: `ptxas` failed with error code 255: \nptxas fatal   : Value 'sm_100a' is not defined for option 'gpu-name'\n\nRepro command: /usr/local/cuda-12.4/bin/ptxas -lineinfo -v --gpu-name=sm_100a /tmp/tmpq8y0b1nn.ptx -o /tmp/tmpq8y0b1nn.ptx.o\n"
            + _VERBOSE,
        ),
        "\nSet the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.",
    )
    return log(
        tape,
        "assembler_of_another_age",
        "cuda_environment",
        1,
        _BASIS,
        command="bash run.sh",
        paper_class="traceback",
        why="the toolkit's assembler does not know the card's architecture",
        torch="2.7.0.dev",
        triton="3.3.0",
    )


def _autotune_and_then_a_key() -> ComposedLog:
    tape = Tape(9503, "2025-08-19 09:10:00")
    tape.say("loading 3 shards of /data/pile-10k ... ok", "compile: mode=max-autotune")
    for shapes in ("8192x4096, 4096x11008", "8192x11008, 11008x4096", "8192x4096, 4096x4096"):
        _choices(tape, "mm", shapes, failed=3)
    tape.say(
        steps(
            tape,
            "step {step:>5} loss {loss:.4f} grad {norm:.3f} lr {lr:.2e} {time:.3f}s",
            range(10, 501, 10),
            seconds=4,
        ),
        "running eval on val/gsm8k ...",
        _trace(
            """
            train.py:402 <module> | main()
            train.py:377 main | metrics = evaluate(model, tokenizer, tasks=cfg.eval_tasks)
            train.py:244 evaluate | history[task]["acc"].append(score(outputs, answers))
            """,
            "KeyError: 'gsm8k'",
        ),
    )
    return log(
        tape,
        "autotune_and_then_a_key",
        "traceback",
        1,
        _BASIS,
        command="python train.py cfg/1b.yaml",
        why="the failed choices of the autotuner are harmless",
        torch="2.8.0",
    )


def _overwritten_output() -> ComposedLog:
    tape = Tape(9504, "2025-05-08 14:00:00")
    _model(tape, "Student", 1024, 16)
    tape.say(
        "W0508 14:00:38.114000 4410 torch/_logging/_internal.py:1130] [0/0] Profiler function <class 'torch.autograd.profiler.record_function'> will be ignored",
        'skipping cudagraphs due to mutated inputs (1 instances). Found from : \n   File "/home/dev/proj/ema.py", line 31, in forward\n    self.steps.add_(1)\n',
        steps(tape, "[{when}] it={step} loss={loss:.5f} |g|={norm:.3f}", range(1, 3), seconds=1),
        _trace(
            """
            finetune.py:188 <module> | run(cfg)
            finetune.py:151 run | loss = loss + 0.1 * distill(student_out, teacher_out)
            finetune.py:88 distill | return F.kl_div(student.log_softmax(-1), teacher.softmax(-1))
            """,
            'RuntimeError: Error: accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run. Stack trace: File "/home/dev/proj/model.py", line 212, in forward\n    return self.head(self.norm(x)). To prevent overwriting, clone the tensor outside of torch.compile() or call torch.compiler.cudagraph_mark_step_begin() before each model invocation.',
        ),
    )
    return log(
        tape,
        "overwritten_output",
        "runtime_error",
        1,
        _BASIS,
        command="python finetune.py --compile reduce-overhead",
        why="misuse of a reused graph's output in the program's logic",
        torch="2.7.0",
    )


def _host_compiler_fails() -> ComposedLog:
    tape = Tape(9505, "2025-02-06 08:00:00")
    _model(tape, "Forecaster", 512, 6)
    tape.say(
        "INFO  [main] device=cuda:0 (NVIDIA L4) torch=2.6.0+cu124",
        "INFO  [main] 18244 training windows, 2021 validation windows",
        "INFO  [main] torch.compile(model, dynamic=True)",
        _trace(
            """
            forecast.py:301 <module> | main()
            forecast.py:266 main | trainer.fit(epochs=args.epochs)
            forecast.py:140 fit | pred = self.model(x, marks)
            @torch/_dynamo/eval_frame.py:574 _fn | return fn(*args, **kwargs)
            @torch/_inductor/codecache.py:1580 load_pybinding_async | module = get_result()
            @torch/_inductor/cpp_builder.py:352 run_compile_cmd | raise exc.CppCompileError(cmd, output) from e
            """,
            "torch._inductor.exc.InductorError: CppCompileError: C++ compile error\n\nCommand:\n/usr/bin/g++ /tmp/torchinductor_dev/6y/c6yk2nlzhg.cpp -D TORCH_INDUCTOR_CPP_WRAPPER -D STANDALONE_TORCH_HEADER -D C10_USING_CUSTOM_GENERATED_MACROS -D CPU_CAPABILITY_AVX512 -shared -fPIC -O3 -DNDEBUG -fno-trapping-math -funsafe-math-optimizations -ffinite-math-only -march=native -Wall -std=c++17 -fopenmp -I/usr/include/python3.12 -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma -o /tmp/torchinductor_dev/6y/c6yk2nlzhg.main.so\n\nOutput:\n/tmp/torchinductor_dev/6y/c6yk2nlzhg.cpp: In function 'void kernel(const float*, const int64_t*, float*, int64_t)':\n/tmp/torchinductor_dev/6y/c6yk2nlzhg.cpp:41:66: error: no matching function for call to 'at::vec::VectorizedN<long int, 2>::loadu(const int64_t*, int64_t)'\n   41 |             auto tmp1 = at::vec::VectorizedN<int64_t,2>::loadu(in_ptr1 + static_cast<int64_t>(x0), ks0);\n      |                                                               ^\ncompilation terminated due to -fmax-errors=1.\n"
            + _VERBOSE,
        ),
    )
    return log(
        tape,
        "host_compiler_fails",
        "compile_error",
        1,
        _BASIS,
        command="python forecast.py --compile",
        paper_class="traceback",
        torch="2.6.0",
    )


def _wheel_against_other_headers() -> ComposedLog:
    tape = Tape(9506, "2025-09-24 10:20:00")
    tape.say(
        "Installing from lock ... flash-attn 2.8.2 (cached wheel), torch 2.8.0",
        "W0924 10:20:22.000 [backend.py] flash attention requested, trying flash_attn_2_cuda",
        _trace(
            """
            train.py:14 <module> | from src.model import Model
            src/model.py:11 <module> | from flash_attn import flash_attn_varlen_func
            @flash_attn/__init__.py:3 <module> | from flash_attn.flash_attn_interface import (
            @flash_attn/flash_attn_interface.py:15 <module> | import flash_attn_2_cuda as flash_attn_gpu
            """,
            f"ImportError: {_SITE}/flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
        ),
    )
    return log(
        tape,
        "wheel_against_other_headers",
        "dependency",
        1,
        _BASIS,
        command="uv run train.py",
        paper_class="missing_module",
        torch="2.8.0",
        flash_attn="2.8.2",
    )


def _headers_in_a_full_cache() -> ComposedLog:
    tape = Tape(9507, "2025-10-27 23:30:00")
    tape.say(
        "wandb: Tracking run with wandb version 0.21.0",
        steps(
            tape,
            "INFO:train:step={step} loss={loss:.4f} gnorm={norm:.3f} sec={time:.3f}",
            range(20, 601, 20),
            seconds=8,
        ),
        "INFO:train:switching sequence length 2048 -> 4096",
        "W1027 23:34:50.771000 5120 torch/_dynamo/convert_frame.py:1016] [6/8] torch._dynamo hit config.recompile_limit (8)\nW1027 23:34:50.771000 5120 torch/_dynamo/convert_frame.py:1016] [6/8]    function: 'forward' (/home/dev/proj/src/block.py:88)\nW1027 23:34:50.771000 5120 torch/_dynamo/convert_frame.py:1016] [6/8]    last reason: 6/7: tensor 'x' size mismatch at index 1. expected 2048, actual 4096",
        _trace(
            """
            train.py:219 <module> | main()
            train.py:188 main | out = model(ids)
            @torch/_inductor/async_compile.py:480 wait | kernel = result.result()
            @torch/_inductor/compile_worker/subproc_pool.py:241 do_job | raise SubprocException(result.details)
            """,
            'torch._inductor.exc.InductorError: SubprocException: An exception occurred in a subprocess:\n\nTraceback (most recent call last):\n  File "/home/dev/.venv/lib/python3.12/site-packages/torch/_inductor/compile_worker/subproc_pool.py", line 337, in do_job\n    result = job()\n             ^^^^^\n  File "/home/dev/.venv/lib/python3.12/site-packages/triton/runtime/cache.py", line 116, in put\n    with open(temp_path, mode) as f:\n         ^^^^^^^^^^^^^^^^^^^^^\nOSError: [Errno 28] No space left on device: \'/scratch/triton/KQ5R3M/tmp.pid_5410_8c11/triton_red_fused__to_copy_mean_7.ttgir\'\n'
            + _VERBOSE,
        ),
        "wandb: You can sync this run to the cloud by running:\nwandb: wandb sync /home/dev/proj/wandb/offline-run-20251027_233012-yq2x0d1v",
    )
    return log(
        tape,
        "headers_in_a_full_cache",
        "disk_full",
        1,
        _BASIS,
        command="TRITON_CACHE_DIR=/scratch/triton python train.py",
        paper_class="traceback",
        torch="2.8.0",
    )


def _fake_tensor_shapes() -> ComposedLog:
    tape = Tape(9508, "2025-07-21 16:16:00")
    _model(tape, "VisionTransformer", 768, 12)
    tape.say(
        "model compiled lazily on first batch",
        _trace(
            """
            vit_train.py:166 <module> | main()
            vit_train.py:133 main | logits = model(images)
            @torch/_dynamo/eval_frame.py:663 _fn | raise e.with_traceback(None) from e.__cause__
            """,
            "torch._dynamo.exc.TorchRuntimeError: Dynamo failed to run FX node with fake tensors: call_function <built-in function add>(*(FakeTensor(..., device='cuda:0', size=(64, 197, 768),\n           grad_fn=<CatBackward0>), Parameter(FakeTensor(..., device='cuda:0', size=(1, 257, 768), requires_grad=True))), **{}): got RuntimeError('The size of tensor a (197) must match the size of tensor b (257) at non-singleton dimension 1)')\n\nfrom user code:\n   File \"/home/dev/proj/models/vit.py\", line 74, in forward\n    x = self.pos_drop(x + self.pos_embed)\n"
            + _VERBOSE,
        ),
    )
    return log(
        tape,
        "fake_tensor_shapes",
        "shape_mismatch",
        1,
        _BASIS,
        command="python vit_train.py --patch 16 --size 224",
        paper_class="traceback",
        why="the compiler only traces: the program's shapes do not fit",
        torch="2.7.1",
    )


def _workers_of_the_compiler_killed() -> ComposedLog:
    tape = Tape(9509, "2025-04-30 12:00:00")
    tape.say(
        "== job 771204 on node g014, cpus 4, mem 12G ==",
        "Compiling 96 flex_attention variants (compile_threads=32)",
        *(f"[{at * 8}/96] triton_tem_fused_{at} ok" for at in range(1, 7)),
        "slurmstepd: error: Detected 3 oom_kill events in StepId=771204.batch. Some of the step tasks have been OOM Killed.",
        _trace(
            """
            bench_flex.py:91 <module> | out = compiled(q, k, v, block_mask=mask)
            @torch/_inductor/async_compile.py:462 _wait_futures | kernel = result.result()
            /usr/lib/python3.12/concurrent/futures/_base.py:449 result | return self.__get_result()
            /usr/lib/python3.12/concurrent/futures/_base.py:401 __get_result | raise self._exception
            """,
            "torch._inductor.exc.InductorError: BrokenProcessPool: A process in the process pool was terminated abruptly while the future was running or pending.\n"
            + _VERBOSE,
        ),
        "srun: error: g014: task 0: Exited with exit code 1",
    )
    return log(
        tape,
        "workers_of_the_compiler_killed",
        "oom_killer",
        1,
        _BASIS,
        command="sbatch bench.sh",
        torch="2.7.0",
        why="the processes of the compiler were killed for the job's memory",
    )


def _failed_choices_only() -> ComposedLog:
    tape = Tape(9510, "2025-09-09 09:09:00")
    tape.say("seed 7, device NVIDIA H100 PCIe, torch 2.8.0+cu128")
    for shapes in ("16384x1024, 1024x4096", "16384x4096, 4096x1024"):
        _choices(tape, "addmm", shapes, failed=4)
    tape.say(
        "E0909 09:09:44.201000 8812 torch/_inductor/select_algorithm.py:2100] [0/0] Exception No valid triton configs. OutOfMemoryError: out of resource: triton_mm Required: 294912 Hardware limit:232448 Reducing block sizes or `num_stages` may help. for benchmark choice TritonTemplateCaller",
        "W0909 09:09:51.001000 8812 torch/_inductor/utils.py:1436] [0/0] Not enough SMs to use max_autotune_gemm mode",
        "W0909 09:09:58.114000 8812 torch/_dynamo/convert_frame.py:1016] [2/8] torch._dynamo hit config.recompile_limit (8)",
        '    WON\'T CONVERT forward /home/dev/proj/rope.py line 19 \ndue to: \nTraceback (most recent call last):\n  File "/home/dev/.venv/lib/python3.12/site-packages/torch/_dynamo/convert_frame.py", line 1277, in __call__\n    result = self._inner_convert(\ntorch._dynamo.exc.Unsupported: Attempted to call function marked as skipped\n  Explanation: Dynamo developers have intentionally marked that the function `nullcontext` should not be traced.',
        steps(
            tape,
            "{step:>4}/800 loss={loss:.4f} gn={norm:.2f} {time:.3f}s/it",
            range(20, 801, 20),
            seconds=5,
        ),
        "val loss 1.7131 ppl 5.546",
        "checkpoint written: out/last.pt",
    )
    return log(
        tape,
        "failed_choices_only",
        "none",
        0,
        _BASIS,
        command="python train_small.py --max-autotune",
        torch="2.8.0",
    )


def _arch_not_in_the_list() -> ComposedLog:
    tape = Tape(9511, "2025-01-15 17:00:00")
    tape.say(
        "Using /home/dev/.cache/torch_extensions/py312_cu124 as PyTorch extensions root...",
        "Detected CUDA files, patching ldflags",
        "Emitting ninja build file /home/dev/.cache/torch_extensions/py312_cu124/diff_raster/build.ninja...",
        f"{_SITE}/torch/utils/cpp_extension.py:2059: UserWarning: TORCH_CUDA_ARCH_LIST is not set, all archs for visible cards are included for compilation. \nIf this is not desired, please set os.environ['TORCH_CUDA_ARCH_LIST'].\n  warnings.warn(",
        "Building extension module diff_raster...",
        "[1/3] /usr/local/cuda-11.5/bin/nvcc --generate-dependencies-with-compile --dependency-output forward.cuda.o.d -DTORCH_EXTENSION_NAME=diff_raster -std=c++17 -gencode=arch=compute_89,code=sm_89 -c /home/dev/proj/raster/forward.cu -o forward.cuda.o",
        "FAILED: forward.cuda.o",
        "nvcc fatal   : Unsupported gpu architecture 'compute_89'",
        "[2/3] c++ -MMD -MF ext.o.d -DTORCH_EXTENSION_NAME=diff_raster -std=c++17 -c /home/dev/proj/raster/ext.cpp -o ext.o",
        "ninja: build stopped: subcommand failed.",
        _trace(
            """
            train_gs.py:12 <module> | from raster import rasterize
            raster/__init__.py:20 <module> | _C = load("diff_raster", sources=[...], verbose=True)
            @torch/utils/cpp_extension.py:2209 _run_ninja_build | raise RuntimeError(message) from e
            """,
            "RuntimeError: Error building extension 'diff_raster'",
        ),
    )
    return log(
        tape,
        "arch_not_in_the_list",
        "cuda_environment",
        1,
        _BASIS,
        command="python train_gs.py -s scenes/room",
        paper_class="runtime_error",
        why="toolkit 11.5 does not know the card's architecture; the sources are not wrong",
        torch="2.5.1",
    )
