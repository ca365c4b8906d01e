# /// case
# cause = "host_oom"
# paper_class = "ram_oom"
# exit_code = 1
# env = {RAY_USAGE_STATS_ENABLED = "0", RAY_DATA_DISABLE_PROGRESS_BARS = "1"}
# why = "numpy cannot allocate the table of a batch, in ray's RayTaskError of a user's function"
# ///
"""A function of Ray Data makes a dense table of hashed ids, which no machine can hold."""

import numpy as np
import pandas as pd
import ray


def clicks(days, per_day=500):
    rng = np.random.default_rng(5)
    for day in range(days):
        ids = rng.integers(0, 2**44, per_day)
        yield pd.DataFrame({"day": day, "ad": ids, "clicked": rng.integers(0, 2, per_day)})


def bucket(frame: pd.DataFrame) -> pd.DataFrame:
    frame["bucket"] = frame["ad"] % 1024
    return frame


def cross_features(frame: pd.DataFrame) -> pd.DataFrame:
    table = np.zeros((len(frame), int(frame["ad"].max()) + 1), dtype=np.float32)
    table[np.arange(len(frame)), frame["ad"]] = 1.0
    frame["cross"] = list(table @ table[:16].T)
    return frame


def main():
    ray.init(num_cpus=2, include_dashboard=False)
    data = ray.data.from_pandas(list(clicks(6)))
    print("rate", data.mean("clicked"))
    data = data.map_batches(bucket, batch_format="pandas").materialize()
    print("buckets of", data.count(), "rows done")
    data = data.map_batches(cross_features, batch_format="pandas", batch_size=250)
    data.write_parquet("features")
    print("features written")


if __name__ == "__main__":
    main()
