# /// case
# cause = "segfault"
# exit_code = -11
# needs = ["gcc"]
# ///
"""A kernel written in C runs past the end of its table in mid-training, without faulthandler."""

import ctypes
import subprocess

import numpy as np

SOURCE = r"""
#include <stddef.h>
void scatter_add(float *out, const float *values, const long *rows, size_t n, size_t width) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < width; j++)
            out[rows[i] * (long)width + (long)j] += values[i * width + j];
}
"""


def build():
    with open("scatter.c", "w") as file:
        file.write(SOURCE)
    subprocess.run(
        ["gcc", "-O2", "-shared", "-fPIC", "-o", "libscatter.so", "scatter.c"], check=True
    )
    return ctypes.CDLL("./libscatter.so")


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


lib = build()
print("loaded libscatter.so", flush=True)
rng = np.random.default_rng(0)
weights = np.zeros((1000, 32), dtype=np.float32)
for step in range(100):
    rows = rng.integers(0, 1000, 64)
    gradient = rng.normal(size=(64, 32)).astype(np.float32)
    if step == 37:
        rows[5] = 1 << 33
    lib.scatter_add(
        pointer(weights), pointer(gradient), pointer(rows), ctypes.c_size_t(64), ctypes.c_size_t(32)
    )
    if step % 5 == 0:
        print(f"step {step:3d}  |w| = {np.abs(weights).mean():.4f}", flush=True)
