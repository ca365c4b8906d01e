# /// case
# cause = "compile_error"
# paper_class = "traceback"
# exit_code = 1
# needs = ["gcc"]
# ///
"""A kernel compiled at run time includes a header that is not installed."""

import ctypes
import logging
import subprocess

import numpy as np

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")

KERNEL = r"""
#include <cblas_fused.h>
void fused_norm(float *x, long n) { cblas_fused_l2(x, n); }
"""


class CompilationError(Exception):
    """A kernel could not be compiled."""


def compile_kernel(name, source):
    with open(f"{name}.c", "w") as file:
        file.write(source)
    command = ["gcc", "-O3", "-fPIC", "-shared", f"{name}.c", "-o", f"{name}.so"]
    logging.info("JIT: %s", " ".join(command))
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise CompilationError(
            f"compiling {name} failed with code {result.returncode}:\n{result.stderr}"
        )
    return ctypes.CDLL(f"./{name}.so")


x = np.ones(10, dtype=np.float32)
logging.info("warming up kernels")
library = compile_kernel("fused_norm", KERNEL)
library.fused_norm(ctypes.c_void_p(x.ctypes.data), ctypes.c_long(10))
