# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "a file has rows with too many fields; pandas' error comes back from the worker"
# ///
"""One of the files has more columns from a certain row on."""

from pathlib import Path

import pandas as pd
from dask import delayed
from dask.distributed import Client, progress


def write(folder):
    folder.mkdir()
    for number in range(6):
        rows = [f"{i},{i % 5},{i * 0.1:.2f}" for i in range(300)]
        if number == 4:
            rows[211:] = [row + ",0,0" for row in rows[211:]]
        (folder / f"part-{number}.csv").write_text("user,item,rating\n" + "\n".join(rows) + "\n")


@delayed
def load(path):
    return pd.read_csv(path)


@delayed
def ratings(frame):
    return frame.groupby("item")["rating"].agg(["sum", "count"])


@delayed
def combine(parts):
    total = sum(parts[1:], parts[0])
    return (total["sum"] / total["count"]).round(3)


def main():
    write(Path("ratings"))
    paths = sorted(Path("ratings").resolve().glob("*.csv"))
    with Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None
    ) as client:
        print(client)
        result = client.compute(combine([ratings(load(path)) for path in paths]))
        progress(result, notebook=False)
        print("\nbiases", result.result().to_dict())


if __name__ == "__main__":
    main()
