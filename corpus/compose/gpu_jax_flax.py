"""JAX, Flax and MaxText on NVIDIA cards, jaxlib 0.4.14 to 0.6."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corpus.compose._gpu_hosts import kernel, xid
from corpus.compose._gpu_tape import Tape, chained, marked, traceback
from corpus.compose.composed_log import ComposedLog

_BASIS = "sources of JAX, XLA (GPU), Flax, MaxText, Orbax"
_SITE = "/opt/venv/lib/python3.11/site-packages"


def logs() -> Iterator[ComposedLog]:
    """Allocators, the coordination service, NCCL under XLA, compilers, debug_nans, good runs."""
    yield _oom_report_with_peak_buffers()
    yield _allocator_after_hours()
    yield _preallocation_of_another_process()
    yield _nccl_out_of_memory_in_init()
    yield _illegal_address_in_custom_call()
    yield _coordinator_unreachable()
    yield _task_heartbeat_lost()
    yield _libdevice_not_found()
    yield _debug_nans_stopped()
    yield _dot_shapes()
    yield _rematerialized_and_finished()
    yield _ecc_from_stream()


def _trace(frames: str, error: str) -> str:
    return traceback(frames, error, root="/srv/jax-train", site=_SITE, carets=True)


def _glog(tape: Tape, level: str, where: str, text: str) -> str:
    return (
        f"{tape.when()}.{tape.rng.randrange(10**6):06d}: {level} external/xla/xla/{where}] {text}"
    )


_FILTER = "For simplicity, JAX has removed its internal frames from the traceback of the following exception. Set JAX_TRACEBACK_FILTERING=off to include these."


def _steps(tape: Tape, numbers: Sequence[int], loss: float = 7.1) -> None:
    for at in numbers:
        tape.wait(5.2)
        tape.say(
            f"completed step: {at}, seconds: {tape.near(5.21, 0.01):.3f}, TFLOP/s/device: {tape.near(378, 0.01):.3f}, Tokens/s/device: {tape.near(6290, 0.01):.3f}, total_weights: 131072, loss: {tape.near(loss / (1 + at / 4000), 0.01):.3f}"
        )


def _setup(tape: Tape, processes: int = 1) -> None:
    tape.say(
        f"I{tape.when('%m%d %H:%M:%S')}.441201 140213 xla_bridge.py:889] Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so: libtpu.so: cannot open shared object file: No such file or directory",
        f"I{tape.when('%m%d %H:%M:%S')}.442010 140213 xla_bridge.py:889] Unable to initialize backend 'rocm': module 'jaxlib.xla_extension' has no attribute 'GpuAllocatorConfig'",
        f"jax devices: {processes * 8}, processes: {processes}, mesh ('data', 'fsdp', 'tensor') = ({processes}, 8, 1)",
        "Config param abort_on_nan_loss: True\nConfig param enable_checkpointing: True\nConfig param dtype: bfloat16\nConfig param remat_policy: minimal\nConfig param stack_trace_to_cloud: False",
    )


def _oom_report_with_peak_buffers() -> ComposedLog:
    tape = Tape(701, "2024-02-16 10:00:39")
    _setup(tape)
    tape.wait(70).say(
        _glog(
            tape,
            "W",
            "service/hlo_rematerialization.cc:2946",
            "Can't reduce memory use below 58.71GiB (63038730240 bytes) by rematerialization; only reduced to 77.94GiB (83687219200 bytes), down from 81.20GiB (87187836928 bytes) originally",
        ),
        _glog(
            tape,
            "W",
            "tsl/framework/bfc_allocator.cc:487",
            "Allocator (GPU_0_bfc) ran out of memory trying to allocate 33.02GiB (rounded to 35458056192)requested by op ",
        ),
        _glog(tape, "W", "tsl/framework/bfc_allocator.cc:499", "*" * 61 + "_" * 39),
        _glog(
            tape,
            "E",
            "pjrt/pjrt_stream_executor_client.cc:2644",
            "Execution of replica 0 failed: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 35458056192 bytes.",
        ),
        'BufferAssignment OOM Debugging.\nBufferAssignment stats:\n             parameter allocation:   24.11GiB\n              constant allocation:      132B\n        maybe_live_out allocation:   24.11GiB\n     preallocated temp allocation:   33.02GiB\n  preallocated temp fragmentation:  288.07MiB (0.85%)\n                 total allocation:   57.14GiB\n              total fragmentation:   24.42GiB (42.74%)\nPeak buffers:\n\tBuffer 1:\n\t\tSize: 7.83GiB\n\t\tOperator: op_name="jit(train_step)/jit(main)/transpose(jvp(Transformer))/decoder/logits_dense/dot_general" source_file="/srv/jax-train/layers/linears.py" source_line=84\n\t\tXLA Label: fusion\n\t\tShape: f32[16,4096,32000]\n\t\t==========================\n\n\tBuffer 2:\n\t\tSize: 7.83GiB\n\t\tOperator: op_name="jit(train_step)/jit(main)/jvp(Transformer)/decoder/logits_dense/dot_general" source_file="/srv/jax-train/layers/linears.py" source_line=84\n\t\tXLA Label: fusion\n\t\tShape: f32[16,4096,32000]\n\t\t==========================\n',
        _trace(
            """
            train.py:601 <module> | app.run(main)
            @absl/app.py:308 run | _run_main(main, args)
            train.py:588 main | state, metrics = p_train_step(state, batch, nextrng)
            """,
            "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 35458056192 bytes.",
        ),
        f"--------------------\n{_FILTER}",
    )
    return ComposedLog(
        "oom_report_with_peak_buffers",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="python train.py configs/base.yml",
        versions={"jax": "0.4.24"},
    )


def _allocator_after_hours() -> ComposedLog:
    tape = Tape(702, "2025-01-17 22:00:10")
    _setup(tape)
    _steps(tape, range(0, 120, 5))
    tape.say("Saved a checkpoint at step 100.", "eval: starting at step 120")
    tape.say(
        _glog(
            tape,
            "W",
            "tsl/framework/bfc_allocator.cc:306",
            "Allocator (GPU_3_bfc) ran out of memory trying to allocate 2.99GiB with freed_by_count=0. The caller indicates that this is not a failure, but this may mean that there could be performance gains if more memory were available.",
        ),
        _glog(
            tape,
            "W",
            "tsl/framework/bfc_allocator.cc:501",
            "Allocator (GPU_3_bfc) ran out of memory trying to allocate 5.86GiB (rounded to 6291456000)requested by op ",
        ),
        "If the cause is memory fragmentation maybe the environment variable 'TF_GPU_ALLOCATOR=cuda_malloc_async' will improve the situation. ",
        _trace(
            """
            train.py:640 <module> | app.run(main)
            train.py:612 main | metrics = evaluate(eval_step, state, eval_iter)
            train.py:402 evaluate | all_logits.append(jax.device_get(p_eval_step(state, batch)))
            """,
            "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 5.86GiB (6291456000B) on device ordinal 3",
        ),
        f"--------------------\n{_FILTER}",
    )
    return ComposedLog(
        "allocator_after_hours",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="python train.py configs/base.yml",
        versions={"jax": "0.4.38"},
    )


def _preallocation_of_another_process() -> ComposedLog:
    tape = Tape(703, "2023-09-01 15:31:22")
    tape.say(
        "I0901 15:31:22.109 main.py:21] XLA_PYTHON_CLIENT_MEM_FRACTION not set, preallocate=true",
        _glog(
            tape,
            "E",
            "stream_executor/cuda/cuda_dnn.cc:407",
            "There was an error before creating cudnn handle (302): cudaGetErrorName symbol not found. : cudaGetErrorString symbol not found.",
        ),
        _glog(
            tape,
            "E",
            "stream_executor/cuda/cuda_driver.cc:1201",
            "failed to alloc 2147483648 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        ),
        _glog(
            tape,
            "E",
            "stream_executor/cuda/cuda_dnn.cc:439",
            "Could not create cudnn handle: CUDNN_STATUS_NOT_INITIALIZED",
        ),
        _glog(
            tape,
            "E",
            "stream_executor/cuda/cuda_dnn.cc:443",
            "Memory usage: 204603392 bytes free, 25438126080 bytes total.",
        ),
        _trace(
            """
            main.py:88 <module> | app.run(main)
            main.py:55 main | variables = model.init(rng, jnp.ones((1, 224, 224, 3)))
            """,
            "jaxlib.xla_extension.XlaRuntimeError: FAILED_PRECONDITION: DNN library initialization failed. Look at the errors above for more details.",
        ),
        "+ nvidia-smi --query-compute-apps=pid,used_memory,name --format=csv\npid, used_gpu_memory [MiB], process_name\n20183, 18262 MiB, /opt/venv/bin/python\n22417, 5622 MiB, /opt/venv/bin/python",
    )
    return ComposedLog(
        "preallocation_of_another_process",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="python main.py",
        versions={"jax": "0.4.14"},
        why="no room for the cuDNN handle: 195 MiB free of 24 GiB, taken by another program's preallocation",
    )


def _nccl_out_of_memory_in_init() -> ComposedLog:
    tape = Tape(704, "2024-05-09 04:40:50")
    _setup(tape, 2)
    tape.wait(95).say(
        "jx-1:711:930 [4] include/alloc.h:228 NCCL WARN Cuda failure 2 'out of memory'",
        "jx-1:711:930 [4] include/alloc.h:241 NCCL WARN Failed to CUDA calloc async 10485760 bytes",
        "jx-1:711:930 [4] NCCL INFO channel.cc:40 -> 1",
        "jx-1:711:930 [4] NCCL INFO init.cc:432 -> 1",
        _glog(tape, "W", "service/gpu/runtime/support.cc:58", "Intercepted XLA runtime error:"),
        "INTERNAL: external/xla/xla/service/gpu/nccl_utils.cc:305: NCCL operation ncclCommInitRank(&comm, nranks, id, rank) failed: unhandled cuda error (run with NCCL_DEBUG=INFO for details). Last NCCL warning(error) log entry (may be unrelated) 'Failed to CUDA calloc async 10485760 bytes'.",
        _trace(
            """
            train.py:601 <module> | app.run(main)
            train.py:588 main | state, metrics = p_train_step(state, batch, nextrng)
            """,
            "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: Failed to execute XLA Runtime executable: run time error: custom call 'xla.gpu.all_gather' failed: external/xla/xla/service/gpu/nccl_utils.cc:305: NCCL operation ncclCommInitRank(&comm, nranks, id, rank) failed: unhandled cuda error (run with NCCL_DEBUG=INFO for details). Last NCCL warning(error) log entry (may be unrelated) 'Failed to CUDA calloc async 10485760 bytes'.; current tracing scope: all-gather-start.41; current profiling annotation: XlaModule:#hlo_module=jit_train_step,program_id=211#.",
        ),
    )
    return ComposedLog(
        "nccl_out_of_memory_in_init",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS + "; NCCL",
        command="python train.py configs/base.yml",
        versions={"jax": "0.4.28"},
        why="the communicator failed because nothing of the card was left for NCCL's buffers",
    )


def _illegal_address_in_custom_call() -> ComposedLog:
    tape = Tape(705, "2024-12-19 18:22:01")
    _setup(tape)
    _steps(tape, range(15))
    tape.say(
        _glog(
            tape,
            "E",
            "stream_executor/cuda/cuda_driver.cc:1050",
            "could not synchronize on CUDA context: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered :: *** Begin stack trace ***",
        ),
        "\tPyObject_Vectorcall\n\t_PyEval_EvalFrameDefault\n\tPyEval_EvalCode\n\tPy_RunMain\n\tPy_BytesMain\n\t_start\n*** End stack trace ***\n",
        _glog(
            tape,
            "E",
            "stream_executor/stream_executor_internal.h:124",
            "Failed to unload CUDA module: CUDA_ERROR_ILLEGAL_ADDRESS",
        ),
        _glog(
            tape,
            "F",
            "pjrt/gpu/se_gpu_pjrt_client.cc:914",
            "Check failed: stream->BlockHostUntilDone().ok() INTERNAL: Failed to synchronize GPU for autotuning: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered",
        ),
        'Fatal Python error: Aborted\n\nThread 0x00007f4be77fe700 (most recent call first):\n  File "/srv/jax-train/kernels/paged.py", line 61 in paged_attention\n  File "/srv/jax-train/train.py", line 588 in main',
        "Aborted (core dumped)",
    )
    return ComposedLog(
        "illegal_address_in_custom_call",
        "cuda_runtime",
        134,
        tape.text(),
        _BASIS,
        command="python train.py configs/paged.yml",
        versions={"jax": "0.4.37"},
    )


def _coordinator_unreachable() -> ComposedLog:
    tape = Tape(706, "2024-10-03 09:00:00")
    tape.say(
        "I1003 09:00:00.120881 139 distributed.py:106] Connecting to JAX distributed service on jx-0.jx.default.svc:1234",
    )
    tape.wait(300).say(
        _glog(
            tape,
            "E",
            "pjrt/distributed/client.cc:72",
            "Connection to coordination service at jx-0.jx.default.svc:1234 not established within 300 s",
        ),
        _trace(
            """
            train.py:601 <module> | app.run(main)
            train.py:560 main | jax.distributed.initialize(coordinator, args.num_processes, args.process_id)
            @jax/_src/distributed.py:220 initialize | global_state.initialize(coordinator_address, num_processes, process_id,
            @jax/_src/distributed.py:119 initialize | self.client.connect()
            """,
            "jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: PjRT_Client_Connect::0. This usually happens because a task triggered the barrier too early or too slowly. Please look at the task logs (both timed out and first task) to debug further.\n# of tasks that reached the barrier: 1/4. The first task at the barrier: /job:jax_worker/replica:0/task:2. Some timed out task names:\n/job:jax_worker/replica:0/task:0\n/job:jax_worker/replica:0/task:1\n/job:jax_worker/replica:0/task:3",
        ),
    )
    return ComposedLog(
        "coordinator_unreachable",
        "rendezvous",
        1,
        tape.text(),
        _BASIS,
        command="python train.py --num_processes 4 --process_id 2",
        versions={"jax": "0.4.33"},
        paper_class="traceback",
    )


def _task_heartbeat_lost() -> ComposedLog:
    tape = Tape(707, "2025-03-06 02:14:17")
    _setup(tape, 4)
    _steps(tape, range(4000, 4100, 5))
    tape.wait(101).say(
        _glog(
            tape,
            "E",
            "tsl/distributed_runtime/coordination/coordination_service.cc:1152",
            "The following tasks are unhealthy (stopped sending heartbeats):\n/job:jax_worker/replica:0/task:3\nThe tasks have crashed. Check the task logs for an earlier error, or scheduler events (e.g. preemption, eviction) to debug further.",
        ),
        _glog(
            tape,
            "F",
            "pjrt/distributed/client.h:80",
            "Terminating process because the JAX distributed service detected fatal errors. This most likely indicates that another task died; see the other task logs for more details. Disable Python buffering, i.e. `python -u`, to be sure to see all the previous output. absl::Status: UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):",
        ),
        "/job:jax_worker/replica:0/task:3\nThe tasks have crashed. Check the task logs for an earlier error, or scheduler events (e.g. preemption, eviction) to debug further.\n\nRPC: /tensorflow.CoordinationService/PollForError [type.googleapis.com/tensorflow.CoordinationServiceError='']",
        "Aborted (core dumped)",
    )
    return ComposedLog(
        "task_heartbeat_lost",
        "collective",
        134,
        tape.text(),
        _BASIS,
        command="python train.py --num_processes 4 --process_id 0",
        versions={"jax": "0.5.2"},
        paper_class="nccl",
        why="a peer of a formed group was lost, and nothing shows why",
    )


def _libdevice_not_found() -> ComposedLog:
    tape = Tape(708, "2024-08-08 20:05:34")
    tape.say(
        "training diffusion policy on 1 device(s)",
        _glog(
            tape,
            "W",
            "service/gpu/llvm_gpu_backend/gpu_backend_lib.cc:542",
            "Can't find libdevice directory ${CUDA_DIR}/nvvm/libdevice. This may result in compilation or runtime failures, if the program we try to run uses routines from libdevice.",
        ),
        "Searched for CUDA in the following directories:\n  ./cuda_sdk_lib\n  /usr/local/cuda-12.3\n  /usr/local/cuda\n  /opt/venv/lib/python3.11/site-packages/jaxlib/mlir/../../nvidia/cuda_nvcc\n  .\nYou can choose the search directory by setting xla_gpu_cuda_data_dir in HloModule's DebugOptions.  For most apps, setting the environment variable XLA_FLAGS=--xla_gpu_cuda_data_dir=/path/to/cuda will work.",
        "error: libdevice not found at ./libdevice.10.bc",
        _glog(
            tape,
            "E",
            "pjrt/pjrt_stream_executor_client.cc:2985",
            "Execution of replica 0 failed: INTERNAL: libdevice not found at ./libdevice.10.bc",
        ),
        _trace(
            """
            policy.py:140 <module> | main()
            policy.py:118 main | noise = jax.random.normal(key, (256, 16, 7))
            """,
            "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: libdevice not found at ./libdevice.10.bc",
        ),
    )
    return ComposedLog(
        "libdevice_not_found",
        "cuda_environment",
        1,
        tape.text(),
        _BASIS,
        command="python policy.py",
        versions={"jax": "0.4.31"},
        paper_class="traceback",
        why="a file of the CUDA toolkit is not found by XLA's compiler",
    )


def _debug_nans_stopped() -> ComposedLog:
    tape = Tape(709, "2024-07-11 13:50:23")
    _setup(tape)
    _steps(tape, range(0, 90, 10))
    first = _trace(
        """
        @jax/_src/pjit.py:1699 _pjit_call_impl_python | return compiled.unsafe_call(*args), compiled
        @jax/_src/interpreters/pxla.py:1303 __call__ | dispatch.check_special(self.name, arrays)
        @jax/_src/dispatch.py:321 _check_special | raise InternalFloatingPointError(name, "nan")
        """,
        "FloatingPointError: invalid value (nan) encountered in jit(train_step)",
    )
    then = _trace(
        """
        train.py:601 <module> | app.run(main)
        train.py:588 main | state, metrics = p_train_step(state, batch, nextrng)
        train.py:233 loss_fn | kl = jnp.sum(jnp.log(probs) * probs, axis=-1)
        """,
        "FloatingPointError: invalid value (nan) encountered in log. Because jax_config.debug_nans.value and/or config.jax_debug_infs is set, the de-optimized function (i.e., the function as if the `jit` decorator were removed) was called in an attempt to get a more precise error message.",
    )
    tape.say(
        "Invalid nan value encountered in the output of a C++-jit/pmap function. Calling the de-optimized version.",
        chained(first, then),
    )
    return ComposedLog(
        "debug_nans_stopped",
        "nan_loss",
        1,
        tape.text(),
        _BASIS,
        command="JAX_DEBUG_NANS=1 python train.py configs/base.yml",
        versions={"jax": "0.4.30"},
        paper_class="nan_loss",
    )


def _dot_shapes() -> ComposedLog:
    tape = Tape(710, "2023-12-14 16:16:40")
    _setup(tape)
    tape.say(
        _trace(
            """
            train.py:601 <module> | app.run(main)
            train.py:570 main | state = create_train_state(rng, model, config)
            @flax/training/train_state.py:85 create | opt_state = tx.init(params)
            layers/attention.py:97 __call__ | scores = jnp.einsum("bqhd,bkhd->bhqk", query, key)
            """,
            "TypeError: dot_general requires contracting dimensions to have the same shape, got (64,) and (128,).",
        ),
        f"--------------------\n{_FILTER}",
    )
    return ComposedLog(
        "dot_shapes",
        "shape_mismatch",
        1,
        tape.text(),
        _BASIS,
        command="python train.py configs/gqa.yml",
        versions={"jax": "0.4.20"},
        paper_class="traceback",
    )


def _rematerialized_and_finished() -> ComposedLog:
    tape = Tape(711, "2024-09-30 06:30:12")
    _setup(tape)
    tape.say(
        _glog(
            tape,
            "W",
            "service/hlo_rematerialization.cc:3005",
            "Can't reduce memory use below 61.02GiB (65519728640 bytes) by rematerialization; only reduced to 66.80GiB (71725953024 bytes), down from 90.11GiB (96754958336 bytes) originally",
        ),
        _glog(
            tape,
            "E",
            "service/slow_operation_alarm.cc:65",
            "\n********************************\n[Compiling module jit_train_step] Very slow compile? If you want to file a bug, run with envvar XLA_FLAGS=--xla_dump_to=/scratch/foo and attach the results.\n********************************",
        ),
        _glog(
            tape,
            "E",
            "service/slow_operation_alarm.cc:133",
            "The operation took 4m12.84312s\n\n********************************\n[Compiling module jit_train_step] Very slow compile?\n********************************",
        ),
        _glog(
            tape,
            "W",
            "tsl/framework/bfc_allocator.cc:306",
            "Allocator (GPU_5_bfc) ran out of memory trying to allocate 8.01GiB with freed_by_count=0. The caller indicates that this is not a failure, but this may mean that there could be performance gains if more memory were available.",
        ),
    )
    _steps(tape, range(0, 500, 20))
    tape.say(
        "Saved a checkpoint at step 499.",
        "eval metrics after step 499: loss=2.911, perplexity=18.374, total_weights=4194304.0",
        "Training finished.",
    )
    return ComposedLog(
        "rematerialized_and_finished",
        "none",
        0,
        tape.text(),
        _BASIS,
        command="python train.py steps=500",
        versions={"jax": "0.4.33"},
        why="alarms of the compiler and the allocator that cost nothing but time",
    )


def _ecc_from_stream() -> ComposedLog:
    tape = Tape(712, "2025-02-20 23:10:55")
    _setup(tape)
    _steps(tape, range(9000, 9080, 4))
    tape.say(
        _glog(
            tape,
            "E",
            "stream_executor/cuda/cuda_event.cc:53",
            "Error polling for event status: INTERNAL: failed to query event: CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error encountered",
        ),
        _glog(
            tape,
            "E",
            "pjrt/pjrt_stream_executor_client.cc:3086",
            "Execution of replica 0 failed: INTERNAL: CUDA_ERROR_ECC_UNCORRECTABLE",
        ),
        marked(
            "",
            _trace(
                "train.py:640 <module> | app.run(main)\ntrain.py:626 main | metrics = jax.device_get(metrics)",
                "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: Failed to complete all kernels launched on stream 0x5601ed70: could not synchronize CUDA stream: CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error encountered",
            ),
        ),
        "$ dmesg -T | tail -n 3",
        kernel(
            tape,
            "jx-3",
            xid("0000:5d:00", 48, "DBE (double bit error), ECC error", pid=31190),
            xid("0000:5d:00", 64, "Row Remapper: Error recording row remapping"),
            xid("0000:5d:00", 45, "Ch 00000018", pid=31190),
            form="dmesg -T",
        ),
    )
    return ComposedLog(
        "ecc_from_stream",
        "gpu_hardware",
        1,
        tape.text(),
        _BASIS + "; NVIDIA's Xid catalogue",
        command="python train.py configs/base.yml",
        versions={"jax": "0.5.0"},
        paper_class="traceback",
    )
