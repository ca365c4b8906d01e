# /// case
# cause = "segfault"
# exit_code = -11
# environment = "jax"
# env = { TF_CPP_MIN_LOG_LEVEL = "2" }
# why = "the process dies of SIGSEGV; the stack of the interpreter is printed"
# ///
"""A Python function of the input pipeline calls native code that crashes after some records."""

import ctypes
import faulthandler

import numpy as np
import tensorflow as tf

faulthandler.enable()


def checksum(index):
    index = int(index)
    data = np.full(16, index, dtype=np.uint8)
    address = data.ctypes.data if index < 50 else 24
    return np.int32(sum(ctypes.string_at(address, 16)))


dataset = tf.data.Dataset.range(100).map(
    lambda i: tf.numpy_function(checksum, [i], tf.int32), deterministic=True
)
total = 0
for n, value in enumerate(dataset):
    total += int(value)
    if n % 10 == 0:
        print(f"record {n} running checksum {total}", flush=True)
print("checksum", total)
