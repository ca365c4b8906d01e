# /// case
# cause = "div_zero"
# exit_code = -8
# needs = ["gcc"]
# why = "SIGFPE: an integer division by zero in C"
# ///
"""A hash table of size zero makes a C function divide by zero, which is SIGFPE."""

import ctypes
import faulthandler
import subprocess

import numpy as np

faulthandler.enable()
with open("bucket.c", "w") as file:
    file.write("long bucket(unsigned long key, unsigned long size) { return key % size; }\n")
subprocess.run("gcc -O1 -fPIC -shared bucket.c -o bucket.so", shell=True, check=True)
lib = ctypes.CDLL("./bucket.so")
lib.bucket.argtypes = [ctypes.c_ulong, ctypes.c_ulong]


def embed(keys, table):
    rows = [lib.bucket(int(k), len(table)) for k in keys]
    return table[rows].mean()


tables = [np.ones((s, 4)) * s for s in (997, 499, 251)]
tables.append(np.ones((0, 4)))
rng = np.random.default_rng(1)
for epoch in range(2):
    for name, table in zip(("user", "item", "store", "campaign"), tables):
        value = embed(rng.integers(0, 1 << 40, 50), table)
        print(f"epoch {epoch} feature {name:<10} mean {value:.2f}", flush=True)
