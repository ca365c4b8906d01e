"""Batch generation and evaluation with vLLM (engines V0 and V1) and its neighbours."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._gpu_hosts import kernel, xid
from corpus.compose._gpu_tape import Tape, bar, chained, marked, traceback
from corpus.compose._gpu_torch import cuda_error, oom, watchdog
from corpus.compose.composed_log import ComposedLog

_BASIS = "sources of vLLM, PyTorch, Triton and NCCL"
_SITE = "/opt/vllm/lib/python3.12/site-packages"


def logs() -> Iterator[ComposedLog]:
    """Weights and caches that do not fit, workers that die, architectures, adapters, good batches."""
    yield _weights_do_not_fit()
    yield _no_room_for_the_cache()
    yield _free_memory_below_the_wish()
    yield _private_pool_in_mid_run()
    yield _fork_after_cuda()
    yield _illegal_access_in_attention()
    yield _custom_allreduce_stuck()
    yield _bfloat_on_turing()
    yield _gated_model()
    yield _tensor_parallel_of_seven()
    yield _triton_without_headers()
    yield _gpu_lost_while_serving()
    yield _preempted_requests_but_done()


class _Engine:
    """Prefixes vLLM's lines with the process and the source of the version at hand."""

    def __init__(self, tape: Tape, version: str, pid: int) -> None:
        self.tape, self.version, self.pid = tape, version, pid

    def say(self, level: str, source: str, text: str) -> None:
        """One log line of the engine; a text of many lines has its head on each."""
        self.tape.wait(self.tape.rng.random())
        named = self.version.startswith("0.10")
        who = f"(EngineCore_0 pid={self.pid}) " if named else ""
        self.tape.say(marked(f"{who}{level} {self.tape.when('%m-%d %H:%M:%S')} [{source}] ", text))

    def start(
        self,
        model: str,
        *,
        tensor: int = 1,
        length: int = 8192,
        shards: int = 4,
        upto: int | None = None,
    ) -> None:
        """The start-up until the weights are read."""
        self.say("INFO", "config.py:1652", "Using max model len " + str(length))
        self.say(
            "INFO",
            "core.py:526",
            f"Waiting for init message from front-end.\nInitializing a V1 LLM engine (v{self.version}) with config: model='{model}', speculative_config=None, tokenizer='{model}', dtype=torch.bfloat16, max_seq_len={length}, tensor_parallel_size={tensor}, pipeline_parallel_size=1, disable_custom_all_reduce=False, quantization=None, enforce_eager=False, kv_cache_dtype=auto, seed=0",
        )
        self.say("INFO", "gpu_model_runner.py:1843", f"Starting to load model {model}...")
        upto = shards if upto is None else upto
        self.tape.say(
            "\r".join(
                bar("Loading safetensors checkpoint shards", at, shards, 1.7)
                for at in range(upto + 1)
            )
        )
        self.tape.wait(1.7 * upto + 2)

    def trace(self, frames: str, error: str) -> str:
        """A traceback of this installation."""
        return traceback(frames, error, root="/srv/gen", site=_SITE, carets=True)

    def core_failed(self, frames: str, error: str) -> None:
        """The core process failing to start, and the front-end's echo."""
        told = self.trace(
            """
            @vllm/v1/engine/core.py:506 run_engine_core | engine_core = EngineCoreProc(*args, **kwargs)
            @vllm/v1/engine/core.py:390 __init__ | super().__init__(vllm_config, executor_class, log_stats,
            """
            + frames,
            error,
        )
        self.say("ERROR", "core.py:515", "EngineCore failed to start.\n" + told)
        self.tape.say("Process EngineCore_0:", told)
        self.tape.say(
            self.trace(
                """
                generate.py:61 <module> | llm = LLM(model=args.model, tensor_parallel_size=args.tp, gpu_memory_utilization=0.92)
                @vllm/entrypoints/llm.py:271 __init__ | self.llm_engine = LLMEngine.from_engine_args(
                @vllm/v1/engine/core_client.py:408 __init__ | with launch_core_engines(vllm_config, executor_class,
                @vllm/v1/engine/utils.py:697 wait_for_engine_startup | raise RuntimeError("Engine core initialization failed. "
                """,
                "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore_0': 1}",
            )
        )


def _weights_do_not_fit() -> ComposedLog:
    tape = Tape(1001, "2025-07-10 14:48:13")
    engine = _Engine(tape, "0.9.2", 812)
    engine.start("Qwen/Qwen3-32B", shards=17, upto=0)
    engine.core_failed(
        """
        @vllm/v1/worker/gpu_worker.py:185 load_model | self.model_runner.load_model()
        @vllm/model_executor/layers/linear.py:380 __init__ | self.quant_method.create_weights(
        @torch/utils/_device.py:104 __torch_function__ | return func(*args, **kwargs)
        """,
        oom(
            "2.7",
            "50.00 MiB",
            total="47.41 GiB",
            free="21.31 MiB",
            used="47.38 GiB",
            allocated="46.90 GiB",
            idle="14.31 MiB",
        ),
    )
    return ComposedLog(
        "weights_do_not_fit",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="python generate.py --model Qwen/Qwen3-32B",
        versions={"vllm": "0.9.2", "torch": "2.7.0"},
    )


def _no_room_for_the_cache() -> ComposedLog:
    tape = Tape(1002, "2025-06-02 20:00:31")
    engine = _Engine(tape, "0.9.0", 3100)
    engine.start("google/gemma-3-12b-it", shards=5, length=131072)
    engine.say("INFO", "gpu_worker.py:227", "Available KV cache memory: -0.41 GiB")
    engine.core_failed(
        """
        @vllm/v1/engine/core.py:127 _initialize_kv_caches | kv_cache_configs = [
        @vllm/v1/core/kv_cache_utils.py:506 check_enough_kv_cache_memory | raise ValueError("No available memory for the cache blocks. "
        """,
        "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.",
    )
    return ComposedLog(
        "no_room_for_the_cache",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="python generate.py --model google/gemma-3-12b-it",
        versions={"vllm": "0.9.0"},
        why="after the weights nothing of the card is left for the cache; the setting is only the advice",
    )


def _free_memory_below_the_wish() -> ComposedLog:
    tape = Tape(1003, "2025-09-16 09:44:00")
    engine = _Engine(tape, "0.10.1", 771)
    engine.say("INFO", "config.py:1700", "Using max model len 4096")
    engine.core_failed(
        "@vllm/v1/worker/gpu_worker.py:176 init_device | raise ValueError(",
        "ValueError: Free memory on device (5.94/79.1 GiB) on startup is less than desired GPU memory utilization (0.9, 71.19 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
    )
    tape.say(
        "+ nvidia-smi --query-compute-apps=pid,used_memory --format=csv,noheader\n40112, 74910 MiB"
    )
    return ComposedLog(
        "free_memory_below_the_wish",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="python generate.py --model meta-llama/Llama-3.1-8B-Instruct",
        versions={"vllm": "0.10.1"},
        why="another process holds the card's memory",
    )


def _private_pool_in_mid_run() -> ComposedLog:
    tape = Tape(1004, "2025-05-21 23:12:45")
    engine = _Engine(tape, "0.8.5", 90)
    engine.start("deepseek-ai/DeepSeek-R1-Distill-Qwen-14B")
    engine.say(
        "INFO", "kv_cache_utils.py:637", "Maximum concurrency for 8,192 tokens per request: 14.02x"
    )
    engine.say(
        "INFO", "gpu_model_runner.py:1686", "Graph capturing finished in 24 secs, took 0.78 GiB"
    )
    tape.say(
        "\r".join(
            bar(
                "Processed prompts",
                at,
                20000,
                0.05,
                ", est. speed input: 812.33 toks/s, output: 5120.91 toks/s",
            )
            for at in range(0, 9000, 900)
        )
    )
    told = engine.trace(
        """
        @vllm/v1/engine/core.py:395 run_busy_loop | self._process_engine_step()
        @vllm/v1/worker/gpu_model_runner.py:1212 execute_model | logits = self.model.compute_logits(sample_hidden_states, None)
        @vllm/v1/sample/ops/topk_topp_sampler.py:203 apply_top_k_top_p | probs_sort = logits_sort.softmax(dim=-1)
        """,
        oom(
            "2.6",
            "1.16 GiB",
            total="44.45 GiB",
            free="811.31 MiB",
            used="43.65 GiB",
            allocated="42.40 GiB, with 72.00 MiB allocated in private pools (e.g., CUDA Graphs)",
            idle="402.11 MiB",
        ),
    )
    engine.say("ERROR", "core.py:398", "EngineCore encountered a fatal error.\n" + told)
    tape.say(
        engine.trace(
            """
            generate.py:70 <module> | outputs = llm.generate(prompts, sampling)
            @vllm/v1/engine/llm_engine.py:218 step | outputs = self.engine_core.get_output()
            @vllm/v1/engine/core_client.py:550 get_output | raise self._format_exception(outputs) from None
            """,
            "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.",
        ),
        bar(
            "Processed prompts",
            8211,
            20000,
            0.05,
            ", est. speed input: 812.33 toks/s, output: 5120.91 toks/s",
        ),
    )
    return ComposedLog(
        "private_pool_in_mid_run",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="python generate.py",
        versions={"vllm": "0.8.5", "torch": "2.6.0"},
    )


def _fork_after_cuda() -> ComposedLog:
    tape = Tape(1005, "2025-02-12 10:21:10")
    engine = _Engine(tape, "0.7.2", 5000)
    tape.say("torch.cuda.device_count() -> 2 (checked before start)")
    engine.say(
        "INFO",
        "config.py:542",
        "This model supports multiple tasks: {'embed', 'generate', 'classify'}. Defaulting to 'generate'.",
    )
    engine.say(
        "WARNING",
        "multiproc_worker_utils.py:300",
        "Reducing Torch parallelism from 64 threads to 1 to avoid unnecessary CPU contention. Set OMP_NUM_THREADS in the external environment to tune this value as needed.",
    )
    tape.say(
        marked(
            "(VllmWorkerProcess pid=5077) ERROR 02-12 10:21:19 multiproc_worker_utils.py:242] ",
            "Exception in worker VllmWorkerProcess while processing method init_device.\n"
            + engine.trace(
                "@vllm/executor/multiproc_worker_utils.py:236 _run_worker_process | output = run_method(worker, method, args, kwargs)\n@vllm/worker/worker.py:155 init_device | torch.cuda.set_device(self.device)\n@torch/cuda/__init__.py:305 _lazy_init | raise RuntimeError(",
                "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method",
            ),
        ),
        '^CTraceback (most recent call last):\n  File "/srv/gen/generate.py", line 61, in <module>\n    llm = LLM(model=args.model, tensor_parallel_size=2)\nKeyboardInterrupt',
    )
    return ComposedLog(
        "fork_after_cuda",
        "runtime_error",
        130,
        tape.text(),
        _BASIS,
        command="python generate.py --tp 2",
        versions={"vllm": "0.7.2"},
        why="CUDA in a forked worker; the interrupt came to a run that could not go on",
    )


def _illegal_access_in_attention() -> ComposedLog:
    tape = Tape(1006, "2025-03-27 03:35:07")
    engine = _Engine(tape, "0.8.2", 44)
    engine.start("Qwen/Qwen2.5-72B-Instruct", tensor=4, shards=37)
    tape.say(
        "\r".join(
            bar(
                "Processed prompts",
                at,
                6000,
                0.3,
                ", est. speed input: 97.02 toks/s, output: 1411.10 toks/s",
            )
            for at in range(0, 2800, 400)
        )
    )
    for at in (0, 2):
        tape.say(
            marked(
                f"(VllmWorker rank={at} pid={101 + at}) ",
                marked(
                    f"ERROR 03-27 04:0{at}:22 [multiproc_executor.py:379] ",
                    "WorkerProc hit an exception.\n"
                    + engine.trace(
                        "@vllm/v1/executor/multiproc_executor.py:376 worker_busy_loop | output = func(*args, **kwargs)\n@vllm/v1/worker/gpu_model_runner.py:1068 execute_model | valid_sampled_token_ids = sampled_token_ids.tolist()",
                        cuda_error("2.6", "an illegal memory access was encountered"),
                    ),
                ),
            )
        )
    tape.say(
        watchdog(
            tape,
            "2.6",
            3,
            seq=11801,
            op="ALLREDUCE",
            numel=(8388608, 8388608),
            group="PG ID 2 PG GUID 3",
        )
    )
    tape.say(
        "RuntimeError: Worker failed with error 'CUDA error: an illegal memory access was encountered', please check the stack trace above for the root cause"
    )
    return ComposedLog(
        "illegal_access_in_attention",
        "cuda_runtime",
        1,
        tape.text(),
        _BASIS,
        command="python generate.py --tp 4",
        versions={"vllm": "0.8.2", "torch": "2.6.0"},
    )


def _custom_allreduce_stuck() -> ComposedLog:
    tape = Tape(1007, "2024-07-08 16:16:09")
    tape.say(
        "INFO 07-08 16:16:09 api_server.py:206] vLLM API server version 0.5.1",
        "INFO 07-08 16:16:20 utils.py:741] Found nccl from library libnccl.so.2",
        "INFO 07-08 16:16:20 pynccl.py:63] vLLM is using nccl==2.20.5",
        "WARNING 07-08 16:16:24 custom_all_reduce.py:118] Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs. To silence this warning, specify disable_custom_all_reduce=True explicitly.",
        "INFO 07-08 16:18:01 gpu_executor.py:102] # GPU blocks: 7612, # CPU blocks: 819",
        *(
            f"INFO 07-08 16:{19 + at}:10 metrics.py:295] Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: {0.0 if at > 3 else 311.2 - at} tokens/s, Running: 16 reqs, Swapped: 0 reqs, Pending: 40 reqs, GPU KV cache usage: 31.4%, CPU KV cache usage: 0.0%."
            for at in range(9)
        ),
    )
    tape.wait(700)
    for at in (1, 2):
        tape.say(
            marked(
                f"(VllmWorkerProcess pid={400 + at}) ",
                watchdog(tape, "2.3", at, seq=158046, op="GATHER", numel=(2867200, 0)),
            )
        )
    tape.say(
        "ERROR 07-08 16:31:44 async_llm_engine.py:53] Engine background task failed\nERROR 07-08 16:31:44 async_llm_engine.py:53] asyncio.exceptions.CancelledError",
        'INFO:     127.0.0.1:48232 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error',
    )
    return ComposedLog(
        "custom_allreduce_stuck",
        "collective",
        None,
        tape.text(),
        _BASIS,
        command="python -m vllm.entrypoints.openai.api_server -tp 4",
        versions={"vllm": "0.5.1", "torch": "2.3.0"},
        paper_class="nccl",
    )


def _bfloat_on_turing() -> ComposedLog:
    tape = Tape(1008, "2025-08-05 18:18:18")
    engine = _Engine(tape, "0.10.0", 61)
    engine.say("INFO", "config.py:1604", "Using max model len 4096")
    engine.core_failed(
        "@vllm/v1/worker/gpu_worker.py:158 init_device | _check_if_gpu_supports_dtype(self.model_config.dtype)\n@vllm/v1/worker/gpu_worker.py:620 _check_if_gpu_supports_dtype | raise ValueError(",
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has compute capability 7.5. You can use float16 instead by explicitly setting the `dtype` flag in CLI, for example: --dtype=half.",
    )
    return ComposedLog(
        "bfloat_on_turing",
        "config",
        1,
        tape.text(),
        _BASIS,
        command="python generate.py",
        versions={"vllm": "0.10.0"},
        paper_class="traceback",
        why="the requested number type is not the card's: the dtype flag must change, not the set-up of the GPU",
    )


def _gated_model() -> ComposedLog:
    tape = Tape(1009, "2025-01-10 12:44:59")
    tape.say("INFO 01-10 12:44:59 __init__.py:179] Automatically detected platform cuda.")
    tape.say(
        chained(
            traceback(
                "@huggingface_hub/utils/_http.py:406 hf_raise_for_status | response.raise_for_status()\n@requests/models.py:1024 raise_for_status | raise HTTPError(http_error_msg, response=self)",
                "requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://huggingface.co/meta-llama/Llama-3.3-70B-Instruct/resolve/main/config.json",
                site=_SITE,
            ),
            traceback(
                """
                /srv/gen/generate.py:61 <module> | llm = LLM(model=args.model, tensor_parallel_size=args.tp)
                @vllm/transformers_utils/config.py:209 get_config | config_dict, _ = PretrainedConfig.get_config_dict(
                @transformers/utils/hub.py:416 cached_file | raise EnvironmentError(
                """,
                "OSError: You are trying to access a gated repo.\nMake sure to have access to it at https://huggingface.co/meta-llama/Llama-3.3-70B-Instruct.\n401 Client Error. (Request ID: Root=1-67811c8b-5f2a)\n\nCannot access gated repo for url https://huggingface.co/meta-llama/Llama-3.3-70B-Instruct/resolve/main/config.json.\nAccess to model meta-llama/Llama-3.3-70B-Instruct is restricted. You must have access to it and be authenticated to access it. Please log in.",
                site=_SITE,
            ),
            direct=True,
        )
    )
    return ComposedLog(
        "gated_model",
        "asset",
        1,
        tape.text(),
        _BASIS + "; huggingface_hub",
        command="python generate.py --model meta-llama/Llama-3.3-70B-Instruct",
        versions={"vllm": "0.6.6"},
        paper_class="traceback",
    )


def _tensor_parallel_of_seven() -> ComposedLog:
    tape = Tape(1010, "2025-04-18 07:30:05")
    tape.say(
        "INFO 04-18 07:30:05 [__init__.py:239] Automatically detected platform cuda.",
        "WARNING 04-18 07:30:11 [arg_utils.py:1713] Detected VLLM_USE_V1=1 with CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6. Usage should be considered experimental.",
        traceback(
            """
            /srv/gen/generate.py:61 <module> | llm = LLM(model=args.model, tensor_parallel_size=7)
            @vllm/engine/arg_utils.py:1330 create_engine_config | config = VllmConfig(
            @vllm/config.py:3601 __post_init__ | self.model_config.verify_with_parallel_config(self.parallel_config)
            @vllm/config.py:768 verify_with_parallel_config | raise ValueError(
            """,
            "ValueError: Total number of attention heads (40) must be divisible by tensor parallel size (7).",
            site=_SITE,
        ),
    )
    return ComposedLog(
        "tensor_parallel_of_seven",
        "config",
        1,
        tape.text(),
        _BASIS,
        command="python generate.py --tp 7",
        versions={"vllm": "0.8.4"},
        paper_class="traceback",
    )


def _triton_without_headers() -> ComposedLog:
    tape = Tape(1011, "2025-07-29 22:04:33")
    engine = _Engine(tape, "0.10.0", 530)
    engine.start("Qwen/Qwen3-4B", shards=3)
    tape.say(
        "/var/lib/triton-build/tmp3x0fzk2d/cuda_utils.c:6:10: fatal error: Python.h: No such file or directory\n    6 | #include <Python.h>\n      |          ^~~~~~~~~~\ncompilation terminated.",
    )
    engine.core_failed(
        """
        @vllm/compilation/backends.py:516 __call__ | self.split_gm, self.piecewise_graphs = split_graph(graph,
        @torch/_inductor/scheduler.py:1930 __init__ | self._init(nodes)
        @triton/runtime/build.py:44 _build | subprocess.check_call(cc_cmd, stdout=subprocess.DEVNULL)
        """,
        "torch._inductor.exc.InductorError: CalledProcessError: Command '['/usr/bin/gcc', 'cuda_utils.c', '-O3', '-shared', '-fPIC', '-Wno-psabi', '-o', 'cuda_utils.cpython-312-x86_64-linux-gnu.so', '-lcuda', '-I/usr/include/python3.12']' returned non-zero exit status 1.\n\nSet TORCHDYNAMO_VERBOSE=1 for the internal stack trace (please do this especially if you're reporting a bug to PyTorch). For even more developer context, set TORCH_LOGS=\"+dynamo\"",
    )
    return ComposedLog(
        "triton_without_headers",
        "compile_error",
        1,
        tape.text(),
        _BASIS,
        command="python generate.py",
        versions={"vllm": "0.10.0", "torch": "2.7.1"},
        paper_class="traceback",
        why="gcc fails for want of Python.h at run time",
    )


def _gpu_lost_while_serving() -> ComposedLog:
    tape = Tape(1012, "2025-10-04 01:50:38")
    engine = _Engine(tape, "0.10.2", 1200)
    engine.start("openai/gpt-oss-120b", tensor=2, shards=15)
    for at in range(6):
        engine.say(
            "INFO",
            "loggers.py:123",
            f"Engine 000: Avg prompt throughput: {tape.near(6100, 0.1):.1f} tokens/s, Avg generation throughput: {tape.near(2400, 0.1):.1f} tokens/s, Running: 64 reqs, Waiting: {at} reqs, GPU KV cache usage: 81.2%, Prefix cache hit rate: 44.1%",
        )
    engine.say(
        "ERROR",
        "dump_input.py:69",
        "Dumping input data for V1 LLM engine (v0.10.2) with config: model='openai/gpt-oss-120b', disable_log_stats=False",
    )
    engine.say(
        "ERROR",
        "core.py:710",
        "EngineCore encountered a fatal error.\nRuntimeError: Worker failed with error 'CUDA error: unknown error\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.', please check the stack trace above for the root cause",
    )
    tape.say(
        "+ nvidia-smi",
        "Unable to determine the device handle for GPU1: 0000:AC:00.0: GPU is lost.  Reboot the system to recover this GPU",
        "+ journalctl -k -n 3",
        kernel(
            tape,
            "serve-2",
            xid("0000:ac:00", 140, "Unrecovered ECC Error, first pid 1207 (VllmWorker TP1)"),
            xid("0000:ac:00", 79, "GPU has fallen off the bus.", pid=1207, name="VllmWorker TP1"),
            "NVRM: krcRcAndNotifyAllChannels_IMPL: RC all channels for critical error 79.",
        ),
    )
    return ComposedLog(
        "gpu_lost_while_serving",
        "gpu_hardware",
        1,
        tape.text(),
        _BASIS + "; NVIDIA's Xid catalogue",
        command="vllm serve openai/gpt-oss-120b -tp 2",
        versions={"vllm": "0.10.2"},
        paper_class="cuda_runtime",
    )


def _preempted_requests_but_done() -> ComposedLog:
    tape = Tape(1013, "2025-06-15 11:11:11")
    engine = _Engine(tape, "0.9.1", 9)
    engine.start("mistralai/Mistral-Small-3.1-24B-Instruct-2503", tensor=2, shards=10)
    engine.say(
        "WARNING",
        "custom_all_reduce.py:137",
        "Custom allreduce is disabled because your platform lacks GPU P2P capability or P2P test failed. To silence this warning, specify disable_custom_all_reduce=True explicitly.",
    )
    engine.say(
        "WARNING",
        "scheduler.py:1710",
        "Sequence group 5120 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. This can affect the end-to-end performance. Increase gpu_memory_utilization or tensor_parallel_size to provide more KV cache memory. total_num_cumulative_preemption=51",
    )
    engine.say(
        "ERROR",
        "serving_chat.py:201",
        "request chatcmpl-0091 aborted: prompt of 33102 tokens is longer than 32768, skipped",
    )
    tape.say(
        "\r".join(
            bar(
                "Processed prompts",
                at,
                12000,
                0.07,
                ", est. speed input: 2202.10 toks/s, output: 1920.44 toks/s",
            )
            for at in range(0, 12001, 1500)
        )
    )
    tape.say(
        "wrote 11999 of 12000 rows to out/answers.jsonl, 1 skipped as too long",
        "[rank0]:[W615 12:02:40.117409021 ProcessGroupNCCL.cpp:1476] Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources. For more info, please see https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())",
        "/usr/lib/python3.12/multiprocessing/resource_tracker.py:255: UserWarning: resource_tracker: There appear to be 1 leaked shared_memory objects to clean up at shutdown",
    )
    return ComposedLog(
        "preempted_requests_but_done",
        "none",
        0,
        tape.text(),
        _BASIS,
        command="python generate.py --tp 2",
        versions={"vllm": "0.9.1"},
        why="requests were preempted and recomputed, one was skipped; the batch was written",
    )
