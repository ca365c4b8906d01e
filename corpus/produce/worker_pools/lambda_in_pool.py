# /// case
# cause = "pickling"
# paper_class = "traceback"
# exit_code = 1
# ///
"""A local function cannot be sent to the processes of a pool."""

import multiprocessing as mp

import numpy as np


def augmentations(strength):
    def jitter(x):
        return x + np.random.default_rng(0).normal(size=x.shape) * strength

    def crop(x):
        return x[: len(x) // 2]

    return [jitter, crop]


def main():
    clips = [np.ones(100) * i for i in range(8)]
    with mp.get_context("spawn").Pool(2) as pool:
        for transform in augmentations(0.1):
            print("applying", transform.__name__, flush=True)
            clips = pool.map(transform, clips)
    print(len(clips), "clips")


if __name__ == "__main__":
    main()
