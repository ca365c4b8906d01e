"""RAPIDS, CuPy, Numba, Triton kernels, XGBoost and graph libraries on a card."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._gpu_environment import collect_env, packages
from corpus.compose._gpu_hosts import Card, smi
from corpus.compose._gpu_tape import Tape, bar, chained, marked, traceback
from corpus.compose._gpu_torch import cuda_error, oom
from corpus.compose.composed_log import ComposedLog

_BASIS = "sources of RMM, cuDF, dask-cuda, CuPy, Numba, Triton, XGBoost, PyTorch Geometric and DGL"
_SITE = "/opt/rapids/lib/python3.11/site-packages"


def logs() -> Iterator[ComposedLog]:
    """Pools that are empty, kernels that do not compile or fault, workers that restart."""
    yield _pool_size_exceeded()
    yield _bad_alloc_of_cudf()
    yield _dask_worker_over_host_budget()
    yield _cupy_illegal_address()
    yield _numba_toolkit_too_new()
    yield _triton_shared_memory()
    yield _nvcc_refused_extension()
    yield _xgboost_gpu_not_built()
    yield _xgboost_device_bad_alloc()
    yield _sampler_indices_on_host()
    yield _dgl_library_of_other_torch()
    yield _edge_index_out_of_bounds()
    yield _spilled_and_done()


def _trace(frames: str, error: str) -> str:
    return traceback(frames, error, root="/srv/etl", site=_SITE, carets=True)


def _card(tape: Tape, used: int = 9) -> str:
    card = Card(
        "NVIDIA RTX 6000 Ada Gene...", "00000000:C1:00.0", used, 49140, 44, 88, 300, ecc="0"
    )
    return smi(tape, [card], driver="535.129.03", cuda="12.2")


def _installed(**versions: str) -> str:
    common = {"cuda-python": "12.3.0", "dask": "2024.1.1", "numpy": "1.26.3", "pandas": "2.1.4"}
    return packages({**common, **{name.replace("_", "-"): one for name, one in versions.items()}})


def _cluster(tape: Tape, workers: int) -> None:
    tape.say(
        f"{tape.milli()} - distributed.scheduler - INFO - State start",
        f"{tape.milli()} - distributed.scheduler - INFO -   Scheduler at:     tcp://127.0.0.1:40913",
        *(
            f"{tape.milli()} - distributed.preloading - INFO - Import preload module: dask_cuda.initialize\n{tape.milli()} - distributed.worker - INFO -       Start worker at:      tcp://127.0.0.1:{41000 + at * 7}\n{tape.milli()} - distributed.worker - INFO -               Memory:                  60.00 GiB"
            for at in range(workers)
        ),
    )


def _pool_size_exceeded() -> ComposedLog:
    tape = Tape(1401, "2024-03-22 10:00:44")
    _cluster(tape, 2)
    tape.say(
        f"{tape.milli()} - distributed.worker - WARNING - Compute Failed\nKey:       ('shuffle-join', 5)\nState:     executing\nFunction:  merge_chunk\nargs:      ([], '_partitions', ...)\nException: \"MemoryError('std::bad_alloc: out_of_memory: RMM failure at:/opt/rapids/include/rmm/mr/device/pool_memory_resource.hpp:257: Maximum pool size exceeded')\"",
        _trace(
            """
            features.py:88 <module> | main()
            features.py:60 main | joined = left.merge(right, on="user_id").persist()
            @cudf/core/join/join.py:205 perform_merge | left_rows, right_rows = self._joiner(left_join_cols, right_join_cols, how=self.how)
            merge.pyx:40 cudf._lib.join.join
            """,
            "MemoryError: std::bad_alloc: out_of_memory: RMM failure at:/opt/rapids/include/rmm/mr/device/pool_memory_resource.hpp:257: Maximum pool size exceeded",
        ),
    )
    return ComposedLog(
        "pool_size_exceeded",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="python features.py",
        versions={"cudf": "24.02", "rmm": "24.02"},
        why="MemoryError by type, but of the card's pool",
    )


def _bad_alloc_of_cudf() -> ComposedLog:
    tape = Tape(1402, "2022-05-05 05:05:08")
    tape.say(_card(tape, 41900))
    tape.say(
        "[05:05:08] reading 118 parquet files, 41.2 GB on disk",
        "[05:05:31] 40 of 118 read, free device memory 2.1 GiB, free host memory 301.4 GiB",
        _trace(
            """
            features.py:21 <module> | frame = cudf.read_parquet(paths)
            @cudf/io/parquet.py:245 read_parquet | df = _read_parquet(
            parquet.pyx:120 cudf._lib.parquet.read_parquet
            """,
            "MemoryError: std::bad_alloc: out_of_memory: CUDA error at: /opt/rapids/include/rmm/mr/device/cuda_memory_resource.hpp:70: cudaErrorMemoryAllocation out of memory",
        ),
    )
    return ComposedLog(
        "bad_alloc_of_cudf",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="python features.py",
        versions={"cudf": "22.04"},
    )


def _dask_worker_over_host_budget() -> ComposedLog:
    tape = Tape(1403, "2023-09-29 13:20:10")
    _cluster(tape, 4)
    for at in (81, 84, 90):
        tape.say(
            f"{tape.milli()} - distributed.worker.memory - WARNING - Unmanaged memory use is high. This may indicate a memory leak or the memory may not be released to the OS; see https://distributed.dask.org/en/latest/worker-memory.html#memory-not-released-back-to-the-os for more information. -- Unmanaged memory: {at * 0.6:.2f} GiB -- Worker memory limit: 60.00 GiB"
        )
    tape.say(
        f"{tape.milli()} - distributed.nanny.memory - WARNING - Worker tcp://127.0.0.1:41007 (pid=8121) exceeded 95% memory budget. Restarting...",
        f"{tape.milli()} - distributed.nanny - WARNING - Restarting worker",
        f"{tape.milli()} - distributed.scheduler - ERROR - Task ('tokenize', 17) marked as failed because 4 workers died while trying to run it",
        _trace(
            "features.py:95 <module> | result = tokens.compute()\n@distributed/client.py:2195 _gather | raise exception.with_traceback(traceback)",
            "distributed.scheduler.KilledWorker: Attempted to run task ('tokenize', 17) on 4 different workers, but all those workers died while running it. The last worker that attempt to run the task was tcp://127.0.0.1:41007. Inspecting worker logs is often a good next step to diagnose what went wrong. For more information see https://distributed.dask.org/en/stable/killed.html.",
        ),
    )
    return ComposedLog(
        "dask_worker_over_host_budget",
        "oom_killer",
        1,
        tape.text(),
        _BASIS,
        command="python features.py --tokenize",
        versions={"dask": "2023.9", "dask-cuda": "23.08"},
        why="the nanny killed the worker at 95 % of its host memory budget",
    )


def _cupy_illegal_address() -> ComposedLog:
    tape = Tape(1404, "2024-11-05 18:47:36")
    tape.say(_installed(cupy_cuda12x="13.3.0", numba="0.60.0"))
    tape.say(
        "\r".join(bar("simulate", at, 4000, 0.02) for at in range(0, 1201, 200)),
        _trace(
            """
            simulate.py:140 <module> | run(steps=4000)
            simulate.py:97 run | energy = float(cp.sum(field ** 2))
            cupy/_core/core.pyx:1859 cupy._core.core._ndarray_base.get
            cupy/cuda/stream.pyx:123 cupy.cuda.stream._BaseStream.synchronize
            """,
            "cupy_backends.cuda.api.runtime.CUDARuntimeError: cudaErrorIllegalAddress: an illegal memory access was encountered",
        ),
        'Traceback (most recent call last):\n  File "cupy_backends/cuda/api/driver.pyx", line 234, in cupy_backends.cuda.api.driver.moduleUnload\n  File "cupy_backends/cuda/api/driver.pyx", line 63, in cupy_backends.cuda.api.driver.check_status\ncupy_backends.cuda.api.driver.CUDADriverError: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered\nException ignored in: \'cupy.cuda.function.Module.__dealloc__\'',
    )
    return ComposedLog(
        "cupy_illegal_address",
        "cuda_runtime",
        1,
        tape.text(),
        _BASIS,
        command="python simulate.py",
        versions={"cupy": "13.3"},
    )


def _numba_toolkit_too_new() -> ComposedLog:
    tape = Tape(1405, "2023-12-12 12:12:01")
    tape.say(
        f'{_SITE}/cudf/utils/_ptxcompiler.py:64: UserWarning: Error getting driver and runtime versions:\n\nstdout:\n\n\n\nstderr:\n\nTraceback (most recent call last):\n  File "<string>", line 4, in <module>\nnumba.cuda.cudadrv.driver.LinkerError: libcudart.so not found\n\n\nNot patching Numba\n  warnings.warn(msg, UserWarning)',
        _trace(
            """
            features.py:40 <module> | frame["span"] = frame.apply_rows(span, incols=["a", "b"], outcols={"c": "f8"}, kwargs={})
            @numba/cuda/dispatcher.py:632 compile | kernel.bind()
            @numba/cuda/cudadrv/driver.py:2706 add_ptx | raise LinkerError("%s\\n%s" % (e, self.error_log))
            """,
            "numba.cuda.cudadrv.driver.LinkerError: [222] Call to cuLinkAddData results in CUDA_ERROR_UNSUPPORTED_PTX_VERSION\nptxas application ptx input, line 9; fatal   : Unsupported .version 8.3; current version is '8.0'",
        ),
    )
    return ComposedLog(
        "numba_toolkit_too_new",
        "cuda_environment",
        1,
        tape.text(),
        _BASIS,
        command="python features.py",
        versions={"numba": "0.58.1"},
        paper_class="cuda_runtime",
        why="PTX of a toolkit newer than the driver",
    )


def _triton_shared_memory() -> ComposedLog:
    tape = Tape(1406, "2024-10-19 20:02:14")
    tape.say(_card(tape))
    tape.say(
        "autotuning attention_fwd over 24 configs on NVIDIA GeForce RTX 4090",
        "config BLOCK_M=64 BLOCK_N=64 num_stages=3: 1.82 ms",
        "config BLOCK_M=128 BLOCK_N=64 num_stages=2: 1.41 ms",
        _trace(
            """
            bench.py:81 <module> | run()
            bench.py:55 run | out = attention_fwd[grid](q, k, v, o, **meta)
            @triton/runtime/jit.py:345 <lambda> | return lambda *args, **kwargs: self.run(grid=grid, warmup=False, *args, **kwargs)
            @triton/compiler/compiler.py:374 _init_handles | raise OutOfResources(self.metadata.shared, max_shared, "shared memory")
            """,
            "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 147456, Hardware limit: 101376. Reducing block sizes or `num_stages` may help.",
        ),
    )
    return ComposedLog(
        "triton_shared_memory",
        "compile_error",
        1,
        tape.text(),
        _BASIS,
        command="python bench.py",
        versions={"triton": "3.0.0"},
        paper_class="traceback",
        why="the kernel built for a larger card does not fit this one's on-chip memory; nothing of /dev/shm or the card's main memory",
    )


def _nvcc_refused_extension() -> ComposedLog:
    tape = Tape(1407, "2024-06-28 15:16:40")
    tape.say(
        "Using /home/user/.cache/torch_extensions/py311_cu124 as PyTorch extensions root...",
        "Emitting ninja build file /home/user/.cache/torch_extensions/py311_cu124/raster/build.ninja...",
        "[1/2] /usr/local/cuda/bin/nvcc --generate-dependencies-with-compile -DTORCH_EXTENSION_NAME=raster -gencode=arch=compute_89,code=sm_89 --compiler-options '-fPIC' -std=c++17 -c raster.cu -o raster.cuda.o\nFAILED: raster.cuda.o",
        '/srv/etl/raster.cu(118): error: no instance of overloaded function "atomicAdd" matches the argument list\n            argument types are: (__nv_bfloat16 *, float)\n      atomicAdd(&grad[i], w * g);\n      ^\n\n1 error detected in the compilation of "/srv/etl/raster.cu".\nninja: build stopped: subcommand failed.',
        _trace(
            """
            fit.py:7 <module> | raster = load(name="raster", sources=["raster.cu"])
            @torch/utils/cpp_extension.py:1312 load | return _jit_compile(
            @torch/utils/cpp_extension.py:2124 _run_ninja_build | raise RuntimeError(message) from e
            """,
            "RuntimeError: Error building extension 'raster'",
        ),
    )
    return ComposedLog(
        "nvcc_refused_extension",
        "compile_error",
        1,
        tape.text(),
        _BASIS,
        command="python fit.py",
        versions={"torch": "2.4.0"},
        paper_class="runtime_error",
    )


def _xgboost_gpu_not_built() -> ComposedLog:
    tape = Tape(1408, "2024-01-12 09:33:10")
    tape.say(_card(tape), _installed(xgboost="2.0.3", scikit_learn="1.3.2"))
    tape.say(
        "[09:33:10] loaded 1.2M rows, 310 columns",
        "[09:33:12] WARNING: /workspace/src/common/error_msg.cc:45: `gpu_id` is deprecated since2.0.0, use `device` instead. E.g. device=cpu/cuda/cuda:0",
        _trace(
            """
            boost.py:30 <module> | booster = xgb.train(params, matrix, num_boost_round=500)
            @xgboost/training.py:181 train | bst.update(dtrain, i, obj)
            @xgboost/core.py:282 _check_call | raise XGBoostError(py_str(_LIB.XGBGetLastError()))
            """,
            "xgboost.core.XGBoostError: [09:33:13] src/gbm/../common/common.h:239: XGBoost version not compiled with GPU support.\nStack trace:\n  [bt] (0) libxgboost.so(+0x3f4a8e) [0x7f5d0c1f4a8e]\n  [bt] (1) libxgboost.so(XGBoosterUpdateOneIter+0x70) [0x7f5d0bf5a1c0]",
        ),
    )
    return ComposedLog(
        "xgboost_gpu_not_built",
        "cuda_environment",
        1,
        tape.text(),
        _BASIS,
        command="python boost.py",
        versions={"xgboost": "2.0.3"},
        paper_class="traceback",
        why="a build without CUDA",
    )


def _xgboost_device_bad_alloc() -> ComposedLog:
    tape = Tape(1409, "2023-04-04 16:40:40")
    tape.say(_card(tape, 48801))
    tape.say(
        "\n".join(
            f"[{at}]\ttrain-auc:{0.7 + at / 400:.5f}\tvalid-auc:{0.69 + at / 450:.5f}"
            for at in range(0, 40, 10)
        ),
        _trace(
            """
            boost.py:30 <module> | booster = xgb.train(params, matrix, num_boost_round=500)
            @xgboost/core.py:279 _check_call | raise XGBoostError(py_str(_LIB.XGBGetLastError()))
            """,
            "xgboost.core.XGBoostError: [16:41:52] src/tree/updater_gpu_hist.cu:781: Exception in gpu_hist: [16:41:52] src/tree/../common/device_helpers.cuh:431: Memory allocation error on worker 0: std::bad_alloc: cudaErrorMemoryAllocation: out of memory\n- Free memory: 58064896\n- Requested memory: 301989888\n",
        ),
    )
    return ComposedLog(
        "xgboost_device_bad_alloc",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="python boost.py",
        versions={"xgboost": "1.7.5"},
    )


def _sampler_indices_on_host() -> ComposedLog:
    tape = Tape(1410, "2023-07-07 07:17:27")
    tape.say(_installed(torch="2.0.1", torch_geometric="2.3.1", pyg_lib="0.2.0"), _card(tape))
    tape.say(
        "ogbn-products: 2,449,029 nodes 61,859,140 edges; features pinned, fanout 15,10,5",
        "Epoch 01, Loss: 0.8421, Approx. Train: 0.7613",
        _trace(
            """
            sage.py:118 <module> | train(epoch)
            sage.py:91 train | loss = F.nll_loss(out[:batch.batch_size], batch.y[mask.nonzero()])
            """,
            "RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)",
        ),
    )
    return ComposedLog(
        "sampler_indices_on_host",
        "device_mismatch",
        1,
        tape.text(),
        _BASIS,
        command="python sage.py",
        versions={"torch": "2.0.1", "torch-geometric": "2.3.1"},
        paper_class="device_mismatch",
    )


def _dgl_library_of_other_torch() -> ComposedLog:
    tape = Tape(1411, "2024-08-13 10:10:01")
    tape.say(
        collect_env(
            torch="2.4.0+cu121",
            cuda="12.1",
            driver="535.129.03",
            cards=["NVIDIA RTX A6000"],
            python="3.11.9",
        )
    )
    tape.say(
        "DGL backend not selected or invalid.  Assuming PyTorch for now.",
        _trace(
            """
            sage_dgl.py:4 <module> | import dgl
            @dgl/__init__.py:16 <module> | from . import (
            @dgl/graphbolt/__init__.py:36 <module> | load_graphbolt()
            @dgl/graphbolt/__init__.py:26 load_graphbolt | raise FileNotFoundError(
            """,
            f"FileNotFoundError: Cannot find DGL C++ graphbolt library at {_SITE}/dgl/graphbolt/libgraphbolt_pytorch_2.4.0.so",
        ),
    )
    return ComposedLog(
        "dgl_library_of_other_torch",
        "dependency",
        1,
        tape.text(),
        _BASIS,
        command="python sage_dgl.py",
        versions={"torch": "2.4.0", "dgl": "2.1.0"},
        paper_class="file_not_found",
        why="a wheel that has no library for the installed torch, though the exception speaks of a file",
    )


def _edge_index_out_of_bounds() -> ComposedLog:
    tape = Tape(1412, "2022-10-10 23:10:55")
    tape.say(
        "Epoch 003 loss 1.7712\nEpoch 004 loss 1.7519",
        marked(
            "",
            "\n".join(
                f'/pytorch/aten/src/ATen/native/cuda/ScatterGatherKernel.cu:145: operator(): block: [{b},0,0], thread: [{t},0,0] Assertion `idx_dim >= 0 && idx_dim < index_size && "index out of bounds"` failed.'
                for b in (2190, 2191)
                for t in (0, 1, 2, 31)
            ),
        ),
        chained(
            _trace(
                "gcn.py:70 <module> | train()\ngcn.py:51 train | out = model(data.x, data.edge_index)\n@torch_geometric/nn/conv/gcn_conv.py:186 forward | out = self.propagate(edge_index, x=x, edge_weight=edge_weight, size=None)",
                cuda_error("1.12", "device-side assert triggered"),
            ),
            _trace(
                "gcn.py:72 <module> | torch.cuda.empty_cache()\n@torch/cuda/memory.py:125 empty_cache | torch._C._cuda_emptyCache()",
                cuda_error("1.12", "device-side assert triggered"),
            ),
        ),
    )
    tape.say(
        "Environment",
        collect_env(torch="1.12.1", cuda="11.6", driver="515.65.01", cards=["Quadro RTX 8000"]),
    )
    return ComposedLog(
        "edge_index_out_of_bounds",
        "cuda_runtime",
        1,
        tape.text(),
        _BASIS,
        command="python gcn.py",
        versions={"torch": "1.12.1"},
    )


def _spilled_and_done() -> ComposedLog:
    tape = Tape(1413, "2024-05-24 22:00:15")
    _cluster(tape, 2)
    tape.say(
        f"{tape.milli()} - distributed.worker - WARNING - Compute Failed (retry 1 of 3)\nKey:       ('read-parquet', 44)\nException: \"MemoryError('std::bad_alloc: out_of_memory: CUDA error at: cuda_memory_resource.hpp')\"",
        f"{tape.milli()} - dask_cuda.device_host_file - INFO - spilled 11.20 GiB from device to host, retrying ('read-parquet', 44)",
        f"{tape.milli()} - distributed.core - INFO - Event loop was unresponsive in Worker for 4.11s.  This is often caused by long-running GIL-holding functions or moving large chunks of data. This can cause timeouts and instability.",
        "torch warm-up: "
        + oom("2.2", "20.00 GiB", total="39.39 GiB").split(". GPU")[0]
        + " (probe for the largest batch, expected)",
        "largest batch that fits: 6144",
        "\n".join(
            f"fold {at}/5 rmse {0.91 - at * 0.01:.4f} ({tape.near(212, 0.1):.0f} s)"
            for at in range(1, 6)
        ),
        "wrote features/v3 (118 partitions), model saved",
    )
    return ComposedLog(
        "spilled_and_done",
        "none",
        0,
        tape.text(),
        _BASIS,
        command="python pipeline.py",
        versions={"cudf": "24.04"},
        why="a task spilled and was repeated, a probe was meant to fail; the folds were all done",
    )
