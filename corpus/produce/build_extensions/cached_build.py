# /// case
# cause = "none"
# exit_code = 0
# needs = ["gcc"]
# why = "the first flags are refused by the compiler, others work, and the training ends well"
# ///
"""The compiler refuses the fastest flags; the kernel is built with others, and the training ends well."""

import ctypes
import subprocess

import numpy as np

with open("axpy.c", "w") as file:
    file.write(
        "void axpy(float a, float *x, float *y, long n) { for (long i = 0; i < n; i++) y[i] += a * x[i]; }\n"
    )
for flags in (["-O3", "-march=nova-lake-x9"], ["-O3", "--ffast-everything"], ["-O2"]):
    status = subprocess.call(["gcc", *flags, "-shared", "-fPIC", "axpy.c", "-o", "axpy.so"])
    if status == 0:
        print("built axpy.so with", *flags, flush=True)
        break
    print(
        f"ERROR: gcc {' '.join(flags)} failed with exit status {status}, trying the next flags",
        flush=True,
    )
axpy = ctypes.CDLL("./axpy.so").axpy
axpy.argtypes = [ctypes.c_float, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
w, target = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
for step in range(1, 41):
    gradient = w - target
    axpy(-0.2, gradient.ctypes.data, w.ctypes.data, 8)
    if step % 10 == 0:
        print(f"step {step} loss {np.square(w - target).mean():.6f}")
print("finished")
