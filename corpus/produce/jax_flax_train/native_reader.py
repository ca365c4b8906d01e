# /// case
# cause = "segfault"
# paper_class = "segfault"
# exit_code = -11
# environment = "jax"
# command = "python -X faulthandler {program}"
# ///
"""A reader that takes its batches out of a native buffer runs past the end of it."""

import ctypes

import jax
import jax.numpy as jnp
import numpy as np


class NativeBatches:
    def __init__(self, rows, width):
        self.storage = (ctypes.c_float * (rows * width))(*([0.5] * rows * width))
        self.width, self.at = width, ctypes.addressof(self.storage)

    def next(self, size):
        pointer = ctypes.cast(self.at, ctypes.POINTER(ctypes.c_float))
        self.at += size * self.width * 4 * 4096
        return np.ctypeslib.as_array(pointer, (size, self.width)).copy()


@jax.jit
def update(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1.0) ** 2))(w)
    return w - 0.1 * grad, loss


reader = NativeBatches(4096, 8)
w = jnp.zeros(8)
for step in range(1000):
    w, loss = update(w, jnp.asarray(reader.next(64)))
    print(f"step {step} loss {float(loss):.5f}", flush=True)
