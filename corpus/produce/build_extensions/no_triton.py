# /// case
# cause = "missing_module"
# exit_code = 1
# ///
"""The fused kernels of the model need triton, which is not installed."""

import torch

try:
    import flash_attn

    print("flash attention", flash_attn.__version__)
except ImportError:
    print("flash_attn is not installed, using torch's attention (slower)")

import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + 1, mask=mask)


print(torch.__version__, triton.__version__)
