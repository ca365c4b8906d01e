"""Programs with CUDA kernels of their own, and what the driver says when one of them goes wrong."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose.composed_log import ComposedLog

_BASIS = "messages of cudaGetErrorString, c10::cuda::c10_cuda_check_implementation, cuBLAS and cuDNN status names, CuPy, Numba, Triton and the NVIDIA driver's Xid lines"
_NOTICE = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\n"
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)


def _steps(first: int, last: int, name: str = "step") -> str:
    return "".join(
        f"{name} {n:>6}  loss {2.9 / (1 + n / 400):.4f}  {1180 + n % 7 * 11} samples/s\n"
        for n in range(first, last, 20)
    )


def logs() -> Iterator[ComposedLog]:
    """Ten logs: faults of kernels, and neighbours that look like them."""
    yield ComposedLog(
        "gather_beyond_the_table",
        "cuda_runtime",
        1,
        "loading csrc/gather_rows.cu (sm_80)\ntable 50000 x 128, 8 shards\n"
        + _steps(0, 260)
        + "".join(
            f'../aten/src/ATen/native/cuda/IndexKernel.cu:93: operator(): block: [{b},0,0], thread: [{t},0,0] Assertion `-sizes[i] <= index && index < sizes[i] && "index out of bounds"` failed.\n'
            for b in (12, 13)
            for t in range(60, 64)
        )
        + "Traceback (most recent call last):\n"
        '  File "/srv/rec/train_tables.py", line 141, in <module>\n    main()\n'
        '  File "/srv/rec/train_tables.py", line 118, in main\n    loss.backward()\n'
        '  File "/opt/venv/lib/python3.10/site-packages/torch/_tensor.py", line 525, in backward\n    torch.autograd.backward(\n'
        "RuntimeError: CUDA error: device-side assert triggered\n" + _NOTICE,
        _BASIS,
        command="python train_tables.py",
        versions={"torch": "2.4.1"},
    )
    yield ComposedLog(
        "stale_pointer",
        "cuda_runtime",
        134,
        "raymarch: building occupancy grid ... done\n"
        + _steps(0, 400, "it")
        + "terminate called after throwing an instance of 'thrust::THRUST_200302_800_NS::system::system_error'\n"
        "  what():  CUDA free failed: cudaErrorIllegalAddress: an illegal memory access was encountered\n"
        "Aborted (core dumped)\n",
        _BASIS,
        command="./raymarch scene.json",
    )
    yield ComposedLog(
        "misaligned_vector_load",
        "cuda_runtime",
        1,
        "[kernels] half4 loads on\n" + _steps(0, 120) + "Traceback (most recent call last):\n"
        '  File "/home/dev/fuse/bench_fused.py", line 77, in run\n    out = fused.bias_gelu(x[:, 1:], b)\n'
        '  File "/home/dev/fuse/fused.py", line 33, in bias_gelu\n    torch.cuda.synchronize()\n'
        '  File "/opt/conda/lib/python3.11/site-packages/torch/cuda/__init__.py", line 954, in synchronize\n    return torch._C._cuda_synchronize()\n'
        "torch.AcceleratorError: CUDA error: misaligned address\n" + _NOTICE,
        _BASIS,
        command="python bench_fused.py",
        versions={"torch": "2.8.0"},
    )
    yield ComposedLog(
        "cupy_kernel_writes_past_its_end",
        "cuda_runtime",
        1,
        "voxelising 12 tiles\ntile 0 ok\ntile 1 ok\n"
        "Traceback (most recent call last):\n"
        '  File "voxels.py", line 58, in <module>\n    counts = cp.asnumpy(grid)\n'
        '  File "/opt/venv/lib/python3.10/site-packages/cupy/__init__.py", line 801, in asnumpy\n    return a.get(stream=stream, order=order, out=out, blocking=blocking)\n'
        '  File "cupy/_core/core.pyx", line 1847, in cupy._core.core._ndarray_base.get\n'
        '  File "cupy_backends/cuda/api/runtime.pyx", line 146, in cupy_backends.cuda.api.runtime.check_status\n'
        "cupy_backends.cuda.api.runtime.CUDARuntimeError: cudaErrorIllegalAddress: an illegal memory access was encountered\n",
        _BASIS,
        command="python voxels.py",
        versions={"cupy-cuda12x": "13.3.0"},
    )
    yield ComposedLog(
        "numba_after_the_first_fault",
        "cuda_runtime",
        1,
        "epoch 1: 812 batches\nepoch 2: 812 batches\n"
        "Traceback (most recent call last):\n"
        '  File "sim/push.py", line 210, in step\n    cuda.synchronize()\n'
        '  File "/opt/conda/lib/python3.10/site-packages/numba/cuda/api.py", line 246, in synchronize\n    return current_context().synchronize()\n'
        '  File "/opt/conda/lib/python3.10/site-packages/numba/cuda/cudadrv/driver.py", line 348, in _check_cuda_python_error\n    raise CudaAPIError(retcode, msg)\n'
        "numba.cuda.cudadrv.driver.CudaAPIError: [700] Call to cuCtxSynchronize results in CUDA_ERROR_ILLEGAL_ADDRESS\n",
        _BASIS,
        command="python -m sim.push",
        versions={"numba": "0.60.0"},
    )
    yield ComposedLog(
        "gemm_refused",
        "cuda_runtime",
        1,
        "ranker: 4 layers, 2048 hidden, batch 0 of 5 may be empty\n"
        + _steps(0, 80)
        + "Traceback (most recent call last):\n"
        '  File "/app/rank/train.py", line 96, in fit\n    score = self.head(pooled)\n'
        '  File "/opt/venv/lib/python3.10/site-packages/torch/nn/modules/linear.py", line 117, in forward\n    return F.linear(input, self.weight, self.bias)\n'
        "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm( handle, opa, opb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc)`\n",
        _BASIS,
        command="python -m rank.train",
        versions={"torch": "2.3.0"},
    )
    yield ComposedLog(
        "launch_with_too_many_threads",
        "cuda_runtime",
        1,
        "knn extension: block 2048\n"
        "Traceback (most recent call last):\n"
        '  File "points.py", line 31, in <module>\n    idx = knn_cuda.query(xyz, 32)\n'
        '  File "/home/lab/knn/ops.py", line 14, in query\n    return _C.query(xyz, k)\n'
        "RuntimeError: CUDA error: invalid configuration argument\n" + _NOTICE,
        _BASIS,
        command="python points.py",
        versions={"torch": "2.1.2"},
    )
    yield ComposedLog(
        "xid_of_the_program_itself",
        "cuda_runtime",
        1,
        _steps(0, 200) + "Traceback (most recent call last):\n"
        '  File "train.py", line 88, in <module>\n    loss.item()\n'
        "RuntimeError: CUDA error: unspecified launch failure\n"
        + _NOTICE
        + "--- dmesg since the job began\n"
        "[91822.104412] NVRM: Xid (PCI:0000:41:00): 13, pid=22817, name=python, Graphics SM Warp Exception on (GPC 2, TPC 1, SM 0): Out Of Range Address\n"
        "[91822.104980] NVRM: Xid (PCI:0000:41:00): 43, pid=22817, name=python, Ch 00000010\n"
        "--- nvidia-smi: Volatile Uncorr. ECC 0, Retired Pages 0\n",
        _BASIS,
        command="sbatch train.sbatch",
        why="the Xids are those of an application, and no counter of the hardware rose",
    )
    yield ComposedLog(
        "autotuner_survives_bad_configs",
        "none",
        0,
        "autotuning matmul_kernel over 24 configs\n"
        "config 7: skipped (out of resource: shared memory, Required: 262144, Hardware limit: 166912)\n"
        "config 11: skipped (CUDA error: invalid configuration argument)\n"
        "best config 3, 211 TFLOP/s\n"
        + _steps(0, 300)
        + "finished: 300 steps, checkpoint written to out/final.pt\n",
        _BASIS,
        command="python tune_and_train.py",
        why="configurations that do not fit are what the search is for",
    )
    yield ComposedLog(
        "workspace_did_not_fit",
        "cuda_oom",
        1,
        "fused attention, workspace 21.5 GiB\n"
        "Traceback (most recent call last):\n"
        '  File "attn.py", line 64, in forward\n    ws = torch.empty(n, dtype=torch.uint8, device="cuda")\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 21.50 GiB. GPU 0 has a total capacity of 23.65 GiB of which 9.81 GiB is free. Including non-PyTorch memory, this process has 13.83 GiB memory in use. Of the allocated memory 13.31 GiB is allocated by PyTorch, and 112.40 MiB is reserved by PyTorch but unallocated.\n",
        _BASIS,
        command="python attn.py",
        versions={"torch": "2.5.1"},
    )
