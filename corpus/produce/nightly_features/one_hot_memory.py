# /// case
# cause = "host_oom"
# exit_code = 1
# command = "bash -c 'ulimit -v 3000000; python {program}'"
# ///
"""A one-hot table of a high-cardinality column is larger than the memory that the job may have."""

import numpy as np

rng = np.random.default_rng(0)


def one_hot(codes, classes):
    table = np.zeros((len(codes), classes), dtype=np.float32)
    table[np.arange(len(codes)), codes] = 1.0
    return table


for column, classes in (("weekday", 7), ("country", 190), ("merchant", 250_000)):
    codes = rng.integers(classes, size=12_000)
    table = one_hot(codes, classes)
    print(f"{column:9s} {table.shape} {table.nbytes / 2**20:.1f} MiB", flush=True)
