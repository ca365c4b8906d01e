# /// case
# cause = "host_oom"
# exit_code = 1
# ///
"""A join on a column that is nearly constant explodes and fails for memory."""

import resource

import numpy as np
import pandas as pd

resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
rng = np.random.default_rng(0)


def table(n, name):
    return pd.DataFrame({"region": np.where(rng.random(n) < 0.01, 1, 0), name: rng.random(n)})


for size in (1_000, 4_000, 40_000):
    print(f"joining {size:,} orders with {size:,} visits on 'region'", flush=True)
    joined = table(size, "orders").merge(table(size, "visits"), on="region")
    print(f"  -> {len(joined):,} rows, {joined.memory_usage().sum() / 2**20:.0f} MiB", flush=True)
