# /// case
# cause = "none"
# exit_code = 0
# why = "the crash happens in a trial process; the slow path is taken and the work is done"
# ///
"""A fast kernel crashes when it is tried out in a process of its own; the slow one is used."""

import subprocess
import sys

import numpy as np

PROBE = "import ctypes, faulthandler; faulthandler.enable(); ctypes.string_at(0)"


def fast_path_works():
    probe = subprocess.run([sys.executable, "-c", PROBE], stderr=subprocess.STDOUT)
    if probe.returncode:
        print(f"WARNING: fast kernel crashed (exit code {probe.returncode}), falling back to numpy")
    return probe.returncode == 0


def main():
    backend = "native" if fast_path_works() else "numpy"
    print("backend:", backend)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 10))
    y = x @ np.arange(10.0)
    w = np.zeros(10)
    for epoch in range(8):
        error = x @ w - y
        w -= 0.1 * x.T @ error / len(x)
        print(f"epoch {epoch} mse {np.mean(error**2):.4f}")
    np.save("weights.npy", w)
    print("saved weights.npy")


main()
