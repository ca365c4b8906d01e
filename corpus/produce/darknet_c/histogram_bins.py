# /// case
# cause = "div_zero"
# exit_code = -8
# ///
"""A C helper of a Python job reduces an index modulo the number of bins; faulthandler prints the stack."""

import ctypes
import faulthandler
import subprocess
from pathlib import Path

faulthandler.enable()
Path("hist.c").write_text(
    "void hist(const long *x, long n, long *out, long bins)"
    " { for (long i = 0; i < n; i++) out[x[i] % bins]++; }\n"
)
subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", "hist.so", "hist.c"], check=True)
lib = ctypes.CDLL("./hist.so")


def histogram(values, bins):
    data = (ctypes.c_long * len(values))(*values)
    out = (ctypes.c_long * max(bins, 1))()
    lib.hist(data, ctypes.c_long(len(values)), out, ctypes.c_long(bins))
    return list(out)


def features(widths):
    for name, bins in widths.items():
        print(f"{name}: {max(histogram(range(1000), bins))} in the fullest bin", flush=True)


features({"age": 10, "income": 25, "tenure": 0, "visits": 5})
