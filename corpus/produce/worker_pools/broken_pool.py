# /// case
# cause = "runtime_error"
# exit_code = 1
# why = "a worker left without a trace or a signal's name"
# ///
"""A process of the pool ends abruptly, and the pool cannot say how."""

import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed

import numpy as np


def resample(item):
    index, rate = item
    wave = np.sin(np.arange(4000) * rate)
    if index == 23:
        os._exit(70)
    return index, float(wave[::2].std())


def main():
    items = [(i, 0.01 + i / 500) for i in range(40)]
    done = 0
    with ProcessPoolExecutor(max_workers=3) as pool:
        futures = [pool.submit(resample, item) for item in items]
        for future in as_completed(futures):
            index, value = future.result()
            done += 1
            print(f"[{done}/{len(items)}] clip {index} std {value:.3f}", file=sys.stderr)


if __name__ == "__main__":
    main()
